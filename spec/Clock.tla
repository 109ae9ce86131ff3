-------------------------------- MODULE Clock --------------------------------
(* The session clock: until when may a client believe that its session lives?             *)
(*                                                                                         *)
(* The leader alone expires sessions. The client talks to a follower. The follower tells   *)
(* the leader which sessions it heard from only when it answers a ping of the leader. A    *)
(* leader that is deposed does not know it, and answers a sync, but commits no write.      *)
(* Messages may be late without a limit, but stay in order on each link. A message that is *)
(* lost is one that is never read: the client gives the connection up and dials anew.      *)
(* The rules are those of src/zookeeper/session/session-clock.ts, under the same names.    *)
EXTENDS Integers, Sequences

CONSTANTS
  Timeout,  \* of the session, in units of time
  Skew,     \* the most by which the leader's clock gains on the client's in one timeout
  Margin,   \* the part of the timeout that the client does not use
  Relay,    \* a leader that commits pings its followers more often than this
  Kinds,    \* the kinds of requests that the client sends
  Window,   \* the most requests in flight
  MostUp,   \* the most messages on the way to the leader
  Rule      \* "real", or a wrong variant: it trusts a little more, and outlives the session

VARIABLES
  now,      \* the time. All clocks show it; Skew stands for their difference
  touched,  \* when the leader in force last learned that the session lives
  expired,  \* the leader in force has expired the session
  inForce,  \* the client's server follows the leader in force, and not a deposed one
  pinged,   \* when the leader of the client's server sent its last ping
  heard,    \* the follower heard from the session since its last answer to a ping
  up, down, \* the links from the follower to its leader and back
  dialled,  \* when the ConnectRequest of the present connection was sent
  isOpen,   \* the client has read the ConnectResponse
  requests, \* requests without an answer, the oldest first; `at` is the place of each
  proof     \* the facts that the client knows
leader == <<touched, expired, inForce, pinged>>
client == <<dialled, isOpen, requests, proof>>
vars == <<now, leader, heard, up, down, client>>

Never == -99
None == [sent |-> Never, at |-> Never]
Unproven == [proven |-> Never, connect |-> Never, written |-> {}, relayed |-> None]
Max(a, b) == IF a > b THEN a ELSE b
Newest(writes) == IF writes = {} THEN None ELSE CHOOSE r \in writes : \A q \in writes : q.at <= r.at
Touches == inForce /\ ~expired
(*********** What the client learns: the arithmetic of one client ***********)
Believing(p, time) == [p EXCEPT !.proven = Max(@, time)]
\* A connection was lost or given up. Proofs never span connections.
Disconnected(p) == [p EXCEPT !.connect = Never, !.written = {}, !.relayed = None]

\* A ConnectResponse was read.
Granted(p) ==
  LET sent == IF Rule = "the connection counts from its answer" THEN now ELSE dialled
      next == [Disconnected(p) EXCEPT !.connect = sent]
  IN IF Rule = "the connection counts at once" THEN Believing(next, sent) ELSE next

\* V: a request through the leader that was sent after the answer to W. Much happens in one unit
\* of time here, in any order, so "after" means a later unit. The code has shorter units (ClockTrace).
Verified(p, kind, sent) ==
  LET isThroughLeader == kind # "read" \/ Rule = "V may be a read"
      isBehind == sent > p.relayed.at \/ Rule = "V may be sent before the answer to W"
  IN IF p.relayed # None /\ isThroughLeader /\ isBehind
     THEN [Believing(p, p.relayed.sent) EXCEPT !.relayed = None] ELSE p

\* The connection counts with its first write.
Confirmed(p, kind) ==
  IF \/ kind = "write"
     \/ kind = "sync" /\ Rule = "a sync confirms the connection"
     \/ kind = "read" /\ Rule = "a read confirms the connection"
  THEN [Believing(p, p.connect) EXCEPT !.connect = Never] ELSE p

