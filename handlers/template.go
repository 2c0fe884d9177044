package handlers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"jjm"
)

// Values are what the placeholders of a command stand for.
type Values map[string][]string

// PartValues gives the values that the part of a local job has: serial, seed
// and job of every part; first_event, events and last_event of a range of
// events; row and args of a row. The seed is seedOffset plus the serial, so it
// belongs to the local job for good (decision R17).
func PartValues(job *jjm.LocalJob, seedOffset int64) Values {
	num := func(n int64) []string { return []string{strconv.FormatInt(n, 10)} }
	p := job.Part
	v := Values{"serial": num(p.Serial), "seed": num(seedOffset + p.Serial), "job": {job.ID.String()}}
	if p.Unit == jjm.UnitEvent {
		v["first_event"], v["events"], v["last_event"] = num(p.First), num(p.Count), num(p.Last())
		return v
	}
	v["row"], v["args"] = num(p.First), p.Args
	return v
}

// CommandTemplate is a command line with placeholders such as {first_event}.
// A brace is written {{. {args}, the words of a row, must be a word of its own:
// it becomes as many words as the row has.
type CommandTemplate struct {
	words  [][]piece
	append []string
}

// piece is literal text, or a placeholder if name is set.
type piece struct{ text, name string }

// ParseCommand reads the words of a command whose parts are of a unit. An
// unknown placeholder is a problem naming the known ones; its field is that of
// the list with the word's index. A command without placeholders gets the
// part's own words appended: first_event and events, or the words of its row.
func ParseCommand(field string, words []string, unit string) (CommandTemplate, jjm.Problems) {
	known := []string{"{serial}", "{seed}", "{job}"}
	t := CommandTemplate{append: []string{"args"}}
	if unit == jjm.UnitEvent {
		known = append(known, "{first_event}", "{events}", "{last_event}")
		t.append = []string{"first_event", "events"}
	} else {
		known = append(known, "{row}", "{args}")
	}
	var problems jjm.Problems
	for i, word := range words {
		pieces, err := parseWord(word, known)
		if err == nil && i == 0 && word == "" {
			err = fmt.Errorf("is empty: the first word names the program")
		}
		if err != nil {
			problems = append(problems, jjm.Problem{Field: fmt.Sprintf("%s[%d]", field, i), Text: err.Error()})
		}
		if slices.ContainsFunc(pieces, func(p piece) bool { return p.name != "" }) {
			t.append = nil
		}
		t.words = append(t.words, pieces)
	}
	return t, problems
}

// parseWord cuts a word at its placeholders.
func parseWord(word string, known []string) ([]piece, error) {
	var pieces []piece
	literal := ""
	for rest := word; ; {
		before, after, found := strings.Cut(rest, "{")
		literal += before
		if !found {
			return append(pieces, piece{text: literal}), nil
		}
		if strings.HasPrefix(after, "{") {
			literal += "{"
			rest = after[1:]
			continue
		}
		name, next, closed := strings.Cut(after, "}")
		if !closed || !slices.Contains(known, "{"+name+"}") {
			return nil, fmt.Errorf("unknown placeholder %.40q: known are %s (a brace is written {{)",
				"{"+name+map[bool]string{true: "}"}[closed], strings.Join(known, " "))
		}
		if name == "args" && word != "{args}" {
			return nil, fmt.Errorf("%.40q: {args} must be a word of its own, because it becomes several words", word)
		}
		pieces = append(pieces, piece{text: literal, name: name})
		literal, rest = "", next
	}
}

// Expand gives the command line for the values of a part.
func (t CommandTemplate) Expand(values Values) []string {
	var argv []string
	for _, pieces := range t.words {
		if len(pieces) > 0 && pieces[0].name == "args" {
			argv = append(argv, values["args"]...)
			continue
		}
		var word strings.Builder
		for _, p := range pieces {
			word.WriteString(p.text)
			if p.name != "" {
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
