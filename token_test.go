package fenced_test

import (
	"encoding/base64"
	"math"
	"strings"
	"testing"

	"github.com/fencedgo/fenced"
	"github.com/stretchr/testify/require"
)

func TestTokenCarriesWhatCommitCompares(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		for _, key := range []string{"k", "orders/4412", strings.Repeat("é", 512), "\x00\n"} {
			release(t, s, claim(t, s, key, "A"))
			g := commit(t, s, claim(t, s, key, "A"), "a value")
			parsed, err := fenced.ParseToken(g.Token())
			require.NoError(t, err)
			require.Equal(t, g.Nonce(), parsed.Nonce())
			equal(t, fenced.Record{Key: key, Version: 1, Generation: 2}, parsed.Record) // and no value, holder or lease
			require.Equal(t, g.Token(), parsed.Token())

			parsed = commit(t, s, parsed, "w")
			require.EqualValues(t, 2, parsed.Version)
			parsed, err = s.Renew(bg, parsed, lease)
			require.NoError(t, err)
			ctx, cancel := s.Context(bg, parsed)
			parsed = remove(t, s, parsed)
			require.NoError(t, ctx.Err())
			release(t, s, parsed)
			require.Error(t, ctx.Err())
			cancel()
		}
	})
}

func TestTokenIsTextForAHeader(t *testing.T) {
	for _, g := range tokenGrants() {
		require.Regexp(t, `^[A-Za-z0-9_-]+$`, g.Token())
		require.LessOrEqual(t, len(g.Token()), 70+len(g.Key)*4/3)
	}
}

func TestTokenOfTheLargestNumbers(t *testing.T) {
	for _, g := range tokenGrants() {
		parsed, err := fenced.ParseToken(g.Token())
		require.NoError(t, err)
		equal(t, g, parsed)
		require.Equal(t, g.Nonce(), parsed.Nonce())
	}
}

func tokenGrants() []fenced.Grant {
	return []fenced.Grant{
		fenced.NewGrant(fenced.Record{Key: "k", Generation: 1}, 1),
		fenced.NewGrant(fenced.Record{Key: "k", Version: 127, Generation: 128}, 1<<63),
		fenced.NewGrant(fenced.Record{
			Key: strings.Repeat("x", fenced.MaxKey), Version: math.MaxUint64, Generation: math.MaxUint64,
		}, math.MaxUint64),
	}
}

func broken(t *testing.T, token string) {
	t.Helper()
	g, err := fenced.ParseToken(token)
	exactly(t, err, fenced.ErrInvalid)
	require.Contains(t, err.Error(), "token")
	equal(t, fenced.Grant{}, g)
}

func TestTokenBroken(t *testing.T) {
	s := fenced.NewStore(fenced.Options{})
	token := commit(t, s, claim(t, s, "orders/4412", "A"), "v").Token()
	t.Run("cut", func(t *testing.T) {
		for n := range token {
			broken(t, token[:n])
			broken(t, token[n+1:])
		}
	})
	t.Run("altered", func(t *testing.T) {
		const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		for i := range token {
			for _, letter := range letters {
				if altered := token[:i] + string(letter) + token[i+1:]; altered != token {
					broken(t, altered)
				}
			}
		}
	})
	t.Run("padded or wrapped", func(t *testing.T) {
		for _, extra := range []string{"=", "==", " ", "\n", "\r\n", "\t", "\x00", "A", "AAAA"} {
			broken(t, token+extra)
			broken(t, extra+token)
			broken(t, token[:9]+extra+token[9:])
		}
		broken(t, token+token)
		broken(t, `"`+token+`"`)
	})
	t.Run("in another alphabet", func(t *testing.T) {
		for i := uint64(1); ; i++ { // until the two alphabets differ
			token := fenced.NewGrant(fenced.Record{Key: "k", Generation: 1}, i).Token()
			if other := strings.NewReplacer("-", "+", "_", "/").Replace(token); other != token {
				broken(t, other)
				return
			}
		}
	})
	t.Run("of no grant", func(t *testing.T) {
		for _, g := range []fenced.Grant{
			{},
			{Record: fenced.Record{Key: "k"}},
			{Record: fenced.Record{Key: "k", Generation: 1}}, // no nonce
		} {
			_, err := fenced.ParseToken(g.Token())
			exactly(t, err, fenced.ErrInvalid)
		}
		for _, r := range []fenced.Record{
			{Generation: 1},
			{Key: "k"},
			{Key: "k\xff", Generation: 1},
			{Key: strings.Repeat("x", fenced.MaxKey+1), Generation: 1},
		} {
			_, err := fenced.ParseToken(fenced.NewGrant(r, 1).Token())
			exactly(t, err, fenced.ErrInvalid)
		}
	})
	t.Run("no token at all", func(t *testing.T) {
		for _, text := range []string{"", "A", "orders/4412", "null", strings.Repeat("A", 1<<20), "é"} {
			broken(t, text)
		}
	})
}

