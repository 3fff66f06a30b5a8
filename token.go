package fenced

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// A token is, in unpadded base64 for URLs (RFC 4648, section 5):
//
//	byte      format, tokenFormat
//	uvarint   version
//	uvarint   generation
//	8 bytes   nonce, big-endian
//	bytes     key
//	8 bytes   the first of the SHA-256 of all before it
//
// The sum guards against damage, not against malice: a token is as good as the
// grant, and who may see it may write.
const (
	tokenFormat = 1
	tokenSum    = 8
	maxToken    = 1 + 2*binary.MaxVarintLen64 + 8 + MaxKey + tokenSum
)

// Token returns the text form of g, for a header, a job row or an environment
// variable: letters, digits, "-" and "_". It carries what [Store.Commit]
// compares, that is key, version, generation and nonce, and no value, holder or
// lease. It outlives renewals; a commit under the grant leaves it behind, at the
// version it had. The zero Grant has a token, which nothing accepts.
func (g Grant) Token() string {
	b := make([]byte, 0, 64+len(g.Key))
	b = append(b, tokenFormat)
	b = binary.AppendUvarint(b, uint64(g.Version))
	b = binary.AppendUvarint(b, uint64(g.Generation))
	b = binary.BigEndian.AppendUint64(b, g.nonce)
	b = append(b, g.Key...)
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(append(b, sum[:tokenSum]...))
}

// ParseToken returns the grant that token is the text of, with no value, holder
// or lease: read the record for those. Whether it is current is for the store to
// say. Anything but the exact result of [Grant.Token], cut,
// altered, padded or wrapped, is [ErrInvalid].
func ParseToken(token string) (Grant, error) {
	if len(token) > base64.RawURLEncoding.EncodedLen(maxToken) {
		return Grant{}, invalid("token of %d bytes", len(token))
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil {
		return Grant{}, invalid("token is not base64: %v", err)
	}
	if len(b) < 1+tokenSum || b[0] != tokenFormat {
		return Grant{}, invalid("token is cut or of an unknown format")
	}
	var g Grant
	rest := b[1 : len(b)-tokenSum]
	g.Version, rest = takeUvarint[Version](rest)
	g.Generation, rest = takeUvarint[Generation](rest)
	if len(rest) < 8 {
		return Grant{}, invalid("token is cut")
	}
	g.nonce = binary.BigEndian.Uint64(rest)
	g.Key = string(rest[8:])
	// One text for each grant: this checks the sum, and refuses what the
	// decoders above read past, such as line breaks.
	if g.Token() != token {
		return Grant{}, invalid("token is damaged")
	}
	if err := CheckGrant(g); err != nil {
		return Grant{}, err
	}
	if g.nonce == 0 {
		return Grant{}, invalid("token of a grant that no store issued")
	}
	return g, nil
}

// takeUvarint returns the number at the head of b, and what follows: nothing,
// where there is no number.
func takeUvarint[T ~uint64](b []byte) (T, []byte) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil
	}
	return T(v), b[n:]
}
