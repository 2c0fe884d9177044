// Package client asks the daemon. It is light on purpose: gatekeepers exec the
// command that links it thousands of times, so that it speaks to the socket by
// system calls instead of package net (whose start alone doubles the cost of a
// small program that is linked with cgo).
//
// A client opens one connection per request. It tries again when the daemon
// says Busy, for a few seconds; nothing else is tried twice.
package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"jjm"
	"jjm/wire"
)

// Client asks the daemon behind one socket. Its methods may be called from
// many goroutines.
type Client struct {
	// Socket is the path of the daemon's socket.
	Socket string
	// Timeout bounds one request, tries included; default 25 s, because
	// gatekeepers wait 30 s at worst. Streams are bounded by it up to their
	// first line only.
	Timeout time.Duration
}

const (
	defaultTimeout = 25 * time.Second
	// busyFor is how long a busy daemon is asked again, from busyFirst on.
	busyFor   = 5 * time.Second
	busyFirst = 50 * time.Millisecond
)

// Unreachable is the error when no daemon answers: it does not run, stopped
// in the middle, or hangs.
type Unreachable struct {
	Socket string
	Err    error
}

func (u *Unreachable) Error() string {
	return fmt.Sprintf("no daemon answers at %s: %v", u.Socket, u.Err)
}

// Unwrap returns the cause.
func (u *Unreachable) Unwrap() error { return u.Err }

// IsUnreachable reports whether err means that no daemon answered.
func IsUnreachable(err error) bool {
	var u *Unreachable
	return errors.As(err, &u)
}

// Call asks and returns the answer. An error that the daemon answered has its kind and problems; one that found no
// daemon is an [Unreachable]. A submission cut off before its answer is Ambiguous.
func Call[Req wire.Request, Ans wire.Answer](ctx context.Context, c *Client, v wire.Verb[Req, Ans], req Req) (
	Ans, error) {
	var a Ans
	s, err := begin(ctx, c, v, req, &a)
	_ = s.Close()
	return a, err
}

// sized is an answer that says how many bytes follow it.
type sized interface {
	wire.Answer
	Size() int64
}

// Open asks for raw bytes: "output" and "cat". The caller closes the reader,
// which ends early if ctx does. A reader of an answer whose Size is known
// returns [io.ErrUnexpectedEOF] if fewer came.
func Open[Req wire.Request, Ans sized](ctx context.Context, c *Client, v wire.Verb[Req, Ans], req Req) (
	Ans, io.ReadCloser, error) {
	var a Ans
	s, err := begin(ctx, c, v, req, &a)
	if err != nil {
		_ = s.Close()
		return a, nil, err
	}
	s.left = a.Size()
	return a, s, nil
}

// Watch asks for lines: "wait". fn is called for each; its error ends the
// watching. It returns nil after the last line, and an [Unreachable] if the
// connection ended before.
func Watch[Req wire.Request, Ans wire.Answer](ctx context.Context, c *Client, v wire.Verb[Req, Ans], req Req,
	fn func(Ans) error) error {
	var a Ans
	s, err := begin(ctx, c, v, req, &a)
	defer func() { _ = s.Close() }()
	for {
		if err != nil {
			return err
		}
		if err := fn(a); err != nil || a.Outcome().Last {
			return err
		}
		err = s.next()
	}
}

// begin asks and reads the first line of the answer into a, where later lines are read to.
func begin[Req wire.Request, Ans wire.Answer](ctx context.Context, c *Client, v wire.Verb[Req, Ans], req Req, a *Ans) (
	*stream, error) {
	line, err := v.Line(req)
	if err != nil {
		return nil, err
	}
	return c.open(ctx, question{verb: v.Name, line: line, unsure: wire.UnsureOf(req), read: func(line []byte) error {
		answer, err := v.DecodeAnswer(line)
		if err != nil {
			return err
		}
		*a = answer
		return answer.Outcome().Error.Err()
	}})
}

// question is a request on its way.
type question struct {
	verb string
	line []byte
	// unsure says what may have happened if the answer is lost; see [wire.UnsureOf].
	unsure string
	// read takes a line of the answer; the error that it holds is returned as such.
	read func(line []byte) error
}

