package strict

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// scanner scans TOML without converting values. It accepts a superset of TOML 1.1 (toml.io/en/v1.1.0). The parser,
// which runs afterwards, refuses every text that is not TOML.
type scanner struct {
	text   []byte
	pos    int
	line   int // number of the line of pos, from 1
	places Places
	keys   int
	// set is the line of each dotted key so far, headers the line of each table header, and arrays the number of elements
	// of each array of tables.
	set, headers, arrays map[string]int
	twice                jjm.Problems
	// cut are the ranges of text in which a key is given a second time.
	cut [][2]int
}

// newScanner returns a scanner at the start of a text. It records the places of keys in places.
func newScanner(text []byte, places Places) *scanner {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	return &scanner{text: text, line: 1, places: places,
		set: map[string]int{}, headers: map[string]int{}, arrays: map[string]int{}}
}

// where returns the place of a line.
func (s *scanner) where(line int) string { return s.places[""] + ":" + strconv.Itoa(line) }

// peek returns the byte at pos, or 0 at the end. The text itself contains no NUL, because Readable refuses NULs.
func (s *scanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

// take skips a literal and returns true if the text continues with the literal.
func (s *scanner) take(literal string) bool {
	if !bytes.HasPrefix(s.text[s.pos:], []byte(literal)) {
		return false
	}
	s.pos += len(literal)
	return true
}

// blanks skips blanks and tabs. If lines is set, blanks also skips line ends and comments.
func (s *scanner) blanks(lines bool) {
	for ; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == ' ' || c == '\t':
		case lines && c == '\r':
		case lines && c == '\n':
			s.line++
		case lines && c == '#':
			end := bytes.IndexByte(s.text[s.pos:], '\n')
			if end < 0 {
				s.pos = len(s.text)
				return
			}
			s.pos += end - 1
		default:
			return
		}
	}
}

// document scans all statements.
func (s *scanner) document() error {
	table := ""
	for {
		s.blanks(true)
		var err error
		switch {
		case s.pos >= len(s.text):
			return nil
		case s.peek() == '[':
			table, err = s.header()
		default:
			err = s.assignment(table, 0, true)
		}
		if err != nil {
			return err
		}
		s.blanks(false)
		if c := s.peek(); c != 0 && c != '\n' && c != '\r' && c != '#' {
			return errStrange
		}
	}
}

// header scans [table] or [[table]] and returns its dotted key.
func (s *scanner) header() (string, error) {
	s.pos++
	array := s.take("[")
	s.blanks(false)
	words, err := s.key()
	if err != nil {
		return "", err
	}
	s.blanks(false)
	if !s.take("]") || array && !s.take("]") {
		return "", errStrange
	}
	path := ""
	for i, w := range words {
		path = join(path, w)
		last := i == len(words)-1
		if n := s.arrays[path]; n > 0 && !(last && array) {
			path = element(path, n-1)
		}
		if len(path) > MaxPath {
			return "", errLong
		}
		if !last {
			s.record(path, s.line)
		}
	}
	if array {
		s.record(path, s.line)
		s.arrays[path]++
		path = element(path, s.arrays[path]-1)
	} else if first := s.headers[path]; first > 0 {
		s.twice = append(s.twice, jjm.Problem{Where: s.where(s.line),
			Text: fmt.Sprintf("table [%s] is given twice: first in line %d", path, first)})
	}
	s.headers[path] = s.line
	s.record(path, s.line)
	return path, nil
}

// record stores the place of a key, unless its table has the same place or the key already has a place.
func (s *scanner) record(path string, line int) {
	if where := s.where(line); s.places.Of(parent(path)) != where {
		if _, known := s.places[path]; !known {
			s.places[path] = where
		}
	}
}

