package verbs

import (
	"context"
	"errors"
	"io"
	"time"

	"jjm"
	"jjm/gate"
	"jjm/wire"
)

// OpenFile opens one file of one local job. After f returned io.EOF there may be more as long as live says so. An error
// with live is of a file that may come yet.
type OpenFile func(ctx context.Context, c gate.Caller, ref jjm.Ref, file string) (
	f io.ReadCloser, live func() bool, err error)

// Poll is how often a followed file is read again.
const Poll = 500 * time.Millisecond

// Cat answers a line and then a file of a local job, to its end or as long as it grows. A followed file is read again
// every poll.
func Cat(find Resolve, open OpenFile, poll time.Duration) gate.Verb {
	return gate.HandleStream(wire.VerbCat(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.CatRequest, out *gate.Stream[wire.CatAnswer]) error {
			refs, err := find.refs(ctx, c, "cat", r.Refs, false)
			if err != nil {
				return err
			}
			ref := refs[0]
			if !ref.Locals || ref.First != ref.Last {
				return jjm.Errorf(jjm.Invalid, "cat: id %q: want one local job, such as %v.0", r.Ref(), ref.Grid)
			}
			tick := time.NewTicker(poll)
			defer tick.Stop()
			again := func() (*opened, error) {
				f, live, err := open(ctx, c, ref, r.File)
				return &opened{f, live, tick.C}, err
			}
			file, err := again()
			if err != nil && (!r.Follow || file.live == nil) {
				return err
			}
			if err := out.Begin(wire.CatAnswer{Follows: wire.Follows{Bytes: -1}}); err != nil {
				return err
			}
			for err != nil {
				if file.live == nil || !file.pause(ctx) {
					return nil // it is over, and the file never came
				}
				file, err = again()
			}
			return file.copy(ctx, out, r.Follow)
		})
}

// opened is a file that may grow.
type opened struct {
	f    io.ReadCloser
	live func() bool
	tick <-chan time.Time
}

// pause waits for the next look; it reports false if ctx ended.
func (o *opened) pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-o.tick:
		return true
	}
}

// copy sends what there is, and with follow what is written until it is over.
func (o *opened) copy(ctx context.Context, to io.Writer, follow bool) error {
	defer func() { _ = o.f.Close() }()
	buf := make([]byte, copyBuffer)
	for {
		// Asked before reading: what is written until it is over is read.
		more := follow && o.live != nil && o.live()
		if err := copyUntilEOF(ctx, to, o.f, buf); err != nil || !more {
			return err
		}
		if !o.pause(ctx) {
			return nil
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
