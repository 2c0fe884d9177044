package gate

import (
	"context"

	"jjm/wire"
)

// Stream is the way of a verb to its client that answers in lines or in bytes. Each method returns once the client
// took what it was sent, or an error if it did not within the write time.
type Stream[Ans wire.Answer] struct {
	session *session
	line    func(ans Ans, last bool) ([]byte, error)
}

// Line sends an answer. Other lines or an error may follow, unless it is the last.
func (s *Stream[Ans]) Line(ans Ans, last bool) error {
	err := s.send(ans, last)
	if err == nil {
		s.session.begun = last
	}
	return err
}

// Begin sends the answer before the bytes: no error can follow it.
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

// either returns a context that ends with ctx, or when the daemon wants to stop.
func either(stop, ctx context.Context) (context.Context, context.CancelFunc) {
	both, cancel := context.WithCancelCause(ctx)
	done := context.AfterFunc(stop, func() { cancel(errStopping()) })
	return both, func() { done(); cancel(nil) }
}
