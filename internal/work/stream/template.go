package stream

import (
	"fmt"
	"strconv"
	"strings"
)

// The limits of templates. 200 bytes and a number fit into the 255 bytes of a file name; 18 digits always fit into 64
// bits.
const (
	maxTemplate = 200 // the largest length of a template, in bytes
	maxWidth    = 18  // the largest number of digits
	ownWidth    = 6   // the number of digits of ${SN}
)

// plainBytes are the bytes that may occur in the literal text of a template.
const plainBytes = "-._+=@,:~#%0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// known describes the forms of the number, for error texts.
const known = "${SN} with six digits, ${SN/P} the same, ${SN:4} with four"

// Template is the name of an output, with placeholders for its serial number. The zero value is not valid.
type Template struct{ pieces []piece }

// piece is literal text if width is 0, and otherwise a number of at least width digits.
type piece struct {
	text  string
	width int
}

// Parse parses a template. It returns an error if the file name would contain a separator, a blank or a wildcard, or if
// a ${...} is not a form of the number. The text of the error is to be placed after the name of the field.
func Parse(text string) (Template, error) {
	if text == "" {
		return Template{}, fmt.Errorf("is missing: want the name of the file, such as hits.${SN}.root")
	}
	if len(text) > maxTemplate {
		return Template{}, fmt.Errorf("%d bytes are too long: at most %d", len(text), maxTemplate)
	}
	var t Template
	for rest := text; rest != ""; {
		if !strings.HasPrefix(rest, "${") {
			n := strings.Index(rest+"${", "${")
			if wrong := checkLiteral(rest[:n], len(t.pieces) == 0); wrong != "" {
				return Template{}, fmt.Errorf("%.80q: %s", text, wrong)
			}
			t.pieces = append(t.pieces, piece{text: rest[:n]})
			rest = rest[n:]
			continue
		}
		word, after, closed := strings.Cut(rest, "}")
		if !closed {
			return Template{}, fmt.Errorf("%.80q: a brace is never closed: want %s", text, known)
		}
		width, err := widthOf(word[2:])
		if err != nil {
			return Template{}, fmt.Errorf("%.80q: %w", text, err)
		}
		t.pieces, rest = append(t.pieces, piece{width: width}), after
	}
	return t, nil
}

// checkLiteral returns the fault of literal text, "" if it has no fault. first is set if the file name begins with this
// text.
func checkLiteral(text string, first bool) string {
	for i, r := range text {
		switch {
		case r == '/':
			return "a path separator: want the name of a file, without folders"
		case !strings.ContainsRune(plainBytes, r):
			return fmt.Sprintf("%q: want letters, digits, . _ - + = @ , : ~ # %% and %s", r, known)
		case first && i == 0 && strings.ContainsRune("-.~", r):
			return fmt.Sprintf("%q in front: want a letter, a digit, _ or ${SN}", r)
		}
	}
	return ""
}

// widthOf parses the text between the braces and returns the number of digits.
func widthOf(word string) (int, error) {
	if word == "SN" || word == "SN/P" {
		return ownWidth, nil
	}
	digits, ok := strings.CutPrefix(word, "SN:")
	if !ok {
		return 0, fmt.Errorf("unknown %.40q: known are %s", "${"+word+"}", known)
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || len(digits) > 2 || n < 1 || n > maxWidth {
		return 0, fmt.Errorf("%.40q: want a number of 1 to %d digits, such as ${SN:4}", "${"+word+"}", maxWidth)
	}
	return int(n), nil
}

// Numbered reports whether the template contains the number.
func (t Template) Numbered() bool {
	for _, p := range t.pieces {
		if p.width > 0 {
			return true
		}
	}
	return false
}

// Name returns the file name with serial number n, which must not be negative.
func (t Template) Name(n int64) string {
	var b strings.Builder
	for _, p := range t.pieces {
		if b.WriteString(p.text); p.width > 0 {
			fmt.Fprintf(&b, "%0*d", p.width, n)
		}
	}
	return b.String()
}

// Serial returns the serial number for which Name returns name. ok is false if there is no such number.
func (t Template) Serial(name string) (n int64, ok bool) {
	for at := range len(t.pieces) {
		if t.pieces[at].width == 0 {
			continue
		}
		front := Template{t.pieces[:at]}.Name(0) // the pieces before the first number are all text
		rest, ok := strings.CutPrefix(name, front)
		if !ok {
			return 0, false
		}
		for digits := t.pieces[at].width; digits <= len(rest); digits++ {
			n, err := strconv.ParseUint(rest[:digits], 10, 63)
			if err != nil {
				return 0, false
			}
			if t.Name(int64(n)) == name {
				return int64(n), true
			}
		}
		return 0, false
	}
	return 0, false
}

// token is one element of a pattern: a byte or a class of bytes. If many is set, the element matches zero or more such
// bytes.
type token struct {
	class byte // '0' a digit, '*' anything, else 'c' the byte c
	c     byte
	many  bool
}

// tokens returns a pattern that matches all names of a template. The pattern also matches some other names: it allows
// excess leading zeros, and different numbers at the places of the number.
func (t Template) tokens() []token {
	var all []token
	for _, p := range t.pieces {
		for i := range len(p.text) {
			all = append(all, token{class: 'c', c: p.text[i]})
		}
		for range p.width {
			all = append(all, token{class: '0'})
		}
		if p.width > 0 {
			all = append(all, token{class: '0', many: true})
		}
	}
	return all
}

// intersect reports whether some byte is in both classes.
func intersect(a, b token) bool {
	if a.class != 'c' {
		a, b = b, a
	}
	switch {
	case a.class != 'c' || b.class == '*':
		return true
	case b.class == '0':
		return a.c >= '0' && a.c <= '9'
	}
	return a.c == b.c
}

// meet reports whether some text matches both patterns. It searches the product of the two patterns: (i, j) means that
// i tokens of a and j tokens of b are matched.
func meet(a, b []token) bool {
	seen := make([]bool, (len(a)+1)*(len(b)+1))
	todo := [][2]int{{}}
	for len(todo) > 0 {
		i, j := todo[len(todo)-1][0], todo[len(todo)-1][1]
		todo = todo[:len(todo)-1]
		if i == len(a) && j == len(b) {
			return true
		}
		at := i*(len(b)+1) + j
		if seen[at] {
			continue
		}
		seen[at] = true
		if i < len(a) && a[i].many {
			todo = append(todo, [2]int{i + 1, j})
		}
		if j < len(b) && b[j].many {
			todo = append(todo, [2]int{i, j + 1})
		}
		if i < len(a) && j < len(b) && intersect(a[i], b[j]) {
			todo = append(todo, [2]int{i + step(a[i]), j + step(b[j])})
		}
	}
	return false
}

func step(t token) int {
	if t.many {
		return 0
	}
	return 1
}

// Meet reports whether two templates may produce the same name, with any numbers. It may return true for templates that
// never produce the same name, but never returns false for templates that do.
func Meet(a, b Template) bool { return meet(a.tokens(), b.tokens()) }

// literal returns the pattern of one name.
func literal(name string) []token { return Template{[]piece{{text: name}}}.tokens() }

// plain returns the pattern of the names of collected files that have no template, such as "STEM.17.3.NAME".
func plain(stem string) []token {
	number := []token{{class: '0'}, {class: '0', many: true}}
	all := literal(stem + ".")
	for range 2 {
		all = append(append(all, number...), token{class: 'c', c: '.'})
	}
	return append(all, token{class: '*', many: true})
}
