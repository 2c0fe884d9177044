package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"jjm"
	"jjm/wire"
)

// copyBuffer is how much of a file is held per connection, in bytes.
const copyBuffer = 32 << 10

// either gives a context that ends with ctx, or when the daemon wants to stop.
func either(stop, ctx context.Context) (context.Context, context.CancelFunc) {
	both, cancel := context.WithCancelCause(ctx)
	done := context.AfterFunc(stop, func() { cancel(errStopping()) })
	return both, func() { done(); cancel(nil) }
}

// watch answers a line per change. The last line repeats the last state.
func (c *session) watch(stop, ctx context.Context, req *wire.Request) error {
	refs, err := c.refs(ctx, req, false)
	if err != nil {
		return err
	}
	ctx, cancel := either(stop, ctx)
	defer cancel()
	var last []wire.Status
	err = c.service.Watch(ctx, c.caller, refs, func(st []wire.Status) error {
		last = st
		return c.answer(wire.Answer{OK: true, Status: st})
	})
	if err != nil {
		// A line is whole, so an error may follow states.
		c.begun = false
		return c.explain(ctx, req, err)
	}
	return c.answer(wire.Answer{OK: true, Last: true, Status: last})
}

// output answers a line and then the tar.
func (c *session) output(ctx context.Context, req *wire.Request) error {
	refs, err := c.refs(ctx, req, true)
	if err != nil {
		return err
	}
	f, size, out, err := c.service.Output(ctx, c.caller, refs[0].Grid, req.Partial)
	if err != nil {
		return c.explain(ctx, req, err)
	}
	defer func() { _ = f.Close() }()
	// A tar that is still being made may wait for its maker: closing it ends
	// the reading when the client goes away.
	defer context.AfterFunc(ctx, func() { _ = f.Close() })()
	if err := c.answer(wire.Answer{OK: true, Output: &out, Bytes: size}); err != nil {
		return err
	}
	var src io.Reader = f
	if size >= 0 {
		src = io.LimitReader(f, size)
	}
	n, err := io.CopyBuffer(onlyWriter{c}, onlyReader{src}, make([]byte, copyBuffer))
	if err == nil && size >= 0 && n < size {
		err = jjm.Errorf(jjm.Internal, "its file ended after %d of %d bytes", n, size)
	}
	if err != nil {
		return fmt.Errorf("output %v: %w", refs[0].Grid, err)
	}
	return nil
}

// cat answers a line and then a file of a local job, to its end or as long as
// it grows.
func (c *session) cat(stop, ctx context.Context, req *wire.Request) error {
	refs, err := c.refs(ctx, req, false)
	if err != nil {
		return err
	}
	if r := refs[0]; !r.Locals || r.First != r.Last {
		return jjm.Errorf(jjm.Invalid, "cat: id %q: want one local job, such as %v.0", req.Refs[0], r.Grid)
	}
	ctx, cancel := either(stop, ctx)
	defer cancel()
	poll := time.NewTicker(c.cfg.Poll.D())
	defer poll.Stop()
	f, live, err := c.service.Cat(ctx, c.caller, refs[0], req.File)
	if err != nil && (!req.Follow || live == nil) {
		return c.explain(ctx, req, err)
	}
	if err := c.answer(wire.Answer{OK: true, Bytes: -1}); err != nil {
		return err
	}
	for ; err != nil; f, live, err = c.service.Cat(ctx, c.caller, refs[0], req.File) {
		if live == nil {
			return nil // it is over, and the file never came
		}
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
		}
	}
	defer func() { _ = f.Close() }()
	buf := make([]byte, copyBuffer)
	for {
		// Asked before reading: what is written until it is over is read.
		more := req.Follow && live != nil && live()
		if err := copyUntilEOF(ctx, c, f, buf); err != nil || !more {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
		}
	}
}

func copyUntilEOF(ctx context.Context, w io.Writer, r io.Reader, buf []byte) error {
	for ctx.Err() == nil {
		n, err := r.Read(buf)
		if n > 0 {
			if _, werr := w.Write(buf[:n]); werr != nil {
				return werr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// onlyReader and onlyWriter hide other methods from io.CopyBuffer, which would
// pass the buffer and the deadlines by.
type onlyReader struct{ io.Reader }
type onlyWriter struct{ io.Writer }
