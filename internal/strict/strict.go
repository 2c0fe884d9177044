// Package strict decodes what people write - job files and the configuration -
// into Go structs, and finds every mistake at once: unknown keys (naming the
// nearest known one), values of a wrong type, keys given twice, numbers out of
// range. Each mistake comes with its place, such as "job.toml:12".
//
// Texts are TOML or JSON. A struct field is named by its toml tag, else by its
// json tag, else by its Go name in lower case. A hostile text costs bounded
// time and memory: the limits are the constants below, and they are enforced
// before a parser that recurses sees the text.
//
// What a key means, and whether two keys contradict each other, is left to the
// caller.
package strict

import (
	"bytes"
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"jjm"
)

// The limits of a text. They are far above what people write and far below
// what would hurt a daemon.
const (
	MaxBytes    = jjm.MaxJobFile // of a text
	MaxDepth    = 16             // of tables and lists inside each other
	MaxKeys     = 50_000         // keys and table headers of a text
	MaxKeyBytes = 128            // of one key
	MaxPath     = 512            // bytes of a dotted key
	MaxProblems = 100            // reported; the rest is counted
)

// Places tells where the keys of a text stand: it maps a dotted key, such as
// "params.events" or "inputs[2].path", to a place, such as "job.toml:12". The
// empty key is the text itself. A value that stands on the line of the table
// or list that holds it has no entry of its own.
type Places map[string]string

// Of returns the place of a dotted key, or of the nearest thing around it that
// has one.
func (p Places) Of(field string) string {
	for field != "" {
		if where, ok := p[field]; ok {
			return where
		}
		field = parent(field)
	}
	return p[""]
}

// Locate returns the problems with Where filled in wherever it is empty, in the
// order of the text.
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

// parent cuts the last element off a dotted key.
func parent(field string) string {
	i := strings.LastIndexAny(field, ".[")
	if i < 0 {
		return ""
	}
	return field[:i]
}

// line is the number at the end of a place, or 0.
func line(where string) int {
	n, err := strconv.Atoi(where[strings.LastIndexByte(where, ':')+1:])
	if err != nil {
		return 0
	}
	return n
}

// Decode reads a text into the struct that into points to. A name that ends in
// ".json", or a text that starts with "{", is JSON; everything else is TOML.
// Keys that the text lacks leave their fields as they are, so defaults are set
// beforehand. When there are problems, what was decoded must not be used.
func Decode(name string, text []byte, into any) (Places, jjm.Problems) {
	name = path.Base(strings.ToValidUTF8(name, "?"))
	places := Places{"": name}
	if ps := Readable(text); ps != nil {
		return places, places.Locate(ps)
	}
	var tree map[string]any
	var ps jjm.Problems
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

// DecodeMap reads a table that is decoded already, such as a job's parameters,
// into the structs that into points to: each takes the keys that it knows, the
// first one first. The fields of the problems start with the prefix: "params"
// gives "params.events". Numbers may have passed through JSON: a float that is
// whole serves as an integer.
func DecodeMap(table map[string]any, prefix string, into ...any) jjm.Problems {
	return Limited(decodeTable(table, prefix, into))
}

// Readable finds what makes a text no text at all: it is too long, or not UTF-8.
func Readable(text []byte) jjm.Problems {
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

// Limited keeps the first MaxProblems problems and counts the rest.
func Limited(ps jjm.Problems) jjm.Problems {
	if len(ps) <= MaxProblems {
		return ps
	}
	rest := len(ps) - MaxProblems
	return append(ps[:MaxProblems:MaxProblems], jjm.Problem{Text: fmt.Sprintf("and %d more problems", rest)})
}

// join appends a key to a dotted key; a key that is not bare is quoted.
func join(prefix, key string) string {
	if !bare(key) {
		key = quote(key)
	}
	if prefix == "" {
		return key
	}
	return prefix + "." + key
}

// element names the i-th element of a list, from 0.
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

// quote shows a text from outside, cut at 40 characters.
func quote(s string) string { return fmt.Sprintf("%.40q", s) }
