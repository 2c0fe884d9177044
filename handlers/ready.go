package handlers

import (
	"cmp"

	"jjm/internal/jjm"
)

// Learner is implemented by handlers whose description is not in jjm itself, such as that
// of a program. Its Describe returns what is known, and never waits.
type Learner interface {
	// Learn finds out the description of the type, unless it is known. It may take seconds.
	// The problems say why that failed; the type then cannot be used.
	Learn() jjm.Problems
}

// Learn makes a handler learn its description, and returns why it cannot.
func Learn(h Handler) jjm.Problems {
	if l, ok := h.(Learner); ok {
		return l.Learn()
	}
	return nil
}

// Ready returns a job file as its type will run it, with what the type plans and how it
// reports, and the mistakes that only the type can find. It may take as long as the program
// of a type.
func Ready(h Handler, spec *jjm.Spec, site Site) (*jjm.Spec, jjm.Problems) {
	if problems := Learn(h); len(problems) > 0 {
		if off := OffOf(h); off != nil {
			problems = off.Refusal()
		}
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

// checkRetry refuses exit codes that would mean nothing.
func checkRetry(h Handler, spec *jjm.Spec) jjm.Problems {
	if len(spec.Retry.OnExit) == 0 || cmp.Or(spec.Result, h.Describe().Result) != jjm.ResultGLF {
		return nil
	}
	return jjm.Problems{{Field: "retry.on_exit", Text: `the job reports by its GBS log file, whose keywords say what is ` +
		`retried: leave the key out, or set result = "exit"`}}
}
