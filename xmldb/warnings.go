package xmldb

import (
	"strconv"

	"jjm/internal/jjm"
)

// warnings writes the warnings of a grid job, if there are any.
func (e *encoder) warnings(g *jjm.GridJob) {
	if len(g.Warnings) == 0 && e.x.get("warnings") == nil {
		return
	}
	e.raw("\n  <warnings")
	kept := g.Warnings[:min(len(g.Warnings), e.lim.list)]
	e.startDone("warnings", len(kept) < len(g.Warnings))
	for i, w := range kept {
		cut := false
		e.raw("\n    <warning")
		e.must("kind", string(w.Kind), &cut)
		e.int("count", int64(w.Count))
		if w.Kind != jjm.InputsAgain {
			e.must("first", jjm.LocalID{Grid: g.ID, N: w.First}.String(), &cut)
		}
		e.leaf(kidPath("warnings", "warning", strconv.Itoa(i)), "warning", w.Text, cut)
	}
	e.end("warnings", "warnings", "\n    ")
}
