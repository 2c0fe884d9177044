package servertest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"jjm/internal/api/serve"
	"jjm/internal/api/server"
)

// Server is a server that serves verbs during one test.
type Server struct {
	// Socket is the path of the gate's socket, short enough for every client.
	Socket string
	tb     testing.TB
	verbs  []serve.Verb
	cfg    server.Config
	log    *slog.Logger
	mu     sync.Mutex
	stop   func()
}

// Serve starts a server that serves verbs until the test ends. A nil log discards the
// messages.
func Serve(tb testing.TB, verbs []serve.Verb, cfg server.Config, log *slog.Logger) *Server {
	tb.Helper()
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	dir, err := os.MkdirTemp("", "jjm") // t.TempDir may be too long for a socket
	if err != nil {
		tb.Fatal(err)
	}
	g := &Server{Socket: filepath.Join(dir, "jjm.sock"), tb: tb, verbs: verbs, cfg: cfg, log: log}
	g.Start()
	tb.Cleanup(func() { g.Stop(); _ = os.RemoveAll(dir) })
	return g
}

// Start starts the server again after Stop.
func (g *Server) Start() {
	g.tb.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	l, err := server.Listen(g.Socket, g.cfg)
	if err != nil {
		g.tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- server.New(g.verbs, g.cfg, g.log).Serve(ctx, l) }()
	g.stop = func() {
		cancel()
		if err := <-over; err != nil {
			g.tb.Errorf("the server ended with %v", err)
		}
	}
}

// Stop stops the server and waits for its requests. A second Stop does nothing.
func (g *Server) Stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stop != nil {
		g.stop()
		g.stop = nil
	}
}
