package wire

import (
	"encoding/json"
	"reflect"

	"jjm"
)

// What follows is the same for every verb, and has no type parameters: each verb would have code of its own.

// requestLine writes a request, of which it gets the address, with its head.
func (a About) requestLine(req any) ([]byte, error) {
	head := Head{Verb: a.Name}
	if a.form() > 1 {
		head.Form = a.form()
	}
	embedded[Head](req).Set(reflect.ValueOf(head))
	line, err := Line(req)
	if err != nil {
		return nil, err
	}
	return line, a.fits(len(line) - 1)
}

// answerLine writes an answer, of which it gets the address, as a success.
func answerLine(ans any, last bool) ([]byte, error) {
	embedded[Reply](ans).Set(reflect.ValueOf(Reply{OK: true, Last: last}))
	return Line(ans)
}

// embedded finds the T that a struct embeds: [Request] and [Answer] see to it that there is one.
func embedded[T any](of any) reflect.Value {
	return reflect.ValueOf(of).Elem().FieldByName(reflect.TypeFor[T]().Name())
}

// decodeAnswer reads an answer into the address of one.
func decodeAnswer(line []byte, into any) error {
	if err := json.Unmarshal(line, into); err != nil {
		return jjm.Errorf(jjm.Internal, "answer of the daemon: %w", err)
	}
	if r := embedded[Reply](into).Interface().(Reply); !r.OK && r.Error == nil {
		return jjm.Errorf(jjm.Internal, "answer of the daemon: neither ok nor an error: %.80q", line)
	}
	return nil
}
