package handlers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"jjm/internal/formats/nearest"
	"jjm/internal/jjm"
)

// Values maps placeholders to the words that replace them.
type Values map[string][]string

// PartValues returns the values of a part's placeholders:
//
//	every part       serial, seed, job, and those of its streams
//	range of events  first_event, events, last_event
//	row              row, args
//	files            see inputValues
//
// The seed is seedOffset plus the serial, unless the splitter drew a seed. All attempts of a local job therefore have
// the same seed (decision R17).
func PartValues(job *jjm.LocalJob, seedOffset int64) Values {
	p := &job.Part
	v := Values{"serial": num(p.Serial), "seed": num(seedOffset + p.Serial), "job": {job.ID.String()}}
	maps.Copy(v, p.Streams)
	if v["sequence"] = nil; p.Input != nil && p.Input.More != nil && p.Input.More.Sequence != 0 {
		v["sequence"] = num(p.Input.More.Sequence)
	}
	switch {
	case p.Unit == jjm.UnitEvent:
		v["first_event"], v["events"], v["last_event"] = num(p.First), num(p.Count), num(p.Last())
	case p.Unit == jjm.UnitRow:
		v["row"], v["args"] = num(p.First), p.Args
	case p.Input != nil:
		inputValues(v, p.Input)
	}
	return v
}

// num returns a number as the only word of a value.
func num(n int64) []string { return []string{strconv.FormatInt(n, 10)} }

// CommandTemplate is a command line with placeholders such as {first_event}. An opening brace in front of one word is
// written {{; other braces, and ${HOME}, stay unchanged. {args}, the words of a row, and {files} and {parents}, names
// of files, must be separate words and become several words. A stream, for example {EVNT}, also becomes several words
// if it is a separate word; within a word its files are joined by commas.
type CommandTemplate struct {
	words  [][]piece
	append []string
}

// piece is a part of a word of a template: literal text, followed by the placeholder with the name, if name is set. all
// is set if the placeholder is the whole word and becomes several words.
type piece struct {
	text, name string
	all        bool
}

// placeholders returns the placeholders that commands for parts of a unit may contain. If a command contains none, the
// values of the placeholders in appended are added at its end.
func placeholders(unit string) (known, appended []string) {
	known = []string{"{serial}", "{seed}", "{job}"}
	switch unit {
	case jjm.UnitEvent:
		return append(known, "{first_event}", "{events}", "{last_event}"), []string{"first_event", "events"}
	case jjm.UnitRow:
		return append(known, "{row}", "{args}"), []string{"args"}
	}
	return append(known, "{files}", "{file}", "{first_event}", "{events}", "{last_event}", "{first_number}", "{lumis}",
			"{parents}"),
		[]string{"files"}
}

// ParseCommand parses the words of a command for parts of a unit; UnitFile means all units that read files. more are
// further placeholders of the type, for example "{section}". It returns a problem for an unknown placeholder. The
// problem lists the known placeholders, and its Field is the parameter field with the index of the word. If a command
// has no placeholders, the part's own words are appended: first_event and events, the words of its row, or its files.
func ParseCommand(field string, words []string, unit string, more ...string) (CommandTemplate, jjm.Problems) {
	var t CommandTemplate
	known, appended := placeholders(unit)
	known, t.append = append(known, more...), appended
	var problems jjm.Problems
	for i, word := range words {
		pieces, wrong := parseWord(word, known)
		if i == 0 && word == "" {
			wrong = append(wrong, "is empty: the first word names the program")
		}
		for _, text := range wrong {
			problems = append(problems, jjm.Problem{Field: fmt.Sprintf("%s[%d]", field, i), Text: text})
		}
		if slices.ContainsFunc(pieces, func(p piece) bool { return p.name != "" }) {
			t.append = nil
		}
		t.words = append(t.words, pieces)
	}
	return t, problems
}

// Unparsed returns a problem if the settings have no command and an unknown key, which may be that of the command. The
// placeholders of the command are not checked then. problems are the problems of the settings.
func Unparsed(field string, words []string, problems jjm.Problems) jjm.Problems {
	unknown := func(p jjm.Problem) bool { return strings.HasPrefix(p.Text, "unknown key") }
	if len(words) > 0 || !slices.ContainsFunc(problems, unknown) {
		return nil
	}
	return jjm.Problems{{Field: field, Text: "its placeholders are not checked as long as there is no command"}}
}

// isList reports whether a placeholder becomes several words.
func isList(name string) bool { return name == "args" || name == "files" || name == "parents" }

// isStream reports whether a placeholder stands for a stream of the job file. Only the names of streams begin with a
// capital letter.
func isStream(name string) bool { return name != "" && name[0] >= 'A' && name[0] <= 'Z' }

