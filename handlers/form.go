package handlers

import (
	"fmt"

	"jjm"
)

// Form is a job type told by its parts. It is a [Handler]; S is what reading the settings
// gives.
type Form[S any] struct {
	// Name is the word in job files, About documents the type.
	Name  string
	About Description
	// Read reads the settings and finds their mistakes.
	Read func(*jjm.Spec) (S, jjm.Problems)
	// Cut names the splitter, or says why the work cannot be cut. Where About.Reads, the
	// job file says how files are cut, and the settings may have mistakes.
	Cut func(S, *jjm.Spec, Site) (Cutting, jjm.Problems)
	// Line is the command line of a part; it is called on settings without mistakes.
	Line func(S, *jjm.LocalJob) Command
}

// Type is the word in job files.
func (f Form[S]) Type() string { return f.Name }

// Describe documents the type.
func (f Form[S]) Describe() Description { return f.About }

// Check finds the mistakes in the settings and in how the work is to be cut.
func (f Form[S]) Check(spec *jjm.Spec, site Site) jjm.Problems {
	s, problems := f.Read(spec)
	if len(problems) > 0 && !f.About.Reads {
		return problems
	}
	_, more := f.Cut(s, spec, site)
	return append(problems, more...)
}

// Split names the splitter.
func (f Form[S]) Split(spec *jjm.Spec, site Site) (Cutting, error) {
	s, problems := f.Read(spec)
	if len(problems) > 0 {
		return Cutting{}, problems.Err()
	}
	c, problems := f.Cut(s, spec, site)
	return c, problems.Err()
}

// Command returns the command line of a part.
func (f Form[S]) Command(spec *jjm.Spec, job *jjm.LocalJob) (Command, error) {
	s, problems := f.Read(spec)
	if len(problems) > 0 {
		return Command{}, problems.Err()
	}
	return f.Line(s, job), nil
}

// Commanded are settings that hold the words of a command, and the command read.
type Commanded[P any] struct {
	Params  P
	Command CommandTemplate
}

// ReadCommand returns a Form's Read for settings whose words are a command for parts of a
// unit. Its placeholders are those of the unit, of the job file's streams, and own ones.
func ReadCommand[P any](unit string, words func(P) []string,
	own ...string) func(*jjm.Spec) (Commanded[P], jjm.Problems) {
	return func(spec *jjm.Spec) (s Commanded[P], problems jjm.Problems) {
		problems = DecodeParams(spec.Params, &s.Params)
		command, more := ParseCommand("params.command", words(s.Params), unit, append(Streams(spec), own...)...)
		s.Command = command
		return s, append(problems, more...)
	}
}

// CheckSections finds ranges that begin in the middle of a section, all of which have size
// events.
func CheckSections(only []jjm.Span, size int64) (problems jjm.Problems) {
	for i, s := range only {
		if (s.First-1)%size != 0 {
			problems = append(problems, jjm.Problem{Field: fmt.Sprintf("only[%d]", i),
				Text: fmt.Sprintf("begins with event %d, in the middle of a section of %d events", s.First, size)})
		}
	}
	return problems
}

// CheckName finds what is wrong with a setting that names a file: it must be neither an
// option nor a pattern.
func CheckName(field, name string) jjm.Problems {
	good := name != "" && len(name) <= 100
	for i, r := range name {
		letter := r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_'
		good = good && (letter || i > 0 && (r == '.' || r == '+' || r == '-'))
	}
	if good {
		return nil
	}
	return jjm.Problems{{Field: field, Text: fmt.Sprintf("%.40q: want a file name of 1 to 100 of the characters %s", name,
		"A-Z a-z 0-9 . _ + - and a letter, digit or _ in front")}}
}
