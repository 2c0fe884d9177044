package gate

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"jjm"
	"jjm/wire"
)

const (
	// smallBytes of a request or an answer are not counted: a lookup always
	// gets through.
	smallBytes = 64 << 10
	// decoded is how many times its length a long request holds once read: the
	// line, its growth, and what was decoded from it.
	decoded = 4
	// chunk is how much is written under one deadline.
	chunk = 64 << 10
	// lastWords is how long a client has to take what is being written when
	// the daemon no longer waits.
	lastWords = 500 * time.Millisecond
)

// errClientGone cancels a request whose client closed the connection.
func errClientGone() error { return jjm.Errorf(jjm.Busy, "the client went away") }

// session is one connection with its one request.
type session struct {
	*Server
	conn   *net.UnixConn
	caller Caller
	// begun is set once bytes of the answer were written: no other may follow.
	begun bool
	// broken is set once the client failed to take what was written.
	broken bool
	held   int64       // bytes taken from memory
	late   atomic.Bool // the daemon no longer waits
}

func (c *session) release() {
	c.memory.give(c.caller, c.held)
	c.held = 0
}

// grow counts the bytes of a request that is being read.
func (c *session) grow() func(int) error {
	total := int64(0)
	return func(n int) error {
		total += int64(n)
		need := decoded*total - c.held
		if total <= smallBytes || need <= 0 {
			return nil
		}
		if err := c.memory.take(c.caller, need); err != nil {
			return err
		}
		c.held += need
		return nil
	}
}

// readRequest reads and checks the request line.
func (c *session) readRequest(stop context.Context) (*request, error) {
	limit := c.cfg.RequestTime.D()
	if err := c.conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	stopped := context.AfterFunc(stop, func() { _ = c.conn.SetReadDeadline(time.Unix(1, 0)) })
	line, err := wire.ReadLine(bufio.NewReader(c.conn), wire.MaxRequest, c.grow())
	if !stopped() && err != nil {
		return nil, errStopping()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, jjm.Errorf(jjm.Invalid, "request: its line did not come whole within %v", limit)
	}
	if err != nil {
		return nil, err
	}
	if err := c.conn.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	head, err := wire.DecodeHead(line)
	if err != nil {
		return nil, err
	}
	verb, ok := c.verbs[head.Verb]
	if !ok {
		return nil, wire.UnknownVerb(head.Verb, c.known, c.cfg.Version)
	}
	req, err := verb.read(head, line)
	if err != nil {
		return nil, err
	}
	req.verb = verb
	return req, nil
}

// watchClient cancels the request when its client is gone, and returns when the
// request is over. A client that only shut down its writing side (as some
// versions of nc(1) do) still wants its answer.
func watchClient(ctx context.Context, conn *net.UnixConn, cancel context.CancelCauseFunc) {
	const look = 200 * time.Millisecond
	buf := make([]byte, 512)
	for {
		_, err := conn.Read(buf) // anything after the request is ignored
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			if ctx.Err() == nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				cancel(errClientGone())
			}
			return
		}
		break
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	for !hungUp(conn) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	cancel(errClientGone())
}

// hungUp reports whether the peer closed the socket altogether.
func hungUp(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd)}}
		_, perr := unix.Poll(p, 0)
		gone = perr == nil && p[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
	})
	return gone || err != nil
}

// serve carries out one request, whatever happens in it.
func (c *session) serve(stop, ctx context.Context, req *request) {
	verb, began := req.verb.Name, time.Now()
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("gate: panic", "verb", verb, "uid", c.caller.UID, "panic", p, "stack", string(debug.Stack()))
			c.refuse(verb, jjm.Errorf(jjm.Internal, "%s: a defect of jjm, see the daemon's log: %v", verb, p))
		}
		c.log.Debug("gate: request", "verb", verb, "uid", c.caller.UID, "pid", c.caller.PID, "took", time.Since(began))
	}()
	if err := c.do(stop, ctx, req); err != nil {
		c.refuse(verb, err)
	}
}

// refuse answers with an error, if nothing was answered yet.
func (c *session) refuse(verb string, err error) {
	if errors.Is(err, io.EOF) && verb == "" {
		return // connected and went away: somebody asks whether we live
	}
	e := wire.ErrorOf(err)
	level := c.log.Debug
	if e.Kind == jjm.Internal && verb != "" && !c.broken {
		level = c.log.Error // not the client's fault
	}
	level("gate: refused", "verb", verb, "uid", c.caller.UID, "kind", e.Kind.String(), "error", e.Text)
	if !c.begun && !c.broken {
		_ = c.reply(wire.Reply{Last: true, Error: e})
	}
}

// reply writes an answer that has nothing but the common part.
func (c *session) reply(r wire.Reply) error {
	line, err := wire.Line(r)
	if err != nil {
		return err
	}
	return c.send(line)
}

// send writes one line.
func (c *session) send(line []byte) error {
	if n := int64(len(line)); n > smallBytes {
		if err := c.memory.take(c.caller, n); err != nil {
			return err
		}
		defer c.memory.give(c.caller, n)
	}
	_, err := c.Write(line)
	return err
}

// Write sends b; the client must take each chunk of it within the write time.
func (c *session) Write(b []byte) (int, error) {
	sent := 0
	for sent < len(b) {
		c.begun = true
		limit := c.cfg.WriteTime.D()
		if c.late.Load() {
			limit = lastWords
		}
		if err := c.conn.SetWriteDeadline(time.Now().Add(limit)); err != nil {
			return sent, err
		}
		n, err := c.conn.Write(b[sent:min(sent+chunk, len(b))])
		sent += n
		if err != nil {
			c.broken = true
			return sent, err
		}
	}
	return sent, nil
}

// hurry bounds what is being written, and all that is written later.
func (c *session) hurry() {
	c.late.Store(true)
	_ = c.conn.SetWriteDeadline(time.Now().Add(lastWords))
}
