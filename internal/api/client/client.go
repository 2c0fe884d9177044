// Package client sends requests to the daemon and reads its answers. A client opens one connection per request. It
// repeats a request only if the daemon answers Busy, and only for some seconds. If no daemon answers, the error
// satisfies [IsUnreachable], and the caller decides what to do.
//
// The package uses system calls instead of package net, because gatekeepers start the program that links it thousands
// of times. Package net would double the start time of a small program that is linked with cgo.
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

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Client sends requests to the daemon behind one socket. Goroutines may share a Client.
type Client struct {
	// Socket is the path of the daemon's socket.
	Socket string
	// Timeout limits one request, including its repetitions; default 25 s, because gatekeepers wait at most 30 s. For
	// streams it limits the time until the first line.
	Timeout time.Duration
}

const (
	defaultTimeout = 25 * time.Second
	// busyFor is how long a request is repeated if the daemon answers Busy. The pauses between the repetitions grow from
	// busyFirst.
	busyFor   = 5 * time.Second
	busyFirst = 50 * time.Millisecond
)

// Unreachable is the error if no daemon answers: no daemon runs, the daemon stopped during the request, or it hangs.
type Unreachable struct {
	Socket string
	Err    error
	// ShownBy is set if the request was sent and may have been carried out: the command that shows whether it was.
	ShownBy string
}

func (u *Unreachable) Error() string {
	why := any(u.Err)
	switch {
	case u.ShownBy != "":
		return fmt.Sprintf("the request was sent, but the daemon at %s did not answer (%v): it is not known whether the "+
			"request was carried out: %s shows it", u.Socket, u.Err, u.ShownBy)
	case errors.Is(u.Err, syscall.ENOENT):
		why = "there is no such socket"
	case errors.Is(u.Err, syscall.ECONNREFUSED):
		why = "nobody listens there"
	}
	return fmt.Sprintf("no daemon answers at %s: %v", u.Socket, why)
}

// Unwrap returns the error of connecting, sending or reading.
func (u *Unreachable) Unwrap() error { return u.Err }

// IsUnreachable reports whether err means that no daemon answered. It is also true for errors of kind Ambiguous, for
// which a daemon may have carried out the request.
func IsUnreachable(err error) bool {
	var u *Unreachable
	return errors.As(err, &u)
}

// Call sends a request and returns its answer. If the answer is an error of kind Busy, Call repeats the request for at
// most 5 s.
//
//	what happened                                     | error
//	the request is too long                           | Invalid
//	the daemon answered with an error                 | that error, with its kind and problems
//	this account may not open the socket              | Denied
//	ctx ended                                         | the error of ctx
//	no daemon answered                                | [*Unreachable]
//	no daemon answered, but the request may have been | Ambiguous
//	carried out and a repetition may do harm          |
//	([wire.UnsureOf])                                 |
func Call[Req wire.Request, Ans wire.Answer](ctx context.Context, c *Client, v wire.Verb[Req, Ans], req Req) (
	Ans, error) {
	var a Ans
	s, err := begin(ctx, c, v, req, &a)
	_ = s.Close()
	return a, err
}

// sized is an answer that is followed by raw bytes, and has their number.
type sized interface {
	wire.Answer
	Size() int64
}

// Open sends a request whose answer is followed by raw bytes ("output", "cat"), and returns the answer and a reader of
// the bytes. The errors of Open are those of [Call]. The caller must close the reader. The reader returns the error of
// ctx if ctx ends, and [io.ErrUnexpectedEOF] if the answer contains the number of bytes and fewer bytes came.
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

// Watch sends a request that is answered with several lines ("wait", "records") and calls fn for each line. It returns
// nil after the last line. If fn returns an error, Watch stops and returns this error. If the connection ends before
// the last line, the error is an [*Unreachable]. All other errors are those of [Call].
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

