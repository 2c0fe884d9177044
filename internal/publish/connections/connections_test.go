package connections

import (
	"errors"
	"io"
	"net"
	"testing"
)

// A limited listener closes the oldest connection when there are too many.
func TestLimit_ClosesTheOldest(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const most = 4
	b := Limit(l, most)
	defer func() { _ = b.Close() }()
	var clients []net.Conn
	var newest net.Conn
	for range most + 1 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		clients = append(clients, c)
		if newest, err = b.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := clients[0].Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the oldest: %v, want that it is closed", err)
	}
	if _, err := newest.Write([]byte("x")); err != nil {
		t.Errorf("the newest: %v", err)
	}
}
