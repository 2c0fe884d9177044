package handlers

import (
	"fmt"

	"jjm/internal/jjm"
)

// Form is a [Handler] whose methods call the functions in its fields. So a job type can be written as a few functions,
// and its settings are parsed in one place. S is the Go type of the parsed settings.
type Form[S any] struct {
	// Name is the type's name in job files; About documents the type.
	Name  string
	About Description
	// Read parses the settings and returns their problems.
	Read func(*jjm.Spec) (S, jjm.Problems)
	// Cut returns how the work is cut, or problems if the work cannot be cut. If About.Reads is set, the job file defines
	// how files are cut, and Cut may be called even if Read returned problems with the settings.
	Cut func(S, *jjm.Spec, Site) (Cutting, jjm.Problems)
	// Line returns the command line of a part. It is only called if Read returned no problems.
	Line func(S, *jjm.LocalJob) Command
}

// Type returns the type's name in job files.
func (f Form[S]) Type() string { return f.Name }

// Describe returns the documentation of the type.
func (f Form[S]) Describe() Description { return f.About }

// Check returns the problems with the settings and with the cutting of the work. If the settings have problems, Check
// only looks at the cutting if About.Reads is set.
func (f Form[S]) Check(spec *jjm.Spec, site Site) jjm.Problems {
	s, problems := f.Read(spec)
	if len(problems) > 0 && !f.About.Reads {
		return problems
	}
	_, more := f.Cut(s, spec, site)
	return append(problems, more...)
}

// Split returns how the work is cut. The error contains the problems with the settings, or else the problems with the
// cutting.
func (f Form[S]) Split(spec *jjm.Spec, site Site) (Cutting, error) {
	s, problems := f.Read(spec)
	if len(problems) > 0 {
		return Cutting{}, problems.Err()
	}
	c, problems := f.Cut(s, spec, site)
	return c, problems.Err()
}

// Command returns the command line of the part that a local job processes. The error contains the problems with the
// settings.
func (f Form[S]) Command(spec *jjm.Spec, job *jjm.LocalJob) (Command, error) {
	s, problems := f.Read(spec)
	if len(problems) > 0 {
		return Command{}, problems.Err()
	}
	return f.Line(s, job), nil
}

// Commanded holds settings that contain the words of a command, and the parsed command.
type Commanded[P any] struct {
	Params  P
	Command CommandTemplate
}

// ReadCommand returns the function Read for a Form whose settings contain a command for parts of a unit. The command
// may have the placeholders of the unit and of the job file's streams, and the placeholders in own.
func ReadCommand[P any](unit string, words func(P) []string,
	own ...string) func(*jjm.Spec) (Commanded[P], jjm.Problems) {
	return func(spec *jjm.Spec) (s Commanded[P], problems jjm.Problems) {
		problems = DecodeParams(spec.Params, &s.Params)
		command, more := ParseCommand("params.command", words(s.Params), unit, append(Streams(spec), own...)...)
		s.Command = command
		problems = append(problems, Unparsed("params.command", words(s.Params), problems)...)
		return s, append(problems, more...)
	}
}

// CheckSections returns a problem for each range that begins in the middle of a section.
// Each section has size events.
func CheckSections(only []jjm.Span, size int64) (problems jjm.Problems) {
	for i, s := range only {
		if (s.First-1)%size != 0 {
			problems = append(problems, jjm.Problem{Field: fmt.Sprintf("only[%d]", i),
				Text: fmt.Sprintf("begins with event %d, in the middle of a section of %d events", s.First, size)})
		}
	}
	return problems
}

// CheckName returns a problem if a setting is not the name of a file: 1 to 100 letters, digits and . _ + -, the first
// of which is a letter, a digit or _. Such a name is never an option or a pattern.
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
