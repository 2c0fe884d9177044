package wire

import (
	"encoding/json"
	"reflect"

	"jjm/internal/jjm"
)

// The functions of this file take their arguments as any, because with type parameters the compiler would produce their
// code once for each verb.

// requestLine sets the Head of the request to which req points, and returns the request as a line. The error is of kind
// Invalid if the line is longer than MaxBytes.
func (a About) requestLine(req any) ([]byte, error) {
	head := Head{Verb: a.Name}
	if a.version() > 1 {
		head.Version = a.version()
	}
	embedded[Head](req).Set(reflect.ValueOf(head))
	line, err := Line(req)
	if err != nil {
		return nil, err
	}
	return line, a.checkLength(len(line) - 1)
}

// AnswerLine returns a successful answer as one line of JSON, with its newline. last is set for the last line of an
// answer.
func AnswerLine(ans Answer, last bool) ([]byte, error) {
	p := reflect.New(reflect.TypeOf(ans))
	p.Elem().Set(reflect.ValueOf(ans))
	embedded[Reply](p.Interface()).Set(reflect.ValueOf(Reply{OK: true, Last: last}))
	return Line(p.Interface())
}

// embedded returns the embedded field of type T of the struct to which of points. Every [Request] embeds a Head, and
// every [Answer] embeds a Reply.
func embedded[T any](of any) reflect.Value {
	return reflect.ValueOf(of).Elem().FieldByName(reflect.TypeFor[T]().Name())
}

// decodeAnswer reads an answer line into the struct to which into points. The error is of kind Internal if the line is
// not an answer.
func decodeAnswer(line []byte, into any) error {
	if err := json.Unmarshal(line, into); err != nil {
		return jjm.Errorf(jjm.Internal, "answer of the daemon: %w", err)
	}
	if r := embedded[Reply](into).Interface().(Reply); !r.OK && r.Error == nil {
		return jjm.Errorf(jjm.Internal, "answer of the daemon: neither ok nor an error: %.80q", line)
	}
	return nil
}
