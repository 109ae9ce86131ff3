-------------------------------- MODULE Queue --------------------------------
(* The queue of a mutex: look-ahead, hand-over inside a process, lost replies, the end of  *)
(* a session, and znodes that somebody else deletes.                                       *)
(*                                                                                         *)
(* A znode is the number that the server gave it. A process has one session, and one or    *)
(* more waiters. The server executes a request in the step that sends it. The answer and   *)
(* the events wait, in this order, in the inbox of the process; a disconnect loses them.   *)
(* Module Clock shows that a session lives while its client believes it, so here the       *)
(* server expires no proven session.                                                       *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Home,    \* the process of each waiter
  Most,    \* the most znodes in one history
  Faults,  \* the most disconnects, deletions by others, ends of proofs, waiters that give up
  Rule     \* "real", or a wrong variant: it lacks one precaution, and breaks an invariant
TwoAndOne == <<"p", "p", "q">>
FourEach == <<"p", "q", "r", "s">>

VARIABLES
  made,    \* all znodes ever created: [who, session, lives], by their numbers
  first,   \* the znodes that have been first in the queue while they existed
  granted, \* the znodes that have held the lock
  watches, \* the znodes that the server watches for each process
  inbox,   \* the answers and events on the way to each process
  on,      \* the process is connected
  alive,   \* the server has not expired the present session of the process
  session, \* the number of the present session of the process
  proven,  \* the process has proof that its session lives (module Clock)
  waiter,  \* the state of each waiter
  deletes, \* the znodes that the process deletes in the background, until they are gone: [node, to].
           \* A hand-over does so in the transaction that checks the znode `to`, which else is 0
  faults   \* the number of faults so far
life == <<on, alive, session, proven>>
work == <<waiter, deletes>>
vars == <<made, first, granted, watches, inbox, life, work, faults>>

Waiters == DOMAIN Home
Processes == {Home[w] : w \in Waiters}
Live == {n \in DOMAIN made : made[n].lives}
Of(p) == {w \in Waiters : Home[w] = p}
Each(x) == [p \in Processes |-> x]
Min(S) == CHOOSE m \in S : \A n \in S : m <= n
Largest(S) == CHOOSE m \in S : \A n \in S : m >= n

\* `seen`: the znodes before it that it watches. `link`: it waits for a znode of its own process.
\* `gone`: those of `seen` that are reported deleted. `all`: a list showed no others before it.
\* `sure`: on this connection, the server has promised to report the deletion of its own znode.
Idle == [at |-> "idle", node |-> 0, seen |-> {}, gone |-> {}, link |-> FALSE, all |-> FALSE, sure |-> FALSE]
Done == [Idle EXCEPT !.at = "done"]
Left(w) == waiter[w].seen \ waiter[w].gone
Doomed(p) == {d.node : d \in deletes[p]}
\* A znode of this process that it does not know to be gone.
IsLocal(p, m) == m \in Doomed(p) \/ \E w \in Of(p) : waiter[w].node = m

Fault == faults < Faults /\ faults' = faults + 1
Deletes(zs, to) == {[node |-> n, to |-> to] : n \in zs}
Message(is, of) == [is |-> is, of |-> of, names |-> {}]
InOrder(is, zs) == [i \in DOMAIN zs |-> Message(is, zs[i])]
\* One message for each of these znodes, in the order of their numbers.
Messages(is, zs) == InOrder(is, SelectSeq([i \in DOMAIN made |-> i], LAMBDA m : m \in zs))
IsComing(p, is, n) == \E i \in DOMAIN inbox[p] : inbox[p][i].is \in is /\ inbox[p][i].of = n
(*************************** What the server does ***************************)
\* Deletes znodes, and sends the events, and then the answer to the process that asked for it.
Remove(zs, p) == LET gone == zs \cap Live IN
  /\ made' = [n \in DOMAIN made |-> [made[n] EXCEPT !.lives = @ /\ n \notin zs]]
  /\ watches' = [q \in Processes |-> watches[q] \ gone]
  /\ inbox' = [q \in Processes |-> inbox[q] \o Messages("deleted", gone \cap watches[q])
                                            \o Messages("gone", IF q = p THEN zs ELSE {})]

