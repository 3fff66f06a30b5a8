-------------------------------- MODULE Gate --------------------------------
(***************************************************************************)
(* The cross-host case: a resource that is not the grant authority, such   *)
(* as a bucket or a vendor's API, and knows of generations only what the   *)
(* writes that reach it carry.  It admits a write unless it has seen a     *)
(* higher generation (M. Kleppmann, "How to do distributed locking", 2016).*)
(*                                                                         *)
(* What it guarantees: writes land in the order of their generations       *)
(* (Ordered), so a zombie never overwrites its successor                   *)
(* (NeverOverSuccessor).  What it cannot know: that a grant has ended,     *)
(* before the successor's first write.  Until then a zombie's write gets   *)
(* through (NeverZombieLands is violated, once per ending at the most      *)
(* harmful): it may add to what the successor has read and built upon.     *)
(* If the successor touches the gate before it reads (Touch), that window  *)
(* is closed: what it read is what it writes upon (ReadHolds, which is     *)
(* violated where Touches is FALSE).                                       *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS Generations,  \* grants that the authority issues
          Writes,       \* writes that land
          Touches,      \* TRUE: a holder touches the gate under its generation before it reads
          Broken

VARIABLES current,      \* the authority: the generation of the current grant
          high,         \* the gate: the highest generation it has seen
          landed,       \* history: the writes that landed, [generation, current as it landed]
          touched,      \* generations that have touched the gate
          base          \* of each generation, how many writes had landed as it read, or None

vars == <<current, high, landed, touched, base>>

None == Writes + 1
On(guard) == guard \notin Broken

Init == /\ current = 1 /\ high = 0 /\ landed = << >> /\ touched = {}
        /\ base = [g \in 1..Generations |-> None]

\* A grant ends and the next is issued; the gate is not told.
PassOn == /\ current < Generations /\ current' = current + 1
          /\ UNCHANGED <<high, landed, touched, base>>

Admits(g) == g >= high \/ ~On("high")
Raise(g) == high' = IF On("raise") /\ g > high THEN g ELSE high

\* A call that writes nothing and lets the gate know the generation.
Touch(g) == /\ Touches /\ g <= current /\ Admits(g) /\ Raise(g)
            /\ touched' = touched \cup {g}
            /\ UNCHANGED <<current, landed, base>>

\* The holder of g reads what there is.  g need not be current: it does not know.
Read(g) == /\ g <= current /\ base[g] = None /\ (Touches => g \in touched)
           /\ base' = [base EXCEPT ![g] = Cardinality(DOMAIN landed)]
           /\ UNCHANGED <<current, high, landed, touched>>

\* A write under g arrives, at any time after it was read for, any number of times.
Write(g) == /\ g <= current /\ base[g] # None /\ Admits(g) /\ Raise(g)
            /\ Cardinality(DOMAIN landed) < Writes
            /\ landed' = [i \in 1..(Cardinality(DOMAIN landed) + 1) |->
                            IF i \in DOMAIN landed THEN landed[i]
                            ELSE [generation |-> g, current |-> current]]
            /\ UNCHANGED <<current, touched, base>>

Next == PassOn \/ \E g \in 1..Generations : Touch(g) \/ Read(g) \/ Write(g)
Spec == Init /\ [][Next]_vars

\* Writes land in the order of their generations.
Ordered == \A i, j \in DOMAIN landed : i < j => landed[i].generation <= landed[j].generation

\* A write never lands over one of a later grant.
NeverOverSuccessor ==
  [][\A g \in 1..Generations : (\E i \in DOMAIN landed : landed[i].generation > g)
       => ~(landed' # landed /\ landed'[Cardinality(DOMAIN landed')].generation = g)]_vars

\* What the holder of g read is what stands below its own first write: nobody of
\* another generation has written in between.
ReadHolds ==
  \A j \in DOMAIN landed :
    LET g == landed[j].generation
    IN \A i \in DOMAIN landed : i < j /\ i > base[g] => landed[i].generation = g

\* The one write that gets through: under a grant that has ended, before its
\* successor has been seen.  Violated: it is reachable, touched or not.
NeverZombieLands == \A i \in DOMAIN landed : landed[i].generation = landed[i].current

\* But never after a touch of the current grant.  Holds.
ShutOnceTouched ==
  [][(current \in touched /\ landed' # landed) => landed'[Cardinality(DOMAIN landed')].generation = current]_vars
=============================================================================