// begin sends the request and reads the first line of the answer into a. Each call of the stream's method next reads a
// further line into a.
func begin[Req wire.Request, Ans wire.Answer](ctx context.Context, c *Client, v wire.Verb[Req, Ans], req Req, a *Ans) (
	*stream, error) {
	line, err := v.Line(req)
	if err != nil {
		return nil, err
	}
	read := func(line []byte) error {
		answer, err := v.DecodeAnswer(line)
		if err != nil {
			return err
		}
		*a = answer
		return answer.Outcome().Error.Err()
	}
	return c.open(ctx, question{verb: v.Name, line: line, unsure: wire.UnsureOf(req), shownBy: wire.ShownBy(req),
		read: read})
}

// question is an encoded request, with what is needed to understand its answer.
type question struct {
	verb string
	line []byte
	// unsure describes, for the case of a lost answer, what may have happened; see [wire.UnsureOf].
	unsure string
	// shownBy is the command that shows whether a request with a lost answer was carried out; see [wire.ShownBy].
	shownBy string
	// read decodes a line of the answer. If the line contains an error, read returns this error.
	read func(line []byte) error
}

// open connects to the daemon, sends the request and reads the first line of the answer. While the daemon answers Busy,
// open repeats this, for at most busyFor. The errors are those of once. The caller must close the stream, also after an
// error.
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

// once connects, sends the request and reads the first line of the answer, without repetitions. The error is of kind
// Denied if this account may not open the socket, and an [*Unreachable] if no daemon answered. If the connection was
// lost after the request was sent, and a repetition may do harm, the error is of kind Ambiguous.
func (c *Client) once(ctx context.Context, q question, deadline time.Time) (*stream, error) {
	f, err := connect(c.Socket, time.Until(deadline))
	if errors.Is(err, syscall.EACCES) {
		return nil, jjm.Errorf(jjm.Denied, "this account may not ask the daemon at %s: %w "+
			"(mode and group below [gate] in its configuration let others in)", c.Socket, err)
	}
	if err != nil {
		return nil, &Unreachable{Socket: c.Socket, Err: err}
	}
	s := &stream{f: f, r: bufio.NewReader(f), socket: c.Socket, ctx: ctx, question: q, left: -1}
	_ = f.SetDeadline(deadline)
	s.unwatch = context.AfterFunc(ctx, func() { _ = f.SetDeadline(time.Unix(1, 0)) })
	_, sendErr := f.Write(q.line)
	// If the daemon refuses a request early, it answers before it has read the whole request.
	err = s.next()
	if IsUnreachable(err) && sendErr != nil {
		err = &Unreachable{Socket: c.Socket, Err: sendErr}
	} else if IsUnreachable(err) && q.unsure != "" {
		err = jjm.Errorf(jjm.Ambiguous, "%s: the connection was lost before the answer; %s: %w", q.verb, q.unsure, err)
	}
	if ctx.Err() == nil {
		_ = f.SetDeadline(time.Time{})
	}
	return s, err
}

// connect opens a connection to the socket at path. wait is the longest time to wait for room in the daemon's queue of
// connections.
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
	// A blocking connect waits at most for the timeout for sending (unix(7)).
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
	ctx      context.Context // the context of the request
	unwatch  func() bool
	question question
	left     int64 // raw bytes still to read; -1 means until the connection closes
}

// next reads the next line of the answer. If the line contains an error of the daemon, next returns this error.
func (s *stream) next() error {
	line, err := wire.ReadLine(s.r, wire.MaxAnswer, nil)
	switch {
	case err == nil:
		return s.question.read(line)
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	}
	return &Unreachable{Socket: s.socket, Err: fmt.Errorf("%s: %w", s.question.verb, err), ShownBy: s.question.shownBy}
}

// Read reads the raw bytes after the first line.
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

// Close closes the connection. If the daemon is still carrying out the request, it cancels the request.
func (s *stream) Close() error {
	if s == nil {
		return nil
	}
	s.unwatch()
	return s.f.Close()
}
