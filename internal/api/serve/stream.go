package serve

import (
	"io"

	"jjm/internal/api/wire"
)

// Out receives the answer of a verb. Each method returns once the data was passed on, or returns an error if the
// client did not read within the write time.
type Out interface {
	// Line sends one line of an answer. After a line that is not the last, further lines or an error may follow.
	Line(ans wire.Answer, last bool) error
	// Begin sends the only line of an answer, or the line before bytes. No error can follow it.
	Begin(ans wire.Answer) error
	io.Writer
}

// Stream sends the answer of a verb that consists of several lines, or of a line and bytes. For its methods see [Out].
type Stream[Ans wire.Answer] struct{ out Out }

// Line sends one line of the answer. After a line that is not the last, further lines or an error may follow.
func (s *Stream[Ans]) Line(ans Ans, last bool) error { return s.out.Line(ans, last) }

// Begin sends the line before the bytes. No error can follow it.
func (s *Stream[Ans]) Begin(ans Ans) error { return s.out.Begin(ans) }

// Write sends bytes.
func (s *Stream[Ans]) Write(b []byte) (int, error) { return s.out.Write(b) }
