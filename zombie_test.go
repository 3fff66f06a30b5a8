package fenced_test

// The zombie reproductions: a writer whose grant has ended and who does not
// know it. go test -run Zombie -v . prints each as a timeline.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencedgo/fenced"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// order is the record of the story.
const order = "orders/4412"

// timeline is what happened, one line an act.
type timeline struct {
	store *fenced.Store
	start time.Time
	mu    sync.Mutex
	rows  [][4]string // when, who, what, outcome
}

// story runs acts on a store where the order is at version 7 and generation 3,
// and requires that its timeline reads as wanted.
func story(t *testing.T, acts func(*testing.T, *timeline), want string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := fenced.NewStore(fenced.Options{})
		for version := range fenced.Version(7) {
			swap(t, s, order, version, "as it was")
		}
		for range 2 {
			release(t, s, claim(t, s, order, "someone before"))
		}
		tl := &timeline{store: s, start: time.Now()}
		acts(t, tl)
		got := tl.String()
		t.Log("\n" + got)
		if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	})
}

func (tl *timeline) add(who, what, outcome string) {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	tl.rows = append(tl.rows, [4]string{"T+" + time.Since(tl.start).String(), who, what, outcome})
}

func (tl *timeline) String() string {
	var width [3]int
	for _, row := range tl.rows {
		for i := range width {
			width[i] = max(width[i], len(row[i]))
		}
	}
	var b strings.Builder
	for _, row := range tl.rows {
		if row[3] == "" {
			fmt.Fprintf(&b, "%-*s  %-*s  %s\n", width[0], row[0], width[1], row[1], row[2])
			continue
		}
		fmt.Fprintf(&b, "%-*s  %-*s  %-*s  -> %s\n", width[0], row[0], width[1], row[1], width[2], row[2], row[3])
	}
	return b.String()
}

// numbers are those of r, in words.
func numbers(r fenced.Record) string {
	return fmt.Sprintf("version %d, generation %d", r.Version, r.Generation)
}

// refusal says which checks refused, and by which numbers.
func refusal(err error) string {
	var c *fenced.ConflictError
	if !errors.As(err, &c) {
		return fmt.Sprint(err)
	}
	version := fmt.Sprintf("version passes, %d == %d", c.Presented.Version, c.Current.Version)
	if errors.Is(err, fenced.ErrVersionConflict) {
		version = fmt.Sprintf("version %d != %d", c.Presented.Version, c.Current.Version)
	}
	generation := fmt.Sprintf("generation passes, %d == %d", c.Presented.Generation, c.Current.Generation)
	if errors.Is(err, fenced.ErrStaleReadGeneration) {
		generation = fmt.Sprintf("generation %d != %d", c.Presented.Generation, c.Current.Generation)
	}
	return fmt.Sprintf("refused: %s; %s", version, generation)
}

func (tl *timeline) claim(who string) fenced.Grant {
	g, err := tl.store.TryAcquire(bg, order, who, lease)
	if err != nil {
		tl.add(who, "claims "+order, refusal(err))
	} else {
		tl.add(who, "claims "+order, numbers(g.Record))
	}
	return g
}

func (tl *timeline) commit(who, what string, g fenced.Grant) fenced.Grant {
	next, err := tl.store.Commit(bg, g, []byte("by "+who))
	if err != nil {
		tl.add(who, what, refusal(err))
	} else {
		tl.add(who, what, fmt.Sprintf("lands: version %d -> %d", g.Version, next.Version))
	}
	return next
}

func (tl *timeline) release(who string, g fenced.Grant) {
	if err := tl.store.Release(bg, g); err != nil {
		tl.add(who, "releases", refusal(err))
		return
	}
	r, _ := tl.store.Read(bg, order)
	tl.add(who, "releases", fmt.Sprintf("version %d, generation %d -> %d", r.Version, g.Generation, r.Generation))
}

