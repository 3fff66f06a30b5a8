------------------------------- MODULE Trace --------------------------------
(***************************************************************************)
(* Is what a store reported to OnEvent a behaviour of Fenced.tla?          *)
(*                                                                         *)
(* TraceData.tla, which the runner makes of recorded events, defines       *)
(* Traces: for each record of each store the events in the order of Seq.   *)
(* Each record is a behaviour of its own (one initial state each).  Each   *)
(* event must be a step of Fenced that does what the event says: the same  *)
(* call, granted or refused for the same reasons, under the same           *)
(* generation and holder, leaving the same version.  There is at most one  *)
(* such step, so a state without a successor (a deadlock, to TLC) is an    *)
(* event that the specification does not allow: event i of trace t.        *)
(*                                                                         *)
(* What is not reported is filled in where, and only where, the            *)
(* specification allows it at any moment: that a lease has lapsed when it  *)
(* is taken over, and that a dead record was collected, so that it came    *)
(* back at higher numbers.  How high, only the next event that shows the   *)
(* number says; until then it is loose.                                    *)
(***************************************************************************)
EXTENDS Fenced, TraceData

VARIABLES
  t, i,    \* which trace, and its next event
  loose    \* the numbers that may have risen since they were last shown

traceVars == <<vars, t, i, loose>>

K == "r"   \* the record of every trace; Keys is {K}

Events == Traces[t]
E == Events[i]
More == i <= Len(Events)
Following == Events[i + 1]

R == Rec(K)
Gone == ~rec[K].exists /\ rec[K].grant = 0   \* dead or not in the table: it can have been collected

\* The letter of the call of event e.  A foreign grant is one this store never issued.
LetterOf(e) ==
  LET same == {j \in DOMAIN grants[K] : grants[K][j].generation = e.generation}
  IN IF "ErrForeignGrant" \in e.err \/ same = {}
     THEN [id |-> 0, generation |-> e.generation, nonce |-> NoNonce, holder |-> e.holder]
     ELSE Letter(K, CHOOSE j \in same : TRUE)

\* The version that the caller came with: where the call was granted, the record's.
NoteOf(e) == IF e.err = {} THEN View(K) ELSE [View(K) EXCEPT !.version = e.presented]

Allowed(e) == e.err = {}
Writing(e) == e.kind \in {"commit", "delete", "compare-and-swap", "compare-and-delete"}

\* The numbers that e shows, as they were before it.
ShownGeneration(e) == IF ~Allowed(e) THEN e.current.generation
                      ELSE IF e.kind = "acquire" THEN e.generation ELSE R.generation
ShownVersion(e) == IF ~Allowed(e) THEN e.current.version
                   ELSE IF Writing(e) THEN e.version - 1 ELSE R.version

Behind == \/ "generation" \in loose /\ ShownGeneration(E) > R.generation
          \/ "version" \in loose /\ ShownVersion(E) > R.version

\* The record was collected, and came back at a floor.
Rise ==
  LET n == [version |-> IF "version" \in loose THEN Max(R.version, ShownVersion(E)) ELSE R.version,
            generation |-> IF "generation" \in loose THEN Max(R.generation, ShownGeneration(E)) ELSE R.generation]
  IN /\ More /\ Behind
     /\ rec' = [rec EXCEPT ![K] = [R EXCEPT !.version = n.version, !.generation = n.generation]]
     /\ Did("collect", {}, "none", "none")
     /\ UNCHANGED <<floor, life, grants, writes, notes, staged, t, i, loose>>

Lapsing == More /\ E.kind = "take-over" /\ Held(K) /\ ~R.lapsed

\* A call that was granted under a grant: its holder and generation are the record's.
Fits(e) == Allowed(e) => e.generation = R.generation /\ e.holder = R.holder

\* A call that was refused: what it was told of the record is so.
Told(e) == ~Allowed(e) => e.current = [version |-> R.version, generation |-> R.generation, holder |-> R.holder]

Event(e) ==
  /\ CASE e.kind = "acquire" /\ Allowed(e)  -> Claim(K, e.holder) /\ e.generation = R.generation
       [] e.kind = "acquire" /\ ~Allowed(e) -> TryAcquire(K, e.holder)
       [] e.kind = "renew"   -> Fits(e) /\ Renew(K, LetterOf(e))
       [] e.kind = "release" -> Fits(e) /\ Release(K, LetterOf(e))
       [] e.kind = "commit"  -> Fits(e) /\ Commit(K, LetterOf(e), NoteOf(e))
       [] e.kind = "delete"  -> Fits(e) /\ Delete(K, LetterOf(e), NoteOf(e))
       [] e.kind = "reclaim" -> Fits(e) /\ Reclaim(K, e.generation, IF e.generation = R.generation THEN "current" ELSE "ended")
       [] e.kind = "compare-and-swap"   -> CompareAndSwap(K, NoteOf(e))
       [] e.kind = "compare-and-delete" -> CompareAndDelete(K, NoteOf(e))
       [] OTHER -> FALSE
  /\ last'.why = e.err
  /\ Told(e)
  /\ Writing(e) /\ Allowed(e) => rec'[K].version = e.version

\* A take-over is two events, the ending and the grant, and one step.
TwoEvents ==
  /\ E.kind = "take-over" /\ Allowed(E) /\ Fits(E)
  /\ i < Len(Events)
  /\ Following.kind = "acquire" /\ Allowed(Following)
  /\ TakeOver(K, Following.holder)
  /\ rec'[K].generation = Following.generation

\* Which numbers are loose after events that showed some.
Loosen ==
  loose' = IF ~rec'[K].exists /\ rec'[K].grant = 0 THEN {"version", "generation"}
           ELSE IF ~Allowed(E) THEN {}
           ELSE loose \ ({n \in {"version"} : Writing(E)} \cup {n \in {"generation"} : E.kind = "acquire"})

TraceInit ==
  /\ Init
  /\ t \in DOMAIN Traces /\ i = 1
  /\ loose = {"version", "generation"}

TraceNext ==
  \/ Rise
  \/ Lapsing /\ Lapse(K) /\ UNCHANGED <<notes, t, i, loose>>
  \/ /\ More /\ ~Behind /\ ~Lapsing
     /\ \/ E.kind # "take-over" /\ Event(E) /\ i' = i + 1
        \/ TwoEvents /\ i' = i + 2
     /\ Loosen
     /\ UNCHANGED <<notes, t>>
  \/ ~More /\ UNCHANGED traceVars

TraceSpec == TraceInit /\ [][TraceNext]_traceVars
=============================================================================
