package verbs

import (
	"context"
	"fmt"
	"io"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// copyBuffer is how many bytes of a file each connection holds in memory.
const copyBuffer = 32 << 10

// OpenOutput opens a tar of a grid job, or a single file, as want says, and returns its size, -1 if the size is not
// known. The error is a Conflict if there is no tar yet and Partial is not set. When the client closes the
// connection, the reader is closed during a Read, and afterwards a second time: its Close must permit both.
type OpenOutput func(ctx context.Context, c gate.Caller, ref jjm.Ref, want wire.Wanted) (
	io.ReadCloser, int64, wire.Output, error)

// Output makes the verb that sends a line and then the tar, or one file.
func Output(find Resolve, open OpenOutput) gate.Verb {
	return gate.HandleStream(wire.VerbOutput(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.OutputRequest, out *gate.Stream[wire.OutputAnswer]) error {
			refs, err := find.refs(ctx, c, "output", r.Refs, r.File == "")
			if err != nil {
				return err
			}
			ref := refs[0]
			if ref.Locals && ref.First != ref.Last {
				return jjm.Errorf(jjm.Invalid, "output: id %q: want the grid job or one local job, such as %v.0", r.Ref(), ref.Grid)
			}
			f, size, described, err := open(ctx, c, ref, r.Wanted)
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }()
			// A Read of a tar that is still being made waits for its writer. Closing the
			// tar ends the Read when the client closes the connection.
			defer context.AfterFunc(ctx, func() { _ = f.Close() })()
			answer := wire.OutputAnswer{Output: &described, Follows: wire.Follows{Bytes: size}}
			if err := out.Begin(answer); err != nil {
				return err
			}
			if err := copyTar(out, f, size); err != nil {
				return fmt.Errorf("output %v: %w", ref, err)
			}
			return nil
		}).Finishing()
}

// copyTar sends size bytes, or everything if size is -1.
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