func (tl *timeline) sweep() {
	ended, err := tl.store.ReclaimExpired(bg, 0)
	r, _ := tl.store.Read(bg, order)
	for _, g := range ended {
		tl.add("supervisor", "reclaims what has lapsed", fmt.Sprintf("version %d, generation %d -> %d", r.Version, g.Generation, r.Generation))
	}
	if len(ended) == 0 || err != nil {
		tl.add("supervisor", "reclaims what has lapsed", fmt.Sprintf("nothing, %v", err))
	}
}

func (tl *timeline) reads(who string) {
	r, _ := tl.store.Read(bg, order)
	tl.add(who, "reads", fmt.Sprintf("%s, %q", numbers(r), r.Value))
}

// Ending one: B has written. Both checks refuse A.
func TestZombieEndingOne(t *testing.T) {
	story(t, func(t *testing.T, tl *timeline) {
		a := tl.claim("A")
		tl.add("A", "calls a vendor, who stalls", "")
		time.Sleep(lease)
		tl.sweep()
		time.Sleep(time.Second)
		b := tl.claim("B")
		tl.commit("B", "commits (7, 4)", b)
		time.Sleep(time.Second)
		tl.commit("A", "wakes and commits (7, 3)", a)
		tl.reads("anyone")
	}, `
T+0s   A           claims orders/4412          -> version 7, generation 3
T+0s   A           calls a vendor, who stalls
T+10s  supervisor  reclaims what has lapsed    -> version 7, generation 3 -> 4
T+11s  B           claims orders/4412          -> version 7, generation 4
T+11s  B           commits (7, 4)              -> lands: version 7 -> 8
T+12s  A           wakes and commits (7, 3)    -> refused: version 7 != 8; generation 3 != 4
T+12s  anyone      reads                       -> version 8, generation 4, "by B"`)
}

// Ending two: B decides that no write applies. The version passes; the
// generation alone refuses A. A version check would have let it through.
func TestZombieEndingTwo(t *testing.T) {
	story(t, func(t *testing.T, tl *timeline) {
		a := tl.claim("A")
		time.Sleep(lease)
		tl.sweep()
		time.Sleep(time.Second)
		b := tl.claim("B")
		tl.add("B", "decides that no write applies", "")
		time.Sleep(time.Second)
		tl.commit("A", "wakes and commits (7, 3)", a)
		tl.release("B", b)
		a.Version = 7 // as it reads it now
		tl.commit("A", "reads and commits again", a)
		tl.reads("anyone")
		require.EqualValues(t, 2, tl.store.Stats().RefusedGeneration)
	}, `
T+0s   A           claims orders/4412             -> version 7, generation 3
T+10s  supervisor  reclaims what has lapsed       -> version 7, generation 3 -> 4
T+11s  B           claims orders/4412             -> version 7, generation 4
T+11s  B           decides that no write applies
T+12s  A           wakes and commits (7, 3)       -> refused: version passes, 7 == 7; generation 3 != 4
T+12s  B           releases                       -> version 7, generation 4 -> 5
T+12s  A           reads and commits again        -> refused: version passes, 7 == 7; generation 3 != 5
T+12s  anyone      reads                          -> version 7, generation 5, "as it was"`)
}

// Release, then claim: A's commit was on its way when A gave up and released.
// It matches neither between the release and the next claim nor after that.
func TestZombieReleaseThenClaim(t *testing.T) {
	story(t, func(t *testing.T, tl *timeline) {
		a := tl.claim("A")
		tl.add("A", "commits (7, 3)", "delayed in the network")
		time.Sleep(time.Second)
		tl.release("A", a)
		tl.commit("network", "delivers A's commit (7, 3)", a)
		time.Sleep(time.Second)
		b := tl.claim("B")
		tl.commit("network", "delivers A's commit (7, 3)", a)
		tl.commit("B", "commits (7, 4)", b)
		tl.reads("anyone")
	}, `
T+0s  A        claims orders/4412          -> version 7, generation 3
T+0s  A        commits (7, 3)              -> delayed in the network
T+1s  A        releases                    -> version 7, generation 3 -> 4
T+1s  network  delivers A's commit (7, 3)  -> refused: version passes, 7 == 7; generation 3 != 4
T+2s  B        claims orders/4412          -> version 7, generation 4
T+2s  network  delivers A's commit (7, 3)  -> refused: version passes, 7 == 7; generation 3 != 4
T+2s  B        commits (7, 4)              -> lands: version 7 -> 8
T+2s  anyone   reads                       -> version 8, generation 4, "by B"`)
}

