package gridjob

import "jjm/internal/jjm"

// checkNotify returns a problem if the job file has addresses to notify and the site sends no notices. jim is true for
// a job description file of JIM: its address was always for the application, so the site ignores it, and it stays in
// the environment of the jobs.
func checkNotify(spec *jjm.Spec, jim, notices bool) jjm.Problems {
	switch {
	case notices || len(spec.Notify) == 0:
		return nil
	case jim:
		spec.Notify = nil
		return nil
	}
	return jjm.Problems{{Field: "notify", Text: "this site sends no notices: leave it out, or ask the site to set " +
		"notify.mail or notify.command in its configuration"}}
}
