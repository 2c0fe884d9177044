package gridjob

import (
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
)

// checkNotify returns a problem if the job file has addresses to notify and the site sends no notices. The address in a
// job description file of JIM was always for the application: the site ignores it, and it stays in the environment of
// the jobs.
func checkNotify(doc *jobfile.Doc, notices bool) jjm.Problems {
	switch {
	case notices || len(doc.Spec.Notify) == 0:
		return nil
	case doc.IsJIM():
		doc.Spec.Notify = nil
		return nil
	}
	return jjm.Problems{{Field: "notify", Text: "this site sends no notices: leave it out, or ask the site to set " +
		"notify.mail or notify.command in its configuration"}}
}
