package gram

import (
	"strings"

	"jjm"
)

// maxRSL is the longest description, in bytes, and maxDepth how deep its lists
// may lie in one another: environments and files need two.
const (
	maxRSL   = 4 << 20
	maxDepth = 8
)

// Value is one value of an RSL attribute: a word, or a list.
type Value struct {
	Word string
	// List is not nil for a list, which may be empty.
	List []Value
}

// Description is a job as RSL tells it. The names are in lower case and without
// underscores: that is how RSL compares them.
type Description map[string][]Value

// ParseRSL reads RSL: attributes with "=" in parentheses, after an optional
// "&". Words may stand in quotes of either kind, doubled within. What a job
// manager resolves before it asks - substitutions, "#", comparisons,
// multi-requests - is refused, and so is an attribute given twice. Errors are of
// kind Invalid and name the place.
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

// wrong makes an error that says where.
func (p *parser) wrong(format string, args ...any) error {
	line := 1 + strings.Count(p.text[:p.at], "\n")
	return jjm.Errorf(jjm.Invalid, "rsl: line %d: "+format, append([]any{line}, args...)...)
}

// next is the byte that comes, 0 at the end.
func (p *parser) next() byte {
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// blanks passes over white space and comments.
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

// attribute reads "(name = value...)".
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

func isNameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// values reads values up to and with the parenthesis that closes them.
func (p *parser) values(depth int) ([]Value, error) {
	if depth > maxDepth {
		return nil, p.wrong("lists lie more than %d deep in one another", maxDepth)
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

// special are the bytes that a word without quotes cannot hold.
const special = "+&|()=<>!\"'^#$ \t\r\n"

func (p *parser) word() (string, error) {
	if c := p.next(); c == '"' || c == '\'' {
		return p.quoted(c)
	}
	end := strings.IndexAny(p.text[p.at:], special)
	if end == 0 {
		return "", p.wrong("%q: only words and lists are taken: resolve it, or put it in quotes", p.next())
	}
	if end < 0 {
		return "", p.wrong("a parenthesis is not closed")
	}
	word := p.text[p.at : p.at+end]
	p.at += end
	return word, nil
}

// quoted reads a word in quotes, which are doubled within.
func (p *parser) quoted(quote byte) (string, error) {
	var b strings.Builder
	for i := p.at + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == 0:
			return "", p.wrong("a word holds a zero byte")
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
