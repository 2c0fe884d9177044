package arc

import (
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// maxGrami is the maximum length of a grami, in bytes.
const maxGrami = 4 << 20

// Grami is the file in which A-REX describes a job to the scripts of its batch system: the
// values of its joboption_ variables, without that prefix.
type Grami map[string]string

// ParseGrami parses a grami without running it. The file is written for a shell, but it contains words of users. A line
// is NAME=WORD, where the word may mix quoted and plain text. ParseGrami refuses all text that a shell would expand or
// run. If a name is given twice, the last value counts, like in a shell. Errors are of kind Invalid and name the line.
func ParseGrami(text string) (Grami, error) {
	if len(text) > maxGrami {
		return nil, jjm.Errorf(jjm.Invalid, "grami: longer than %d bytes", maxGrami)
	}
	g := Grami{}
	for rest, line := text, 1; rest != ""; {
		name, after, ok := strings.Cut(rest, "=")
		if !ok || strings.Contains(name, "\n") {
			if next, cut, found := strings.Cut(rest, "\n"); strings.TrimSpace(next) == "" && found {
				rest, line = cut, line+1
				continue
			} else if strings.TrimSpace(rest) == "" {
				return g, nil
			}
			return nil, wrong(line, "want NAME=VALUE, got %.40q", rest)
		}
		if !isName(name) {
			return nil, wrong(line, "%.40q is not a name", name)
		}
		value, left, err := word(after, line)
		if err != nil {
			return nil, err
		}
		if key, ours := strings.CutPrefix(name, "joboption_"); ours {
			g[key] = value
		}
		line += strings.Count(rest[:len(rest)-len(left)], "\n")
		rest = left
	}
	return g, nil
}

// wrong returns the error about a line of the grami. It is of kind Invalid.
func wrong(line int, format string, args ...any) error {
	return jjm.Errorf(jjm.Invalid, "grami: line %d: "+format, append([]any{line}, args...)...)
}

// isName reports whether a text can be the name of a shell variable.
func isName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// word parses one word of a shell up to the end of its line. left is the text after the word.
func word(s string, line int) (value, left string, err error) {
	var b strings.Builder
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case '\n':
			return b.String(), s[i+1:], nil
		case '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return "", "", wrong(line, "a quote is not closed")
			}
			b.WriteString(s[i+1 : i+1+end])
			i += end + 2
		case '"':
			n, err := doubleQuoted(&b, s[i+1:], line)
			if err != nil {
				return "", "", err
			}
			i += n + 1
		case '\\':
			if i+1 == len(s) {
				return "", "", wrong(line, "the text ends with a backslash")
			}
			if s[i+1] != '\n' {
				b.WriteByte(s[i+1])
			}
			i += 2
		default:
			if strings.IndexByte(" \t\r$`;&|<>()*?[~\x00", c) >= 0 {
				return "", "", wrong(line, "%q outside quotes: a shell would interpret it", c)
			}
			b.WriteByte(c)
			i++
		}
	}
	return b.String(), "", nil
}

// doubleQuoted parses the inside of double quotes. It returns the number of parsed bytes, including the closing quote.
func doubleQuoted(b *strings.Builder, s string, line int) (int, error) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1, nil
		case c == '$' || c == '`':
			return 0, wrong(line, "%q within double quotes: a shell would interpret it", c)
		case c == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0:
			i++
			if s[i] != '\n' {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return 0, wrong(line, "a quote is not closed")
}

// numbered returns the values of NAME_0, NAME_1, and so on.
func (g Grami) numbered(name string) []string {
	var values []string
	for i := 0; ; i++ {
		v, ok := g[name+"_"+strconv.Itoa(i)]
		if !ok {
			return values
		}
		values = append(values, v)
	}
}

// whole returns a number, or 0 if the number is empty, missing or negative. A-REX writes -1 for "not set".
func (g Grami) whole(name string) (int64, error) {
	text := g[name]
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, jjm.Errorf(jjm.Invalid, "grami: joboption_%s=%.40q: want a whole number", name, text)
	}
	return max(n, 0), nil
}
