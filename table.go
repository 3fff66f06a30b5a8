package fenced

// table holds the records of a stripe by the hash of their key: half the size
// of a map by key, and nothing is hashed twice. Two keys with one hash are not
// to be expected of 64 bits under a random seed; where they occur, the later
// record stands at the next free hash. Records leave only by the table being
// built anew, so no gap ever cuts one off.
type table map[uint64]*record

// find returns the record of key, which has the given hash, or nil.
func (t table) find(key string, hash uint64) *record {
	for {
		r := t[hash]
		if r == nil || r.key == key {
			return r
		}
		hash++
	}
}

// add puts in r, whose key has the given hash and is not in t.
func (t table) add(r *record, hash uint64) {
	for t[hash] != nil {
		hash++
	}
	t[hash] = r
}
