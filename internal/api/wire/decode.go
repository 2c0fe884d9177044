package wire

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"jjm/internal/formats/nearest"
	"jjm/internal/jjm"
)

// DecodeHead reads the name and the version of the verb from a request line. The error is of kind Invalid if the line
// is not UTF-8 or not one JSON object.
func DecodeHead(line []byte) (Head, error) {
	if !utf8.Valid(line) {
		return Head{}, jjm.Errorf(jjm.Invalid, "request is not UTF-8")
	}
	var h Head
	if err := json.Unmarshal(line, &h); err != nil {
		return Head{}, headError(err)
	}
	return h, nil
}

// headError returns an error that shows a correct request in place of an error of encoding/json. It compares the texts
// of errors, because encoding/json has no error types for most of these cases.
func headError(err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "unexpected end of JSON input"):
		return jjm.Errorf(jjm.Invalid, "request: want one JSON object, such as {\"verb\":\"ping\"}: "+
			"the line is empty or ends early")
	case strings.Contains(text, "after top-level value"):
		return jjm.Errorf(jjm.Invalid, "request: text after the JSON object: want one object per line")
	}
	return jjm.Errorf(jjm.Invalid, "request: want one JSON object, such as {\"verb\":\"ping\"}: %w", err)
}

// UnknownVerb returns the error for a verb that is not in known. version is the daemon's version.
func UnknownVerb(verb string, known []string, version string) error {
	if verb == "" {
		return jjm.Errorf(jjm.Invalid, "request: verb is missing: want %s", jjm.AnyOf(known))
	}
	hint := ""
	if near := nearest.Of(verb, known); near != "" {
		hint = "did you mean \"" + near + "\"? "
	}
	return jjm.Errorf(jjm.Invalid, "request: unknown verb %.40q: %swant %s; the daemon is jjm %s: "+
		"if the client is newer, restart the daemon in its version", verb, hint, jjm.AnyOf(known), version)
}

// decode reads a request line of the verb into the struct to which into points. The error is of kind Invalid if the
// line is too long, has an unknown member, or comes from an older client, and of kind Busy if it comes from a newer
// client.
func (a About) decode(head Head, line []byte, into any) error {
	if err := a.checkVersion(head.Version); err != nil {
		return err
	}
	if err := a.checkLength(len(line)); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return a.memberError(err, into)
	}
	return nil
}

// checkVersion returns an error unless the client uses the daemon's version of the verb.
func (a About) checkVersion(form int) error {
	client := max(form, 1)
	switch {
	case client < a.version():
		return jjm.Errorf(jjm.Invalid, "%s: the client speaks version %d of this verb, the daemon version %d: "+
			"use the jjm and jjm-gatekeeper that were installed with the daemon", a.Name, client, a.version())
	case client > a.version():
		return jjm.Errorf(jjm.Busy, "%s: the client speaks version %d of this verb, the daemon version %d: "+
			"restart the daemon in the version of the client", a.Name, client, a.version())
	}
	return nil
}

// checkLength refuses a request line that is longer than the verb's MaxBytes.
func (a About) checkLength(n int) error {
	if n > a.MaxBytes {
		return jjm.Errorf(jjm.Invalid, "%s: the request is %d bytes long: at most %d", a.Name, n, a.MaxBytes)
	}
	return nil
}

// memberError returns, in place of an error of the decoder, an error that names the verb and, for an unknown member,
// the nearest known member or the right place of the member. It compares the texts of errors, because encoding/json has
// no error type for an unknown member.
func (a About) memberError(err error, into any) error {
	_, name, ok := strings.Cut(err.Error(), "unknown field ")
	if !ok {
		return jjm.Errorf(jjm.Invalid, "%s: %w", a.Name, err)
	}
	name = strings.Trim(name, `"`)
	known := members(reflect.TypeOf(into).Elem(), nil)
	if slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
		return jjm.Errorf(jjm.Invalid, "%s: member %.40q is not in its place: want it in %s", a.Name, name,
			jjm.AnyOf(parents(reflect.TypeOf(into).Elem(), name, "the request", nil)))
	}
	if near := nearest.Of(name, known); near != "" {
		return jjm.Errorf(jjm.Invalid, "%s: unknown member %.40q: did you mean %q?", a.Name, name, near)
	}
	return jjm.Errorf(jjm.Invalid, "%s: unknown member %.40q: want %s", a.Name, name, jjm.AnyOf(known))
}

// members returns names with the JSON names of the members of a type appended, at any depth.
func members(t reflect.Type, names []string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || readsItself(t) {
		return names
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
		names = members(f.Type, names)
	}
	return names
}

// parents returns found with the objects of type t appended that have a member name. An object is named by its own
// member, or "the request". at is the name of the object of type t.
func parents(t reflect.Type, name, at string, found []string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || readsItself(t) {
		return found
	}
	for f := range t.Fields() {
		own, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if own == "-" || !f.IsExported() {
			continue
		}
		if strings.EqualFold(own, name) && !slices.Contains(found, at) {
			found = append(found, at)
		}
		inner := at
		if own != "" {
			inner = strconv.Quote(own)
		}
		found = parents(f.Type, name, inner, found)
	}
	return found
}

// readsItself reports whether a type has its own unmarshaller. The members of its JSON are then not the fields of its
// struct.
func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}
