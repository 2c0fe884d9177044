// Package selection is the grammar with which people and programs select the jobs of a command: ids and patterns of
// ids, and filters. It parses them into values, and reports whether a job is selected. Its errors quote the wrong word
// and show a correct form. The package is pure: the caller knows the existing jobs and their owners.
//
//	12            grid job 12
//	12.3          local job 3 of grid job 12
//	12.3-7        local jobs 3 to 7 of grid job 12, both included
//	12.*          all local jobs of grid job 12
//	HANDLE        the grid job of a gatekeeper's handle; HANDLE.3, HANDLE.3-7 and HANDLE.* are its local jobs
//	name:GLOB     the grid jobs whose name matches: * is any text, ? is any one character
//	12,13.4       a list; several words are a list too
//
// docs/SELECTION.md is the page for users.
package selection

import (
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// namePrefix is the beginning of a word that is a pattern of names.
const namePrefix = "name:"

// MaxName is the greatest length of a pattern of names, in bytes. The names themselves have at most 64 characters.
const MaxName = 128

// Pattern is one element of a list: an id, a handle, or a pattern of names. Exactly one of Ref.Grid, Handle and Name is
// set.
type Pattern struct {
	// Ref is the grid job, or the local jobs. If Handle is set, it names the grid job, and Ref.Grid is 0.
	Ref    jjm.Ref
	Handle jjm.Handle
	// Name selects grid jobs by their names.
	Name Glob
}

// List is a list of ids, handles and patterns of names, in the order in which they were written.
type List []Pattern

// Parse parses the words of a command line or a request. Each word is an element, or several elements separated by
// commas. The error is of kind Invalid, quotes the word and shows a correct form.
func Parse(words []string) (List, error) {
	var list List
	for _, word := range words {
		elements := strings.Split(word, ",")
		for i, element := range elements {
			p, err := ParsePattern(element)
			switch {
			case element == "" && len(elements) > 1:
				return nil, jjm.Errorf(jjm.Invalid, "%.80q: nothing beside a comma: want ids with one comma between two, "+
					"such as 12,13.4", word)
			case err != nil:
				return nil, err
			case i > 0 && doubtful(list[len(list)-1], p):
				return nil, jjm.Errorf(jjm.Invalid, "%.40q: is %s a grid job or local job %s.%[2]s? "+
					"Write %[3]s.%[2]s, or the grid job as a word of its own", word, element, list[len(list)-1].grid())
			}
			list = append(list, p)
		}
	}
	return list, nil
}

// doubtful reports whether p is a whole grid job that follows a local job after a comma. In "12.3,5" people may mean
// 12.5, but a command would act on grid job 5.
func doubtful(before, p Pattern) bool {
	return before.Ref.Locals && p.Ref.Grid != 0 && !p.Ref.Locals
}

// ParsePattern parses one element. Its errors are of the same kind and form as those of [Parse].
func ParsePattern(word string) (Pattern, error) {
	if name, ok := strings.CutPrefix(word, namePrefix); ok {
		p := Pattern{Name: Glob(name)}
		return p, p.Check()
	}
	if h, rest, ok := jjm.CutHandle(word); ok {
		ref, err := jjm.ParseRef("1" + rest)
		ref.Grid = 0
		if err != nil {
			return Pattern{}, wrong(word)
		}
		return Pattern{Handle: h, Ref: ref}, nil
	}
	ref, err := jjm.ParseRef(word)
	if err != nil {
		return Pattern{}, wrong(word)
	}
	return Pattern{Ref: ref}, nil
}

// wrong returns the error for a word that is not an element. For common mistakes, the error shows the element that was
// probably meant.
func wrong(word string) error {
	grid, locals, dotted := strings.Cut(word, ".")
	first, last, _ := strings.Cut(locals, "-")
	remedy := "want 12, 12.3, 12.*, 12.3-7 or " + namePrefix + "GLOB"
	switch {
	case word == "*" || word == "all":
		remedy = "all grid jobs are " + namePrefix + "*"
	case !dotted && isRange("1", word):
		remedy = "a range is of local jobs, such as 12.3-7; of grid jobs write each"
	case !dotted && strings.ContainsAny(word, "*?"):
		remedy = "grid jobs whose names fit are " + namePrefix + "GLOB"
	case isRange(grid, locals):
		remedy = "the range ends before it begins: want " + grid + "." + last + "-" + first
	}
	return jjm.Errorf(jjm.Invalid, "id %.80q: %s", word, remedy)
}

// isRange reports whether a text is a range of local jobs of a grid job, such as "3-7", also if its ends are in the
// wrong order.
func isRange(grid, text string) bool {
	first, last, ranged := strings.Cut(text, "-")
	_, err := jjm.ParseRef(grid + "." + text)
	_, errBack := jjm.ParseRef(grid + "." + last + "-" + first)
	return ranged && (err == nil || errBack == nil)
}

// Check returns an error of kind Invalid if [ParsePattern] cannot have returned the pattern.
func (p Pattern) Check() error {
	switch {
	case p.Ref.Grid == 0 && p.Handle == "" && p.Name == "":
		return jjm.Errorf(jjm.Invalid, "id %q: want a pattern of names, such as %smc*", namePrefix, namePrefix)
	case len(p.Name) > MaxName:
		return jjm.Errorf(jjm.Invalid, "id %.40q...: a pattern of names has at most %d characters", p.String(), MaxName)
	case strings.ContainsAny(string(p.Name), ", \t\n"):
		return jjm.Errorf(jjm.Invalid, "id %.80q: names have no blanks and no commas: write ? for any one character",
			p.String())
	}
	return nil
}

// String returns the pattern in the form that [ParsePattern] reads.
func (p Pattern) String() string {
	switch {
	case p.Name != "":
		return namePrefix + string(p.Name)
	case p.Handle != "":
		ref := p.Ref
		ref.Grid = 1
		return string(p.Handle) + strings.TrimPrefix(ref.String(), "1")
	}
	return p.Ref.String()
}

// grid returns the id or the handle of the pattern's grid job.
func (p Pattern) grid() string {
	grid, _, _ := strings.Cut(p.String(), ".")
	return grid
}

// Jobs returns the number of jobs that the pattern means. A whole grid job counts as one job. known is false if the
// number depends on which jobs exist.
func (p Pattern) Jobs() (n int, known bool) {
	switch {
	case p.Name != "", p.Ref.Last < 0:
		return 0, false
	case p.Ref.Locals:
		return int(p.Ref.Last) - int(p.Ref.First) + 1, true
	}
	return 1, true
}

// Words returns the elements of the list, each in the form that [ParsePattern] reads.
func (l List) Words() []string {
	words := make([]string, len(l))
	for i, p := range l {
		words[i] = p.String()
	}
	return words
}

// Means reports whether an element of the list means the grid job, or some of its local jobs. An empty list means all
// grid jobs. Handles must have been replaced by ids before.
func (l List) Means(job *jjm.GridJob) bool {
	return len(l) == 0 || slices.ContainsFunc(l, func(p Pattern) bool {
		return p.Ref.Grid == job.ID || p.Name != "" && p.Name.Fits(job.Spec.Name)
	})
}
