package command

import (
	"regexp"
	"slices"
	"strings"
)

// templateName matches the names that jjm replaces, in the syntax of SAM's batch adapters.
var templateName = regexp.MustCompile(`%__([A-Z]+(?:_[A-Z]+)*)__`)

// template is a text with names such as %__TAG__ that are replaced by values.
type template struct {
	text  string
	parts []part
}

// part is a piece of a template: a name, or a literal if the name is empty.
type part struct{ literal, name string }

func parseTemplate(text string) template {
	t := template{text: text}
	at := 0
	for _, m := range templateName.FindAllStringSubmatchIndex(text, -1) {
		if m[0] > at {
			t.parts = append(t.parts, part{literal: text[at:m[0]]})
		}
		t.parts = append(t.parts, part{name: text[m[2]:m[3]]})
		at = m[1]
	}
	if at < len(text) {
		t.parts = append(t.parts, part{literal: text[at:]})
	}
	return t
}

// has reports whether the template contains one of the names.
func (t template) has(names ...string) bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.name != "" && slices.Contains(names, p.name) })
}

// literals returns the text of the template without its names.
func (t template) literals() string {
	var s strings.Builder
	for _, p := range t.parts {
		s.WriteString(p.literal)
	}
	return s.String()
}

// values holds the values of the names in one call: a word, or a list of words.
type values struct {
	words map[string]string
	lists map[string][]string
}

// fill returns the text with its names replaced by their values. If a value is a list, its words are joined with join.
func (t template) fill(v values, join string) string {
	var s strings.Builder
	for _, p := range t.parts {
		switch list, isList := v.lists[p.name]; {
		case p.name == "":
			s.WriteString(p.literal)
		case isList:
			s.WriteString(strings.Join(list, join))
		default:
			s.WriteString(v.words[p.name])
		}
	}
	return s.String()
}

// command is the command line of a verb.
type command struct {
	words []template
	// join separates the words of a list that is part of a word. If joinWhole is set, join also joins a list that is a
	// word by itself.
	join      string
	joinWhole bool
}

func (c command) has(names ...string) bool {
	return slices.ContainsFunc(c.words, func(t template) bool { return t.has(names...) })
}

// argv returns the command line. A word that consists only of the name of a list becomes one word for each element of
// the list, unless joinWhole is set.
func (c command) argv(v values) []string {
	var argv []string
	for _, t := range c.words {
		if len(t.parts) == 1 && t.parts[0].name != "" {
			whole := c.joinWhole && t.parts[0].name != "OPTIONS"
			if list, ok := v.lists[t.parts[0].name]; ok && !whole {
				argv = append(argv, list...)
				continue
			}
		}
		argv = append(argv, t.fill(v, c.join))
	}
	return argv
}
