package arc

import (
	"strconv"
	"strings"

	"jjm"
)

// maxGrami is the longest grami, in bytes.
const maxGrami = 4 << 20

// Grami is the file in which A-REX describes a job to its batch system's scripts:
// the values of its joboption_ variables, without that prefix.
type Grami map[string]string

// ParseGrami reads a grami without running it: it is meant for a shell, and its
// words come from users. Lines are NAME=WORD; a word is any mix of quoted and
// plain text. What a shell would expand or run is refused; of a name given twice
// the last value counts, as it would in a shell. Errors are of kind Invalid and
// name the line.
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

func wrong(line int, format string, args ...any) error {
	return jjm.Errorf(jjm.Invalid, "grami: line %d: "+format, append([]any{line}, args...)...)
}

func isName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// word reads one word of a shell and the end of its line; left is what follows.
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
			n, err := double(&b, s[i+1:], line)
			if err != nil {
				return "", "", err
			}
			i += n + 1
		case '\\':
			if i+1 == len(s) {
				return "", "", wrong(line, "it ends with a backslash")
			}
			if s[i+1] != '\n' {
				b.WriteByte(s[i+1])
			}
			i += 2
		default:
			if strings.IndexByte(" \t\r$`;&|<>()*?[~\x00", c) >= 0 {
				return "", "", wrong(line, "%q outside quotes: a shell would do something with it", c)
			}
			b.WriteByte(c)
			i++
		}
	}
	return b.String(), "", nil
}

// double reads the inside of double quotes and gives its length, the closing
// quote included.
func double(b *strings.Builder, s string, line int) (int, error) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1, nil
		case c == '$' || c == '`':
			return 0, wrong(line, "%q within double quotes: a shell would do something with it", c)
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

// whole returns a number, 0 for one that is empty, missing or negative: A-REX
// writes -1 for "not said".
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
