package gate

import (
	"context"

	"jjm/internal/api/wire"
)

// Stream sends the answer of a verb that consists of several lines, or of a line and bytes.
// Each method returns once the kernel took the data, or returns an error if the client did
// not read within the write time.
type Stream[Ans wire.Answer] struct {
	session *session
	line    func(ans Ans, last bool) ([]byte, error)
}

// Line sends one line of the answer. Unless it is the last, further lines or an error may
// follow.
func (s *Stream[Ans]) Line(ans Ans, last bool) error {
	err := s.send(ans, last)
	if err == nil {
		s.session.answered = last
	}
	return err
}

// Begin sends the line before the bytes. No error can follow it.
func (s *Stream[Ans]) Begin(ans Ans) error { return s.send(ans, false) }

// Write sends bytes.
func (s *Stream[Ans]) Write(b []byte) (int, error) { return s.session.Write(b) }

func (s *Stream[Ans]) send(ans Ans, last bool) error {
	line, err := s.line(ans, last)
	if err != nil {
		return err
	}
	return s.session.send(line)
}

// withStop returns a context that ends with ctx, or with the cause errStopping when stop
// ends.
func withStop(stop, ctx context.Context) (context.Context, context.CancelFunc) {
	both, cancel := context.WithCancelCause(ctx)
	done := context.AfterFunc(stop, func() { cancel(errStopping()) })
	return both, func() { done(); cancel(nil) }
}
