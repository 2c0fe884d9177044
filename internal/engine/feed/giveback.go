package feed

import (
	"encoding/json"
	"fmt"
	"slices"

	"jjm/internal/engine/floor/outputs"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/work/split"
)

// Successors collects the local jobs that own files and end in this change. A local job whose work
// is to be done again gets a successor: a new local job with the same part, but new output names,
// numbers and seed (decision R17).
func (fd *Feeder) Successors(c *state.Change) error {
	for _, l := range c.Changed {
		was := c.Live.Local(l.ID)
		if g := c.Live.Grid(l.ID.Grid); !g.ReadsFiles(l) || !l.State.Final() || was.State.Final() {
			continue
		}
		c.EndedReaders = append(c.EndedReaders, l)
		if !l.State.IsCompleted() && l.Phase != jjm.GivenBack {
			if err := makeSuccessor(c, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeSuccessor makes the successor of a local job that ended without completing. It makes none if plan.GiveBack
// decides against a successor, if the successor's outputs cannot be named, or if none of the files can be read.
func makeSuccessor(c *state.Change, l *jjm.LocalJob) error {
	inputs, err := c.S.B.Store.PartInputs(c.Ctx, l.ID.Grid, []int32{l.ID.N})
	if err != nil {
		return err
	}
	in, ok := inputs[l.ID.N]
	if !ok {
		return jjm.Errorf(jjm.Internal, "local job %s: what it reads is not known", l.ID)
	}
	before := 0
	if in.Origin != nil {
		before = int(in.Origin.Before)
	}
	live := &c.Live.Grid(l.ID.Grid).Job
	result, attempts := live.Spec.Result, c.S.B.Conf().MaxAttempts
	if l.Step == jjm.StepMerge {
		result, attempts = jjm.ResultExit, live.Spec.Merge.Attempts
	}
	withdrawn := c.Withdrawn[l.ID]
	again := plan.GiveBack(plan.GiveBackFacts{State: l.State, Phase: l.Phase, Result: result,
		Kill: l.Kill || live.Kill, Orphan: c.Orphans[l.ID], Before: before, Attempts: attempts, Withdrawn: withdrawn})
	if again {
		if again, err = nameable(c, l); err != nil {
			return err
		}
	}
	if !again {
		return freeSeed(c, l, in.Input)
	}
	part, err := stillReadable(c, l, in.Input)
	if err != nil {
		return err
	}
	if part.Count == 0 { // none of its files can be read
		if withdrawn {
			l.Phase = jjm.GivenBack
		}
		return nil
	}
	if !withdrawn {
		before++
	}
	next, err := replace(c, l, part, before)
	if err != nil {
		return err
	}
	l.Phase = jjm.GivenBack
	c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, Grid: l.ID.Grid, First: l.ID.N, Last: l.ID.N,
		To: string(jjm.GivenBack), Source: c.Name,
		Cause: fmt.Sprintf("local job %s does its work again: number %d of at most %d", next, before+1, attempts)})
	return nil
}

// nameable reports whether the grid job may have a successor of l: whether there are serial numbers for the successor's
// outputs. If not, it adds the reason to l.Message.
func nameable(c *state.Change, l *jjm.LocalJob) (bool, error) {
	err := c.MayInsert(c.Grid(l.ID.Grid), l.Step)
	if jjm.KindOf(err) == jjm.Invalid {
		l.Message += "; its work is not done again: " + err.Error()
		return false, nil
	}
	return err == nil, err
}

// replace makes a new local job for the part that l gives back, and returns the id of the new local job. before is the
// number of local jobs that had the part before l.
func replace(c *state.Change, l *jjm.LocalJob, part jjm.Part, before int) (jjm.LocalID, error) {
	g := c.Grid(l.ID.Grid)
	part, err := renumbered(g, l, part)
	if err != nil {
		return jjm.LocalID{}, fmt.Errorf("local job %s: %w", l.ID, err)
	}
	next := jjm.LocalJob{ID: jjm.LocalID{Grid: g.ID, N: int32(g.Step.Made)}, Step: l.Step, Place: l.Place, Part: part,
		Exit:   -1,
		Origin: &jjm.Successor{Local: l.ID.N, Before: int32(before)}}
	g.Step.Made++
	g.Step.Expected++
	c.Inserted = append(c.Inserted, next)
	c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, Grid: g.ID, First: next.ID.N, Last: next.ID.N,
		To:     jjm.New.String(),
		Source: c.Name, Cause: fmt.Sprintf("does the work of local job %s again", l.ID)})
	return next.ID, nil
}

