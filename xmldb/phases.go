package xmldb

import (
	"strconv"

	"jjm/internal/jjm"
	"jjm/xmldb/internal/xmltext"
)

// Phases returns an attempt's report about its phases as a fragment for the local job's element: one phase element for
// each phase, with name, done, total, the times started and ended, and the attempt. The error is of kind Invalid if a
// fragment cannot contain the texts.
func Phases(id jjm.AttemptID, phases []jjm.AppPhase) (Fragment, error) {
	b := xmltext.Attr([]byte("<fragment"), "job", id.LocalID.String())
	b = append(b, '>')
	for _, p := range phases {
		b = append(b, "<phase"...)
		b = xmltext.Attr(b, "name", p.Phase)
		b = xmltext.Attr(b, "done", strconv.FormatInt(p.Done, 10))
		b = xmltext.Attr(b, "total", strconv.FormatInt(p.Total, 10))
		if p.Started != 0 { // results are not trusted, so the times may be missing
			b = xmltext.Attr(b, "started", p.Started.String())
			b = xmltext.Attr(b, "ended", p.Ended.String())
		}
		b = xmltext.Attr(b, "attempt", strconv.Itoa(int(id.Attempt)))
		b = append(b, "/>"...)
	}
	return ParseFragment(append(b, "</fragment>"...))
}
