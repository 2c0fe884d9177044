package handlers

import "jjm"

// Learner is what a handler implements whose description is not in jjm itself, such as
// that of a program. Its Describe returns what is known, and never waits.
type Learner interface {
	// Learn finds out what the type is, unless that is known. It may take seconds. The
	// problems say why it cannot be found out: then the type cannot be used.
	Learn() jjm.Problems
}

// Learn has a handler find out what it is, and returns why it cannot.
func Learn(h Handler) jjm.Problems {
	if l, ok := h.(Learner); ok {
		return l.Learn()
	}
	return nil
}

// Ready returns a job file as its type will do it, with what the type plans and how it
// reports, and the mistakes that only the type can find. It may take as long as the
// program of a type may.
func Ready(h Handler, spec *jjm.Spec, site Site) (*jjm.Spec, jjm.Problems) {
	if problems := Learn(h); len(problems) > 0 {
		return spec, problems
	}
	planned, problems := Planned(h, spec, site)
	if len(problems) > 0 {
		return spec, problems
	}
	ready := *planned
	if ready.Result == "" {
		ready.Result = h.Describe().Result
	}
	return &ready, Examine(h, &ready, site)
}
