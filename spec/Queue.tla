-------------------------------- MODULE Queue --------------------------------
(* The queue of a mutex: look-ahead, hand-over inside a process, lost replies, the end of  *)
(* a session, and znodes that somebody else deletes.                                       *)
(*                                                                                         *)
(* A znode is the number that the server gave it. A process has one session, and one or    *)
(* more waiters. The server executes a request in the step that sends it. The answer and   *)
(* the events wait, in this order, in the inbox of the process; a disconnect loses them.   *)
(* Module Clock shows that a session lives while its client believes it, so here the       *)
(* server expires no proven session. A wrong variant (Rule # "real") leaves out one        *)
(* precaution, and the checker finds a history that breaks an invariant.                   *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Home,    \* the process of each waiter
  Most,    \* the most znodes in one history
  Faults,  \* the most disconnects, deletions by others, ends of proofs, waiters that give up
  Rule     \* "real", or the name of a wrong variant
TwoAndOne == <<"p", "p", "q">>
FourEach == <<"p", "q", "r", "s">>

VARIABLES
  made,    \* all znodes ever created: the waiter and the session of each
  live,    \* the znodes that exist
  first,   \* the znodes that have been first in the queue while they existed
  granted, \* the znodes that have held the lock
  watches, \* the znodes that the server watches for each process
  inbox,   \* the answers and events on the way to each process
  on,      \* the process is connected
  alive,   \* the server has not expired the present session of the process
  session, \* the number of the present session of the process
  proven,  \* the process has proof that its session lives (module Clock)
  waiter,  \* the state of each waiter
  deletes, \* the znodes that the process deletes in the background, until they are gone
  hands,   \* the hand-overs without an answer: [from, to, done]
  faults   \* the number of faults so far
tree == <<made, live, first>>
life == <<on, alive, session, proven>>
work == <<waiter, deletes, hands>>
vars == <<tree, granted, watches, inbox, life, work, faults>>

Waiters == DOMAIN Home
Processes == {Home[w] : w \in Waiters}
Of(p) == {w \in Waiters : Home[w] = p}
Min(S) == CHOOSE m \in S : \A n \in S : m <= n
Largest(S) == CHOOSE m \in S : \A n \in S : m >= n

\* `seen`: the znodes before it that it watches. `link`: it waits for a znode of its own process.
\* `gone`: those of `seen` that are reported deleted. `all`: a list showed no others before it.
\* `sure`: on this connection, the server has promised to report the deletion of its own znode.
Idle == [at |-> "idle", node |-> 0, seen |-> {}, gone |-> {}, link |-> FALSE, all |-> FALSE, sure |-> FALSE]
Done == [Idle EXCEPT !.at = "done"]
Left(w) == waiter[w].seen \ waiter[w].gone
Froms(p) == {h.from : h \in hands[p]}

\* A znode of this process that it does not know to be gone.
IsLocal(p, m) == m \in deletes[p] \cup Froms(p) \/ \E w \in Of(p) : waiter[w].node = m

Fault == faults < Faults /\ faults' = faults + 1
Message(is, of) == [is |-> is, of |-> of, names |-> {}]
\* One message for each of these znodes, in the order of their numbers.
Messages(is, zs) ==
  LET order == SelectSeq([i \in DOMAIN made |-> i], LAMBDA m : m \in zs)
  IN [i \in DOMAIN order |-> Message(is, order[i])]

------------------------------------------------------------------------------
(* What the server does *)

\* Deletes znodes, and sends the events; then `more` to one process.
Remove(zs, p, more) == LET gone == zs \cap live IN
  /\ live' = live \ gone
  /\ first' = IF live' = {} THEN first ELSE first \cup {Min(live')}
  /\ watches' = [q \in Processes |-> watches[q] \ gone]
  /\ inbox' = [q \in Processes |-> inbox[q] \o Messages("deleted", gone \cap watches[q])
                                            \o (IF q = p THEN more ELSE <<>>)]
  /\ UNCHANGED made

\* The answers to watches: an event for each znode that is gone, and a promise for the others.
Answers(zs) == Messages("deleted", zs \ live) \o Messages("sure", zs \cap live)

------------------------------------------------------------------------------
(* How a waiter judges *)

Grant(p, r) == [r EXCEPT !.seen = {}, !.gone = {}, !.link = FALSE, !.all = FALSE,
  !.at = IF proven[p] \/ Rule = "a grant without a proof" THEN "held" ELSE "first"]

Judge(p, r) ==
  LET left == r.seen \ r.gone
      isFirst == IF r.link THEN r.seen \subseteq granted \/ Rule = "a waiter that gave up counts as a holder"
                 ELSE r.all
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

\* The waiter after the news that znode m is gone.
Bereft(p, r, m) ==
  IF r.node = m THEN Idle
  ELSE IF r.at = "listing" /\ Rule = "a deletion during the list is forgotten" THEN r
  ELSE IF m \in r.seen THEN Judge(p, [r EXCEPT !.gone = @ \cup {m}]) ELSE r

\* The waiter after its create was answered. The znode right behind one of its process needs no list.
Created(p, r, n) ==
  LET isBehind == \E w \in Of(p) : waiter[w].node = n - 1 /\ n > 1
      next == [r EXCEPT !.node = n, !.at = "list"]
  IN IF isBehind THEN [next EXCEPT !.at = "waiting", !.seen = {n - 1}, !.link = TRUE] ELSE next

After(p, w, message) == LET r == waiter[w] IN
  CASE message.is = "created" -> IF made[message.of].who = w THEN Created(p, r, message.of) ELSE r
    [] message.is = "listed" -> IF message.of = w /\ r.at = "listing" THEN Placed(p, r, message.names) ELSE r
    [] message.is = "sure" -> IF r.node = message.of THEN [r EXCEPT !.sure = TRUE] ELSE r
    [] OTHER -> Bereft(p, r, message.of)

\* The znodes whose deletion the server has to report to a waiter.
Wanted(p, r) ==
  (IF r.at \in {"waiting", "list", "listing"} THEN {m \in r.seen \ r.gone : ~IsLocal(p, m)} ELSE {})
  \cup (IF r.at \in {"held", "first"} \/ (r.at = "waiting" /\ r.all) THEN {r.node} ELSE {})

\* A process reads a message, and plants the watches that follow from it.
ReadAt(p, i) ==
  LET message == inbox[p][i]
      next == [w \in Waiters |-> IF w \in Of(p) THEN After(p, w, message) ELSE waiter[w]]
      fresh == UNION {Wanted(p, next[w]) \ Wanted(p, waiter[w]) : w \in Of(p)} \ watches[p]
      isAnswer(h) == IF message.is = "refused" THEN h.to = message.of
                     ELSE message.is = "gone" /\ h.from = message.of
  IN /\ waiter' = next
     /\ watches' = [watches EXCEPT ![p] = @ \cup (fresh \cap live)]
     /\ inbox' = [inbox EXCEPT ![p] = SubSeq(@, 1, i - 1) \o SubSeq(@, i + 1, Len(@)) \o Answers(fresh)]
     /\ deletes' = [deletes EXCEPT ![p] = CASE message.is = "gone" -> @ \ {message.of}
          [] message.is = "refused" -> @ \cup {h.from : h \in {g \in hands[p] : g.to = message.of}}
          \* A list without the waiter's znode: it is deleted all the same, and its follower told.
          [] message.is = "listed" -> @ \cup {waiter[w].node : w \in {v \in Of(p) : next[v] = Idle /\ waiter[v] # Idle}}
          [] OTHER -> @]
     /\ hands' = [hands EXCEPT ![p] = {h \in @ : ~isAnswer(h)}]
     /\ UNCHANGED <<tree, life, faults>>

\* A list resolves a promise. So an event that came in one piece with it may be handled first.
Read(p) ==
  \/ inbox[p] # <<>> /\ ReadAt(p, 1)
  \/ Len(inbox[p]) > 1 /\ inbox[p][1].is = "listed" /\ ReadAt(p, 2)

------------------------------------------------------------------------------
(* Requests of a waiter *)

Become(w, r) == waiter' = [waiter EXCEPT ![w] = r]
Tell(p, message) == inbox' = [inbox EXCEPT ![p] = Append(@, message)]

Create(w) == LET p == Home[w]  n == Len(made) + 1 IN
  /\ waiter[w].at = "idle" /\ on[p] /\ n <= Most
  /\ made' = Append(made, [who |-> w, session |-> session[p]])
  /\ live' = live \cup {n}
  /\ first' = IF live = {} THEN first \cup {n} ELSE first
  /\ Tell(p, Message("created", n)) /\ Become(w, [Idle EXCEPT !.at = "creating"])
  /\ UNCHANGED <<watches, life, deletes, hands, faults>>

\* The answer to the create was lost: the process searches, behind a quorum write.
Search(w) ==
  LET p == Home[w]
      mine == {m \in live \ deletes[p] : made[m].who = w
        /\ (made[m].session = session[p] \/ Rule = "a znode of an earlier session is kept")}
  IN /\ waiter[w].at = "lost" /\ on[p]
     /\ \/ mine # {} /\ Become(w, [Idle EXCEPT !.at = "list", !.node = Largest(mine)])
        \/ (mine = {} \/ Rule = "absence in an older tree counts") /\ Become(w, Idle)
     /\ UNCHANGED <<tree, watches, inbox, life, deletes, hands, faults>>

List(w) ==
  /\ waiter[w].at = "list" /\ on[Home[w]]
  /\ Tell(Home[w], [Message("listed", w) EXCEPT !.names = live])
  /\ Become(w, [waiter[w] EXCEPT !.at = "listing"])
  /\ UNCHANGED <<tree, watches, life, deletes, hands, faults>>

\* First, in a session without a proof: a transaction proves the session, and checks the znode.
Prove(w) == LET r == waiter[w]  p == Home[w] IN
  /\ r.at = "first" /\ on[p]
  /\ proven' = [proven EXCEPT ![p] = TRUE]
  /\ Become(w, IF r.node \in live THEN [r EXCEPT !.at = "held"] ELSE Idle)
  /\ deletes' = [deletes EXCEPT ![p] = IF r.node \in live THEN @ ELSE @ \cup {r.node}]
  /\ UNCHANGED <<tree, watches, inbox, on, alive, session, hands, faults>>

\* A holder, and a waiter behind its own process, watch their own znodes only after a while.
WatchOwn(w) == LET p == Home[w]  n == waiter[w].node IN
  /\ waiter[w].at \in {"held", "waiting"} /\ on[p] /\ n \notin watches[p]
  /\ Message("deleted", n) \notin {inbox[p][i] : i \in DOMAIN inbox[p]}
  /\ watches' = [watches EXCEPT ![p] = @ \cup ({n} \cap live)]
  /\ inbox' = [inbox EXCEPT ![p] = @ \o Answers({n})]
  /\ UNCHANGED <<tree, life, work, faults>>

------------------------------------------------------------------------------
(* The end of a hold or of a wait *)

Release(w) ==
  LET p == Home[w]  n == waiter[w].node
      next == {f \in Of(p) : on[p] /\ waiter[f].at = "waiting" /\ waiter[f].link /\ Left(f) = {n}}
  IN /\ waiter[w].at = "held"
     /\ IF next = {} THEN
          /\ Become(w, Done) /\ deletes' = [deletes EXCEPT ![p] = @ \cup {n}] /\ UNCHANGED hands
        ELSE LET f == Min(next) IN
          /\ waiter' = [waiter EXCEPT ![w] = Done, ![f] = [Grant(p, @) EXCEPT !.link = TRUE]]
          /\ hands' = [hands EXCEPT ![p] = @ \cup {[from |-> n, to |-> waiter[f].node, done |-> FALSE]}]
          /\ UNCHANGED deletes
     /\ UNCHANGED <<tree, watches, inbox, life, faults>>

\* One transaction deletes the old znode if the new one exists.
HandOver(p) == \E h \in hands[p] :
  /\ on[p] /\ ~h.done /\ \A other \in hands[p] : other.done \/ h.from <= other.from
  /\ hands' = [hands EXCEPT ![p] = (@ \ {h}) \cup {[h EXCEPT !.done = TRUE]}]
  /\ IF h.to \in live \/ Rule = "the hand-over checks nothing"
     THEN Remove({h.from}, p, <<Message("gone", h.from)>>)
     ELSE Tell(p, Message("refused", h.to)) /\ UNCHANGED <<tree, watches>>
  /\ UNCHANGED <<life, waiter, deletes, faults>>

GiveUp(w) ==
  /\ Fault /\ waiter[w].at \in {"waiting", "list", "listing"} /\ Become(w, Done)
  /\ deletes' = [deletes EXCEPT ![Home[w]] = @ \cup {waiter[w].node}]
  /\ UNCHANGED <<tree, watches, inbox, life, hands>>

Delete(p) == \E n \in deletes[p] :
  /\ on[p] /\ Message("gone", n) \notin {inbox[p][i] : i \in DOMAIN inbox[p]}
  /\ Remove({n}, p, <<Message("gone", n)>>)
  /\ UNCHANGED <<life, work, faults>>

------------------------------------------------------------------------------
(* Faults *)

Intrude == Fault /\ (\E n \in live : Remove({n}, "nobody", <<>>)) /\ UNCHANGED <<life, work>>

\* What was asked is asked again on the next connection.
Cut(r) == [r EXCEPT !.sure = FALSE, !.at = CASE @ = "creating" -> "lost" [] @ = "listing" -> "list" [] OTHER -> @]

Disconnect(p) ==
  /\ Fault /\ on[p] /\ on' = [on EXCEPT ![p] = FALSE]
  /\ inbox' = [inbox EXCEPT ![p] = <<>>] /\ watches' = [watches EXCEPT ![p] = {}]
  /\ waiter' = [w \in Waiters |-> IF w \in Of(p) THEN Cut(waiter[w]) ELSE waiter[w]]
  /\ hands' = [hands EXCEPT ![p] = {}]
  /\ deletes' = [deletes EXCEPT ![p] = IF Rule = "a delete is sent once" THEN {} ELSE @ \cup Froms(p)]
  /\ UNCHANGED <<tree, alive, session, proven>>

\* The watches are set again. The server reports at once, in any order, what is deleted by now.
Reconnect(p) ==
  LET wanted == UNION {Wanted(p, waiter[w]) : w \in Of(p)}
      missing == wanted \ live
  IN /\ ~on[p] /\ alive[p] /\ on' = [on EXCEPT ![p] = TRUE]
     /\ watches' = [watches EXCEPT ![p] = wanted \cap live]
     /\ \E order \in [1..Cardinality(missing) -> missing] :
          /\ {order[i] : i \in DOMAIN order} = missing
          /\ inbox' = [inbox EXCEPT ![p] =
               [i \in DOMAIN order |-> Message("deleted", order[i])] \o Messages("sure", wanted \cap live)]
     /\ UNCHANGED <<tree, alive, session, proven, work, faults>>

\* A process starts over in a new session. The znodes of the old one stay until it expires.
Renew(p) ==
  LET keeps(r) == r.at \in {"creating", "lost"} /\ Rule = "a znode of an earlier session is kept"
      next(r) == IF r.at = "done" THEN r ELSE IF keeps(r) THEN [Idle EXCEPT !.at = "lost"] ELSE Idle
  IN /\ session' = [session EXCEPT ![p] = @ + 1] /\ alive' = [alive EXCEPT ![p] = TRUE]
     /\ on' = [on EXCEPT ![p] = TRUE] /\ proven' = [proven EXCEPT ![p] = TRUE]
     /\ inbox' = [inbox EXCEPT ![p] = <<>>] /\ watches' = [watches EXCEPT ![p] = {}]
     /\ deletes' = [deletes EXCEPT ![p] = {}] /\ hands' = [hands EXCEPT ![p] = {}]
     /\ waiter' = [w \in Waiters |-> IF w \in Of(p) THEN next(waiter[w]) ELSE waiter[w]]
     /\ UNCHANGED tree

\* The deadline passes. With a hold, the session is lost, and left to the server with all waiters.
Doubt(p) ==
  /\ Fault /\ proven[p]
  /\ IF \E w \in Of(p) : waiter[w].at = "held" THEN Renew(p)
     ELSE proven' = [proven EXCEPT ![p] = FALSE] /\ UNCHANGED <<tree, watches, inbox, on, alive, session, work>>

Expire(p) ==
  LET its == {n \in live : Home[made[n].who] = p}
      old == {n \in its : made[n].session < session[p]}
  IN \/ old # {} /\ Remove(old, "nobody", <<>>) /\ UNCHANGED <<life, work, faults>>
     \/ /\ ~on[p] /\ ~proven[p] /\ alive[p] /\ Remove(its, "nobody", <<>>)
        /\ alive' = [alive EXCEPT ![p] = FALSE] /\ UNCHANGED <<on, session, proven, work, faults>>

Restart(p) == ~alive[p] /\ Renew(p) /\ UNCHANGED faults

------------------------------------------------------------------------------
Init ==
  /\ made = <<>> /\ live = {} /\ first = {} /\ granted = {} /\ faults = 0
  /\ watches = [p \in Processes |-> {}] /\ inbox = [p \in Processes |-> <<>>]
  /\ on = [p \in Processes |-> TRUE] /\ alive = on /\ proven = on /\ session = [p \in Processes |-> 1]
  /\ waiter = [w \in Waiters |-> Idle]
  /\ deletes = [p \in Processes |-> {}] /\ hands = [p \in Processes |-> {}]

Next ==
  /\ \/ \E w \in Waiters : Create(w) \/ Search(w) \/ List(w) \/ Prove(w) \/ WatchOwn(w) \/ Release(w) \/ GiveUp(w)
     \/ \E p \in Processes : Read(p) \/ HandOver(p) \/ Delete(p) \/ Disconnect(p) \/ Reconnect(p)
          \/ Doubt(p) \/ Expire(p) \/ Restart(p)
     \/ Intrude
  /\ granted' = granted \cup {waiter'[w].node : w \in {v \in Waiters : waiter'[v].at = "held"}}

Spec == Init /\ [][Next]_vars

\* Processes with one waiter each are alike. So one order of their creates stands for all orders.
InTurn == \A n \in DOMAIN made : made[n].who = n

------------------------------------------------------------------------------
IsHeld(w) == waiter[w].at = "held"
Covers(w) == {h.from : h \in {g \in hands[Home[w]] : g.to = waiter[w].node}}
IsValid(w) == IsHeld(w) /\ proven[Home[w]] /\ (waiter[w].node \in live \/ Covers(w) \cap live # {})
\* The process will learn of the deletion of this waiter's znode.
IsDue(w) == LET p == Home[w] IN
  ~on[p] \/ \E i \in DOMAIN inbox[p] : inbox[p][i].is \in {"deleted", "refused"} /\ inbox[p][i].of = waiter[w].node

\* I1: two holds are never both valid.
Exclusion == \A v, w \in Waiters : (IsValid(v) /\ IsValid(w)) => v = w
\* I1: a hold without a znode had one when it became first; or a hand-over gave it, and its end is due.
Earned == \A w \in Waiters : IsHeld(w) =>
  waiter[w].node \in live \cup first \/ (waiter[w].link /\ (Covers(w) # {} \/ IsDue(w)))
\* I5: no older znode stands beside a valid hold, except those that this process has released.
Fair == \A w \in Waiters : IsValid(w) =>
  \A n \in live : n < waiter[w].node => n \in Froms(Home[w]) \cup deletes[Home[w]]
\* I2: the znode of a waiter belongs to its present session.
OneSession == \A w \in Waiters : waiter[w].node # 0 => made[waiter[w].node].session = session[Home[w]]
\* I3: every znode of a present session is waiting, held or being deleted.
NoOrphan == \A n \in live : LET w == made[n].who  p == Home[w] IN
  made[n].session < session[p] \/ IsLocal(p, n) \/ waiter[w].at \in {"creating", "lost"}
\* I4: a waiter at rest waits for an older znode, and the deletion of that znode will be reported.
Awake == \A w \in Waiters : LET p == Home[w] IN
  (waiter[w].at = "waiting" /\ on[p] /\ inbox[p] = <<>>) =>
    /\ Left(w) # {}
    /\ \A n \in Left(w) : n < waiter[w].node /\ (n \in live \cap watches[p] \/ IsLocal(p, n))
\* I6: a departure wakes at most two waiters of other processes.
NoHerd == \A n \in live : Cardinality({w \in Waiters : n \in Left(w) /\ ~IsLocal(Home[w], n)}) <= 2
\* I8: a holder has proof of its session, and is told of the deletion of its znode.
Told == \A w \in Waiters : IsHeld(w) => proven[Home[w]]
  /\ (waiter[w].node \in live \/ Covers(w) # {} \/ IsDue(w) \/ ENABLED WatchOwn(w))

\* Reached on purpose, so that the checks above are not empty.
NeverGrantedByLookAhead ==
  \A w \in Waiters : ~(waiter[w].at = "waiting" /\ waiter[w].sure /\ waiter[w].all /\ Cardinality(waiter[w].gone) = 1)
NeverRefusedAtHandOver ==
  \A p \in Processes : \A i \in DOMAIN inbox[p] : inbox[p][i].is # "refused"
==============================================================================
