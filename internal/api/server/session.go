package server

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

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

const (
	// smallBytes is the greatest length of requests and answers that are not counted in memory. Therefore a lookup is
	// always possible.
	smallBytes = 64 << 10
	// decoded is the memory that a long request needs, as a multiple of its length: for the line, for extending the line,
	// and for the decoded values.
	decoded = 4
	// chunk is the greatest number of bytes that are written under one deadline.
	chunk = 64 << 10
	// finalWriteTime replaces the write time when the daemon stops and no longer waits for running requests: a client must
	// then read each chunk within this time.
	finalWriteTime = 500 * time.Millisecond
)

// errClientGone returns the error of a request whose client closed the connection.
func errClientGone() error { return jjm.Errorf(jjm.Busy, "the client closed the connection") }

// session is one connection and its single request.
type session struct {
	*Server
	conn   *net.UnixConn
	caller Caller
	// answered is set when bytes of the answer were written. After that, no error can be sent.
	answered bool
	// broken is set when a write failed.
	broken bool
	held   int64       // bytes that are reserved in memory for the request
	late   atomic.Bool // the daemon no longer waits for running requests
}

func (c *session) release() {
	c.memory.release(c.caller, c.held)
	c.held = 0
}

// grow returns a function that reserves memory for a request while the request is read. The function gets the number of
// further bytes, and returns an error of kind Busy if there is no memory for them.
func (c *session) grow() func(int) error {
	total := int64(0)
	return func(n int) error {
		total += int64(n)
		need := decoded*total - c.held
		if total <= smallBytes || need <= 0 {
			return nil
		}
		if err := c.memory.reserve(c.caller, need); err != nil {
			return err
		}
		c.held += need
		return nil
	}
}

// readRequest reads and checks the request line. The error is of kind Busy if the daemon stops meanwhile or has no
// memory for the request, and of kind Invalid if the line is not complete in time or is not a correct request. It is
// io.EOF if the client sent nothing.
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
		return nil, jjm.Errorf(jjm.Invalid, "request: the line was not complete after %s", jjm.HowLong(limit))
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
	req, err := verb.Read(head, line)
	if err != nil {
		return nil, err
	}
	return &request{verb, req}, nil
}

// watchClient cancels the request if its client closes the connection. It returns when the request is over. A client
// that closes only its writing side, as some versions of nc(1) do, still expects its answer; watchClient then polls the
// connection.
func watchClient(ctx context.Context, conn *net.UnixConn, cancel context.CancelCauseFunc) {
	const look = 200 * time.Millisecond
	buf := make([]byte, 512)
	for {
		_, err := conn.Read(buf) // text after the request is ignored
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

// hungUp reports whether the client closed the connection in both directions.
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

// serve carries out one request. stop ends when the daemon begins to stop, ctx when the request must end. After an
// error or a panic, serve answers with an error, unless the answer has already begun.
func (c *session) serve(stop, ctx context.Context, req *request) {
	verb, began := req.verb.Name, time.Now()
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("a request caused a panic", "verb", verb, "uid", c.caller.UID, "panic", p, "stack",
				string(debug.Stack()))
			c.refuse(verb, jjm.Errorf(jjm.Internal, "%s: a defect of jjm, see the daemon's log: %v", verb, p))
		}
		c.log.Debug("request answered", "verb", verb, "uid", c.caller.UID, "pid", c.caller.PID, "took", time.Since(began))
	}()
	if err := c.do(stop, ctx, req); err != nil {
		c.refuse(verb, err)
		return
	}
	c.observe(verb, nil)
}

// refuse answers with an error, unless the answer has already begun.
func (c *session) refuse(verb string, err error) {
	if errors.Is(err, io.EOF) && verb == "" {
		return // the client only tested whether the daemon accepts connections
	}
	c.observe(verb, err)
	e := wire.ErrorOf(err)
	level := c.log.Debug
	if e.Kind == jjm.Internal && verb != "" && !c.broken {
		level = c.log.Error // the client did not cause this error
	}
	level("request refused", "verb", verb, "uid", c.caller.UID, "kind", e.Kind.String(), "error", e.Text)
	if !c.answered && !c.broken {
		_ = c.reply(wire.Reply{Last: true, Error: e})
	}
}

// reply writes an answer without members other than the common ones.
func (c *session) reply(r wire.Reply) error {
	line, err := wire.Line(r)
	if err != nil {
		return err
	}
	return c.send(line)
}

// send writes one line of the answer. For a long line it reserves memory; the error is of kind Busy if there is none.
func (c *session) send(line []byte) error {
	if n := int64(len(line)); n > smallBytes {
		if err := c.memory.reserve(c.caller, n); err != nil {
			return err
		}
		defer c.memory.release(c.caller, n)
	}
	_, err := c.Write(line)
	return err
}

// Write writes b in chunks. It returns an error if the client does not read a chunk within the write time.
func (c *session) Write(b []byte) (int, error) {
	sent := 0
	for sent < len(b) {
		c.answered = true
		limit := c.cfg.WriteTime.D()
		if c.late.Load() {
			limit = finalWriteTime
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

// shortenWrites limits the current write, and all later writes, to finalWriteTime.
func (c *session) shortenWrites() {
	c.late.Store(true)
	_ = c.conn.SetWriteDeadline(time.Now().Add(finalWriteTime))
}
