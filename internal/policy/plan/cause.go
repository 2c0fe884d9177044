package plan

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"jjm/internal/jjm"
)

// elided replaces the words of a cause that differ between local jobs.
const elided = "…"

// maxCause is the greatest length of a cause's text, in characters.
const maxCause = 160

// Cause returns the part of a message that does not depend on the local job, so that local jobs that failed alike are
// counted together:
//
//	"exit code 3 after 4 s on wn7: no space"      "exit code 3: no space"
//	"cannot open /data/17/raw.root: no such file" "cannot open …: no such file"
//	"17.3 wants 12 events, \"x\" has 7"           "… wants … events, … has …"
//
// The time that an attempt ran and its host are left out. Paths, quoted texts, tags of bulks and numbers, alone or
// within words, become an ellipsis. A number that names the failure stays: an exit code, a signal, a status or an error
// number. The value of a setting stays too: result = "exit". Only the first line counts. Cause does not change a text
// that is already a cause, unless the text was cut.
func Cause(message string) string {
	return cut(strings.Join(causeWords(message, common), " "), maxCause)
}

// InCommon returns the text of a cause after the message of one more local job. told is the text for the previous local
// jobs, "" if there are none. Whole numbers that all messages have in common, such as a limit, stay.
//
//	""                              "walltime limit of 5 s reached after 7 s"   "walltime limit of 5 s reached"
//	"walltime limit of 5 s reached" "walltime limit of 9 s reached after 9 s"   "walltime limit of … s reached"
func InCommon(told, message string) string {
	cause := Cause(message)
	own := cut(strings.Join(causeWords(message, numbered), " "), maxCause)
	if told == "" {
		return own
	}
	words, others, general := strings.Fields(told), strings.Fields(own), strings.Fields(cause)
	if len(words) != len(others) || len(words) != len(general) {
		return cause // the text was cut
	}
	for i := range words {
		if words[i] != others[i] {
			words[i] = general[i]
		}
	}
	return strings.Join(words, " ")
}

// causeWords returns the words of a cause. general turns a word of the message, given the word before it, into a word
// of the cause.
func causeWords(message string, general func(word, last string) string) []string {
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	words := strings.Fields(unquoted(line))
	out := make([]string, 0, len(words))
	told := false // whether the words before are an exit code, after which the host follows
	for i := 0; i < len(words); {
		if n := circumstance(words[i:], told); n > 0 {
			out = endWith(out, words[i+n-1])
			i, told = i+n, true
			continue
		}
		told = number(words[i]) || strings.HasSuffix(words[i], ")")
		out = append(out, general(words[i], before(words, i)))
		i++
	}
	return out
}

// circumstance returns the number of leading words that describe for how long or on which host an attempt ran: "after 2
// min 3 s", "on wn7". After an exit code (told) any word counts as a host.
func circumstance(words []string, told bool) int {
	switch {
	case words[0] == "on" && len(words) > 1 && (told || host(strip(words[1]))):
		return 2
	case words[0] != "after":
		return 0
	}
	n := 1
	for n+1 < len(words) && number(strings.Replace(words[n], ".", "", 1)) && unit(strip(words[n+1])) {
		n += 2
		if strip(words[n-1]) != words[n-1] { // the clause ends here
			break
		}
	}
	if n == 1 {
		return 0
	}
	return n
}

func unit(word string) bool {
	switch word {
	case "ms", "s", "min", "h", "d":
		return true
	}
	return false
}

// endWith appends the punctuation at the end of a dropped word to the previous word.
func endWith(out []string, dropped string) []string {
	if end := dropped[len(strings.TrimRight(dropped, ".,;:")):]; end != "" && len(out) > 0 {
		out[len(out)-1] += end
	}
	return out
}

// before returns the word before the i-th, without punctuation.
func before(words []string, i int) string {
	if i == 0 {
		return ""
	}
	return strings.ToLower(strip(words[i-1]))
}

// strip removes the punctuation around a word.
func strip(word string) string {
	return strings.TrimRight(strings.TrimLeft(word, "([{<'\"="), ".,;:)]}>'\"=")
}

// common returns a word without the parts that are specific to one local job.
func common(word, last string) string {
	core := strip(word)
	switch {
	case core == "" || strings.Contains(core, elided):
		return word
	case (last == "bulk" || last == "tag") && len(core) == jjm.MaxTag && jjm.Tag(core).Valid():
		return strings.Replace(word, core, elided, 1)
	case located(core):
		return strings.Replace(word, core, elided, 1)
	case number(core) && telling(last):
		return word
	}
	return strings.Replace(word, core, undigited(core), 1)
}

// numbered is like common, but keeps whole numbers. It is for the message of a single local job.
func numbered(word, last string) string {
	if number(strip(word)) {
		return word
	}
	return common(word, last)
}

// telling reports whether the number after a word names the failure, as in "exit code 3".
func telling(word string) bool {
	switch word {
	case "code", "exit", "signal", "status", "error", "errno":
		return true
	}
	return false
}

// located reports whether a word looks like the path of a file or a URL.
func located(word string) bool {
	return strings.HasPrefix(word, "/") && len(word) > 1 || strings.HasPrefix(word, "./") ||
		strings.HasPrefix(word, "../") || strings.HasPrefix(word, "~/") || strings.Contains(word, "://") ||
		strings.Contains(word, "/") && strings.ContainsFunc(word, unicode.IsDigit)
}

// host reports whether a word may be the name of a host.
func host(word string) bool {
	return strings.ContainsAny(word, "0123456789.") || strings.Contains(word, elided) || word == "localhost"
}

func number(word string) bool {
	return word != "" && strings.IndexFunc(word, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}

// undigited replaces each run of digits in a word by an ellipsis. Dots, colons, dashes and underscores between digits
// belong to the run. A long word of hexadecimal digits is replaced completely.
func undigited(word string) string {
	if !strings.ContainsFunc(word, unicode.IsDigit) {
		return word
	}
	if len(word) >= 8 && strings.Trim(word, "0123456789abcdefABCDEF-") == "" {
		return elided
	}
	var b strings.Builder
	in := false
	for i, r := range word {
		digit := unicode.IsDigit(r)
		if in && strings.ContainsRune(".:-_", r) {
			next, _ := utf8.DecodeRuneInString(word[i+1:])
			digit = unicode.IsDigit(next)
		}
		switch {
		case !digit:
			b.WriteRune(r)
		case !in:
			b.WriteString(elided)
		}
		in = digit
	}
	return b.String()
}

// unquoted replaces texts in double quotes, except the value of a setting, such as result = "exit": the remedy that a
// message names is the same for all local jobs.
func unquoted(line string) string {
	var b strings.Builder
	for {
		from := strings.IndexByte(line, '"')
		if from < 0 {
			break
		}
		to := strings.IndexByte(line[from+1:], '"')
		if to < 0 {
			break
		}
		if quoted := line[from : from+1+to+1]; setting(line[:from], quoted) {
			b.WriteString(line[:from] + quoted)
		} else {
			b.WriteString(line[:from] + elided)
		}
		line = line[from+1+to+1:]
	}
	b.WriteString(line)
	return b.String()
}

// setting reports whether a quoted text is the value of a setting, given the text before it: one word of lower-case
// letters after an equals sign.
func setting(before, quoted string) bool {
	word := strings.Trim(quoted, `"`)
	return strings.HasSuffix(strings.TrimRight(before, " "), "=") && word != "" &&
		strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == ""
}

// cut shortens a text to n characters. The last character is an ellipsis.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:n-1]), " "+elided) + elided
}