// open connects, sends and reads the first line, for as long as the daemon is
// busy.
func (c *Client) open(ctx context.Context, q question) (*stream, error) {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	began := time.Now()
	pause := busyFirst
	for {
		s, err := c.once(ctx, q, began.Add(timeout))
		if jjm.KindOf(err) != jjm.Busy || time.Since(began)+pause > min(busyFor, timeout) {
			return s, err
		}
		_ = s.Close()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, time.Second)
	}
}

// once makes one try.
func (c *Client) once(ctx context.Context, q question, deadline time.Time) (*stream, error) {
	f, err := connect(c.Socket, time.Until(deadline))
	if errors.Is(err, syscall.EACCES) {
		return nil, jjm.Errorf(jjm.Denied, "this account may not ask the daemon at %s: %w "+
			"(mode and group below [gate] in its configuration let others in)", c.Socket, err)
	}
	if err != nil {
		return nil, &Unreachable{c.Socket, err}
	}
	s := &stream{f: f, r: bufio.NewReader(f), socket: c.Socket, ctx: ctx, question: q, left: -1}
	_ = f.SetDeadline(deadline)
	s.unwatch = context.AfterFunc(ctx, func() { _ = f.SetDeadline(time.Unix(1, 0)) })
	_, sendErr := f.Write(q.line)
	// A daemon that refuses early may have answered before it read all.
	err = s.next()
	if IsUnreachable(err) && sendErr != nil {
		err = &Unreachable{c.Socket, sendErr}
	} else if IsUnreachable(err) && q.unsure != "" {
		err = jjm.Errorf(jjm.Ambiguous, "%s: the connection was lost before the answer; %s: %w", q.verb, q.unsure, err)
	}
	if ctx.Err() == nil {
		_ = f.SetDeadline(time.Time{})
	}
	return s, err
}

// connect opens the socket. The time bounds the wait for a place in the
// daemon's queue.
func connect(path string, wait time.Duration) (*os.File, error) {
	address, done, err := wire.SocketAddress(path)
	if err != nil {
		return nil, err
	}
	defer done()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := connectWithin(fd, address, wait); err != nil {
		_ = syscall.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func connectWithin(fd int, address string, wait time.Duration) error {
	// unix(7): connect on a blocking socket honours the sending timeout.
	tv := syscall.NsecToTimeval(max(wait, time.Millisecond).Nanoseconds())
	if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &tv); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	for {
		err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: address})
		switch {
		case err == nil:
			return os.NewSyscallError("fcntl", syscall.SetNonblock(fd, true))
		case !errors.Is(err, syscall.EINTR):
			return os.NewSyscallError("connect", err)
		}
	}
}

// stream is an open connection whose request was sent.
type stream struct {
	f        *os.File
	r        *bufio.Reader
	socket   string
	ctx      context.Context // of the request, as with net/http's
	unwatch  func() bool
	question question
	left     int64 // raw bytes still to come; -1: until the end
}

// next reads a line; an error that the daemon answered is returned as such.
func (s *stream) next() error {
	line, err := wire.ReadLine(s.r, wire.MaxAnswer, nil)
	switch {
	case err == nil:
		return s.question.read(line)
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	}
	return &Unreachable{s.socket, fmt.Errorf("%s: %w", s.question.verb, err)}
}

// Read returns the raw bytes after the line.
func (s *stream) Read(b []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	if s.left > 0 && int64(len(b)) > s.left {
		b = b[:s.left]
	}
	n, err := s.r.Read(b)
	if s.left > 0 {
		s.left -= int64(n)
		if errors.Is(err, io.EOF) && s.left > 0 {
			err = io.ErrUnexpectedEOF
		}
	}
	if err != nil && s.ctx.Err() != nil {
		err = s.ctx.Err()
	}
	return n, err
}

// Close ends the connection, and with it the request if it still runs.
func (s *stream) Close() error {
	if s == nil {
		return nil
	}
	s.unwatch()
	return s.f.Close()
}
