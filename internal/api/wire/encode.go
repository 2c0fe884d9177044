package wire

import (
	"encoding/json"
	"reflect"

	"jjm/internal/jjm"
)

// The functions of this file take their arguments as any. With type parameters, the code would be compiled once for
// each verb.

// requestLine sets the Head of a request and returns the line of the request. req is a pointer to the request.
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

// AnswerLine returns a success as a line. last marks the last line of an answer of several lines.
func AnswerLine(ans Answer, last bool) ([]byte, error) {
	p := reflect.New(reflect.TypeOf(ans))
	p.Elem().Set(reflect.ValueOf(ans))
	embedded[Reply](p.Interface()).Set(reflect.ValueOf(Reply{OK: true, Last: last}))
	return Line(p.Interface())
}

// embedded returns the T that is embedded in the struct to which of points. The interfaces [Request] and [Answer]
// guarantee that the struct embeds a T.
func embedded[T any](of any) reflect.Value {
	return reflect.ValueOf(of).Elem().FieldByName(reflect.TypeFor[T]().Name())
}

// decodeAnswer reads an answer into the struct to which into points.
func decodeAnswer(line []byte, into any) error {
	if err := json.Unmarshal(line, into); err != nil {
		return jjm.Errorf(jjm.Internal, "answer of the daemon: %w", err)
	}
	if r := embedded[Reply](into).Interface().(Reply); !r.OK && r.Error == nil {
		return jjm.Errorf(jjm.Internal, "answer of the daemon: neither ok nor an error: %.80q", line)
	}
	return nil
}
