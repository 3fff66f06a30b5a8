package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// vendor is the enrichment service: it screens orders for fraud and picks the
// warehouse that ships them. It answers over HTTP on loopback with what it knows
// when it is asked, however long the answer then takes to arrive.
type vendor struct {
	plan   plan
	url    string
	server *http.Server
	served sync.WaitGroup // the listener and the calls
	closed chan struct{}

	mu     sync.Mutex
	isShut bool
	calls  map[string]int // so far, by order number

	stalled atomic.Int64 // calls that will be answered, far too late
	hung    atomic.Int64 // calls that will not be answered
}

// answer is what the vendor says of an order. No State: no write applies.
type answer struct {
	State string `json:"state,omitempty"`
}

var warehouses = map[string]string{
	"DE": "Leipzig", "PL": "Leipzig", "CH": "Leipzig",
	"NL": "Rotterdam", "GB": "Rotterdam", "US": "Rotterdam",
	"FR": "Lyon", "ES": "Lyon", "IT": "Lyon",
	"SE": "Malmo", "DK": "Malmo",
}

func openVendor(p plan) (*vendor, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("vendor: %w", err)
	}
	v := &vendor{
		plan:   p,
		url:    fmt.Sprintf("http://%s/v1/screen", l.Addr()),
		closed: make(chan struct{}),
		calls:  make(map[string]int),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/screen", v.screen)
	v.server = &http.Server{Handler: mux}
	v.served.Go(func() { _ = v.server.Serve(l) })
	return v, nil
}

// close cuts off the calls that hang and waits for all to end.
func (v *vendor) close() {
	v.mu.Lock()
	v.isShut = true
	v.mu.Unlock()
	close(v.closed)
	_ = v.server.Close()
	v.served.Wait()
}

func (v *vendor) screen(w http.ResponseWriter, r *http.Request) {
	var o order
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	call, ok := v.begin(o.Number)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	defer v.served.Done()
	f := v.plan[o.Number]
	a := f.judge(o, call)
	if !v.delay(f, call) {
		panic(http.ErrAbortHandler) // the connection breaks
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a)
}

// begin returns the number of this call for the order, from 1, or false where
// the vendor is closed.
func (v *vendor) begin(number string) (int, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.isShut {
		return 0, false
	}
	v.served.Add(1)
	v.calls[number]++
	return v.calls[number], true
}

// judge is what the vendor knows of o at its given call.
func (f fate) judge(o order, call int) answer {
	switch {
	case o.State == cancelled, call > 1 && f.news == handOver:
		return answer{}
	case call > 1 && f.news == alert:
		return answer{State: "hold: fraud check"}
	default:
		return answer{State: "ship: " + warehouses[o.Country]}
	}
}

// delay takes as long as the call is to take. It returns false if the vendor
// was closed before.
func (v *vendor) delay(f fate, call int) bool {
	d := f.answer
	switch {
	case call > 1:
	case f.hangs:
		v.hung.Add(1)
		<-v.closed
		return false
	case f.stall > 0:
		v.stalled.Add(1)
		defer v.stalled.Add(-1)
		d = f.stall
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-v.closed:
		return false
	}
}

// client calls a vendor.
type client struct {
	http http.Client
	url  string
}

func newClient(url string) *client {
	return &client{http: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: maxWorkers}}, url: url}
}

// screen asks the vendor about o. It takes no context, like many a vendor's
// client. To pass the one that ends with the grant would save the wait and spare
// most of what this program is about; a worker that is paused as a whole cannot
// be helped that way, and wakes up as these calls come back: with an answer in
// hand and in good faith.
func (c *client) screen(o order) (answer, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return answer{}, err
	}
	resp, err := c.http.Post(c.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return answer{}, errors.New("vendor: " + resp.Status)
	}
	var a answer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return answer{}, fmt.Errorf("vendor: %w", err)
	}
	return a, nil
}

func (c *client) close() { c.http.CloseIdleConnections() }
