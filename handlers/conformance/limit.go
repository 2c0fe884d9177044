package conformance

import (
	"jjm/handlers"
	"jjm/internal/jjm"
)

// keepsLimit checks that a type makes no more local jobs than a site allows: if n local jobs are too many, the type's
// Check must return a problem, or the type must make fewer local jobs.
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

// heedsLimit reports a type whose program planned more local jobs than the site's limit in the request, so that jjm
// rejected the plan. Only the program can name the setting to change.
func heedsLimit(t TB, h handlers.Handler, n int, refused jjm.Problems) {
	t.Helper()
	if _, asked := h.(handlers.Learner); !asked {
		return // the type has no program
	}
	t.Errorf("where the site allows %s (site.max_local_jobs of the request), the program still plans %d, and jjm refuses "+
		"the job file: %v: answer with fewer, or with a problem that names the setting to change",
		jjm.Count(n-1, "local job"), n, refused)
}
