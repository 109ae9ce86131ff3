------------------------------ MODULE ClockTrace ------------------------------
(* What the session clocks of a simulated run have learned, step by step: each step must    *)
(* be the one that module Clock gives. Time is in halves of a microsecond. The clock of the *)
(* code has whole ones, which are shorter than the way to a server and back. So a request   *)
(* that is sent at the reading of an answer arrives behind the commit of what was answered: *)
(* it is sent half a microsecond later (Clock.tla, Verified).                               *)
EXTENDS Clock, FiniteSets, ClockData

\* ClockData has Traces: for each session [is, kind, sent, at, timeout, and the facts afterwards].
VARIABLES which, step
Trace == Traces[which]

\* The facts after each event are those of the specification.
Agrees == step > 1 => LET told == Trace[step - 1] IN
  /\ proof.proven = told.proven /\ proof.connect = told.connect /\ proof.relayed = told.relayed
  /\ Cardinality(proof.written) = told.written
  /\ proof.proven # Never => Deadline = told.deadline
\* The events are those of Clock: only an open connection answers, in the order of the requests.
Fits == step <= Len(Trace) => LET e == Trace[step] IN
  CASE e.is = "granted" -> e.timeout = Timeout /\ e.sent <= e.at
    [] e.is = "answered" -> isOpen /\ e.sent >= dialled /\ e.sent <= e.at
    [] OTHER -> TRUE

\* `now` and `dialled` are those of the next event.
At(s) == IF s <= Len(Trace) THEN Trace[s].at ELSE Trace[Len(Trace)].at
Dialled(s, old) == IF s <= Len(Trace) /\ Trace[s].is # "cut" THEN Trace[s].sent ELSE old

TraceInit ==
  /\ which \in DOMAIN Traces /\ step = 1 /\ now = At(1) /\ dialled = Dialled(1, 0)
  /\ proof = Unproven /\ isOpen = FALSE
  /\ touched = 0 /\ expired = FALSE /\ inForce = TRUE /\ pinged = 0 /\ heard = FALSE
  /\ up = <<>> /\ down = <<>> /\ requests = <<>>
TraceNext ==
  /\ step <= Len(Trace) /\ step' = step + 1 /\ now' = At(step + 1) /\ dialled' = Dialled(step + 1, dialled)
  /\ LET e == Trace[step] IN
       /\ isOpen' = (e.is # "cut" /\ (isOpen \/ e.is = "granted"))
       /\ proof' = CASE e.is = "granted" -> Granted(proof)
                     [] e.is = "answered" -> Answered(proof, e.kind, e.sent)
                     [] OTHER -> Disconnected(proof)
  /\ UNCHANGED <<which, touched, expired, inForce, pinged, heard, up, down, requests>>
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, which, step>>
==============================================================================
