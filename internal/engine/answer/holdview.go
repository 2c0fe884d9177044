package answer

import (
	"cmp"
	"slices"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
)

// mostHolds is the greatest number of different holds that are listed for a grid job.
const mostHolds = 10

// holds returns the holds of a grid job, the most frequent hold first, at most mostHolds. Local jobs with the same
// holder, code and text share an entry.
func holds(g *state.Grid) []wire.Hold {
	if g.Held == 0 {
		return nil
	}
	type kind struct{ by, code, text string }
	at := map[kind]int{}
	var out []wire.Hold
	for i := range g.Locals {
		l := &g.Locals[i]
		if !l.IsHeld() {
			continue
		}
		k := kind{l.Holding.By, l.Holding.Code, l.Holding.Text}
		n, known := at[k]
		if !known {
			n = len(out)
			at[k] = n
			out = append(out, wire.Hold{By: k.by, Code: k.code, Text: k.text, First: l.ID.String()})
		}
		out[n].Jobs++
	}
	slices.SortStableFunc(out, func(a, b wire.Hold) int { return cmp.Compare(b.Jobs, a.Jobs) })
	return out[:min(len(out), mostHolds)]
}