// assignment scans "key = value" below a table. statement is false within an inline table; the parser reports keys that
// are given twice there.
func (s *scanner) assignment(table string, depth int, statement bool) error {
	line, start := s.line, s.pos
	words, err := s.key()
	if err != nil {
		return err
	}
	path := table
	for _, w := range words {
		if path = join(path, w); len(path) > MaxPath {
			return errLong
		}
		s.record(path, line)
	}
	if first := s.set[path]; statement && first > 0 {
		s.twice = append(s.twice, twice(s.where(line), path, first))
		defer func() { s.cut = append(s.cut, [2]int{start, s.pos}) }()
	} else if statement {
		s.set[path] = line
	}
	s.blanks(false)
	if !s.take("=") {
		return errStrange
	}
	s.blanks(false)
	return s.value(path, depth)
}

// key scans a dotted key.
func (s *scanner) key() ([]string, error) {
	if s.keys++; s.keys > MaxKeys {
		return nil, errKeys
	}
	var words []string
	for {
		start := s.pos
		var word string
		if c := s.peek(); c == '"' || c == '\'' {
			if err := s.quoted(c, false); err != nil {
				return nil, err
			}
			word = unquote(string(s.text[start:s.pos]))
		} else {
			for c := s.peek(); c != 0 && !strings.ContainsRune(" \t\r\n.=[]{},#\"'", rune(c)); c = s.peek() {
				s.pos++
			}
			word = string(s.text[start:s.pos])
			if word == "" {
				return nil, errStrange
			}
		}
		words = append(words, word)
		if len(word) > MaxKeyBytes {
			return nil, errLong
		}
		if len(words) > MaxDepth {
			return nil, errDepth
		}
		s.blanks(false)
		if !s.take(".") {
			return words, nil
		}
		s.blanks(false)
	}
}

// unquote returns the content of a quoted key. If Go does not know an escape, unquote returns the text between the
// quotes unchanged; then only the place of the key is unknown.
func unquote(s string) string {
	if s[0] == '"' {
		if u, err := strconv.Unquote(s); err == nil {
			return u
		}
	}
	return s[1 : len(s)-1]
}

// value scans a value and records the places of the keys inside it.
func (s *scanner) value(path string, depth int) error {
	switch c := s.peek(); c {
	case '"', '\'':
		return s.quoted(c, true)
	case '[', '{':
		if depth >= MaxDepth {
			return errDepth
		}
		s.pos++
		if c == '[' {
			return s.array(path, depth)
		}
		return s.inline(path, depth)
	default:
		start := s.pos
		for c := s.peek(); c != 0 && !strings.ContainsRune(",[]{}#\n\"'=", rune(c)); c = s.peek() {
			s.pos++
		}
		if s.pos == start {
			return errStrange
		}
		return nil
	}
}

// array scans the elements of a list up to the closing bracket.
func (s *scanner) array(path string, depth int) error {
	for i := 0; ; i++ {
		s.blanks(true)
		if s.take("]") {
			return nil
		}
		item := element(path, i)
		if len(s.places) < MaxKeys {
			s.record(item, s.line)
		}
		if err := s.value(item, depth+1); err != nil {
			return err
		}
		s.blanks(true)
		if !s.take(",") && s.peek() != ']' {
			return errStrange
		}
	}
}

// inline scans the assignments of an inline table up to the closing brace.
func (s *scanner) inline(path string, depth int) error {
	for {
		s.blanks(true)
		if s.take("}") {
			return nil
		}
		if err := s.assignment(path, depth+1, false); err != nil {
			return err
		}
		s.blanks(true)
		if !s.take(",") && s.peek() != '}' {
			return errStrange
		}
	}
}

// quoted scans a string of any of the four kinds. multi permits the two kinds that may span several lines. quoted
// returns an error if the string does not end.
func (s *scanner) quoted(quote byte, multi bool) error {
	three := strings.Repeat(string(quote), 3)
	long := multi && s.take(three)
	if !long {
		s.pos++
	}
	for ; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '\n':
			if !long {
				return errStrange
			}
			s.line++
		case c == '\\' && quote == '"':
			s.pos++
			if s.peek() == '\n' {
				s.line++
			}
		case c == quote && !long:
			s.pos++
			return nil
		case c == quote && s.take(three):
			for range 2 { // up to two quotes may come before the closing three
				s.take(string(quote))
			}
			return nil
		}
	}
	return errStrange
}
