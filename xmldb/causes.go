package xmldb

import (
	"jjm/internal/jjm"
	"jjm/xmldb/internal/xmltext"
)

// causes writes the reasons why local jobs failed or are tried again, if there are any.
func (e *encoder) causes(all []jjm.Cause) {
	if len(all) == 0 && e.x.get("causes") == nil {
		return
	}
	e.raw("\n  <causes")
	kept := all[:min(len(all), e.lim.list)]
	e.startDone("causes", len(kept) < len(all))
	for _, c := range kept {
		cut := false
		e.raw("\n    <cause")
		text := e.text(c.Text, &cut)
		e.must("text", text, &cut)
		e.int("jobs", int64(c.Jobs))
		e.opt("first", c.First, &cut)
		if c.Exit >= 0 {
			e.int("exit", int64(c.Exit))
		}
		e.opt("host", c.Host, &cut)
		e.b = xmltext.Flag(e.b, "again", c.Again)
		e.leaf(kidPath("causes", "cause", c.First), "cause", "", cut)
	}
	e.end("causes", "causes", "\n    ")
}
