package feed

import (
	"encoding/json"
	"fmt"
	"slices"

	"jjm"
	"jjm/engine/outputs"
	"jjm/engine/state"
	"jjm/plan"
	"jjm/split"
)

// Successors notes the local jobs that end in this change and read files. Those whose
// files are to be processed once more get a successor: a new local job with the
// same part, new names and new numbers (decision R17).
func (fd *Feeder) Successors(c *state.Change) error {
	for _, l := range c.Order {
		was := c.Live.Local(l.ID)
		if g := c.Live.Grid(l.ID.Grid); !g.ReadsFiles(l) || !l.State.Final() || was.State.Final() {
			continue
		}
		c.Over = append(c.Over, l)
		if l.State != jjm.Completed && l.Phase != jjm.GivenBack {
			if err := succeed(c, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// succeed makes the successor of a local job that failed, if it is to have one.
func succeed(c *state.Change, l *jjm.LocalJob) error {
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
	if part.Count == 0 { // nothing of it can be done
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

// nameable reports whether the outputs of a local job that does the work of l again can be
// named; l tells why not.
func nameable(c *state.Change, l *jjm.LocalJob) (bool, error) {
	err := c.MayInsert(c.Grid(l.ID.Grid), l.Step)
	if jjm.KindOf(err) == jjm.Invalid {
		l.Message += "; its work is not done again: " + err.Error()
		return false, nil
	}
	return err == nil, err
}

// replace makes a new local job that does the part of one whose work is given back;
// before is how many had it before.
func replace(c *state.Change, l *jjm.LocalJob, part jjm.Part, before int) (jjm.LocalID, error) {
	g := c.Grid(l.ID.Grid)
	part, err := anew(g, l, part)
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

// stillReadable returns the part of a local job without the files that were marked
// meanwhile. Outputs that are merged are not marked.
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

// anew returns the same part with the next numbers of its step; its seed and
// sequence number go back to their pools, from which the new part takes its own.
func anew(g *jjm.GridJob, l *jjm.LocalJob, p jjm.Part) (jjm.Part, error) {
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
		if more.Sequence != 0 { // the same again: nothing else gives numbers of a sequence back
			more.Sequence = carry.Sequence.Take()
		}
		input.More = &more
	}
	p.Input = &input
	text, err := json.Marshal(carry)
	*at = text
	return p, err
}

// release gives the numbers of a part back to their pools. What is seen of seeds has an
// offset.
func release(carry *split.Carry, more *jjm.PartMore, offset int64) {
	if more.Seed != 0 {
		carry.Seeds.GiveBack(more.Seed - offset)
	}
	if more.Sequence != 0 {
		carry.Sequence.GiveBack(more.Sequence)
	}
}

// freeSeed gives the seed of a local job that nobody succeeds back to the pool: whichever
// local job comes next takes it (JEDI, random seeds). Its sequence number was an input,
// which is not processed.
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

// seedOffset is what the job file adds to the numbers of the pool of seeds.
func seedOffset(spec *jjm.Spec) int64 {
	if spec.Split == nil {
		return 0
	}
	switch n := spec.Split.Params["random_seed_offset"].(type) {
	case float64: // as JSON gives it
		return int64(n)
	case int64: // as TOML does
		return n
	}
	return 0
}

// InputsOver does so for those that end in this change.
func (fd *Feeder) InputsOver(c *state.Change) error { return endInputs(c, c.Over) }

// endInputs stores what has become of the files of local jobs that are over.
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
