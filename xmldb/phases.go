package xmldb

import (
	"strconv"

	"jjm"
	"jjm/xmldb/internal/xmltext"
)

// Phases is what an attempt of a local job told of its phases, as a fragment for its
// element: a phase element each, with name, done, total, the times started and ended,
// and the attempt. Kinds: Invalid for what no fragment may hold.
func Phases(id jjm.AttemptID, phases []jjm.AppPhase) (Fragment, error) {
	b := xmltext.Attr([]byte("<fragment"), "job", id.LocalID.String())
	b = append(b, '>')
	for _, p := range phases {
		b = append(b, "<phase"...)
		b = xmltext.Attr(b, "name", p.Phase)
		b = xmltext.Attr(b, "done", strconv.FormatInt(p.Done, 10))
		b = xmltext.Attr(b, "total", strconv.FormatInt(p.Total, 10))
		if p.Started != 0 { // an older wrapper tells no times
			b = xmltext.Attr(b, "started", p.Started.String())
			b = xmltext.Attr(b, "ended", p.Ended.String())
		}
		b = xmltext.Attr(b, "attempt", strconv.Itoa(int(id.Attempt)))
		b = append(b, "/>"...)
	}
	return ParseFragment(append(b, "</fragment>"...))
}
