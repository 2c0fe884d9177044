// Package connections bounds the open connections of the daemon's HTTP listeners.
package connections

import (
	"net"
	"slices"
	"sync"
)

// Limit returns a listener that keeps at most the given number of connections open. A further connection closes the
// oldest connection, so clients that hold connections open never keep a new client out.
func Limit(l net.Listener, most int) net.Listener { return &limited{Listener: l, most: most} }

// limited is a listener with a bounded number of connections.
type limited struct {
	net.Listener
	most int

	mu   sync.Mutex
	open []*Connection // the oldest first
}

// Connection is an open connection of a limited listener.
type Connection struct {
	net.Conn
	of *limited
}

// Accept returns the next connection.
func (b *limited) Accept() (net.Conn, error) {
	conn, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &Connection{conn, b}
	if oldest := b.add(c); oldest != nil {
		_ = oldest.Close()
	}
	return c, nil
}

// add adds a connection. It returns the oldest connection if there are too many, else nil.
func (b *limited) add(c *Connection) *Connection {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = append(b.open, c)
	if len(b.open) <= b.most {
		return nil
	}
	return b.open[0]
}

// Close closes the connection.
func (c *Connection) Close() error {
	c.of.remove(c)
	return c.Conn.Close()
}

func (b *limited) remove(c *Connection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = slices.DeleteFunc(b.open, func(o *Connection) bool { return o == c })
}
