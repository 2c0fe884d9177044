// Package strict decodes texts written by people (job files and the configuration) into Go structs. It promises to find
// all mistakes in one run: unknown keys (with the nearest known key), values of a wrong type, keys given twice, numbers
// out of range. Each mistake has its place, such as "job.toml:12".
//
// Texts are TOML or JSON. The key of a struct field is its toml tag, or else its json tag, or else its Go name in lower
// case. A hostile text takes limited time and memory: the limits are the constants below, and they are checked before a
// recursive parser gets the text.
//
// The caller decides on the meaning of keys, and whether two keys contradict each other.
package strict

import (
	"bytes"
	"fmt"
	"path"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"jjm/internal/jjm"
)

// The limits of a text. They are far above the needs of people and far below sizes that would harm a daemon.
const (
	MaxBytes    = jjm.MaxJobFile // length of a text, in bytes
	MaxDepth    = 16             // nesting depth of tables and lists
	MaxKeys     = 50_000         // number of keys and table headers in a text
	MaxKeyBytes = 128            // length of one key, in bytes
	MaxPath     = 512            // length of a dotted key, in bytes
	MaxProblems = 100            // number of problems that are listed; further problems are only counted
)

// Places holds the places of the keys of a text. It maps a dotted key, such as "params.events" or "inputs[2].path", to
// a place, such as "job.toml:12". The empty key is the text itself. A value on the same line as its table or list has
// no entry of its own.
type Places map[string]string

// Of returns the place of a dotted key. If the key has no place, it returns the place of the nearest table or list
// around it.
func (p Places) Of(field string) string {
	for field != "" {
		if where, ok := p[field]; ok {
			return where
		}
		field = parent(field)
	}
	return p[""]
}

// Locate returns the problems in the order of the text. It sets the field Where of each problem whose Where is empty.
func (p Places) Locate(problems jjm.Problems) jjm.Problems {
	if len(problems) == 0 {
		return nil
	}
	out := make(jjm.Problems, len(problems))
	copy(out, problems)
	for i := range out {
		if out[i].Where == "" {
			out[i].Where = p.Of(out[i].Field)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return line(out[i].Where) < line(out[j].Where) })
	return out
}

// parent removes the last element of a dotted key.
func parent(field string) string {
	i := strings.LastIndexAny(field, ".[")
	if i < 0 {
		return ""
	}
	return field[:i]
}

// line returns the number at the end of a place, or 0.
func line(where string) int {
	n, err := strconv.Atoi(where[strings.LastIndexByte(where, ':')+1:])
	if err != nil {
		return 0
	}
	return n
}

// Decode decodes a text into the struct to which into points. The text is JSON if the name ends in ".json" or the text
// starts with "{", and otherwise TOML. Fields whose keys are missing are not changed, so the caller sets defaults
// before. If there are problems, the struct must not be used.
func Decode(name string, text []byte, into any) (Places, jjm.Problems) {
	places, ps := Begin(name, text)
	if ps != nil {
		return places, ps
	}
	name = places[""]
	var tree map[string]any
	if strings.HasSuffix(name, ".json") || bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		tree, ps = parseJSON(text, places)
	} else {
		tree, ps = parseTOML(text, places)
	}
	if tree != nil {
		ps = append(ps, decodeTree(tree, "", into)...)
	}
	return places, Limited(places.Locate(ps))
}

// DecodeMap decodes a table that is already a map, such as the parameters of a job, into the structs to which into
// points. Each struct gets the keys that it knows; the first struct takes precedence. prefix begins the fields of
// problems: "params" makes "params.events". Because numbers may have passed through JSON, a float without a fraction is
// accepted as an integer.
func DecodeMap(table map[string]any, prefix string, into ...any) jjm.Problems {
	return Limited(decodeTable(table, prefix, into))
}

// Keys returns the sorted keys that DecodeMap accepts for a struct.
func Keys(into any) []string {
	fields := map[string]reflect.Value{}
	structFields(reflect.ValueOf(into).Elem(), fields)
	return sortedKeys(fields)
}

// Begin returns the places of a text whose keys were not read yet: only the text itself, by the last element of its
// name, has a place. It returns a problem if the text cannot be decoded at all.
func Begin(name string, text []byte) (Places, jjm.Problems) {
	places := Places{"": path.Base(strings.ToValidUTF8(name, "?"))}
	return places, places.Locate(readable(text))
}

// readable returns the reason why a text cannot be decoded at all: the text is too long, contains NUL, or is not UTF-8.
func readable(text []byte) jjm.Problems {
	at := func(i int) string { return fmt.Sprintf("in line %d", 1+bytes.Count(text[:i], []byte("\n"))) }
	if len(text) > MaxBytes {
		return jjm.Problems{{Text: fmt.Sprintf(
			"%d bytes are too many: at most %d (lists of work belong in a file of their own)", len(text), MaxBytes)}}
	}
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return jjm.Problems{{Text: "a NUL byte " + at(i) + ": this is not a text file"}}
	}
	if !utf8.Valid(text) {
		i := 0
		for {
			r, n := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && n < 2 {
				return jjm.Problems{{Text: fmt.Sprintf("byte 0x%02x %s is not UTF-8: save the file as UTF-8", text[i], at(i))}}
			}
			i += n
		}
	}
	return nil
}

// Limited keeps the first MaxProblems problems, and replaces the rest by a problem that counts them.
func Limited(ps jjm.Problems) jjm.Problems {
	if len(ps) <= MaxProblems {
		return ps
	}
	rest := len(ps) - MaxProblems
	return append(ps[:MaxProblems:MaxProblems], jjm.Problem{Text: fmt.Sprintf("and %d more problems", rest)})
}

// join appends a key to a dotted key, and quotes the key if necessary.
func join(prefix, key string) string {
	if !bare(key) {
		key = quote(key)
	}
	if prefix == "" {
		return key
	}
	return prefix + "." + key
}

// element returns the dotted key of the i-th element of a list, counted from 0.
func element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// bare reports whether a key needs no quotes.
func bare(key string) bool {
	for i := range len(key) {
		c := key[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return key != "" && len(key) <= MaxKeyBytes
}

// quote quotes a text of the user, at most 40 characters.
func quote(s string) string { return fmt.Sprintf("%.40q", s) }
