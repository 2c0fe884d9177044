package glf

import "strings"

// SplitArgs splits data into words at blanks. A word in double quotes may contain blanks, and "" is an empty word.
// Inside quotes \" is a quote and \\ a backslash; outside quotes a backslash stands for itself. A quote that is not
// closed ends with the data.
func SplitArgs(data string) []string {
	var words []string
	var word strings.Builder
	inWord, quoted := false, false
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case quoted && c == '\\' && i+1 < len(data) && (data[i+1] == '"' || data[i+1] == '\\'):
			i++
			word.WriteByte(data[i])
		case c == '"':
			quoted, inWord = !quoted, true
		case !quoted && strings.IndexByte(blanks+"\n\x00", c) >= 0:
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

// JoinArgs joins words with blanks so that SplitArgs returns the same words. It quotes words that need quotes. Newlines
// and NULs become blanks, because a line cannot contain them.
func JoinArgs(args []string) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		a = clean(a)
		if a != "" && !strings.ContainsAny(a, blanks+`"`) {
			b.WriteString(a)
			continue
		}
		b.WriteByte('"')
		b.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(a))
		b.WriteByte('"')
	}
	return b.String()
}
