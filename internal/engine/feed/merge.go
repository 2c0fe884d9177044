package feed

import (
	"fmt"

	"jjm/handlers"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// openMerge starts the second step of a grid job that merges. The step reads a separate dataset, which holds the
// outputs to be merged; see unmerged.
func openMerge(c *state.Change, g *jjm.GridJob) error {
	if g.Spec.Merge == nil {
		return nil
	}
	id, err := unmerged(c, g)
	if err != nil {
		return err
	}
	cut, problems := handlers.MergeCutting(&g.Spec)
	if err := problems.Err(); err != nil {
		return err
	}
	g.Merging = &jjm.MergeStep{Splitter: cut.Splitter}
	return c.Tx.OpenInputs(g.ID, jjm.StepMerge, []store.Reads{{Dataset: id, Master: true}})
}

// unmerged returns the dataset of the outputs that a grid job has to merge, and makes the dataset if it does not exist.
// Its name, such as "(merge of 17)", is not a valid name for a dataset of a person.
func unmerged(c *state.Change, g *jjm.GridJob) (store.DatasetID, error) {
	id, _, err := c.Tx.PutDataset(g.Owner.UID, jjm.Dataset{Name: fmt.Sprintf("(merge of %s)", g.ID)})
	return id, err
}

// origin describes what outputs were made from: the files that local jobs of the first step
// read, each once, and the processed luminosity sections of these files, if the work was cut
// into sections.
type origin struct {
	parents []string
	lumis   []jjm.LumiRange
	// first is the first event of the local job's work, counted in the file that has the event.
	first int64
}

// originOf returns the origin of a local job's outputs. The origin of a merge is the origin
// of the merged outputs.
func originOf(c *state.Change, l *jjm.LocalJob) (o origin, err error) {
	if !c.Live.Grid(l.ID.Grid).Processes() {
		return o, nil
	}
	numbers := []int32{l.ID.N}
	if l.Step == jjm.StepMerge {
		makers, err := makers(c, l)
		if err != nil {
			return o, err
		}
		numbers = numbers[:0]
		for _, id := range makers {
			numbers = append(numbers, id.N)
		}
	}
	inputs, err := c.S.B.Store.PartInputs(c.Ctx, l.ID.Grid, numbers)
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

// Begin starts the merge steps of the grid jobs that a change prepared.
func (fd *Feeder) Begin(c *state.Change) error {
	for id, g := range c.Grids {
		live := c.Live.Grid(id)
		if live == nil || live.Job.Step.Prepared || !g.Step.Prepared {
			continue
		}
		if err := openMerge(c, g); err != nil {
			return err
		}
	}
	return nil
}
