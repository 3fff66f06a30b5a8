// Package proxy stands between clients of PostgreSQL and their server, knows
// where one message of the protocol ends and the next begins, and loses, holds
// and cuts at the message it is told to.
package proxy

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Side is which way a message goes.
type Side uint8

// The sides.
const (
	Requests Side = iota // from client to server
	Replies
)

func (s Side) String() string { return [...]string{"request", "reply"}[s] }

// Act is what becomes of a message. The zero Act passes it on.
type Act uint8

// The acts. Messages before the one meant have been passed on.
const (
	Pass    Act = iota
	Cut         // end the connection of client and server in place of it
	Swallow     // lose it, and all that follow it on that side of the connection
	Hold        // keep it, and all that follow, until Release
)

func (a Act) String() string { return [...]string{"pass", "cut", "swallow", "hold"}[a] }

// Fault is what to do, once. At counts the messages of its side from 0, over
// all connections, from when the Proxy was armed with it.
type Fault struct {
	Side Side
	At   int
	Act  Act
}

// Proxy is a proxy on loopback. Unarmed, it passes on all there is.
type Proxy struct {
	DSN string // of the server behind, through the proxy

	server   string
	listener net.Listener
	running  sync.WaitGroup

	mu       sync.Mutex
	fault    Fault
	armed    bool
	seen     [2]int
	hit      chan struct{} // closed once the fault has come to pass
	freed    chan struct{} // closed by Release
	down     bool
	sessions map[*session]struct{}
	cancels  int
	closed   bool
}

// New returns a proxy of the server of dsn, a URL without TLS. It ends with tb.
func New(tb testing.TB, dsn string) *Proxy {
	tb.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is there at once or never
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{server: u.Host, listener: listener, sessions: map[*session]struct{}{}, hit: make(chan struct{}), freed: make(chan struct{})}
	u.Host = listener.Addr().String()
	p.DSN = u.String()
	p.running.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// Arm sets the fault that happens next.
func (p *Proxy) Arm(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.armed, p.seen = f, true, [2]int{}
	p.hit, p.freed = make(chan struct{}), make(chan struct{})
}

// Disarm takes back a fault that has not happened, and reports whether it has.
func (p *Proxy) Disarm() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	select {
	case <-p.hit:
		return true
	default:
		return false
	}
}

// Hit is closed once the fault has happened.
func (p *Proxy) Hit() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hit
}

// Release passes on what is held, also where the client has left since: that is
// a message that was long on its way.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release()
}

func (p *Proxy) release() {
	select {
	case <-p.freed:
	default:
		close(p.freed)
	}
}

// Cancels is how many requests to cancel a statement, each on a connection of its
// own, the server has heard and done with.
func (p *Proxy) Cancels() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cancels
}

// Down cuts all connections and takes no more until it is called with false.
func (p *Proxy) Down(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
	if down {
		p.leave()
	}
}

// Leave ends every connection for its client. The server gets what was passed
// on, and then learns that nobody listens.
func (p *Proxy) Leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave()
}

func (p *Proxy) leave() {
	for s := range p.sessions {
		s.leaves()
	}
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.release()
	for s := range p.sessions {
		s.leaves()
		_ = s.server.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server) //nolint:noctx // loopback
		if err != nil {
			_ = client.Close()
			continue
		}
		p.serve(&session{Proxy: p, client: client.(*net.TCPConn), server: server.(*net.TCPConn)})
	}
}

// serve starts s, unless there is to be none.
func (p *Proxy) serve(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down || p.closed {
		_ = s.client.Close()
		_ = s.server.Close()
		return
	}
	p.sessions[s] = struct{}{}
	p.running.Go(s.requests)
	p.running.Go(s.replies)
}

// judge says what becomes of the next message of a side.
func (p *Proxy) judge(side Side) (act Act, freed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.seen[side]
	p.seen[side]++
	if !p.armed || p.fault.Side != side || p.fault.At != n {
		return Pass, nil
	}
	p.armed = false
	close(p.hit)
	return p.fault.Act, p.freed
}

// session is one connection, in both its halves.
type session struct {
	*Proxy
	client, server *net.TCPConn
	cancelling     bool // it is a request to cancel, and no more
}

// leaves ends the half of the client.
func (s *session) leaves() {
	_ = s.client.Close()
	_ = s.server.CloseWrite()
}

func (s *session) requests() {
	defer s.leaves()
	act := Pass
	for first := true; ; first = false {
		m, err := read(s.client, first)
		if err != nil {
			return
		}
		if first && isCancel(m) {
			s.mu.Lock()
			s.cancelling = true
			s.mu.Unlock()
		}
		var freed <-chan struct{}
		if act == Pass {
			act, freed = s.judge(Requests)
		}
		switch act {
		case Cut:
			return
		case Swallow:
			continue
		case Hold:
			<-freed // what follows waits in the socket, also where the client leaves
			act = Pass
		case Pass:
		}
		if _, err := s.server.Write(m); err != nil {
			return
		}
	}
}

func (s *session) replies() {
	defer s.forget()
	defer s.server.Close()
	defer s.leaves()
	act := Pass
	for {
		m, err := read(s.server, false)
		if err != nil {
			return
		}
		var freed <-chan struct{}
		if act == Pass {
			act, freed = s.judge(Replies)
		}
		switch act {
		case Cut:
			s.leaves()
			act = Swallow
			continue
		case Swallow:
			continue
		case Hold:
			<-freed
			act = Pass
		case Pass:
		}
		if _, err := s.client.Write(m); err != nil {
			act = Swallow // the server still has its say
		}
	}
}

func (s *session) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, s)
	if s.cancelling {
		s.cancels++
	}
}

// isCancel reports whether m, the first message of a connection, is a request to
// cancel what another does.
func isCancel(m []byte) bool {
	const code = 80877102
	return len(m) >= 8 && binary.BigEndian.Uint32(m[4:]) == code
}

// read reads one message whole. The first that a client sends has no type.
func read(c net.Conn, first bool) ([]byte, error) {
	head := make([]byte, 5)
	if first {
		head = head[:4]
	}
	if _, err := io.ReadFull(c, head); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[len(head)-4:])
	m := make([]byte, len(head)+int(length)-4)
	copy(m, head)
	_, err := io.ReadFull(c, m[len(head):])
	return m, err
}
