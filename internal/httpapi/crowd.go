package httpapi

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// crowd bounds the open connections of a listener. When the house is full, a
// newcomer takes the place of the connection that has been quiet for longest:
// one that never finished a request, is slowly sending one, or is idle.
// Refusing newcomers or letting them wait would hand the listener to whoever
// opens 2,000 connections first; a real notification is quiet for a few
// milliseconds and is therefore never the oldest.
type crowd struct {
	net.Listener
	max int

	mu    sync.Mutex
	open  int
	quiet *list.List // of *guest, the longest quiet one first
}

// guest is one connection of a crowd.
type guest struct {
	net.Conn
	crowd *crowd

	// Both under crowd.mu. place is nil while the guest is being served, and
	// then its connection is not taken from it.
	place *list.Element
	gone  bool
}

func newCrowd(inner net.Listener, limit int) *crowd {
	return &crowd{Listener: inner, max: limit, quiet: list.New()}
}

// Accept waits for the next connection and makes room for it.
func (c *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if g := c.admit(conn); g != nil {
			return g, nil
		}
		_ = conn.Close() // everybody is being served: nobody can be sent away
	}
}

func (c *crowd) admit(conn net.Conn) *guest {
	g := &guest{Conn: conn, crowd: c}
	oldest, ok := c.seat(g)
	if !ok {
		return nil
	}
	if oldest != nil {
		_ = oldest.Conn.Close() // its goroutine sees the end and calls Close of the guest
	}
	return g
}

// seat counts g in and returns whom to send away for it.
func (c *crowd) seat(g *guest) (oldest *guest, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open >= c.max {
		front := c.quiet.Front()
		if front == nil {
			return nil, false
		}
		oldest = front.Value.(*guest)
		c.leave(oldest)
	}
	c.open++
	g.place = c.quiet.PushBack(g)
	return oldest, true
}

// leave counts g out, once.
func (c *crowd) leave(g *guest) {
	if g.gone {
		return
	}
	g.gone = true
	c.open--
	if g.place != nil {
		c.quiet.Remove(g.place)
		g.place = nil
	}
}

// Close closes the connection and frees its place.
func (g *guest) Close() error {
	g.crowd.mu.Lock()
	g.crowd.leave(g)
	g.crowd.mu.Unlock()
	return g.Conn.Close()
}

// CloseWrite lets net/http end an answer without a reset while the peer is still sending.
func (g *guest) CloseWrite() error {
	if c, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}

func (g *guest) serve() {
	g.crowd.mu.Lock()
	defer g.crowd.mu.Unlock()
	if g.place != nil {
		g.crowd.quiet.Remove(g.place)
		g.place = nil
	}
}

func (g *guest) rest() {
	g.crowd.mu.Lock()
	defer g.crowd.mu.Unlock()
	switch {
	case g.gone:
	case g.place != nil:
		g.crowd.quiet.MoveToBack(g.place)
	default:
		g.place = g.crowd.quiet.PushBack(g)
	}
}

type guestKey struct{}

// connContext lets a handler find the connection that it serves.
func connContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, guestKey{}, conn)
}

// connState notices that a request is over.
func connState(conn net.Conn, state http.ConnState) {
	if g, ok := conn.(*guest); ok && state == http.StateIdle {
		g.rest()
	}
}

// serving marks the connection of a request as served: the request is all here,
// so the connection is kept until the answer is written.
func serving(ctx context.Context) {
	if g, ok := ctx.Value(guestKey{}).(*guest); ok {
		g.serve()
	}
}