\* The answer as W for an older write, and as a write r that later ones may carry.
Written(p, kind, sent) ==
  LET r == [sent |-> IF Rule = "r counts from its answer" THEN now ELSE sent,
            at |-> IF Rule = "the pause counts from the sent time of r" THEN sent ELSE now]
      \* Those that a write W, sent at this time, carries past a ping of the leader.
      late == {q \in p.written : sent >= q.at + (IF Rule = "W without a pause" THEN 0 ELSE Relay)}
      best == IF Rule = "no W" THEN r ELSE Newest(late)
      isW == kind = "write" \/ (kind = "sync" /\ Rule = "W may be a sync")
      relays == isW /\ best # None /\ p.relayed = None
      kept == IF relays THEN p.written \ late ELSE p.written
      \* Of many writes, one is kept for each such part of the pause.
      isDense == kept # {} /\ r.at < Newest(kept).at + (Relay + 15) \div 16
      next == [p EXCEPT !.written = IF kind = "write" /\ ~isDense THEN kept \cup {r} ELSE kept]
  IN CASE ~relays -> next
       [] Rule = "no V" -> Believing(next, best.sent)
       [] OTHER -> [next EXCEPT !.relayed = [sent |-> best.sent, at |-> now]]

Answered(p, kind, sent) ==
  LET next == Written(Confirmed(Verified(p, kind, sent), kind), kind, sent)
  IN CASE Rule = "newest answer" -> Believing(next, now)
       [] \/ Rule = "newest request with an answer"
          \/ Rule = "a sync is a proof" /\ kind = "sync"
          \/ Rule = "a write is a proof" /\ kind = "write" -> Believing(next, sent)
       [] OTHER -> next

\* A proof that is older than this is worth nothing.
Horizon == Timeout - (IF Rule = "no margin" THEN 0 ELSE Margin)
Deadline == proof.proven + Horizon
(********************** The client and its connection ***********************)
Send(kind) ==
  /\ isOpen /\ Len(requests) < Window
  /\ requests' = Append(requests, [kind |-> kind, sent |-> now, at |-> "way"])
  /\ UNCHANGED <<now, leader, heard, up, down, dialled, isOpen, proof>>

Hear ==
  /\ requests # <<>> /\ Head(requests).at = "done" /\ requests' = Tail(requests)
  /\ proof' = Answered(proof, Head(requests).kind, Head(requests).sent)
  /\ UNCHANGED <<now, leader, heard, up, down, dialled, isOpen>>

\* A new connection, after a loss or as an attach. Its server may follow a deposed leader.
Dial ==
  /\ inForce' \in BOOLEAN /\ pinged' = now /\ heard' = FALSE
  /\ up' = <<"session">> /\ down' = <<>>
  /\ dialled' = now /\ isOpen' = FALSE /\ requests' = <<>> /\ proof' = Disconnected(proof)
  /\ UNCHANGED <<now, touched, expired>>
(******************************* The follower *******************************)
First(at, kinds) == {i \in DOMAIN requests : requests[i].at = at /\ requests[i].kind \in kinds
                       /\ \A j \in 1..(i - 1) : requests[j].at # at \/ requests[j].kind \notin kinds}

\* A read is answered at once. All other requests go through the leader.
Arrive ==
  \E i \in First("way", Kinds) : LET kind == requests[i].kind IN
    /\ heard' = TRUE /\ (kind = "read" \/ Len(up) < MostUp)
    /\ requests' = [requests EXCEPT ![i].at = IF kind = "read" THEN "done" ELSE "server"]
    /\ up' = IF kind = "read" THEN up ELSE Append(up, kind)
    /\ UNCHANGED <<now, leader, down, dialled, isOpen, proof>>

FollowerReads ==
  /\ down # <<>> /\ down' = Tail(down)
  /\ LET message == Head(down) IN
     /\ IF message # "ping" THEN UNCHANGED <<up, heard>> ELSE
          /\ Len(up) < MostUp
          /\ up' = Append(up, IF heard THEN "pong with the session" ELSE "pong") /\ heard' = FALSE
     /\ isOpen' = (isOpen \/ message = "session")
     /\ proof' = IF message = "session" THEN Granted(proof) ELSE proof
     /\ requests' = [i \in DOMAIN requests |->
          IF i \in First("server", {message}) THEN [requests[i] EXCEPT !.at = "done"] ELSE requests[i]]
  /\ UNCHANGED <<now, leader, dialled>>
