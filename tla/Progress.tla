------------------------------ MODULE Progress ------------------------------
(***************************************************************************)
(* Law Progress, for one record: its holder, its lease, its queue.  There  *)
(* are no numbers here, so nothing is bounded and what is eventually true  *)
(* is checked without a limit in the way; that the generations keep the    *)
(* fence shut is Fenced.tla's affair.                                      *)
(*                                                                         *)
(* A worker that is dead makes no further call.  Copies of its renewals    *)
(* may still be under way and arrive.                                      *)
(***************************************************************************)
EXTENDS Naturals, Sequences

CONSTANTS Workers, Waits, Broken

VARIABLES
  holder,   \* who holds the record
  lapsed,   \* whether its lease has
  queue,    \* who waits for it, longest first
  dead,     \* the workers that are
  wants,    \* those that try, without waiting, until they get it
  told,     \* the claimants whose Acquire returned without a grant
  served    \* history: whose turn it was when the record was last handed over, and who got it

vars == <<holder, lapsed, queue, dead, wants, told, served>>

Nobody == "nobody"
On(guard) == guard \notin Broken
Waiting == {queue[i] : i \in DOMAIN queue}
Idle(w) == w \notin dead /\ holder # w /\ w \notin Waiting /\ w \notin wants
DeadHeld == holder # Nobody /\ holder \in dead
None == [turn |-> Nobody, got |-> Nobody, lapsed |-> TRUE]
Without(w) == SelectSeq(queue, LAMBDA v : v # w)

Init ==
  /\ holder = Nobody /\ lapsed = FALSE /\ queue = << >>
  /\ dead = {} /\ wants = {} /\ told = {} /\ served = None

\* The record leaves its holder: to the first in the queue, in the same step, or
\* to nobody.
End(lease) ==
  /\ lapsed' = FALSE
  /\ IF queue = << >> \/ ~On("handover")
     THEN holder' = Nobody /\ served' = None /\ UNCHANGED queue
     ELSE LET w == IF On("fifo") THEN Head(queue) ELSE queue[Len(queue)]
          IN /\ holder' = w
             /\ queue' = Without(w)
             /\ served' = [turn |-> Head(queue), got |-> w, lapsed |-> lease]

TryAcquire(w) ==
  /\ w \in wants /\ w \notin dead
  /\ holder = Nobody \/ (On("takeover") /\ lapsed /\ queue = << >>)
  /\ holder' = w /\ lapsed' = FALSE /\ wants' = wants \ {w}
  /\ served' = None
  /\ UNCHANGED <<queue, dead, told>>

Acquire(w) ==
  /\ Idle(w)
  /\ told' = told \ {w}
  /\ IF holder = Nobody
     THEN holder' = w /\ lapsed' = FALSE /\ UNCHANGED queue
     ELSE Len(queue) < Waits /\ queue' = Append(queue, w) /\ UNCHANGED <<holder, lapsed>>
  /\ served' = None
  /\ UNCHANGED <<dead, wants>>

\* The context of a claimant that waits ends, and Acquire returns its error.
GiveUp(w) ==
  /\ w \in Waiting
  /\ queue' = IF On("leave") THEN Without(w) ELSE queue
  /\ told' = told \cup {w}
  /\ served' = None
  /\ UNCHANGED <<holder, lapsed, dead, wants>>

Serve ==
  /\ On("serve")
  /\ holder # Nobody /\ (lapsed \/ ~On("lease")) /\ queue # << >>
  /\ End(lapsed) /\ UNCHANGED <<dead, wants, told>>

Release(w) ==
  /\ holder = w /\ w \notin dead
  /\ End(TRUE) /\ UNCHANGED <<dead, wants, told>>

\* A supervisor's.  It need not be there, so nothing is assumed of it.
Reclaim ==
  /\ holder # Nobody
  /\ End(TRUE) /\ UNCHANGED <<dead, wants, told>>

Renew ==
  /\ holder # Nobody
  /\ lapsed' = FALSE /\ served' = None
  /\ UNCHANGED <<holder, queue, dead, wants, told>>

Lapse ==
  /\ holder # Nobody
  /\ lapsed' = TRUE /\ served' = None
  /\ UNCHANGED <<holder, queue, dead, wants, told>>

\* A dead worker's context has ended with it.
Die(w) ==
  /\ w \notin dead
  /\ dead' = dead \cup {w} /\ wants' = wants \ {w} /\ queue' = Without(w)
  /\ served' = None
  /\ UNCHANGED <<holder, lapsed, told>>

Want(w) ==
  /\ Idle(w)
  /\ wants' = wants \cup {w} /\ told' = told \ {w} /\ served' = None
  /\ UNCHANGED <<holder, lapsed, queue, dead>>

Next ==
  \/ \E w \in Workers : TryAcquire(w) \/ Acquire(w) \/ GiveUp(w) \/ Release(w) \/ Die(w) \/ Want(w)
  \/ Serve \/ Reclaim \/ Renew \/ Lapse

(***************************************************************************)
(* What is assumed.  The lease of a dead holder lapses; that of a living   *)
(* one, which renews it, need not.  The copies of a dead worker's renewals *)
(* do not win every race against a lapse: whoever finds a lapsed lease     *)
(* again and again takes the record over at last.  Nothing is assumed of   *)
(* supervisors, nor that anyone releases or dies.                          *)
(***************************************************************************)
Fairness ==
  /\ WF_vars(DeadHeld /\ Lapse)
  /\ SF_vars(Serve)
  /\ \A w \in Workers : SF_vars(TryAcquire(w))

Spec == Init /\ [][Next]_vars /\ Fairness
Unfair == Init /\ [][Next]_vars

(***************************************************************************)
(* Safety.                                                                 *)
(***************************************************************************)

\* Claimants that wait are served in the order in which they came.
InTurn == served.got = served.turn

\* A claimant that was told it has no grant holds none, and is never given one.
ToldTruth == \A w \in told : holder # w /\ w \notin Waiting

\* A waiter does not take the record from a lease that runs.
LeaveAlone == served.lapsed

\* While anybody waits, somebody holds: in between, nobody else can claim.
DirectHandOver == queue # << >> => holder # Nobody

(***************************************************************************)
(* Liveness.                                                               *)
(***************************************************************************)

Wanted == queue # << >> \/ wants # {}

\* A record whose holder died goes to a living claimant, as long as there is one.
DeadHolderClaimed == (DeadHeld /\ Wanted) ~> (holder \notin dead \cup {Nobody} \/ ~Wanted)

\* The first in the queue is served, or gives up, or dies, once the holder is dead.
WaiterServed ==
  \A w \in Workers :
    (queue # << >> /\ Head(queue) = w /\ DeadHeld) ~> (holder = w \/ w \notin Waiting)

\* Whoever waits gets his turn and is served, if no holder renews for ever in time.
EveryWaiterServed ==
  (\A v \in Workers : []<>(holder # v \/ lapsed)) => \A w \in Workers : (w \in Waiting) ~> (w \notin Waiting)

\* Not so without the hypothesis: a living holder may renew for ever.
NeverStarved == \A w \in Workers : (w \in Waiting) ~> (w \notin Waiting)

NeverServed == served = None
NeverDeadHeld == ~(DeadHeld /\ lapsed /\ wants # {})
NeverQueueOfTwo == Len(queue) < 2
=============================================================================
