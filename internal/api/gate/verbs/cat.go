package verbs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// OpenFile opens one file of one local job. While live returns true, more may be appended after
// f returned io.EOF. If OpenFile returns an error together with live, the file may still be
// created.
type OpenFile func(ctx context.Context, c gate.Caller, ref jjm.Ref, file wire.CatFile) (
	f io.ReadCloser, live func() bool, err error)

// ListFiles lists the files of an attempt of one local job; attempt nil means the last attempt. more is set if there
// are more files than listed.
type ListFiles func(ctx context.Context, c gate.Caller, ref jjm.Ref, attempt *int32) (files []jjm.JobFile, more bool,
	err error)

// Poll is how often the daemon reads a followed file again.
const Poll = 500 * time.Millisecond

// Cat makes the verb that sends a line and then a file of a local job, or the list of its files. A followed file is
// sent for as long as it grows and is read again every poll. Of any other file only the bytes are sent that it has
// when it is opened, however fast it grows.
func Cat(find Resolve, open OpenFile, list ListFiles, poll time.Duration) gate.Verb {
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
			if r.List {
				files, more, err := list(ctx, c, ref, r.Attempt)
				if err != nil {
					return err
				}
				return out.Begin(wire.CatAnswer{Files: files, More: more})
			}
			tick := time.NewTicker(poll)
			defer tick.Stop()
			again := func() (*followed, error) {
				f, live, err := open(ctx, c, ref, r.CatFile)
				return &followed{f, live, tick.C}, err
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
					return nil // the job is over, and the file was never created
				}
				file, err = again()
			}
			return file.copy(ctx, out, r.Follow, r.Tail)
		})
}

// followed is an open file to which more may be appended.
type followed struct {
	f    io.ReadCloser
	live func() bool
	tick <-chan time.Time
}

// pause waits until the file is to be read again. It returns false if ctx ended.
func (o *followed) pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-o.tick:
		return true
	}
}

// copy sends the content of the file, or the last bytes of it. If follow is set, it also sends
// what is appended until the job is over.
func (o *followed) copy(ctx context.Context, to io.Writer, follow bool, last int64) error {
	defer func() { _ = o.f.Close() }()
	buf := make([]byte, copyBuffer)
	from, err := tail(o.f, last)
	if err != nil {
		return err
	}
	if !follow {
		return copyUntilEOF(ctx, to, from, buf)
	}
	if err := copyUntilEOF(ctx, to, from, buf); err != nil {
		return err
	}
	for {
		// live must be called before reading. If it returned false only afterwards, text
		// written in between would be lost.
		more := follow && o.live != nil && o.live()
		if err := copyUntilEOF(ctx, to, o.f, buf); err != nil || !more {
			return err
		}
		if !o.pause(ctx) {
			return nil
		}
	}
}

// tail returns a reader of the bytes that the file has now, or of its last bytes, from the first line that begins
// among them. A reader without a size is returned as it is.
func tail(f io.Reader, last int64) (io.Reader, error) {
	file, ok := f.(interface {
		io.ReadSeeker
		Stat() (fs.FileInfo, error)
	})
	if !ok {
		return f, nil
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	if last <= 0 || size <= last {
		return io.LimitReader(file, size), nil
	}
	if _, err := file.Seek(size-last, io.SeekStart); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, last))
	if err != nil {
		return nil, err
	}
	if _, rest, found := bytes.Cut(text, []byte("\n")); found && len(rest) > 0 {
		text = rest
	}
	return bytes.NewReader(text), nil
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
