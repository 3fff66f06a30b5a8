package main

import (
	"encoding/binary"
	"errors"
)

// errMoved rolls back a transaction that found another version than the
// presented one.
var errMoved = errors.New("the record has moved")

// pack returns version and value as the one value of a store that knows no
// versions.
func pack(version uint64, value []byte) []byte {
	packed := make([]byte, 8, 8+len(value))
	binary.BigEndian.PutUint64(packed, version)
	return append(packed, value...)
}

// unpack is the reverse. The value is a part of packed.
func unpack(packed []byte) (value []byte, version uint64) {
	if len(packed) == 0 {
		return nil, 0
	}
	return packed[8:], binary.BigEndian.Uint64(packed)
}