\* The answers to watches: an event for each znode that is gone, and a promise for the others.
Answers(zs) == Messages("deleted", zs \ Live) \o Messages("sure", zs \cap Live)
(*************************** How a waiter judges ****************************)
Grant(p, r) == [r EXCEPT !.seen = {}, !.gone = {}, !.link = FALSE, !.all = FALSE,
  !.at = IF proven[p] \/ Rule = "a grant without a proof" THEN "held" ELSE "first"]

Judge(p, r) ==
  LET left == r.seen \ r.gone
      isFirst == r.all \/ (r.link /\ (r.seen \subseteq granted \/ Rule = "a waiter that gave up counts as a holder"))
  IN CASE r.at # "waiting" \/ r.gone = {} -> r
       \* Second now: the next event grants the lock.
       [] r.all /\ left # {} /\ \A m \in left : ~IsLocal(p, m) -> r
       [] left = {} /\ isFirst /\ (r.sure \/ Rule = "no watch on the waiter's own znode") -> Grant(p, r)
       [] OTHER -> [r EXCEPT !.at = "list"]

\* The place of a waiter in a list. A znode that is watched already is not watched again.
Placed(p, r, names) ==
  LET before == {m \in names : m < r.node}
      last == Largest(before)
      isLocal == IsLocal(p, last)
      next == before \ {last}
      single == Rule = "no list after the end of the predecessor"
      seen == IF Rule = "all watch the first znode" THEN {Min(before)}
              ELSE IF isLocal \/ next = {} \/ single THEN {last} ELSE {last, Largest(next)}
      link == isLocal /\ seen = {last}
  IN CASE r.node \notin names -> Idle
       [] before = {} -> Grant(p, r)
       [] OTHER -> Judge(p, [r EXCEPT !.at = "waiting", !.seen = seen, !.gone = @ \cap seen, !.link = link,
                                      !.all = ~link /\ (seen = before \/ single)])

\* The waiter after its create was answered. The znode right behind one of its process needs no list.
Created(p, r, n) ==
  IF \E w \in Of(p) : waiter[w].node = n - 1 /\ n > 1
  THEN [r EXCEPT !.node = n, !.at = "waiting", !.seen = {n - 1}, !.link = TRUE]
  ELSE [r EXCEPT !.node = n, !.at = "list"]

\* The waiter after a message. All but the first three say that a znode is gone.
After(p, w, message) == LET r == waiter[w]  n == message.of IN
  CASE message.is = "created" -> IF made[n].who = w THEN Created(p, r, n) ELSE r
    [] message.is = "listed" -> IF n = w /\ r.at = "listing" THEN Placed(p, r, message.names) ELSE r
    [] message.is = "sure" -> IF r.node = n THEN [r EXCEPT !.sure = TRUE] ELSE r
    [] r.node = n -> Idle
    [] r.at = "listing" /\ Rule = "a deletion during the list is forgotten" -> r
    [] OTHER -> IF n \in r.seen THEN Judge(p, [r EXCEPT !.gone = @ \cup {n}]) ELSE r

\* The znodes whose deletion the server has to report to a waiter.
Wanted(p, r) ==
  (IF r.at \in {"waiting", "list", "listing"} THEN {m \in r.seen \ r.gone : ~IsLocal(p, m)} ELSE {})
  \cup (IF r.at \in {"held", "first"} \/ (r.at = "waiting" /\ r.all) THEN {r.node} ELSE {})