// stillReadable returns the part of a local job without the files that were marked as
// unreadable meanwhile. Files of the merge step are never marked.
func stillReadable(c *state.Change, l *jjm.LocalJob, in *jjm.PartInput) (jjm.Part, error) {
	part := l.Part
	part.Input = in
	if l.Step == jjm.StepMerge {
		return part, nil
	}
	gone, err := c.Tx.Unreadable(l.ID.Grid, in.Files)
	if err != nil || len(gone) == 0 {
		return part, err
	}
	return outputs.Readable(part, gone), nil
}

// renumbered returns part p with the next numbers of its step. The seed and the sequence number of p return to their
// pools, and the new part takes a seed and a sequence number from the pools. The error is of kind Internal if the
// stored carry cannot be read.
func renumbered(g *jjm.GridJob, l *jjm.LocalJob, p jjm.Part) (jjm.Part, error) {
	in, at := p.Input, &g.Step.Carry
	if l.Step == jjm.StepMerge {
		m := *g.Merging
		m.Made++
		g.Merging, at = &m, &m.Carry
	}
	var carry split.Carry
	if err := json.Unmarshal(*at, &carry); err != nil {
		return p, jjm.Errorf(jjm.Internal, "carry: %w", err)
	}
	carry.Serial++
	p.Serial, p.First = carry.Serial, carry.Next
	carry.Next += p.Count
	input := *in
	if in.More != nil {
		more, offset := *in.More, seedOffset(&g.Spec)
		release(&carry, in.More, offset)
		if more.Seed != 0 {
			more.Seed = carry.Seeds.Take() + offset
		}
		if more.Sequence != 0 { // usually the old number, because only successors return numbers to the sequence
			more.Sequence = carry.Sequence.Take()
		}
		input.More = &more
	}
	p.Input = &input
	text, err := json.Marshal(carry)
	*at = text
	return p, err
}

// release returns the seed and the sequence number of a part to their pools. The seed of a
// part is a seed of the pool plus offset.
func release(carry *split.Carry, more *jjm.PartMore, offset int64) {
	if more.Seed != 0 {
		carry.Seeds.GiveBack(more.Seed - offset)
	}
	if more.Sequence != 0 {
		carry.Sequence.GiveBack(more.Sequence)
	}
}

// freeSeed returns the seed of a local job without successor to the pool, so that the next new local job can take the
// seed (JEDI, random seeds). The sequence number stays used, because it counts as an input that was not processed.
func freeSeed(c *state.Change, l *jjm.LocalJob, in *jjm.PartInput) error {
	if in.More == nil || in.More.Seed == 0 || l.Step != jjm.StepWork {
		return nil
	}
	g := c.Grid(l.ID.Grid)
	var carry split.Carry
	if err := json.Unmarshal(g.Step.Carry, &carry); err != nil {
		return jjm.Errorf(jjm.Internal, "local job %s: carry: %w", l.ID, err)
	}
	release(&carry, &jjm.PartMore{Seed: in.More.Seed}, seedOffset(&g.Spec))
	text, err := json.Marshal(carry)
	g.Step.Carry = text
	return err
}

// seedOffset returns the offset that the job file adds to the numbers of the pool of seeds.
func seedOffset(spec *jjm.Spec) int64 {
	if spec.Split == nil {
		return 0
	}
	switch n := spec.Split.Params["random_seed_offset"].(type) {
	case float64: // read from JSON
		return int64(n)
	case int64: // read from TOML
		return n
	}
	return 0
}

// InputsOver stores the new states of the files of local jobs that end in this change. Local jobs that ended earlier
// and give their work back in this change lose their ledger entries.
func (fd *Feeder) InputsOver(c *state.Change) error {
	if err := endInputs(c, c.EndedReaders); err != nil || len(c.Released) == 0 {
		return err
	}
	var back []jjm.LocalID
	for _, l := range c.Released {
		back = append(back, l.ID)
	}
	return c.Tx.GiveBack(back)
}

// endInputs stores the new states of the files of ended local jobs, and takes back the finished
// state of the files of retracted local jobs. Local jobs that gave their work back lose their
// ledger entries.
func endInputs(c *state.Change, ended []*jjm.LocalJob) error {
	if len(ended)+len(c.Retracted) == 0 {
		return nil
	}
	if err := c.Tx.EndInputs(ended); err != nil {
		return err
	}
	for _, l := range c.Retracted {
		if err := c.Tx.RetractInputs(l); err != nil {
			return err
		}
	}
	var back []jjm.LocalID
	for _, l := range slices.Concat(ended, c.Retracted) {
		if l.Phase == jjm.GivenBack {
			back = append(back, l.ID)
		}
	}
	return c.Tx.GiveBack(back)
}
