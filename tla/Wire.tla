-------------------------------- MODULE Wire --------------------------------
(***************************************************************************)
(* Workers, messages and replies one by one, for one record.  A call is a  *)
(* message that a worker sends from what it knows, and that may be         *)
(* delivered late, out of order, twice or never; so may its reply.  What a *)
(* worker knows is the grant and the reading of the last reply that came   *)
(* through.                                                                *)
(*                                                                         *)
(* Fenced.tla has no messages: there a call may arrive under any grant     *)
(* that was ever issued and any reading that was ever to be had.  That     *)
(* this leaves nothing out is checked here: every step of this module is   *)
(* one of Fenced.tla, or nothing to the store (Refines).                   *)
(***************************************************************************)
EXTENDS Fenced

CONSTANT InFlight        \* the most messages and replies that are under way at once

VARIABLES
  wire,    \* calls under way
  back,    \* replies under way
  knows    \* of each worker, the grant and the reading it would call with

wireVars == <<vars, wire, back, knows>>

R1 == CHOOSE k \in Keys : TRUE
NoLetter == [id |-> 0, generation |-> 0, nonce |-> NoNonce, holder |-> Nobody]

WireInit ==
  /\ Init
  /\ wire = {} /\ back = {}
  /\ knows = [w \in Workers |-> [letter |-> NoLetter, note |-> Never]]

Room == Cardinality(wire) + Cardinality(back) < InFlight

Send(w, call) ==
  /\ Room
  /\ call = "swap" => Made("CompareAndSwap")
  /\ call \in {"commit", "release"} => knows[w].letter # NoLetter
  /\ wire' = wire \cup {[from |-> w, call |-> call, letter |-> knows[w].letter, note |-> knows[w].note]}
  /\ UNCHANGED <<vars, back, knows>>

\* What the store does with a call.
Act(m) ==
  /\ CASE m.call = "acquire" -> TryAcquire(R1, m.from)
       [] m.call = "commit"  -> Commit(R1, m.letter, m.note)
       [] m.call = "release" -> Release(R1, m.letter)
       [] m.call = "swap"    -> CompareAndSwap(R1, m.note)
  /\ Noted

\* What it replies: the grant, where one was issued or written under, and the
\* reading after the call.  A refusal says nothing here: the caller may read.
Reply(m) ==
  LET letter == IF m.call = "acquire" THEN Letter(R1, rec[R1].grant)' ELSE m.letter
  IN [to |-> m.from, letter |-> letter,
      note |-> [View(R1)' EXCEPT !.version = IF On("wire.reply") THEN @ ELSE @ + 1]]

\* The message stays where it is a copy that comes, and the reply may not get away.
Deliver(m, again, lost) ==
  /\ Act(m)
  /\ wire' = IF again THEN wire ELSE wire \ {m}
  /\ back' = IF lost \/ last'.why # {} \/ last'.call = "release" THEN back ELSE back \cup {Reply(m)}
  /\ UNCHANGED knows

Read(w) ==
  /\ Room
  /\ back' = back \cup {[to |-> w, letter |-> knows[w].letter, note |-> View(R1)]}
  /\ UNCHANGED <<vars, wire, knows>>

Receive(r) ==
  /\ knows' = [knows EXCEPT ![r.to] = [letter |-> r.letter, note |-> r.note]]
  /\ back' = back \ {r}
  /\ UNCHANGED <<vars, wire>>

Lose ==
  /\ \/ \E m \in wire : wire' = wire \ {m} /\ UNCHANGED back
     \/ \E r \in back : back' = back \ {r} /\ UNCHANGED wire
  /\ UNCHANGED <<vars, knows>>

WireNext ==
  \/ \E w \in Workers : Read(w) \/ \E call \in {"acquire", "commit", "release", "swap"} : Send(w, call)
  \/ \E m \in wire : \E again, lost \in BOOLEAN : Deliver(m, again, lost)
  \/ \E r \in back : Receive(r)
  \/ Lose
  \/ (Lapse(R1) \/ ReclaimExpired(R1)) /\ Noted /\ UNCHANGED <<wire, back, knows>>

WireSpec == WireInit /\ [][WireNext]_wireVars

Refines == Init /\ [][Next]_vars

\* Must be able to happen: a zombie that has heard of nothing is refused, by the
\* fence alone.
NeverZombieOnWire == ~(last.call = "commit" /\ last.why = {"ErrStaleReadGeneration"} /\ last.reading = "fresh")
=============================================================================