\* A process reads a message, and plants the watches that follow from it.
ReadAt(p, i) ==
  LET message == inbox[p][i]
      next == [w \in Waiters |-> IF w \in Of(p) THEN After(p, w, message) ELSE waiter[w]]
      fresh == UNION {Wanted(p, next[w]) \ Wanted(p, waiter[w]) : w \in Of(p)} \ watches[p]
      dropped == {waiter[w].node : w \in {v \in Of(p) : next[v] = Idle /\ waiter[v] # Idle}}
  IN /\ waiter' = next
     /\ watches' = [watches EXCEPT ![p] = @ \cup (fresh \cap Live)]
     /\ inbox' = [inbox EXCEPT ![p] = SubSeq(@, 1, i - 1) \o SubSeq(@, i + 1, Len(@)) \o Answers(fresh)]
     \* A list without the waiter's znode: it is deleted all the same, and its follower told.
     /\ deletes' = [deletes EXCEPT ![p] = CASE
             message.is = "gone" -> {d \in @ : d.node # message.of}
          [] message.is = "refused" -> {IF d.to = message.of THEN [d EXCEPT !.to = 0] ELSE d : d \in @}
          [] message.is = "listed" -> @ \cup Deletes(dropped, 0) [] OTHER -> @]
     /\ UNCHANGED <<made, life, faults>>

\* A list resolves a promise. So an event that came in one piece with it may be handled first.
Read(p) ==
  \/ inbox[p] # <<>> /\ ReadAt(p, 1)
  \/ Len(inbox[p]) > 1 /\ inbox[p][1].is = "listed" /\ ReadAt(p, 2)
(*************************** Requests of a waiter ***************************)
Become(w, r) == waiter' = [waiter EXCEPT ![w] = r]
Tell(p, message) == inbox' = [inbox EXCEPT ![p] = Append(@, message)]
Discard(p, zs, to) == deletes' = [deletes EXCEPT ![p] = @ \cup Deletes(zs, to)]

Create(w) == LET p == Home[w]  n == Len(made) + 1 IN
  /\ waiter[w].at = "idle" /\ on[p] /\ n <= Most
  /\ made' = Append(made, [who |-> w, session |-> session[p], lives |-> TRUE])
  /\ Tell(p, Message("created", n)) /\ Become(w, [Idle EXCEPT !.at = "creating"])
  /\ UNCHANGED <<watches, life, deletes, faults>>

\* The answer to the create was lost: the process searches, behind a quorum write.
Search(w) ==
  LET p == Home[w]
      isKept(m) == made[m].session = session[p] \/ Rule = "a znode of an earlier session is kept"
      mine == {m \in Live \ Doomed(p) : made[m].who = w /\ isKept(m)}
  IN /\ waiter[w].at = "lost" /\ on[p]
     /\ \/ mine # {} /\ Become(w, [Idle EXCEPT !.at = "list", !.node = Largest(mine)])
        \/ (mine = {} \/ Rule = "absence in an older tree counts") /\ Become(w, Idle)
     /\ UNCHANGED <<made, watches, inbox, life, deletes, faults>>

List(w) ==
  /\ waiter[w].at = "list" /\ on[Home[w]] /\ Become(w, [waiter[w] EXCEPT !.at = "listing"])
  /\ Tell(Home[w], [Message("listed", w) EXCEPT !.names = Live])
  /\ UNCHANGED <<made, watches, life, deletes, faults>>

\* First, in a session without a proof: a transaction proves the session, and checks the znode.
Prove(w) == LET r == waiter[w]  p == Home[w] IN
  /\ r.at = "first" /\ on[p] /\ proven' = [proven EXCEPT ![p] = TRUE]
  /\ Become(w, IF r.node \in Live THEN [r EXCEPT !.at = "held"] ELSE Idle)
  /\ Discard(p, {r.node} \ Live, 0)
  /\ UNCHANGED <<made, watches, inbox, on, alive, session, faults>>

\* A holder, and a waiter behind its own process, watch their own znodes only after a while.
WatchOwn(w) == LET p == Home[w]  n == waiter[w].node IN
  /\ waiter[w].at \in {"held", "waiting"} /\ on[p] /\ n \notin watches[p] /\ ~IsComing(p, {"deleted"}, n)
  /\ watches' = [watches EXCEPT ![p] = @ \cup ({n} \cap Live)]
  /\ inbox' = [inbox EXCEPT ![p] = @ \o Answers({n})]
  /\ UNCHANGED <<made, life, work, faults>>
(********************** The end of a hold or of a wait **********************)
Release(w) ==
  LET p == Home[w]  n == waiter[w].node
      next == {f \in Of(p) : on[p] /\ waiter[f].at = "waiting" /\ waiter[f].link /\ Left(f) = {n}}
  IN /\ waiter[w].at = "held"
     /\ IF next = {} THEN Become(w, Done) /\ Discard(p, {n}, 0) ELSE LET f == Min(next) IN
          /\ waiter' = [waiter EXCEPT ![w] = Done, ![f] = [Grant(p, @) EXCEPT !.link = TRUE]]
          /\ Discard(p, {n}, waiter[f].node)
     /\ UNCHANGED <<made, watches, inbox, life, faults>>

GiveUp(w) ==
  /\ Fault /\ waiter[w].at \in {"waiting", "list", "listing"} /\ Become(w, Done)
  /\ Discard(Home[w], {waiter[w].node}, 0) /\ UNCHANGED <<made, watches, inbox, life>>

\* A hand-over deletes the old znode in one transaction, if the new one exists. Hand-overs keep their order.
Delete(p) == LET isSent(d) == IsComing(p, {"gone"}, d.node) \/ IsComing(p, {"refused"}, d.to) IN
  \E d \in deletes[p] :
    /\ on[p] /\ ~isSent(d)
    /\ d.to # 0 => \A e \in deletes[p] : e.to = 0 \/ isSent(e) \/ d.node <= e.node
    /\ IF d.to \in Live \cup {0} \/ Rule = "the hand-over checks nothing" THEN Remove({d.node}, p)
       ELSE Tell(p, Message("refused", d.to)) /\ UNCHANGED <<made, watches>>
    /\ UNCHANGED <<life, work, faults>>
(********************************** Faults **********************************)
Intrude == Fault /\ (\E n \in Live : Remove({n}, "nobody")) /\ UNCHANGED <<life, work>>

\* The connection ends. Its answers, events and watches are lost, and its hand-overs given up.
End(p, next(_), left) ==
  /\ inbox' = [inbox EXCEPT ![p] = <<>>] /\ watches' = [watches EXCEPT ![p] = {}]
  /\ deletes' = [deletes EXCEPT ![p] = Deletes(left, 0)]
  /\ waiter' = [w \in Waiters |-> IF w \in Of(p) THEN next(waiter[w]) ELSE waiter[w]]
  /\ UNCHANGED made

\* What was asked is asked again on the next connection.
Disconnect(p) ==
  LET next(r) == [r EXCEPT !.sure = FALSE, !.at = CASE @ = "creating" -> "lost" [] @ = "listing" -> "list" [] OTHER -> @]
  IN /\ Fault /\ on[p] /\ on' = [on EXCEPT ![p] = FALSE]
     /\ End(p, next, IF Rule = "a delete is sent once" THEN {} ELSE Doomed(p))
     /\ UNCHANGED <<alive, session, proven>>

\* The watches are set again. The server reports at once, in any order, what is deleted by now.
Reconnect(p) ==
  LET wanted == UNION {Wanted(p, waiter[w]) : w \in Of(p)}
      missing == wanted \ Live
  IN /\ ~on[p] /\ alive[p] /\ on' = [on EXCEPT ![p] = TRUE]
     /\ watches' = [watches EXCEPT ![p] = wanted \cap Live]
     /\ \E order \in [1..Cardinality(missing) -> missing] :
          /\ {order[i] : i \in DOMAIN order} = missing
          /\ inbox' = [inbox EXCEPT ![p] = InOrder("deleted", order) \o Messages("sure", wanted \cap Live)]
     /\ UNCHANGED <<made, alive, session, proven, work, faults>>

\* A process starts over in a new session. The znodes of the old one stay until it expires.
Renew(p) ==
  LET keeps(r) == r.at \in {"creating", "lost"} /\ Rule = "a znode of an earlier session is kept"
      next(r) == IF r.at = "done" THEN r ELSE IF keeps(r) THEN [Idle EXCEPT !.at = "lost"] ELSE Idle
  IN /\ session' = [session EXCEPT ![p] = @ + 1] /\ alive' = [alive EXCEPT ![p] = TRUE]
     /\ on' = [on EXCEPT ![p] = TRUE] /\ proven' = [proven EXCEPT ![p] = TRUE] /\ End(p, next, {})

\* The deadline passes. With a hold, the session is lost, and left to the server with all waiters.
Doubt(p) ==
  /\ Fault /\ proven[p]
  /\ IF \E w \in Of(p) : waiter[w].at = "held" THEN Renew(p)
     ELSE proven' = [proven EXCEPT ![p] = FALSE] /\ UNCHANGED <<made, watches, inbox, on, alive, session, work>>

Expire(p) ==
  LET its == {n \in Live : Home[made[n].who] = p}
      old == {n \in its : made[n].session < session[p]}
  IN \/ old # {} /\ Remove(old, "nobody") /\ UNCHANGED <<life, work, faults>>
     \/ /\ ~on[p] /\ ~proven[p] /\ alive[p] /\ Remove(its, "nobody")
        /\ alive' = [alive EXCEPT ![p] = FALSE] /\ UNCHANGED <<on, session, proven, work, faults>>

Restart(p) == ~alive[p] /\ Renew(p) /\ UNCHANGED faults

Init ==
  /\ made = <<>> /\ first = {} /\ granted = {} /\ faults = 0 /\ waiter = [w \in Waiters |-> Idle]
  /\ inbox = Each(<<>>) /\ watches = Each({}) /\ deletes = Each({})
  /\ on = Each(TRUE) /\ alive = on /\ proven = on /\ session = Each(1)

Next ==
  /\ \/ \E w \in Waiters : Create(w) \/ Search(w) \/ List(w) \/ Prove(w) \/ WatchOwn(w) \/ Release(w) \/ GiveUp(w)
     \/ \E p \in Processes : Read(p) \/ Delete(p) \/ Disconnect(p) \/ Reconnect(p) \/ Doubt(p) \/ Expire(p) \/ Restart(p)
     \/ Intrude
  /\ granted' = granted \cup {waiter'[w].node : w \in {v \in Waiters : waiter'[v].at = "held"}}
  /\ first' = IF Live' = {} THEN first ELSE first \cup {Min(Live')}
Spec == Init /\ [][Next]_vars

\* Processes with one waiter each are alike. So one order of their creates stands for all orders.
InTurn == \A n \in DOMAIN made : made[n].who = n

IsHeld(w) == waiter[w].at = "held"
Covers(w) == {d.node : d \in {e \in deletes[Home[w]] : e.to = waiter[w].node}}
IsValid(w) == IsHeld(w) /\ proven[Home[w]] /\ (waiter[w].node \in Live \/ Covers(w) \cap Live # {})
\* The process will learn of the deletion of this waiter's znode.
IsDue(w) == ~on[Home[w]] \/ IsComing(Home[w], {"deleted", "refused"}, waiter[w].node)

\* I1: two holds are never both valid.
Exclusion == \A v, w \in Waiters : (IsValid(v) /\ IsValid(w)) => v = w
\* I1: a hold without a znode had one when it became first; or a hand-over gave it, and its end is due.
Earned == \A w \in Waiters : IsHeld(w) =>
  waiter[w].node \in Live \cup first \/ (waiter[w].link /\ (Covers(w) # {} \/ IsDue(w)))
\* I5: no older znode stands beside a valid hold, except those that this process has released.
Fair == \A w \in Waiters : \A n \in Live : (IsValid(w) /\ n < waiter[w].node) => n \in Doomed(Home[w])
\* I2: the znode of a waiter belongs to its present session.
OneSession == \A w \in Waiters : waiter[w].node # 0 => made[waiter[w].node].session = session[Home[w]]
\* I3: every znode of a present session is waiting, held or being deleted.
NoOrphan == \A n \in Live : LET w == made[n].who  p == Home[w] IN
  made[n].session < session[p] \/ IsLocal(p, n) \/ waiter[w].at \in {"creating", "lost"}
\* I4: a waiter at rest waits for an older znode, and the deletion of that znode will be reported.
Awake == \A w \in Waiters : LET p == Home[w] IN
  (waiter[w].at = "waiting" /\ on[p] /\ inbox[p] = <<>>) =>
    /\ Left(w) # {}
    /\ \A n \in Left(w) : n < waiter[w].node /\ (n \in Live \cap watches[p] \/ IsLocal(p, n))
\* I6: a departure wakes at most two waiters of other processes.
NoHerd == \A n \in Live : Cardinality({w \in Waiters : n \in Left(w) /\ ~IsLocal(Home[w], n)}) <= 2
\* I8: a holder has proof of its session, and is told of the deletion of its znode.
Told == \A w \in Waiters : IsHeld(w) => proven[Home[w]]
  /\ (waiter[w].node \in Live \/ Covers(w) # {} \/ IsDue(w) \/ ENABLED WatchOwn(w))

\* Reached on purpose, so that the checks above are not empty.
NeverGrantedByLookAhead ==
  \A w \in Waiters : ~(waiter[w].at = "waiting" /\ waiter[w].sure /\ waiter[w].all /\ Cardinality(waiter[w].gone) = 1)
NeverRefusedAtHandOver ==
  \A p \in Processes : \A i \in DOMAIN inbox[p] : inbox[p][i].is # "refused"
==============================================================================
