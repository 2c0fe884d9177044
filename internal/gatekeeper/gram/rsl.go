package gram

import (
	"strings"

	"jjm/internal/jjm"
)

// maxRSL is the maximum length of a description in bytes. maxDepth is how deep lists may be nested; environments and
// files need a depth of 2.
const (
	maxRSL   = 4 << 20
	maxDepth = 8
)

// Value is one value of an RSL attribute: a word or a list.
type Value struct {
	Word string
	// List is not nil if the value is a list, even an empty one.
	List []Value
}

// Description is a job in RSL: the values of each attribute. Names are in lower case and
// without underscores, because RSL ignores both.
type Description map[string][]Value

// ParseRSL parses RSL: attributes with "=" in parentheses, after an optional "&". Words may be in single or double
// quotes; a doubled quote means one quote character. It refuses all forms that a job manager resolves before it calls
// jjm (substitutions, "#", comparisons, multi-requests) and attributes that are given twice. Errors are of kind Invalid
// and name the line.
//
// The source is the Globus RSL v1.1 specification.
func ParseRSL(text string) (Description, error) {
	if len(text) > maxRSL {
		return nil, jjm.Errorf(jjm.Invalid, "rsl: longer than %d bytes", maxRSL)
	}
	p := &parser{text: text}
	d := Description{}
	p.blanks()
	if p.next() == '&' {
		p.at++
	}
	for {
		p.blanks()
		if p.at == len(p.text) {
			return d, nil
		}
		name, values, err := p.attribute()
		if err != nil {
			return nil, err
		}
		if _, twice := d[name]; twice {
			return nil, p.wrong("attribute %s is given twice", name)
		}
		d[name] = values
	}
}

type parser struct {
	text string
	at   int
}

// wrong returns an error with the line number.
func (p *parser) wrong(format string, args ...any) error {
	line := 1 + strings.Count(p.text[:p.at], "\n")
	return jjm.Errorf(jjm.Invalid, "rsl: line %d: "+format, append([]any{line}, args...)...)
}

// next returns the next byte, or 0 at the end of the text.
func (p *parser) next() byte {
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// blanks skips white space and comments.
func (p *parser) blanks() {
	for p.at < len(p.text) {
		switch {
		case strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0:
			p.at++
		case strings.HasPrefix(p.text[p.at:], "(*"):
			end := strings.Index(p.text[p.at+2:], "*)")
			if end < 0 {
				return
			}
			p.at += 2 + end + 2
		default:
			return
		}
	}
}

// attribute parses "(name = value...)".
func (p *parser) attribute() (string, []Value, error) {
	if p.next() != '(' {
		return "", nil, p.wrong("want (attribute=value...), got %.20q", p.text[p.at:])
	}
	p.at++
	p.blanks()
	start := p.at
	for isNameByte(p.next()) {
		p.at++
	}
	name := strings.ToLower(strings.ReplaceAll(p.text[start:p.at], "_", ""))
	if name == "" {
		return "", nil, p.wrong("want an attribute's name, got %.20q", p.text[start:])
	}
	p.blanks()
	if p.next() != '=' {
		return "", nil, p.wrong("want = after %s", name)
	}
	p.at++
	values, err := p.values(1)
	return name, values, err
}

// isNameByte reports whether the name of an attribute may contain a byte.
func isNameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// values parses values up to and including the closing parenthesis.
func (p *parser) values(depth int) ([]Value, error) {
	if depth > maxDepth {
		return nil, p.wrong("lists are nested more than %d deep", maxDepth)
	}
	list := []Value{}
	for {
		p.blanks()
		switch c := p.next(); c {
		case 0:
			return nil, p.wrong("a parenthesis is not closed")
		case ')':
			p.at++
			return list, nil
		case '(':
			p.at++
			inner, err := p.values(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, Value{List: inner})
		default:
			word, err := p.word()
			if err != nil {
				return nil, err
			}
			list = append(list, Value{Word: word})
		}
	}
}

// special are the bytes that a word without quotes cannot contain.
const special = "+&|()=<>!\"'^#$ \t\r\n"

// word parses a word, with or without quotes.
func (p *parser) word() (string, error) {
	if c := p.next(); c == '"' || c == '\'' {
		return p.quoted(c)
	}
	end := strings.IndexAny(p.text[p.at:], special)
	if end == 0 {
		return "", p.wrong("%q: want a word or a list: resolve it, or put it in quotes", p.next())
	}
	if end < 0 {
		return "", p.wrong("a parenthesis is not closed")
	}
	word := p.text[p.at : p.at+end]
	p.at += end
	return word, nil
}

// quoted parses a word in quotes. A doubled quote means one quote character.
func (p *parser) quoted(quote byte) (string, error) {
	var b strings.Builder
	for i := p.at + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == 0:
			return "", p.wrong("a word contains a zero byte")
		case c != quote:
			b.WriteByte(c)
		case i+1 < len(p.text) && p.text[i+1] == quote:
			b.WriteByte(c)
			i++
		default:
			p.at = i + 1
			return b.String(), nil
		}
	}
	return "", p.wrong("a quote is not closed")
}
