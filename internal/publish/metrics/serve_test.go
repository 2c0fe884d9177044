package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"jjm/internal/testkit/await"
)

// serve serves a meter on a free port until the test ends, and returns the address.
func serve(t *testing.T, m *Meter) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- m.Serve(ctx, l, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Errorf("the end of Serve: %v", err)
		}
	})
	return l.Addr().String()
}

// get scrapes over a new connection.
func get(address string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + address + "/metrics")
	if err != nil {
		return err
	}
	defer func() { _ = r.Body.Close() }()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return err
	}
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", r.StatusCode)
	}
	return nil
}

// Clients that send nothing, or do not read their answers, do not delay other clients, even if there are many of them.
func TestServe_SlowClientsHoldUpNobody(t *testing.T) {
	m, _ := full(MostClusters)
	address := serve(t, m)
	for i := range 3 * mostConnections {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if i%2 == 0 { // the answers of 100 requests fill all buffers
			for range 100 {
				if _, err := io.WriteString(conn, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
					break // jjm closed the connection
				}
			}
		}
	}
	await.Nil(t, "a scrape beside slow clients", func() error { return get(address) })
}

func TestServe_AListenerThatFailsIsAnError(t *testing.T) {
	m, _ := full(1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Serve(t.Context(), l, slog.New(slog.DiscardHandler)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
}
