------------------------------ MODULE QueueTrace ------------------------------
(* A simulated run must be a behaviour of module Queue. What the run shows are the znodes    *)
(* that the servers created and deleted, in their order, and the holds. All else that Queue  *)
(* does is hidden between two of its states. `Trace` and `Intrudes` are in QueueData.        *)
EXTENDS Queue, QueueData

VARIABLE at  \* the number of states of the run that were matched so far

Holds == {w \in Waiters : waiter[w].at = "held"}
Shown == [owners |-> [n \in DOMAIN made |-> Home[made[n].who]], live |-> Live,
          held |-> {waiter[w].node : w \in Holds},
          done |-> Cardinality({w \in Waiters : waiter[w].at = "done"})]

TraceInit == Init /\ at = 1
\* A third party deletes only where the run has one.
TraceNext == Next /\ (Live' # Live /\ faults' # faults => Intrudes)
  /\ IF Shown' = Shown THEN at' = at
     ELSE at < Len(Trace) /\ at' = at + 1 /\ Shown' = Trace[at + 1]
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, at>>

\* Violated when the whole run was matched.
NeverMatched == at < Len(Trace)
==============================================================================
