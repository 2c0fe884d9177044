package handlers

import "jjm"

// Form is a job type told by its parts, for types whose cutting does not depend on
// their settings. It is a [Handler]; S is what reading the settings gives.
type Form[S any] struct {
	// Name is the word in job files, About documents the type.
	Name  string
	About Description
	// Read reads the settings and finds their mistakes.
	Read func(*jjm.Spec) (S, jjm.Problems)
	// Cut names the splitter, or says why the work cannot be cut.
	Cut func(*jjm.Spec, Site) (Cutting, jjm.Problems)
	// Line is the command line of a part; it is called on settings without mistakes.
	Line func(S, *jjm.LocalJob) Command
}

// Type is the word in job files.
func (f Form[S]) Type() string { return f.Name }

// Describe documents the type.
func (f Form[S]) Describe() Description { return f.About }

// Check finds the mistakes in the settings and in how the work is to be cut.
func (f Form[S]) Check(spec *jjm.Spec, site Site) jjm.Problems {
	_, problems := f.Read(spec)
	_, more := f.Cut(spec, site)
	return append(problems, more...)
}

// Split names the splitter.
func (f Form[S]) Split(spec *jjm.Spec, site Site) (Cutting, error) {
	c, problems := f.Cut(spec, site)
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
