package fenced

// expiries is the heap of a stripe's leases by when they end, four children to a
// node. It is lazy: a record is in it at most once, under an end no later than
// that of its lease. Renewals that lengthen a lease, and most releases, leave
// it alone, and the sweep that finds an entry out of date puts it right. So a
// claim costs next to nothing, and a sweep costs in proportion to what has
// lapsed.
type expiries []expiry

type expiry struct {
	until int64
	r     *record
}

// file makes sure that r, which is held, is found by a sweep when its lease
// ends.
func (h *expiries) file(r *record) {
	until := r.holding.until
	if r.filed == 0 {
		*h = append(*h, expiry{})
		h.up(len(*h)-1, expiry{until, r})
		return
	}
	if at := int(r.filed) - 1; until < (*h)[at].until {
		h.up(at, expiry{until, r})
	}
}

// drop removes r. To be called where r leaves the stripe.
func (h *expiries) drop(r *record) {
	if r.filed == 0 {
		return
	}
	at, last := int(r.filed)-1, len(*h)-1
	moved := (*h)[last]
	(*h)[last] = expiry{}
	*h = (*h)[:last]
	r.filed = 0
	if at == last {
		return
	}
	if at > 0 && moved.until < (*h)[(at-1)/4].until {
		h.up(at, moved)
	} else {
		h.down(at, moved)
	}
}

// leave is told that r is no longer held, and of how many records still are. A
// record claimed and released in turn leaves no entry behind, as its removal
// takes no sifting; others do, until they are too many.
func (h *expiries) leave(r *record, held int) {
	if int(r.filed) == len(*h) {
		h.drop(r)
	}
	if len(*h) > 2*held+maxSlack {
		h.prune(held)
	}
}

// prune drops all entries of records that are not held.
func (h *expiries) prune(held int) {
	all := *h
	*h = make(expiries, 0, held)
	for _, e := range all {
		e.r.filed = 0
		if e.r.holding != nil {
			h.file(e.r)
		}
	}
}

// lapsed returns a record whose lease has ended by now, or nil. It stays in the
// heap until its grant ends.
func (h *expiries) lapsed(now int64) *record {
	for len(*h) > 0 && (*h)[0].until <= now {
		r := (*h)[0].r
		if r.holding == nil {
			h.drop(r)
		} else if r.holding.lapsed(now) {
			return r
		} else {
			h.down(0, expiry{r.holding.until, r})
		}
	}
	return nil
}

// up places e at the hole at, or above.
func (h *expiries) up(at int, e expiry) {
	for at > 0 {
		parent := (at - 1) / 4
		if (*h)[parent].until <= e.until {
			break
		}
		h.place(at, (*h)[parent])
		at = parent
	}
	h.place(at, e)
}

// down places e at the hole at, or below.
func (h *expiries) down(at int, e expiry) {
	for {
		first := 4*at + 1
		if first >= len(*h) {
			break
		}
		least := first
		for child := first + 1; child < min(first+4, len(*h)); child++ {
			if (*h)[child].until < (*h)[least].until {
				least = child
			}
		}
		if e.until <= (*h)[least].until {
			break
		}
		h.place(at, (*h)[least])
		at = least
	}
	h.place(at, e)
}

func (h *expiries) place(at int, e expiry) {
	(*h)[at] = e
	e.r.filed = int32(at) + 1
}
