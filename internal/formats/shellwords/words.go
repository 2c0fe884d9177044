// Package shellwords splits text that gatekeepers write for shells into words, like a shell, and writes words as such
// text. It runs and expands nothing.
package shellwords

import (
	"errors"
	"strings"
)

// Split splits a text into words by the rules of the POSIX Shell Command Language, 2.2. It returns an error if a quote
// is not closed, or if the text contains NUL.
//
//	where                 | what it means
//	blanks                | separate words
//	single quotes         | keep everything
//	double quotes         | keep everything but \ before \ " $ ` and a newline
//	\ outside of quotes   | keeps the next character
func Split(text string) ([]string, error) {
	var out []string
	var word strings.Builder
	begun := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch c {
		case ' ', '\t', '\n':
			if begun {
				out = append(out, word.String())
				word.Reset()
				begun = false
			}
			continue
		case '\'':
			end := strings.IndexByte(text[i+1:], '\'')
			if end < 0 {
				return nil, errors.New("a single quote is not closed")
			}
			word.WriteString(text[i+1 : i+1+end])
			i += end + 1
		case '"':
			end, err := quoted(text[i+1:], &word)
			if err != nil {
				return nil, err
			}
			i += end
		case '\\':
			if i++; i < len(text) && text[i] != '\n' {
				word.WriteByte(text[i])
			}
		case 0:
			return nil, errors.New("NUL cannot be part of a word")
		default:
			word.WriteByte(c)
		}
		begun = true
	}
	if begun {
		out = append(out, word.String())
	}
	return out, nil
}

// quoted parses up to the closing double quote and returns the number of parsed bytes.
func quoted(text string, word *strings.Builder) (int, error) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return i + 1, nil
		case '\\':
			if i+1 < len(text) && strings.IndexByte("\\\"$`\n", text[i+1]) >= 0 {
				if i++; text[i] != '\n' {
					word.WriteByte(text[i])
				}
				continue
			}
			word.WriteByte(c)
		case 0:
			return 0, errors.New("NUL cannot be part of a word")
		default:
			word.WriteByte(c)
		}
	}
	return 0, errors.New("a double quote is not closed")
}

// Join returns the text that a shell splits into these words.
func Join(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = Quote(word)
	}
	return strings.Join(quoted, " ")
}

// Quote returns the text that a shell reads as the one word.
func Quote(word string) string {
	special := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./=:,+@%", r)
	}
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