(******************** The leader of the client's server *********************)
\* A deposed leader answers a sync alone (ZOOKEEPER-1675), and no write but those that a quorum
\* acknowledged before. The assumption of the clock: a leader that still commits pings often enough.
LeaderReads ==
  /\ up # <<>> /\ up' = Tail(up)
  /\ LET message == Head(up)
         answer == IF message = "acknowledged write" THEN "write" ELSE message
         answers == CASE message \in {"session", "sync"} -> ~inForce \/ ~expired
                      [] message = "write" -> Touches
                      [] OTHER -> message = "acknowledged write"
     IN /\ (answers /\ answer = "write") => now - pinged < Relay
        /\ down' = IF answers THEN Append(down, answer) ELSE down
        /\ touched' = IF Touches /\ message \in {"session", "pong with the session"} THEN now ELSE touched
  /\ UNCHANGED <<now, expired, inForce, pinged, heard, client>>

Ping ==
  /\ pinged < now /\ pinged' = now
  /\ Len(SelectSeq(down, LAMBDA m : m = "ping")) < 2 /\ down' = Append(down, "ping")
  /\ UNCHANGED <<now, touched, expired, inForce, heard, up, client>>

\* Another leader takes over, and gives every session a whole timeout.
Depose ==
  /\ Touches /\ inForce' = FALSE /\ touched' = now
  /\ up' = [i \in DOMAIN up |-> IF up[i] = "write" THEN "acknowledged write" ELSE up[i]]
  /\ UNCHANGED <<now, expired, pinged, heard, down, client>>

Expire ==
  /\ ~expired /\ now - touched >= Timeout - Skew /\ expired' = TRUE
  /\ UNCHANGED <<now, touched, inForce, pinged, heard, up, down, client>>

Tick == now' = now + 1 /\ UNCHANGED <<leader, heard, up, down, client>>

Init ==
  /\ now = 0 /\ touched = 0 /\ expired = FALSE /\ inForce = TRUE /\ pinged = 0 /\ heard = FALSE
  /\ up = <<>> /\ down = <<>> /\ dialled = 0 /\ isOpen = TRUE /\ requests = <<>>
  /\ proof = [Unproven EXCEPT !.connect = 0]

Next ==
  \/ \E kind \in Kinds : Send(kind)
  \/ Hear \/ Dial \/ Arrive \/ FollowerReads \/ LeaderReads \/ Ping \/ Depose \/ Expire \/ Tick
Spec == Init /\ [][Next]_vars

\* I1, I8: while the client believes in its session, the leader has not expired it.
ToldInTime == expired => now >= Deadline

\* Reached on purpose, so that the check above is not empty: an answer as V gives a proof.
NeverProvenByRelay ==
  (requests # <<>> /\ Head(requests).at = "done") =>
    Verified(proof, Head(requests).kind, Head(requests).sent).proven <= Max(proof.proven, now - Horizon)

\* States that differ only in how long ago old things happened are one state. So the checker
\* sees histories without an end.
AgeUpTo(most, time) == IF now - time > most THEN most ELSE now - time
Age(time) == AgeUpTo(Horizon, time)
View == <<IF expired THEN 0 ELSE AgeUpTo(Timeout - Skew, touched), expired, inForce,
          AgeUpTo(Relay, pinged), heard, up, down, IF isOpen THEN 0 ELSE Age(dialled), isOpen,
          [i \in DOMAIN requests |-> <<requests[i].kind, Age(requests[i].sent), requests[i].at>>],
          Age(proof.proven), Age(proof.connect), Age(proof.relayed.sent), Age(proof.relayed.at),
          {<<Age(r.sent), Age(r.at)>> : r \in {q \in proof.written : Age(q.sent) < Horizon}}>>
==============================================================================
