package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// copyBuffer is the size, in bytes, of the buffer with which each connection copies a file.
const copyBuffer = 32 << 10

// Poll is the time between two reads of a followed file.
const Poll = 500 * time.Millisecond

// OpenFile opens the file that a request of "cat" names. live reports whether text may still be appended after f
// returned io.EOF. If OpenFile returns an error together with live, the file does not exist yet, but may be created.
type OpenFile func() (f io.ReadCloser, live func() bool, err error)

// SendFile answers a request of "cat" with a line and then the bytes of the file. If the request follows the file,
// SendFile reads the file again after each interval poll, and sends the appended text until live returns false or ctx
// ends. Otherwise it sends only the bytes that the file has when it is opened.
func SendFile(ctx context.Context, out *Stream[wire.CatAnswer], r wire.CatRequest, open OpenFile,
	poll time.Duration) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	again := func() (*followed, error) {
		f, live, err := open()
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
}

// SendTar answers a request of "output" with a line, described, and then the bytes of f, and closes f. size is the
// number of bytes, or -1 if it is not known. If the client closes the connection, SendTar closes f during a Read, and
// again when it returns; f must permit both.
func SendTar(ctx context.Context, out *Stream[wire.OutputAnswer], ref jjm.Ref, f io.ReadCloser, size int64,
	described wire.Output) error {
	defer func() { _ = f.Close() }()
	// While a tar is being made, a Read waits for the writer of the tar. When the client closes the connection, closing
	// the tar ends this Read.
	defer context.AfterFunc(ctx, func() { _ = f.Close() })()
	if err := out.Begin(wire.OutputAnswer{Output: &described, Follows: wire.Follows{Bytes: size}}); err != nil {
		return err
	}
	if err := copyTar(out, f, size); err != nil {
		return fmt.Errorf("output %v: %w", ref, err)
	}
	return nil
}

// copyTar sends the first size bytes of f, or all bytes if size is -1. If f has fewer bytes, the error is of kind
// Internal.
func copyTar(to io.Writer, f io.Reader, size int64) error {
	if size >= 0 {
		f = io.LimitReader(f, size)
	}
	// The anonymous struct hides other methods of f, which would bypass the buffer.
	n, err := io.CopyBuffer(to, struct{ io.Reader }{f}, make([]byte, copyBuffer))
	if err != nil {
		return err
	}
	if n < size {
		return jjm.Errorf(jjm.Internal, "its file ended after %d of %d bytes", n, size)
	}
	return nil
}

// followed is an open file to which text may be appended. tick says when to read it again.
type followed struct {
	f    io.ReadCloser
	live func() bool
	tick <-chan time.Time
}

// pause waits until the next read of the file is due. It returns false if ctx ended.
func (o *followed) pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-o.tick:
		return true
	}
}

// copy sends the content of the file, or only its last bytes if last is not 0. If follow is set, it then sends the text
// that is appended, until live returns false or ctx ends.
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
		// live must be called before the read: text that is written between a read and a later call of live would be lost.
		more := follow && o.live != nil && o.live()
		if err := copyUntilEOF(ctx, to, o.f, buf); err != nil || !more {
			return err
		}
		if !o.pause(ctx) {
			return nil
		}
	}
}

// tail returns a reader of the bytes that the file has now. If last is not 0, it returns a reader of at most the last
// bytes, from the beginning of a line if possible. If f is not a file with a size, tail returns f.
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
