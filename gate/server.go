package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"jjm"
	"jjm/wire"
)

// Server answers on sockets.
type Server struct {
	verbs   map[string]Verb
	known   []string // their names, in order
	cfg     Config
	log     *slog.Logger
	callers *callers
	doors   *doors
	memory  *memory
}

// New makes a server of verbs. Of two with the same name the later one counts. It does no I/O.
func New(verbs []Verb, cfg Config, log *slog.Logger) *Server {
	cfg = cfg.WithDefaults()
	callers := newCallers(cfg)
	s := &Server{
		verbs: make(map[string]Verb), cfg: cfg, log: log, callers: callers,
		doors:  &doors{all: cfg.Connections, perUser: cfg.PerUser, trusted: callers.seated, users: make(map[int]int)},
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

// errStopping is why requests end when the daemon stops. It is Busy, so that
// a client tries again and finds the next daemon.
func errStopping() error { return jjm.Errorf(jjm.Busy, "the daemon is stopping: try again") }

// Serve answers on l until ctx ends, then closes l, ends streams, gives
// running requests the drain time and returns nil once the last is over. It
// returns an error if l fails for another reason, or if requests outlive the
// drain time by as much again.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	closed := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer closed()
	// hard ends requests that are under way; soft only asks them to finish. It
	// ends after l is closed, so that a client whose stream ended finds nobody
	// and knows that it was the daemon's end.
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
		return errors.Join(err, jjm.Errorf(jjm.Internal, "gate: requests still run %v after their end was asked",
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

// accept takes connections until ctx ends (nil) or l is closed. Trouble such
// as too many open files passes: it is logged when it begins and waited out.
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
			return jjm.Errorf(jjm.Internal, "gate: accepted a connection of %T: want a Unix socket", conn)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("gate: accept: %w", err)
		}
		if pause == 0 {
			s.log.Error("gate: accept", "error", err)
		}
		pause = min(max(2*pause, 5*time.Millisecond), longest)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// serveConn does everything for one connection. ctx ends when the daemon wants
// to stop, hard when it no longer waits.
func (s *Server) serveConn(ctx, hard context.Context, conn *net.UnixConn) {
	defer func() { _ = conn.Close() }()
	c := &session{Server: s, conn: conn}
	cred, err := credentials(conn)
	if err != nil {
		s.log.Error("gate", "error", err)
		return
	}
	if err := s.doors.enter(int(cred.Uid)); err != nil {
		_ = c.reply(wire.Reply{Error: wire.ErrorOf(err)})
		return
	}
	defer s.doors.leave(int(cred.Uid))
	c.caller = s.callers.caller(cred)
	defer c.release()
	// A blocked write ends soon after the daemon stopped waiting.
	defer context.AfterFunc(hard, func() { c.hurry() })()
	req, err := c.readRequest(ctx)
	if err != nil {
		c.refuse("", err)
		return
	}
	// A client that gave up while the daemon hung went another way: what it asked
	// for then would come after what it asked for since.
	if hungUp(conn) {
		s.log.Debug("gate: request", "verb", req.verb.Name, "uid", c.caller.UID, "error", errClientGone())
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
