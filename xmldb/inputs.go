package xmldb

import (
	"jjm/xmldb/head"
	"jjm/xmldb/internal/xmltext"
)

// inputs writes the datasets that the grid job reads, if there are any.
func (e *encoder) inputs(all []head.Input) {
	if len(all) == 0 && e.x.get("inputs") == nil {
		return
	}
	e.raw("\n  <inputs")
	kept := all[:min(len(all), e.lim.list)]
	e.startDone("inputs", len(kept) < len(all))
	for _, in := range kept {
		cut := false
		e.raw("\n    <dataset")
		name := e.text(in.Name, &cut)
		e.must("name", name, &cut)
		e.b = xmltext.Flag(e.b, "master", in.Master)
		e.b = xmltext.Flag(e.b, "open", in.Open)
		for name, n := range in.Numbers() {
			if *n != 0 {
				e.int(name, *n)
			}
		}
		e.leaf(kidPath("inputs", "dataset", name), "dataset", "", cut)
	}
	e.end("inputs", "inputs", "\n    ")
}