// A delayed duplicate: the commit that landed is delivered once more, at each
// later stage of the record's life.
func TestZombieDelayedDuplicate(t *testing.T) {
	story(t, func(t *testing.T, tl *timeline) {
		a := tl.claim("A")
		sent := a.Token() // what travels
		duplicate := func() {
			g, err := fenced.ParseToken(sent)
			require.NoError(t, err)
			tl.commit("network", "delivers (7, 3) again", g)
		}
		a = tl.commit("A", "commits (7, 3)", a)
		time.Sleep(time.Second)
		duplicate()
		tl.release("A", a)
		duplicate()
		time.Sleep(time.Second)
		b := tl.claim("B")
		duplicate()
		tl.commit("B", "commits (8, 4)", b)
		tl.reads("anyone")
	}, `
T+0s  A        claims orders/4412     -> version 7, generation 3
T+0s  A        commits (7, 3)         -> lands: version 7 -> 8
T+1s  network  delivers (7, 3) again  -> refused: version 7 != 8; generation passes, 3 == 3
T+1s  A        releases               -> version 8, generation 3 -> 4
T+1s  network  delivers (7, 3) again  -> refused: version 7 != 8; generation 3 != 4
T+2s  B        claims orders/4412     -> version 8, generation 4
T+2s  network  delivers (7, 3) again  -> refused: version 7 != 8; generation 3 != 4
T+2s  B        commits (8, 4)         -> lands: version 8 -> 9
T+2s  anyone   reads                  -> version 9, generation 4, "by B"`)
}

// Nobody has asked for the record: a lapsed grant is no zombie, only late.
func TestZombieThatIsNone(t *testing.T) {
	story(t, func(t *testing.T, tl *timeline) {
		a := tl.claim("A")
		time.Sleep(6 * lease)
		a = tl.commit("A", "wakes and commits (7, 3)", a)
		tl.release("A", a)
		require.EqualValues(t, 1, tl.store.Stats().Overruns)
	}, `
T+0s    A  claims orders/4412        -> version 7, generation 3
T+1m0s  A  wakes and commits (7, 3)  -> lands: version 7 -> 8
T+1m0s  A  releases                  -> version 8, generation 3 -> 4`)
}

// The same story told by a worker, which looks at no context: its finished
// result is refused and kept.
func TestZombieWorker(t *testing.T) {
	story(t, func(t *testing.T, tl *timeline) {
		w := &fenced.Worker{Backend: tl.store, Name: "A", Lease: lease, MaxHold: time.Nanosecond} // hangs: renews nothing
		w.Refused = func(_ context.Context, r fenced.Refusal) {
			tl.add("A", "commits (7, 3)", refusal(r.Err))
			tl.add("A", "keeps its result", fmt.Sprintf("%q", r.Value))
		}
		done := make(chan error)
		go func() {
			_, err := w.Do(bg, order, func(_ context.Context, g fenced.Grant) ([]byte, error) {
				tl.add("A", "claims "+order, numbers(g.Record))
				time.Sleep(2 * lease)
				return []byte("by A"), nil
			})
			done <- err
		}()
		synctest.Wait()
		b := <-acquire(bg, tl.store, order, "B", 10*lease)
		require.NoError(t, b.err)
		tl.add("B", "takes over the moment the lease lapses", numbers(b.grant.Record))
		exactly(t, <-done, fenced.ErrStaleReadGeneration)
		tl.commit("B", "commits (7, 4)", b.grant)
	}, `
T+0s   A  claims orders/4412                      -> version 7, generation 3
T+10s  B  takes over the moment the lease lapses  -> version 7, generation 4
T+20s  A  commits (7, 3)                          -> refused: version passes, 7 == 7; generation 3 != 4
T+20s  A  keeps its result                        -> "by A"
T+20s  B  commits (7, 4)                          -> lands: version 7 -> 8`)
}
