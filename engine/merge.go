package engine

import (
	"fmt"

	"jjm"
	"jjm/handlers"
	"jjm/store"
)

// openMerge begins the second step of a grid job that merges: it reads a dataset
// of its own, under a name that no person can give one.
func (c *change) openMerge(g *jjm.GridJob) error {
	if g.Spec.Merge == nil {
		return nil
	}
	id, err := c.unmerged(g)
	if err != nil {
		return err
	}
	cut, problems := handlers.MergeCutting(&g.Spec)
	if err := problems.Err(); err != nil {
		return err
	}
	g.Merging = &jjm.MergeStep{Splitter: cut.Splitter}
	return c.tx.OpenInputs(g.ID, jjm.StepMerge, []store.Reads{{Dataset: id, Master: true}})
}

// unmerged is the dataset of what a grid job has to merge.
func (c *change) unmerged(g *jjm.GridJob) (store.DatasetID, error) {
	id, _, err := c.tx.PutDataset(g.Owner.UID, jjm.Dataset{Name: fmt.Sprintf("(merge of %s)", g.ID)})
	return id, err
}

// origin is what outputs were made of: the files that were read in the first step,
// each once, and the sections of them that were processed, where the work was cut
// into sections.
type origin struct {
	parents []string
	lumis   []jjm.LumiRange
	// first is where in its file the work of a local job of events begins.
	first int64
}

// originOf gives what a local job's outputs were made of.
func (c *change) originOf(l *jjm.LocalJob) (o origin, err error) {
	if c.e.grids[l.ID.Grid].reads == nil {
		return o, nil
	}
	numbers := []int32{l.ID.N}
	if l.Step == jjm.StepMerge {
		makers, err := c.makers(l)
		if err != nil {
			return o, err
		}
		numbers = numbers[:0]
		for _, id := range makers {
			numbers = append(numbers, id.N)
		}
	}
	inputs, err := c.e.store.PartInputs(c.ctx, l.ID.Grid, numbers)
	if err != nil {
		return o, err
	}
	seen := map[string]bool{}
	for _, n := range numbers {
		in := inputs[n].Input
		if in == nil {
			return o, jjm.Errorf(jjm.Internal, "local job %s.%d: what it reads is not known", l.ID.Grid, n)
		}
		for _, lfn := range in.Files {
			if !seen[lfn] {
				seen[lfn] = true
				o.parents = append(o.parents, lfn)
			}
		}
		if len(in.Events) > 0 {
			o.first = in.Events[0].First
		}
		for _, r := range in.Lumis {
			o.lumis = append(o.lumis, r.LumiRange)
		}
	}
	o.lumis = jjm.JoinLumis(o.lumis)
	return o, nil
}