// placeholderOf returns jjm's name for a placeholder of JEDI. Any other name is returned unchanged.
func placeholderOf(name string, known []string) string {
	if slices.Contains(known, "{"+name+"}") {
		return name
	}
	words := map[string]string{"RNDMSEED": "seed", "SEQNUMBER": "sequence", "SKIPEVENTS": "first_event",
		"MAXEVENTS": "events", "FIRSTEVENT": "first_number"}
	return cmp.Or(words[name], name)
}

// mostWrong is the largest number of wrong placeholders that are told of one word.
const mostWrong = 20

// parseWord splits a word at its placeholders. wrong has a text for each placeholder that may not be there.
func parseWord(whole string, known []string) (pieces []piece, wrong []string) {
	refuse := func(text string) {
		if len(wrong) < mostWrong && !slices.Contains(wrong, text) {
			wrong = append(wrong, text)
		}
	}
	literal := ""
	for rest := whole; ; {
		before, after, found := strings.Cut(rest, "{")
		literal += before
		if !found {
			return append(pieces, piece{text: literal}), wrong
		}
		if strings.HasPrefix(after, "{") {
			literal += "{"
			rest = after[1:]
			continue
		}
		word, next, closed := strings.Cut(after, "}")
		name := placeholderOf(word, known)
		if !closed || !slices.Contains(known, "{"+name+"}") {
			if name != word || !ofAScript(literal, word, known) {
				refuse(unknownPlaceholder("{"+word+map[bool]string{true: "}"}[closed], word, known))
			}
			literal += "{"
			rest = after
			continue
		}
		if word[0] >= 'A' && word[0] <= 'Z' {
			literal = strings.TrimSuffix(literal, "$") // JEDI writes ${EVNT}
		}
		alone := literal == "" && next == "" && len(pieces) == 0
		if isList(name) && !alone {
			refuse(fmt.Sprintf("\"%.40s\": {%s} must be a word of its own, because it becomes several words", whole, name))
		}
		pieces = append(pieces, piece{text: literal, name: name, all: alone && (isList(name) || isStream(name))})
		literal, rest = "", next
	}
}

// ofAScript reports whether an opening brace belongs to a script and not to a placeholder. A brace belongs to a script
// if the text in the braces is empty or not one word, for example { echo a; } and {print $1}, unless the text is a
// known placeholder with blanks around it, or with blanks or hyphens in place of its underscores. A brace also belongs
// to a script if a dollar is in front of it, for example in ${HOME}, and the text resembles no known placeholder.
func ofAScript(before, word string, known []string) bool {
	if strings.HasSuffix(before, "$") && !nearlyKnown(word, known) {
		return true
	}
	foreign := func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	return word == "" || strings.ContainsFunc(word, foreign) &&
		!slices.Contains(known, "{"+strings.NewReplacer("-", "_", " ", "_").Replace(strings.TrimSpace(word))+"}")
}

// nearlyKnown reports whether a word in braces resembles a known placeholder. The opening braces are not compared,
// because they would count as letters that are right: ${ROOT} does not resemble {row}.
func nearlyKnown(word string, known []string) bool {
	bare := make([]string, len(known))
	for i, placeholder := range known {
		bare[i] = strings.TrimPrefix(placeholder, "{")
	}
	return nearest.Of(word+"}", bare) != ""
}

// unknownPlaceholder returns the error for an unknown placeholder. The error names the most similar known placeholder,
// if there is one, and lists all known placeholders.
func unknownPlaceholder(text, word string, known []string) string {
	meant := nearest.Of("{"+word+"}", known)
	if meant != "" {
		meant = "did you mean " + meant + "? "
	}
	return fmt.Sprintf("unknown placeholder \"%.40s\": %sknown are %s (an opening brace is written {{, a closing one is "+
		"never doubled)", text, meant, strings.Join(known, " "))
}

// Literal returns the template for a text that is not a command: nothing is appended if the text has no placeholders.
func (t CommandTemplate) Literal() CommandTemplate {
	t.append = nil
	return t
}

// Expand returns the command line with its placeholders replaced by the values of a part.
func (t CommandTemplate) Expand(values Values) []string {
	var argv []string
	for _, pieces := range t.words {
		if len(pieces) > 0 && pieces[0].all {
			argv = append(argv, values[pieces[0].name]...)
			continue
		}
		var word strings.Builder
		for _, p := range pieces {
			word.WriteString(p.text)
			switch {
			case isStream(p.name):
				word.WriteString(strings.Join(values[p.name], ","))
			case p.name != "":
				word.WriteString(strings.Join(values[p.name], " "))
			}
		}
		argv = append(argv, word.String())
	}
	for _, name := range t.append {
		argv = append(argv, values[name]...)
	}
	return argv
}
