package conformance

import (
	"jjm/handlers"
	"jjm/internal/jjm"
)

// keepsLimit checks that a type respects the site's limit on local jobs. n is the number of local jobs that the type
// makes without a limit. With a limit of n-1, the type's Check must return a problem, or the type must make fewer local
// jobs.
func keepsLimit(t TB, h handlers.Handler, site handlers.Site, spec *jjm.Spec, n int) {
	t.Helper()
	if n < 2 {
		return // a limit of 0 would mean the default
	}
	site.MaxLocalJobs = n - 1
	planned, problems := handlers.Planned(h, clone(t, spec), site)
	if len(problems) > 0 {
		return
	}
	if problems = h.Check(planned, site); len(problems) > 0 {
		heedsLimit(t, h, n, problems)
		return
	}
	c, err := h.Split(planned, site)
	if err != nil {
		t.Errorf("where the site allows %s, Check accepts what Split refuses: %v", jjm.Count(n-1, "local job"), err)
		return
	}
	if got := len(cutAll(t, c)); got > n-1 {
		t.Errorf("the site allows %s (MaxLocalJobs), and the type makes %d: does it ask site.MaxJobs or site.Cut?",
			jjm.Count(n-1, "local job"), got)
	}
}

// heedsLimit reports an error about a type with a program. The program was asked to plan within the limit and still
// planned more, so that jjm had to reject the plan. Only the program knows which setting the user should change.
func heedsLimit(t TB, h handlers.Handler, n int, refused jjm.Problems) {
	t.Helper()
	if _, asked := h.(handlers.Learner); !asked {
		return // the type has no program
	}
	t.Errorf("where the site allows %s (site.max_local_jobs of the request), the program still plans %d, and jjm refuses "+
		"the job file: %v: answer with fewer, or with a problem that names the setting to change",
		jjm.Count(n-1, "local job"), n, refused)
}
