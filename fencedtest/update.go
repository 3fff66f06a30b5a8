package fencedtest

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/fencedgo/fenced"
)

// NoLostUpdate.

func commitsChain(k *kit) {
	old := k.claim("A")
	now := k.commit(old, "one")
	k.that(now.Version == 1 && now.Generation == 1 && now.Key == key && string(now.Value) == "one", "commit returned %+v", now)
	k.commitRefused(old, moved) // the grant is current: its version alone refuses
	k.deleteRefused(old, moved)
	now = k.commit(now, "two")
	k.stands(key, 2, 1, "two")
	now = k.commit(k.delete(now), "four")
	k.stands(key, 4, 1, "four")
	k.release(k.renew(old, long)) // which look at no version
	k.stopped(now)
}

func commitReread(k *kit) {
	old := k.claim("A")
	k.commit(old, "one")
	old.Version = k.read(key).Version
	k.commit(old, "two")
	k.stands(key, 2, 1, "two")
	old.Version = 7
	k.commitRefused(old, moved) // not reached yet
	k.deleteRefused(old, moved)
}

func swapAtVersion(k *kit) {
	k.swapRefused(key, 1, moved)
	r := k.swap(key, 0, "one")
	k.that(r.Key == key && r.Version == 1 && r.Generation == 1 && string(r.Value) == "one", "swap returned %+v", r)
	k.swap(key, 1, "two")
	k.swapRefused(key, 1, moved)
	k.swapRefused(key, 3, moved)
	k.stands(key, 2, 1, "two")
}

func removeAtVersion(k *kit) {
	k.removeRefused(key, 1, moved)
	k.swap(key, 0, "one")
	k.swap(key, 1, "two")
	k.removeRefused(key, 1, moved)
	k.removeRefused(key, 0, moved)
	r := k.remove(key, 2)
	k.that(r.Key == key && r.Version == 3 && !r.Exists(), "delete returned %+v", r)
	k.removeRefused(key, 2, moved)
	k.remove(key, 3) // deleted, and at this version
	k.stands(key, 4, 1, "")
}

func mustNotExist(k *kit) {
	k.swap(key, 0, "one")
	k.swapRefused(key, 0, moved)
	k.remove(key, 1)
	k.swapRefused(key, 1, moved)
	k.swap(key, 2, "three") // a deleted record is at its version
	k.remove(key, 3)
	k.swap(key, 0, "five") // and does not exist
	k.stands(key, 5, 1, "five")
}

// acknowledged writes many values, some of them equal or shorter, and looks for
// each.
func acknowledged(k *kit) {
	g := k.claim("A")
	for i := range 50 {
		value := strconv.Itoa(i * i * i % 101)
		g = k.commit(g, value)
		k.stands(key, fenced.Version(i)+1, 1, value)
	}
	k.release(g)
	for i := range 50 {
		other := fmt.Sprintf("orders/%d", i%7)
		value := strconv.Itoa(i)
		r := k.swap(other, k.read(other).Version, value)
		k.stands(other, r.Version, 1, value)
	}
	k.stands(key, 50, 2, "85")
}

func emptyValue(k *kit) {
	for i, value := range [][]byte{nil, {}} {
		key := fmt.Sprintf("orders/%d", i)
		r, err := k.b.CompareAndSwap(k.ctx, key, 0, value)
		k.must(err, "swap of an empty value")
		k.that(r.Exists() && len(r.Value) == 0, "a swap of %#v returned %#v", value, r.Value)
		r = k.read(key)
		k.that(r.Exists() && len(r.Value) == 0 && r.Version == 1, "a swap of %#v left %+v", value, r)
		g := k.claimOf(key, "A", long)
		k.that(g.Exists() && len(g.Value) == 0, "claim of an empty value gave %#v", g.Value)
		g, err = k.b.Commit(k.ctx, k.commit(g, "full"), value)
		k.must(err, "commit of an empty value")
		k.that(g.Exists() && len(g.Value) == 0, "a commit of %#v returned %#v", value, g.Value)
		r = k.read(key)
		k.that(r.Exists() && len(r.Value) == 0 && r.Version == 3, "a commit of %#v left %+v", value, r)
		k.release(g)
		k.swapRefused(key, 0, moved) // it exists
		k.remove(key, 3)
		k.that(!k.read(key).Exists(), "a deleted record exists")
	}
}

// increments adds to one number from many goroutines, half of them under grants
// and half without.
func increments(k *kit) {
	const writers, each = 8, 10
	var errs [writers]error
	k.swap(key, 0, "0")
	k.together(writers, func(i int) {
		increment := k.incrementBySwap
		if i%2 == 0 {
			increment = k.incrementUnderGrant
		}
		for done, tries := 0, 0; done < each && errs[i] == nil; tries++ {
			err := increment()
			switch {
			case err == nil:
				done++
			case !errors.Is(err, held) && !errors.Is(err, moved):
				errs[i] = err
			case !k.again(tries):
				errs[i] = fmt.Errorf("%w after %d tries", err, tries+1)
			}
		}
	})
	k.must(errors.Join(errs[:]...), "increment")
	r := k.read(key)
	k.that(string(r.Value) == strconv.Itoa(writers*each) && r.Version == writers*each+1,
		"%d increments left value %s at version %d", writers*each, r.Value, r.Version)
}

func plusOne(value []byte) []byte {
	n, _ := strconv.Atoi(string(value))
	return []byte(strconv.Itoa(n + 1))
}

func (k *kit) incrementUnderGrant() error {
	g, err := k.b.TryAcquire(k.ctx, key, "w", k.ticks(long))
	if err != nil {
		return err
	}
	g, err = k.b.Commit(k.ctx, g, plusOne(g.Value))
	if err != nil {
		return fmt.Errorf("commit of the only holder: %v", err) // and so no reason to try again
	}
	return k.b.Release(k.ctx, g)
}

func (k *kit) incrementBySwap() error {
	r, err := k.b.Read(k.ctx, key)
	if err == nil {
		_, err = k.b.CompareAndSwap(k.ctx, key, r.Version, plusOne(r.Value))
	}
	return err
}
