package serve

import (
	"io"

	"jjm/internal/api/wire"
)

// Out receives the answer of a verb. Each method returns when the data was passed on. It returns an error if the client
// did not read the data within the write time.
type Out interface {
	// Line sends one line of an answer. After a line that is not the last, further lines or an error may follow.
	Line(ans wire.Answer, last bool) error
	// Begin sends the only line of an answer, or the line before bytes. No error can follow it.
	Begin(ans wire.Answer) error
	io.Writer
}

// Stream sends the answer of a verb that answers in several lines, or in a line and bytes. Its methods are those of
// [Out], with the type of the answer.
type Stream[Ans wire.Answer] struct{ out Out }

// Line sends one line of the answer. After a line that is not the last, further lines or an error may follow.
func (s *Stream[Ans]) Line(ans Ans, last bool) error { return s.out.Line(ans, last) }

// Begin sends the line before the bytes. No error can follow it.
func (s *Stream[Ans]) Begin(ans Ans) error { return s.out.Begin(ans) }

// Write sends bytes.
func (s *Stream[Ans]) Write(b []byte) (int, error) { return s.out.Write(b) }
