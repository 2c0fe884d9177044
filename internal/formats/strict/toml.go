package strict

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"jjm/internal/jjm"
)

var (
	errDepth = fmt.Errorf("tables and lists nest deeper than %d", MaxDepth)
	errKeys  = fmt.Errorf("more than %d keys", MaxKeys)
	errLong  = fmt.Errorf("a key longer than %d bytes, or %d with the tables around it", MaxKeyBytes, MaxPath)
	// errStrange is not shown, because the TOML parser describes the mistake better.
	errStrange = errors.New("not TOML")
)

// window is the number of bytes after a mistake that are passed to the TOML parser. The window limits the cost of a
// text that the scanner does not understand.
const window = 16 << 10

// twice returns the problem of a key that is given twice.
func twice(where, field string, first int) jjm.Problem {
	return jjm.Problem{Where: where, Field: field, Text: fmt.Sprintf("given twice: first in line %d", first)}
}

// parseTOML returns the tree of a TOML document, or nil and the problems. The scanner runs first: it checks the limits,
// records the places of the keys, and finds all keys that are given twice. The parser would stop at the first such key.
func parseTOML(text []byte, places Places) (map[string]any, jjm.Problems) {
	s := newScanner(text, places)
	err := s.document()
	if err != nil && !errors.Is(err, errStrange) {
		return nil, append(s.twice, jjm.Problem{Where: s.where(s.line), Text: err.Error()})
	}
	text = s.once()
	if err != nil {
		text = text[:min(len(text), s.pos+window)]
	}
	var tree map[string]any
	_, parseErr := toml.Decode(string(text), &tree)
	switch {
	case parseErr == nil && err == nil:
		return tree, s.twice
	case parseErr == nil:
		return nil, append(s.twice, jjm.Problem{Where: s.where(s.line), Text: "not TOML"})
	case len(s.twice) > 0 && strings.Contains(parseErr.Error(), "already"):
		return nil, s.twice
	}
	most := math.MaxInt
	if err != nil {
		most = s.line // the parser names the next line where a line ends too early, as after "[table"
	}
	return nil, append(s.twice, tomlProblem(parseErr, places[""], most))
}

// once returns the text without the statements in which a key is given a second time, so that the parser checks the
// rest. It keeps the line ends.
func (s *scanner) once() []byte {
	if len(s.cut) == 0 {
		return s.text
	}
	text := bytes.Clone(s.text)
	for _, c := range s.cut {
		for i := c[0]; i < c[1]; i++ {
			if text[i] != '\n' {
				text[i] = ' '
			}
		}
	}
	return text
}

// tomlProblem returns the parser's error as one line. The mistake is at the line that the parser names, or at the line
// most if that comes before.
func tomlProblem(err error, name string, most int) jjm.Problem {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		return jjm.Problem{Text: oneLine("not TOML: " + err.Error())}
	}
	text := parse.Message
	if text == "" { // the parser wraps range errors of numbers and dates
		text = err.Error()
		if _, after, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(text, "toml: ") {
			text = after
		}
	}
	line := min(parse.Position.Line, most)
	return jjm.Problem{Where: name + ":" + strconv.Itoa(line), Text: oneLine("not TOML: " + text)}
}

// oneLine returns a message, which may quote the text, as one line of at most 200 characters.
func oneLine(s string) string {
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "?")
	if r := []rune(s); len(r) > 200 {
		s = string(r[:200]) + "..."
	}
	return s
}
