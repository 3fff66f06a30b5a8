package fleet

import "context"

// queue hands out the keys of the orders, those that were reclaimed before the
// others.
type queue struct {
	reclaimed, rest chan string
}

// newQueue returns a queue that never blocks the one who adds: each key is in
// it at most a few times.
func newQueue(keys []string) *queue {
	q := &queue{
		reclaimed: make(chan string, 8*len(keys)),
		rest:      make(chan string, 8*len(keys)),
	}
	for _, key := range keys {
		q.rest <- key
	}
	return q
}

// take waits for a key. It returns false when ctx ends.
func (q *queue) take(ctx context.Context) (string, bool) {
	select {
	case key := <-q.reclaimed:
		return key, true
	default:
	}
	select {
	case key := <-q.reclaimed:
		return key, true
	case key := <-q.rest:
		return key, true
	case <-ctx.Done():
		return "", false
	}
}
