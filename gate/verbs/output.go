package verbs

import (
	"context"
	"fmt"
	"io"

	"jjm"
	"jjm/gate"
	"jjm/wire"
)

// copyBuffer is how much of a file is held per connection, in bytes.
const copyBuffer = 32 << 10

// OpenTar opens the tar of a grid job and returns its size, -1 if that is not known. It is a Conflict if the job is
// not over and partial is not set. The tar is closed twice, and while it is being read, when the client goes away.
type OpenTar func(ctx context.Context, c gate.Caller, id jjm.GridID, partial bool) (
	io.ReadCloser, int64, wire.Output, error)

// Output answers a line and then the tar.
func Output(find Resolve, open OpenTar) gate.Verb {
	return gate.HandleStream(wire.VerbOutput(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.OutputRequest, out *gate.Stream[wire.OutputAnswer]) error {
			id, err := find.grid(ctx, c, "output", r.Ref())
			if err != nil {
				return err
			}
			f, size, described, err := open(ctx, c, id, r.Partial)
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }()
			// A tar that is still being made may wait for its maker: closing it ends the reading when the client goes away.
			defer context.AfterFunc(ctx, func() { _ = f.Close() })()
			answer := wire.OutputAnswer{Output: &described, Follows: wire.Follows{Bytes: size}}
			if err := out.Begin(answer); err != nil {
				return err
			}
			if err := copyTar(out, f, size); err != nil {
				return fmt.Errorf("output %v: %w", id, err)
			}
			return nil
		}).Finishing()
}

// copyTar sends size bytes, or all if size is -1.
func copyTar(to io.Writer, f io.Reader, size int64) error {
	if size >= 0 {
		f = io.LimitReader(f, size)
	}
	// Other methods would pass the buffer by.
	n, err := io.CopyBuffer(to, struct{ io.Reader }{f}, make([]byte, copyBuffer))
	if err != nil {
		return err
	}
	if n < size {
		return jjm.Errorf(jjm.Internal, "its file ended after %d of %d bytes", n, size)
	}
	return nil
}
