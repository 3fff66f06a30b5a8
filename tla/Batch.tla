------------------------------- MODULE Batch --------------------------------
(***************************************************************************)
(* A commit of several records, all or nothing, each under a grant of its  *)
(* own and at a version of its own.  All checks and all writes are one     *)
(* step.  Between them nothing happens; after a refusal nothing has        *)
(* changed, whichever record it was about, and the refusal names every     *)
(* record that refused.                                                    *)
(*                                                                         *)
(* The parts of a batch come from any grants and readings there ever were, *)
(* as in Fenced.tla: batches may be delayed, duplicated, reordered, lost.  *)
(* The store knows a grant by its generation, the truth by its place in    *)
(* the order of issue.                                                     *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS Keys, Claims, Writes, Broken

VARIABLES rec,      \* version, generation, and the current grant or 0
          grants,   \* history: of each record, the generation of each grant and whether it has ended
          batches,  \* history: how many batches have landed on each record, and the last of them
          last      \* history: the last batch, what it found, and where it landed

vars == <<rec, grants, batches, last>>

On(guard) == guard \notin Broken

Init == /\ rec = [k \in Keys |-> [version |-> 0, generation |-> 1, grant |-> 0]]
        /\ grants = [k \in Keys |-> << >>]
        /\ batches = [k \in Keys |-> 0]
        /\ last = [parts |-> {}, refused |-> {}, landed |-> {}, stale |-> {}, old |-> {}]

Quiet == last' = [parts |-> {}, refused |-> {}, landed |-> {}, stale |-> {}, old |-> {}]

Acquire(k) ==
  /\ rec[k].grant = 0 /\ Len(grants[k]) < Claims
  /\ grants' = [grants EXCEPT ![k] = Append(@, [generation |-> rec[k].generation, ended |-> FALSE])]
  /\ rec' = [rec EXCEPT ![k].grant = Len(grants[k]) + 1]
  /\ Quiet /\ UNCHANGED batches

End(k) ==
  /\ rec[k].grant # 0
  /\ grants' = [grants EXCEPT ![k][rec[k].grant].ended = TRUE]
  /\ rec' = [rec EXCEPT ![k].grant = 0, ![k].generation = IF On("bump.generation") THEN @ + 1 ELSE @]
  /\ Quiet /\ UNCHANGED batches

\* Why the part of k, the grant i at version v, is refused.
Against(k, i, v) ==
  {e \in {"ErrStaleReadGeneration"} : On("fence") /\ ~(rec[k].grant # 0 /\ rec[k].generation = grants[k][i].generation)}
  \cup {e \in {"ErrVersionConflict"} : On("version") /\ rec[k].version # v}

\* b gives each of its records a grant and a version.
Commit(b) ==
  LET refused == {k \in DOMAIN b : Against(k, b[k].grant, b[k].version) # {}}
      lands == IF refused = {} THEN DOMAIN b
               ELSE IF On("all") THEN {} ELSE DOMAIN b \ refused
  IN /\ \A k \in lands : batches[k] < Writes
     /\ rec' = [k \in Keys |-> IF k \in lands THEN [rec[k] EXCEPT !.version = IF On("bump.version") THEN @ + 1 ELSE @] ELSE rec[k]]
     /\ batches' = [k \in Keys |-> IF k \in lands THEN batches[k] + 1 ELSE batches[k]]
     /\ last' = [parts |-> DOMAIN b, refused |-> refused, landed |-> lands,
                 stale |-> {k \in DOMAIN b : grants[k][b[k].grant].ended},
                 old |-> {k \in DOMAIN b : b[k].version # batches[k]}]
     /\ UNCHANGED grants

Parts(k) == [grant : DOMAIN grants[k], version : 0..batches[k]]

Batches == UNION {{b \in [ks -> UNION {Parts(k) : k \in ks}] : \A k \in ks : b[k] \in Parts(k)} :
                    ks \in {ks \in SUBSET Keys : ks # {} /\ \A k \in ks : grants[k] # << >>}}

Next == (\E k \in Keys : Acquire(k) \/ End(k)) \/ (\E b \in Batches : Commit(b))
Spec == Init /\ [][Next]_vars

\* The version counts the writes, so versions and truth can be compared above.
Counted == \A k \in Keys : rec[k].version = batches[k]

AllOrNothing == last.landed \in {{}, last.parts}
NoStaleApply == last.landed \cap last.stale = {}
NoLostUpdate == last.landed \cap last.old = {}
UniqueGeneration == \A k \in Keys : \A i, j \in DOMAIN grants[k] : i # j => grants[k][i].generation # grants[k][j].generation
NoTrace == [][last'.refused # {} => UNCHANGED <<rec, grants, batches>>]_vars

\* Must be able to happen.
NeverWhole == Cardinality(last.landed) < 2
NeverOneStale == ~(Cardinality(last.parts) = 2 /\ Cardinality(last.refused) = 1 /\ last.old = {} /\ last.stale # {})
NeverDifferent == ~(Cardinality(last.landed) = 2 /\ \E j, k \in Keys : rec[j].version # rec[k].version /\ rec[j].generation # rec[k].generation)
=============================================================================
