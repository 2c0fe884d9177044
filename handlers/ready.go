package handlers

import (
	"cmp"

	"jjm/internal/jjm"
)

// Learner is implemented by handlers whose description comes from outside jjm, for example from a program. Their
// Describe never waits; before Learn has succeeded it may return only a summary.
type Learner interface {
	// Learn obtains the description of the type, unless the handler already has it. It may take seconds. If it returns
	// problems, the type accepts no new jobs.
	Learn() jjm.Problems
}

// Learn calls the method Learn of a handler that is a [Learner]. For other handlers it returns no problems.
func Learn(h Handler) jjm.Problems {
	if l, ok := h.(Learner); ok {
		return l.Learn()
	}
	return nil
}

// Ready adds the plan of its type, and the way in which the job reports, to a job file. It returns the completed job
// file, and the mistakes that only the type can find. It may take as long as the program of a type.
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

// checkRetry returns a problem if the job file has retry.on_exit but the job reports by its GBS log file: then exit
// codes have no effect on retries.
func checkRetry(h Handler, spec *jjm.Spec) jjm.Problems {
	if len(spec.Retry.OnExit) == 0 || cmp.Or(spec.Result, h.Describe().Result) != jjm.ResultGLF {
		return nil
	}
	return jjm.Problems{{Field: "retry.on_exit", Text: `the job reports by its GBS log file, whose keywords say what is ` +
		`retried: leave the key out, or set result = "exit"`}}
}
