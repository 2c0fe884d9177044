package catalogue

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"jjm/internal/formats/nearest"
	"jjm/internal/jjm"
)

// The limits of a list.
const (
	MaxLine  = 4 << 20    // the largest length of a line or of a CSV row, in bytes
	MaxFiles = 10_000_000 // the largest number of files of a list; equal to split.MaxParts
	// maxProblems is the maximum number of problems that are reported for a list.
	maxProblems = 20
)

// Read calls fn for each file of a list in order, and returns the number of files. The list is CSV if its name ends in
// ".csv", and otherwise JSON lines. Problems name the list and the line: "files.csv:12".
//
// After the first problem fn is no longer called, and Read only searches for more problems. The error is then of kind
// Invalid and holds jjm.Problems, at most 20. Read stops at an error of fn and returns the error unchanged. The error
// is of kind Busy if r fails. After any error the caller must undo the effects of fn.
func Read(name string, r io.Reader, fn func(jjm.File) error) (int64, error) {
	l := &list{name: name, fn: fn}
	var err error
	if IsCSV(name) {
		err = l.csv(r)
	} else {
		err = l.lines(r)
	}
	if err == nil {
		err = l.problems.Err()
	}
	return l.files, err
}

// IsCSV reports whether the name of a list means that the list is CSV.
func IsCSV(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".csv") }

// list is the state of Read.
type list struct {
	name     string
	fn       func(jjm.File) error
	files    int64
	problems jjm.Problems
}

// errEnough ends the reading after maxProblems problems.
var errEnough = errors.New("enough mistakes")

// bad adds a problem of a line. It returns errEnough when the maximum number of problems is reached.
func (l *list) bad(line int, field, format string, args ...any) error {
	p := jjm.Problem{Where: l.name + ":" + strconv.Itoa(line), Field: field, Text: fmt.Sprintf(format, args...)}
	if l.problems = append(l.problems, p); len(l.problems) < maxProblems {
		return nil
	}
	return errEnough
}

// file checks one file and passes it to fn.
func (l *list) file(line int, f *jjm.File) error {
	for _, p := range f.Problems() {
		if err := l.bad(line, p.Field, "%s", p.Text); err != nil {
			return err
		}
	}
	if len(l.problems) > 0 {
		return nil
	}
	if l.files++; l.files > MaxFiles {
		return jjm.Errorf(jjm.Invalid, "%s:%d: more than %d files: give them in several datasets", l.name, line, MaxFiles)
	}
	return l.fn(*f)
}

// lines reads JSON lines.
func (l *list) lines(r io.Reader) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), MaxLine)
	n := 0
	for s.Scan() {
		n++
		text := bytes.TrimSpace(s.Bytes())
		if len(text) == 0 {
			continue
		}
		f, field, err := decodeLine(text)
		if err != nil {
			err = l.bad(n, field, "%v", err)
		} else {
			err = l.file(n, &f)
		}
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	switch err := s.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return jjm.Errorf(jjm.Invalid, "%s:%d: the line is longer than %d bytes: want one file a line", l.name, n+1, MaxLine)
	case err != nil:
		return jjm.Errorf(jjm.Busy, "read %s after line %d: %w", l.name, n, err)
	}
	return nil
}

// decodeLine parses one file. If there is an error, field is the key that the error is about.
func decodeLine(text []byte) (f jjm.File, field string, err error) {
	if !utf8.Valid(text) {
		return f, "", errors.New("not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		field, err = explain(err)
		return f, field, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return f, "", errors.New("text after the object: want one file a line")
	}
	if text[0] != '{' { // such as null, which json would accept
		return f, "", fmt.Errorf("want an object such as {\"lfn\": \"/data/a\"}, got %.20s", text)
	}
	return f, "", nil
}

// explain rewords an error of encoding/json for people. field is the key that the error is about, "" if unknown.
func explain(err error) (field string, _ error) {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return wrong.Field, fmt.Errorf("got a %s: want %s", wrong.Value, kindWord(wrong.Type))
	}
	// encoding/json has no error type for an unknown key, only this text.
	if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
		name = strings.Trim(name, `"`)
		return name, unknown("key", name)
	}
	return "", fmt.Errorf("not a JSON object: %w", err)
}

// kindWord returns the name of the JSON type that a key requires.
func kindWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "an object"
	}
	return "a whole number in its range"
}

// unknown returns the error for an unknown key or column. The error names the nearest known key, or all known keys.
func unknown(what, name string) error {
	known := []string{"lfn", "size", "events", "first_event", "checksum", "lumis", "locations", "parents", "group"}
	if near := nearest.Of(name, known); near != "" {
		return fmt.Errorf("unknown %s %.40q: did you mean %s?", what, name, near)
	}
	return fmt.Errorf("unknown %s %.40q: known are %s", what, name, strings.Join(known, ", "))
}

// Line returns a file as a JSON line for Read, including the newline.
func Line(f jjm.File) []byte {
	f.Added = 0
	b, err := json.Marshal(&f)
	if err != nil {
		panic(err) // cannot happen: all fields are texts and numbers
	}
	return append(b, '\n')
}
