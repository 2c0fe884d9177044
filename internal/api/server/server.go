package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Server answers the requests of clients on a socket. Each connection carries one request.
type Server struct {
	verbs       map[string]serve.Verb // the verbs by their names
	known       []string              // the names of the verbs, in the order of New
	cfg         Config
	log         *slog.Logger
	callers     *callers
	connections *connections
	memory      *memory
}

// New makes a server of verbs. If two verbs have the same name, the later verb is used. New does no I/O.
func New(verbs []serve.Verb, cfg Config, log *slog.Logger) *Server {
	cfg = cfg.WithDefaults()
	callers := newCallers(cfg)
	s := &Server{
		verbs: make(map[string]serve.Verb), cfg: cfg, log: log, callers: callers,
		connections: &connections{all: cfg.Connections, perUser: cfg.PerUser, trusted: callers.hasReserved,
			users: make(map[int]int)},
		memory: newMemory(int64(cfg.MemoryMB) << 20),
	}
	for _, v := range verbs {
		if _, ok := s.verbs[v.Name]; !ok {
			s.known = append(s.known, v.Name)
		}
		s.verbs[v.Name] = v
	}
	return s
}

// observe passes the outcome of a request to Config.Observe, if that is set.
func (s *Server) observe(verb string, err error) {
	if s.cfg.Observe != nil {
		s.cfg.Observe(verb, err)
	}
}

// errStopping returns the error of requests that end because the daemon stops. Its kind is Busy, so that the client
// tries again and reaches the restarted daemon.
func errStopping() error { return jjm.Errorf(jjm.Busy, "the daemon is stopping: try again") }

// Serve accepts connections on l until ctx ends. It then closes l, ends streams, and waits up to Config.Drain for
// running requests. After this time it cancels the requests and waits once more for the same time. It returns nil when
// all requests have ended. It returns an error if l fails, or if a cancelled request does not end in time.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	closed := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer closed()
	// The end of hard cancels running requests, the end of soft only ends streams. soft ends after l is closed, so that a
	// client whose stream ends finds no daemon when it connects again, and so knows that the daemon stopped.
	hard, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	soft, ask := context.WithCancel(hard)
	defer ask()
	var requests sync.WaitGroup
	err := s.accept(ctx, l, func(conn *net.UnixConn) {
		requests.Go(func() { s.serveConn(soft, hard, conn) })
	})
	_ = l.Close()
	ask()
	over := make(chan struct{})
	go func() { requests.Wait(); close(over) }()
	if s.waitFor(over) {
		return err
	}
	cut(errStopping())
	if !s.waitFor(over) {
		return errors.Join(err, jjm.Errorf(jjm.Internal, "socket: requests still run %v after they were cancelled",
			s.cfg.Drain))
	}
	return err
}

func (s *Server) waitFor(over <-chan struct{}) bool {
	t := time.NewTimer(s.cfg.Drain.D())
	defer t.Stop()
	select {
	case <-over:
		return true
	case <-t.C:
		return false
	}
}

// accept accepts connections and calls serve for each. It returns nil when ctx ends, and an error if l was closed by
// something else. After an error that may pass, such as too many open files, it waits and tries again; it logs only the
// first error of a series.
func (s *Server) accept(ctx context.Context, l net.Listener, serve func(*net.UnixConn)) error {
	const longest = time.Second
	var pause time.Duration
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			if c, ok := conn.(*net.UnixConn); ok {
				serve(c)
				continue
			}
			_ = conn.Close()
			return jjm.Errorf(jjm.Internal, "socket: accepted a connection that is no Unix socket: %s", conn.RemoteAddr())
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("socket: accept a connection: %w", err)
		}
		if pause == 0 {
			s.log.Error("a connection could not be accepted", "error", err)
		}
		pause = min(max(2*pause, 5*time.Millisecond), longest)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// serveConn serves one connection and closes it. ctx ends when the daemon begins to stop, and hard when the daemon no
// longer waits for running requests.
func (s *Server) serveConn(ctx, hard context.Context, conn *net.UnixConn) {
	defer func() { _ = conn.Close() }()
	c := &session{Server: s, conn: conn}
	cred, err := credentials(conn)
	if err != nil {
		s.log.Error("a client could not be identified", "error", err)
		return
	}
	if err := s.connections.add(int(cred.Uid)); err != nil {
		s.observe("", err)
		_ = c.reply(wire.Reply{Error: wire.ErrorOf(err)})
		return
	}
	defer s.connections.remove(int(cred.Uid))
	c.caller = s.callers.caller(cred)
	defer c.release()
	// When the daemon no longer waits, a blocked write ends soon.
	defer context.AfterFunc(hard, func() { c.shortenWrites() })()
	req, err := c.readRequest(ctx)
	if err != nil {
		c.refuse("", err)
		return
	}
	// The client may have closed the connection while the daemon hung, and then acted in another way, for example left
	// the request in the spool. If the request were carried out now, it would be carried out late or twice.
	if hungUp(conn) {
		s.log.Debug("request answered", "verb", req.verb.Name, "uid", c.caller.UID, "error", errClientGone())
		return
	}
	reqCtx, cancel := context.WithCancelCause(hard)
	watched := make(chan struct{})
	go func() { defer close(watched); watchClient(reqCtx, conn, cancel) }()
	c.serve(ctx, reqCtx, req)
	cancel(nil)
	_ = conn.SetReadDeadline(time.Unix(1, 0))
	<-watched
}
