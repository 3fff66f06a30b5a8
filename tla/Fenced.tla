------------------------------- MODULE Fenced -------------------------------
(***************************************************************************)
(* The protocol of a fenced store: claims, leases, commits under grants,   *)
(* swaps without, endings, deletion, collection, loss of all state.        *)
(*                                                                         *)
(* The network.  A grant is a plain value, and whoever ever had it may     *)
(* have sent any call under it, any number of times.  So `grants` keeps    *)
(* every grant ever issued and `notes` every state ever read, nothing      *)
(* leaves either, and at any moment a call may arrive under any grant, at  *)
(* any version, from any supervisor's memory.  A call that arrives late    *)
(* was delayed, twice: duplicated, after a younger one: reordered, never:  *)
(* lost.  A reply that is lost is one on which nobody ever acts.  Wire.tla *)
(* has messages, replies and losses one by one, and is checked to do       *)
(* nothing that is not done here.                                          *)
(*                                                                         *)
(* History.  What a store knows is `rec`, `floor` and `life`; the guards   *)
(* read nothing else.  `grants`, `writes` and `notes` record what really   *)
(* happened, and `last` sets what the last call was granted or refused     *)
(* against that truth.  The laws speak of these only.                      *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Keys,      \* the records, of one lock stripe: they share a floor
  Workers,   \* holder labels
  Claims,    \* the most grants of a record, over all lives
  Writes,    \* the most writes of a record that land, over all lives
  Lives,     \* the most lives of the store
  Queue,     \* the most claimants that wait for a record
  Calls,     \* the calls that are made at all
  Broken     \* the guards and bumps that are taken out: {} but for mutants

VARIABLES
  rec,       \* the records in the table
  floor,     \* under the numbers of records that are not
  life,      \* which life of an in-memory store this is
  grants,    \* history: of each record, all grants in the order of issue
  writes,    \* history: of each record, how many writes have landed
  notes,     \* history: of each record, all that was ever to be read
  staged,    \* writes between check and landing: none, but for a mutant
  last       \* history: the last step, and the truth about it

store == <<rec, floor, life>>
vars  == <<rec, floor, life, grants, writes, notes, staged, last>>

Nobody == "nobody"
On(guard) == guard \notin Broken
Made(call) == call \in Calls
Max(a, b) == IF a > b THEN a ELSE b

(***************************************************************************)
(* The store.                                                              *)
(***************************************************************************)

Unseen == [kept |-> FALSE, exists |-> FALSE, version |-> 0, generation |-> 0,
           grant |-> 0, holder |-> Nobody, lapsed |-> FALSE, queue |-> << >>]

\* A record that is not in the table reads at the floor.  `grant` is the place of
\* the current grant in grants[k]: the guards ask only whether it is 0.
Rec(k) == IF rec[k].kept THEN rec[k]
          ELSE [Unseen EXCEPT !.kept = TRUE, !.version = floor.version, !.generation = floor.generation]

Held(k) == Rec(k).grant # 0
Dead(k) == rec[k].kept /\ ~rec[k].exists /\ rec[k].grant = 0

\* What a store puts into a grant beside its numbers.  No two lives, records or
\* generations share one.
Nonce(k, n) == <<IF On("nonce.life") THEN life ELSE 0,
                 IF On("nonce.key") THEN k ELSE "",
                 IF On("nonce.generation") THEN n ELSE 0>>
NoNonce == << >>

View(k) == [version |-> Rec(k).version, writes |-> writes[k], life |-> life]

(***************************************************************************)
(* Letters: what a call under a grant comes with.  Those of id 0 are made  *)
(* by hand: the zero grant, the right numbers without a nonce, a true      *)
(* nonce under other numbers or for another record.                        *)
(***************************************************************************)

Letter(k, i) == [id |-> i, generation |-> grants[k][i].generation,
                 nonce |-> grants[k][i].nonce, holder |-> grants[k][i].holder]

True(k) == {Letter(k, i) : i \in DOMAIN grants[k]}

\* The nonces of all grants but of those that the numbers would be right for.
Others(k) ==
  UNION {{grants[j][i].nonce : i \in {i \in DOMAIN grants[j] : j # k \/ grants[j][i].generation # Rec(k).generation}} :
           j \in Keys}

Forged(k) ==
  IF ~Made("Forge") THEN {}
  ELSE {[id |-> 0, generation |-> 0, nonce |-> NoNonce, holder |-> Nobody]}
       \cup {[id |-> 0, generation |-> Rec(k).generation, nonce |-> n, holder |-> Rec(k).holder] :
               n \in {NoNonce} \cup Others(k)}

(***************************************************************************)
(* The guards.                                                             *)
(***************************************************************************)

\* The one question of commit, delete, renew and release.
Current(k, l, call) ==
  \/ ~On(call \o ".fence")
  \/ ~On("zero") /\ l.generation = 0
  \/ IF On("label") THEN Held(k) /\ Rec(k).generation = l.generation
     ELSE Held(k) /\ Rec(k).holder = l.holder

Foreign(k, l) == /\ On("nonce")
                 /\ On("zero") \/ l.generation # 0
                 /\ l.nonce # Nonce(k, l.generation)

\* Why a call under a grant is refused, whatever the version.
Against(k, l, call) ==
  CASE l.generation = 0 /\ On("zero") -> {"ErrInvalid"}
    [] Foreign(k, l) -> {"ErrForeignGrant"}
    [] ~Current(k, l, call) -> {"ErrStaleReadGeneration"}
    [] OTHER -> IF On("clock") THEN {} ELSE {e \in {"ErrStaleReadGeneration"} : Rec(k).lapsed}

\* Why a write under a grant is.
AgainstWrite(k, l, v, call) ==
  LET why == Against(k, l, call)
  IN IF why \cap {"ErrInvalid", "ErrForeignGrant"} # {} THEN why
     ELSE why \cup {e \in {"ErrVersionConflict"} : On(call \o ".version") /\ v # Rec(k).version}

\* Why a write without a grant is.  Version 0 says "must not exist".
AgainstSwap(k, v) ==
  {e \in {"ErrGrantHeld"} : On("swap.held") /\ Held(k)}
  \cup {e \in {"ErrVersionConflict"} :
          IF v = 0 THEN On("swap.absent") /\ Rec(k).exists ELSE On("swap.version") /\ v # Rec(k).version}

(***************************************************************************)
(* The truth about a call.                                                 *)
(***************************************************************************)

Standing(k, l) ==
  IF l.id = 0 THEN "foreign"
  ELSE IF grants[k][l.id].life # life THEN "foreign"
  ELSE IF grants[k][l.id].ended THEN "ended" ELSE "current"

\* "renumbered": nothing was written since, but a floor was raised under the record.
Reading(k, n) ==
  IF n.life # life THEN "earlier life"
  ELSE IF n.writes # writes[k] THEN "old"
  ELSE IF n.version # Rec(k).version THEN "renumbered"
  ELSE "fresh"

Open(k) == {i \in DOMAIN grants[k] : ~grants[k][i].ended}

Did(call, why, under, reading) ==
  last' = [call |-> call, why |-> why, under |-> under, reading |-> reading]

(***************************************************************************)
(* Refusals.  Broken "trace.*" leave something behind.                     *)
(***************************************************************************)

Refuse(k, call, why, under, reading) ==
  /\ why # {}
  /\ Did(call, why, under, reading)
  /\ UNCHANGED <<floor, life, grants, writes, staged>>
  /\ rec' = CASE ~On("trace.version") /\ call = "commit" -> [rec EXCEPT ![k] = [Rec(k) EXCEPT !.version = @ + 1]]
              [] ~On("trace.generation") /\ call = "reclaim" -> [rec EXCEPT ![k] = [Rec(k) EXCEPT !.generation = @ + 1]]
              [] ~On("trace.lease") /\ call = "renew" -> [rec EXCEPT ![k].lapsed = FALSE]
              [] ~On("trace.holder") /\ call = "acquire" -> [rec EXCEPT ![k].holder = Nobody]
              [] OTHER -> rec

(***************************************************************************)
(* Endings and claims: the one place where a generation moves.             *)
(***************************************************************************)

Moved(r, bump) ==
  CASE ~On("release.resets") /\ bump = "bump.release" -> 1
    [] On(bump) /\ (r.queue = << >> \/ On("bump.handover")) -> r.generation + 1
    [] OTHER -> r.generation

Free(r, bump) == [r EXCEPT !.generation = Moved(r, bump), !.grant = 0, !.holder = Nobody, !.lapsed = FALSE,
                           !.version = IF On("release.writes") \/ bump # "bump.release" THEN @ ELSE @ + 1]

Hold(r, w, i) == [r EXCEPT !.grant = i, !.holder = w, !.lapsed = FALSE]

Granted(k, w, n) == [generation |-> n, nonce |-> Nonce(k, n), life |-> life, holder |-> w, ended |-> FALSE]

Closed(k) == [grants[k] EXCEPT ![rec[k].grant].ended = TRUE]

\* The current grant of k ends.  The record goes to the claimant who has waited
\* longest, in the same step, or becomes free.
End(k, bump) ==
  LET r == Free(rec[k], bump)
      i == Len(grants[k]) + 1
  IN /\ UNCHANGED <<floor, life, writes, staged>>
     /\ IF r.queue = << >>
        THEN /\ rec' = [rec EXCEPT ![k] = r]
             /\ grants' = [grants EXCEPT ![k] = Closed(k)]
        ELSE /\ i <= Claims
             /\ rec' = [rec EXCEPT ![k] = [Hold(r, Head(r.queue), i) EXCEPT !.queue = Tail(@)]]
             /\ grants' = [grants EXCEPT ![k] = Append(Closed(k), Granted(k, Head(r.queue), r.generation))]

\* w's is the current grant of k, which stood as r with the grants gs.
Issue(k, w, r, gs) ==
  /\ Len(gs) < Claims
  /\ rec' = [rec EXCEPT ![k] = Hold(r, w, Len(gs) + 1)]
  /\ grants' = [grants EXCEPT ![k] = Append(gs, Granted(k, w, r.generation))]
  /\ UNCHANGED <<floor, life, writes, staged>>

(***************************************************************************)
(* The calls.                                                              *)
(***************************************************************************)

\* A claim of a free record, which does not move the generation.
Claim(k, w) ==
  /\ ~Held(k) \/ ~On("claim.held")
  /\ Issue(k, w, [Rec(k) EXCEPT !.generation = IF On("claim.bumps") THEN @ ELSE @ + 1], grants[k])
  /\ Did("acquire", {}, "none", "none")

\* A claim of a lapsed grant for which nobody waits: the ending and the claim are
\* one step.  Where somebody waits, the store first serves him (Serve), and then
\* the claim is refused.
TakeOver(k, w) ==
  /\ Held(k) /\ Rec(k).queue = << >>
  /\ Rec(k).lapsed \/ ~On("takeover.lapsed")
  /\ Issue(k, w, Free(rec[k], "bump.takeover"), Closed(k))
  /\ Did("take-over", {}, IF Rec(k).lapsed THEN "current" ELSE "unlapsed", "none")

TryAcquire(k, w) ==
  /\ Made("TryAcquire")
  /\ \/ Claim(k, w)
     \/ TakeOver(k, w)
     \/ Held(k) /\ ~Rec(k).lapsed /\ Refuse(k, "acquire", {"ErrGrantHeld"}, "none", "none")

\* Acquire waits where TryAcquire refuses; else the two are one.
Acquire(k, w) ==
  /\ Made("Acquire")
  /\ Held(k) /\ Len(rec[k].queue) < Queue
  /\ \A i \in DOMAIN rec[k].queue : rec[k].queue[i] # w
  /\ rec' = [rec EXCEPT ![k].queue = Append(@, w)]
  /\ Did("wait", {}, "none", "none")
  /\ UNCHANGED <<floor, life, grants, writes, staged>>

\* The context of a claimant that waits has ended.
GiveUp(k, i) ==
  /\ Made("Acquire")
  /\ i \in DOMAIN rec[k].queue
  /\ rec' = [rec EXCEPT ![k].queue = SubSeq(@, 1, i - 1) \o SubSeq(@, i + 1, Len(@))]
  /\ Did("give-up", {}, "none", "none")
  /\ UNCHANGED <<floor, life, grants, writes, staged>>

\* The lease of a grant for which somebody waits has lapsed.
Serve(k) ==
  /\ Made("Acquire")
  /\ Held(k) /\ rec[k].queue # << >>
  /\ rec[k].lapsed \/ ~On("serve.lapsed")
  /\ End(k, "bump.takeover")
  /\ Did("take-over", {}, IF rec[k].lapsed THEN "current" ELSE "unlapsed", "none")

Renew(k, l) ==
  LET why == Against(k, l, "renew")
  IN /\ Made("Renew")
     /\ \/ Refuse(k, "renew", why, Standing(k, l), "none")
        \/ /\ why = {}
           /\ rec' = [rec EXCEPT ![k].lapsed = FALSE]
           /\ Did("renew", {}, Standing(k, l), "none")
           /\ UNCHANGED <<floor, life, grants, writes, staged>>

Release(k, l) ==
  LET why == Against(k, l, "release")
  IN /\ Made("Release")
     /\ \/ Refuse(k, "release", why, Standing(k, l), "none")
        \/ why = {} /\ Held(k) /\ End(k, "bump.release") /\ Did("release", {}, Standing(k, l), "none")

\* A supervisor saw a grant of generation n, maybe long ago, and how that grant now
\* stands is under.  A reclaim carries no mark of the life in which that was.
Reclaim(k, n, under) ==
  /\ Made("Reclaim")
  /\ IF Held(k) /\ (Rec(k).generation = n \/ ~On("reclaim.generation"))
     THEN End(k, "bump.reclaim") /\ Did("reclaim", {}, under, "none")
     ELSE Refuse(k, "reclaim", {"ErrStaleReadGeneration"}, under, "none")

Remembered(k, i) ==
  IF grants[k][i].life # life THEN "earlier life" ELSE IF grants[k][i].ended THEN "ended" ELSE "current"

\* Looks and ends in one step.
ReclaimExpired(k) ==
  /\ Made("ReclaimExpired")
  /\ Held(k) /\ (rec[k].lapsed \/ ~On("sweep.lapsed"))
  /\ End(k, "bump.reclaim")
  /\ Did("reclaim-expired", {}, IF rec[k].lapsed THEN "current" ELSE "unlapsed", "none")

\* A write lands: the record as it then is.
Land(k, exists, bump) ==
  /\ writes[k] < Writes
  /\ writes' = [writes EXCEPT ![k] = @ + 1]
  /\ rec' = [rec EXCEPT ![k] = [Rec(k) EXCEPT !.exists = exists,
                                 !.version = IF ~exists /\ ~On("delete.resets") THEN 0
                                             ELSE IF On(bump) THEN @ + 1 ELSE @]]

Write(k, l, n, call) ==
  LET why == AgainstWrite(k, l, n.version, call)
  IN \/ Refuse(k, call, why, Standing(k, l), Reading(k, n))
     \/ /\ why = {}
        /\ UNCHANGED <<floor, life, grants>>
        /\ IF On("one.step")
           THEN /\ Land(k, call = "commit", "bump." \o call)
                /\ Did(call, {}, Standing(k, l), Reading(k, n))
                /\ UNCHANGED staged
           ELSE /\ staged' = staged \cup {[key |-> k, letter |-> l, note |-> n, call |-> call]}
                /\ Did("check", {}, "none", "none")
                /\ UNCHANGED <<rec, writes>>

\* For the mutant that checks in one step and writes in another.
Publish(s) ==
  /\ staged' = staged \ {s}
  /\ Land(s.key, s.call = "commit", "bump." \o s.call)
  /\ Did(s.call, {}, Standing(s.key, s.letter), Reading(s.key, s.note))
  /\ UNCHANGED <<floor, life, grants>>

Commit(k, l, n) == Made("Commit") /\ Write(k, l, n, "commit")
Delete(k, l, n) == Made("Delete") /\ Write(k, l, n, "delete")

\* The optimistic path.  `last.under` says who held the record.
Swap(k, n, call) ==
  LET why == AgainstSwap(k, n.version)
      under == IF Open(k) = {} THEN "nobody" ELSE "held"
      reading == IF n.version # 0 THEN Reading(k, n) ELSE IF Rec(k).exists THEN "old" ELSE "absent"
  IN \/ Refuse(k, call, why, under, reading)
     \/ /\ why = {}
        /\ Land(k, call = "compare-and-swap", IF call = "compare-and-swap" THEN "bump.swap" ELSE "bump.delete")
        /\ Did(call, {}, under, reading)
        /\ UNCHANGED <<floor, life, grants, staged>>

Never == [version |-> 0, writes |-> 0, life |-> 0]   \* "must not exist", said without reading

CompareAndSwap(k, n) == Made("CompareAndSwap") /\ Swap(k, n, "compare-and-swap")
CompareAndDelete(k, n) == Made("CompareAndDelete") /\ Swap(k, n, "compare-and-delete")

(***************************************************************************)
(* What no caller does.                                                    *)
(***************************************************************************)

\* A lease ends.  No clock: at any moment.
Lapse(k) ==
  /\ Held(k) /\ ~rec[k].lapsed
  /\ rec' = [rec EXCEPT ![k].lapsed = TRUE]
  /\ Did("lapse", {}, "none", "none")
  /\ UNCHANGED <<floor, life, grants, writes, staged>>

\* A dead record leaves the table.  When that is, is the store's affair.
Collect(k) ==
  /\ Made("Collect")
  /\ Dead(k)
  /\ floor' = [version |-> IF On("floor.version") THEN Max(floor.version, rec[k].version) ELSE floor.version,
               generation |-> IF On("floor.generation") THEN Max(floor.generation, rec[k].generation) ELSE floor.generation]
  /\ rec' = [rec EXCEPT ![k] = Unseen]
  /\ Did("collect", {}, "none", "none")
  /\ UNCHANGED <<life, grants, writes, staged>>

\* An in-memory store dies and is made anew.  What was sent to it is still under way.
Restart ==
  /\ Made("Restart")
  /\ life < Lives
  /\ life' = life + 1
  /\ rec' = [k \in Keys |-> Unseen]
  /\ floor' = [version |-> 0, generation |-> 1]
  /\ grants' = [k \in Keys |-> [i \in DOMAIN grants[k] |-> [grants[k][i] EXCEPT !.ended = TRUE]]]
  /\ Did("restart", {}, "none", "none")
  /\ UNCHANGED <<writes, staged>>

Init ==
  /\ rec = [k \in Keys |-> Unseen]
  /\ floor = [version |-> 0, generation |-> 1]
  /\ life = 1
  /\ grants = [k \in Keys |-> << >>]
  /\ writes = [k \in Keys |-> 0]
  /\ notes = [k \in Keys |-> {View(k)}]
  /\ staged = {}
  /\ last = [call |-> "none", why |-> {}, under |-> "none", reading |-> "none"]

Step ==
  \/ \E k \in Keys :
       \/ \E w \in Workers : TryAcquire(k, w) \/ Acquire(k, w)
       \/ \E i \in DOMAIN rec[k].queue : GiveUp(k, i)
       \/ \E l \in True(k) \cup Forged(k) :
            \/ Renew(k, l)
            \/ Release(k, l)
            \/ \E n \in notes[k] : Commit(k, l, n) \/ Delete(k, l, n)
       \/ \E i \in DOMAIN grants[k] : Reclaim(k, grants[k][i].generation, Remembered(k, i))
       \/ \E n \in notes[k] \cup {Never} : CompareAndSwap(k, n) \/ CompareAndDelete(k, n)
       \/ ReclaimExpired(k)
       \/ Serve(k)
       \/ Lapse(k)
       \/ Collect(k)
  \/ Restart
  \/ \E s \in staged : Publish(s)

\* Everything is read by somebody as soon as it is there.
Noted == notes' = [k \in Keys |-> notes[k] \cup {View(k)'}]

Next == Step /\ Noted

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* The laws.                                                               *)
(***************************************************************************)

Accepted(calls) == last.call \in calls /\ last.why = {}
UnderGrant == {"commit", "delete", "renew", "release"}
WithoutGrant == {"compare-and-swap", "compare-and-delete"}

\* At most one grant of a record is current, and while one is, nobody writes without.
SingleWriter ==
  /\ \A k \in Keys : Cardinality(Open(k)) <= 1
  /\ Accepted(WithoutGrant) => last.under = "nobody"

\* Neither number ever falls, within a life.  As long as the record is in the table,
\* the version moves by one with each write and the generation by one with each
\* grant that ends, and nothing else moves them.
Ended(k) == Cardinality({i \in DOMAIN grants[k] : grants[k][i].ended})
MonotonicVersion ==
  [][life' = life => \A k \in Keys :
       /\ Rec(k)'.version >= Rec(k).version
       /\ rec'[k].kept => Rec(k)'.version + writes[k] = Rec(k).version + writes'[k]]_vars
MonotonicGeneration ==
  [][life' = life => \A k \in Keys :
       /\ Rec(k)'.generation >= Rec(k).generation
       /\ rec'[k].kept => Rec(k)'.generation + Ended(k) = Rec(k).generation + Ended(k)']_vars

\* A write lands only if nothing was written since its writer read; one that says
\* "must not exist", only where nothing does.  Exception: versions read in an
\* earlier life.
NoLostUpdate == Accepted({"commit", "delete"} \cup WithoutGrant) => last.reading # "old"

\* A write under a grant lands only while the grant is current.
NoStaleApply == Accepted({"commit", "delete"}) => last.under \in {"current", "foreign"}

\* No two grants of a record, in one life, carry one generation.
UniqueGeneration ==
  \A k \in Keys : \A i, j \in DOMAIN grants[k] :
    i # j /\ grants[k][i].life = grants[k][j].life => grants[k][i].generation # grants[k][j].generation

\* Commit, delete, renew and release give one answer to one question.
OneRule == last.call \in UnderGrant => ("ErrStaleReadGeneration" \in last.why <=> last.under = "ended")

\* Nothing is granted under a grant that has ended, and no ending is taken back.
Sticky ==
  /\ Accepted(UnderGrant) => last.under # "ended"
  /\ \A k \in Keys : rec[k].grant # 0 => ~grants[k][rec[k].grant].ended

\* A refused call changes nothing.
NoTrace == [][last'.why # {} => UNCHANGED <<store, grants, writes>>]_vars

\* A lapsed lease refuses nobody: neither does anything but the two checks.
NoClock == last.call \in UnderGrant /\ last.under = "current" /\ last.reading \in {"none", "fresh"} => last.why = {}

\* Whoever takes a grant away takes the one he saw, as he saw it.
ConditionalReclaim == Accepted({"reclaim", "reclaim-expired", "take-over"}) => last.under \in {"current", "earlier life"}

\* What this store did not issue in this life opens nothing.
FailClosed == Accepted(UnderGrant) => last.under # "foreign"

TypeOK ==
  /\ \A k \in Keys : /\ rec[k].version \in 0..(Writes * Cardinality(Keys))
                     /\ rec[k].generation \in 0..(Claims * Cardinality(Keys) + 1)
                     /\ rec[k].grant \in 0..Claims /\ rec[k].holder \in Workers \cup {Nobody}
                     /\ (rec[k].grant = 0) = (rec[k].holder = Nobody)
                     /\ rec[k].lapsed => rec[k].grant # 0
                     /\ rec[k].queue # << >> => rec[k].grant # 0
  /\ life \in 1..Lives
  /\ staged = {}

(***************************************************************************)
(* What must be able to happen, else the laws hold of nothing: the denials, *)
(* each of which must be violated.                                          *)
(***************************************************************************)

NeverLateCommit == [][~(last'.call = "commit" /\ last'.why = {} /\ \E k \in Keys : writes'[k] # writes[k] /\ rec[k].lapsed)]_vars
NeverZombieRefused == ~(last.call = "commit" /\ last.under = "ended" /\ last.reading = "fresh")
\* The two endings of the story: A claims, its grant is reclaimed, B
\* claims.  One: B commits, then A.  Two: B never writes, and A commits.
Zombie(k) == /\ rec[k].exists /\ rec[k].grant = 2 /\ rec[k].holder = "B" /\ grants[k][1].holder = "A"
             /\ last.call = "commit" /\ last.under = "ended" /\ last.why # {}
NeverEndingOne ==
  [][~((\E k \in Keys : Zombie(k))' /\ last'.reading = "old" /\ last.call = "commit" /\ last.under = "current" /\ last.why = {})]_vars
NeverEndingTwo == ~\E k \in Keys : Zombie(k) /\ last.reading = "fresh"
NeverBothRefused == last.why # {"ErrVersionConflict", "ErrStaleReadGeneration"}
NeverVersionRefused == ~(last.call = "commit" /\ last.under = "current" /\ last.why = {"ErrVersionConflict"})
NeverTakeOver == last.call # "take-over"
NeverHandOver == [][~(last'.call = "release" /\ last'.why = {} /\ \E k \in Keys : rec[k].grant # 0 /\ rec'[k].grant # 0 /\ rec'[k].grant # rec[k].grant)]_vars
NeverRecreated == ~\E k \in Keys : rec[k].exists /\ rec[k].version >= 3 /\ last.call = "compare-and-swap" /\ last.reading = "absent"
NeverAboveFloor == ~\E k \in Keys : rec[k].kept /\ floor.generation > 1 /\ rec[k].grant # 0 /\ Len(grants[k]) = 1
NeverHeldRefused == ~(last.call \in WithoutGrant /\ last.why = {"ErrGrantHeld"})
NeverForeignRefused == ~(last.under = "foreign" /\ last.why = {"ErrForeignGrant"} /\ life > 1)
NeverReclaimRefused == ~(last.call = "reclaim" /\ last.why # {})
NeverSameLabel == ~(last.call = "commit" /\ last.under = "ended" /\ \E k \in Keys : rec[k].grant > 1 /\ grants[k][1].holder = rec[k].holder)
\* Known and documented: neither a version nor a reclaim carries a mark of the life.
NeverCommitOfEarlierLife == ~(Accepted({"commit"}) /\ last.reading = "earlier life")
NeverSwapOfEarlierLife == ~(Accepted(WithoutGrant) /\ last.reading = "earlier life")
NeverReclaimOfEarlierLife == ~(Accepted({"reclaim"}) /\ last.under = "earlier life")
=============================================================================