// Two grants never share a text.
func TestTokenTellsGrantsApart(t *testing.T) {
	seen := map[string]bool{}
	for _, key := range []string{"k", "kk", "\x01k"} {
		for version := range fenced.Version(3) {
			for generation := range fenced.Generation(3) {
				for nonce := range uint64(3) {
					token := fenced.NewGrant(fenced.Record{Key: key, Version: version, Generation: generation}, nonce).Token()
					require.False(t, seen[token])
					seen[token] = true
				}
			}
		}
	}
}

func TestTokenOfAnotherStore(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		claim(t, s, "k", "A")
		earlier := fenced.NewStore(fenced.Options{}) // of an earlier life of the process, say
		g, err := fenced.ParseToken(claim(t, earlier, "k", "A").Token())
		require.NoError(t, err)
		for _, call := range fenceCalls {
			unmoved(t, s, []string{"k"}, func() { exactly(t, call.do(s, g), fenced.ErrForeignGrant) })
		}
	})
}

// The numbers of a token are not to be trusted more than those of a grant.
func TestTokenForged(t *testing.T) {
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "k", "A")
		claim(t, s, "other", "B")
		forged := fenced.NewGrant(fenced.Record{Key: "other", Generation: a.Generation}, a.Nonce())
		g, err := fenced.ParseToken(forged.Token())
		require.NoError(t, err, "it is a token of some store")
		_, err = s.Commit(bg, g, nil)
		exactly(t, err, fenced.ErrForeignGrant)
	})
}

// FuzzToken: a text is the exact token of the grant that it gives, or an error.
func FuzzToken(f *testing.F) {
	for _, g := range tokenGrants() {
		token := g.Token()
		f.Add(token)
		f.Add(token[:len(token)-1])
		f.Add(token + "=")
		f.Add(token + "\n")
		f.Add(base64.StdEncoding.EncodeToString([]byte(token)))
	}
	f.Add("")
	f.Add(fenced.Grant{}.Token())
	s := fenced.NewStore(fenced.Options{})
	f.Fuzz(func(t *testing.T, token string) {
		g, err := fenced.ParseToken(token)
		if err != nil {
			exactly(t, err, fenced.ErrInvalid)
			equal(t, fenced.Grant{}, g)
			return
		}
		require.Equal(t, token, g.Token())
		require.NoError(t, fenced.CheckGrant(g))
		require.NotZero(t, g.Nonce())
		_, err = s.Commit(bg, g, nil)
		require.Error(t, err, "a store that issued no grant takes none")
	})
}

// Nonces are no counter: from one grant that of the next cannot be computed by
// undoing what the mixing does. It takes the store's secret.
func TestFailClosedAgainstComputedNonces(t *testing.T) {
	inverse := func(a uint64) uint64 { // of odd a, modulo 2^64, by Newton
		x := a
		for range 6 {
			x *= 2 - a*x
		}
		return x
	}
	unshift := func(z uint64, by uint) uint64 {
		x := z
		for range 8 {
			x = z ^ x>>by
		}
		return x
	}
	const m1, m2, step = 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0x9e3779b97f4a7c15
	next := func(z uint64) uint64 {
		z = unshift(unshift(z, 31)*inverse(m2), 27) * inverse(m1)
		z = unshift(z, 30) + step
		z = (z ^ z>>30) * m1
		z = (z ^ z>>27) * m2
		return z ^ z>>31
	}
	bubble(t, func(t *testing.T, s *fenced.Store) {
		a := claim(t, s, "k", "A")
		release(t, s, a)
		claim(t, s, "k", "B")
		forged := fenced.NewGrant(read(t, s, "k"), next(a.Nonce()))
		_, err := s.Commit(bg, forged, []byte("forged"))
		exactly(t, err, fenced.ErrForeignGrant)
	})
}
