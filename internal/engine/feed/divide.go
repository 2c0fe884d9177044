package feed

import (
	"context"
	"encoding/json"
	"fmt"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// Divided returns smaller parts for the work of local jobs, as split.Divide cuts them, and changes nothing. params are
// the settings of the grid job's splitter, and want says how small the new parts must be.
func (fd *Feeder) Divided(ctx context.Context, job *jjm.GridJob, params split.Params, locals []jjm.LocalJob,
	want split.Finer) (split.Division, error) {
	carry := state.FirstCarry(&job.Spec)
	if len(job.Step.Carry) > 0 {
		var err error
		if carry, err = carryOf(job); err != nil {
			return split.Division{}, err
		}
	}
	var numbers []int32
	for i := range locals {
		numbers = append(numbers, locals[i].ID.N)
	}
	inputs, err := fd.b.Store.PartInputs(ctx, job.ID, numbers)
	if err != nil {
		return split.Division{}, err
	}
	old := map[int32]*jjm.Part{}
	for i := range locals {
		part := locals[i].Part
		part.Input = inputs[locals[i].ID.N].Input
		old[locals[i].ID.N] = &part
	}
	files, err := fd.filesOf(ctx, job, old)
	if err != nil {
		return split.Division{}, err
	}
	return split.Divide(job.Step.Splitter, params, old, want, func(lfn string) *jjm.File { return files[lfn] }, carry)
}

// filesOf returns the descriptions of the files that parts own, by LFN. Unknown files are left out.
func (fd *Feeder) filesOf(ctx context.Context, job *jjm.GridJob, parts map[int32]*jjm.Part) (map[string]*jjm.File,
	error) {
	files := map[string]*jjm.File{}
	if job.Spec.Master() == nil {
		return files, nil
	}
	for _, p := range parts {
		if p.Input == nil {
			continue
		}
		for _, lfn := range p.Input.Files {
			if files[lfn] != nil {
				continue
			}
			f, err := fd.b.Store.InputFile(ctx, job.ID, lfn)
			if jjm.KindOf(err) == jjm.Gone {
				continue
			}
			if err != nil {
				return nil, err
			}
			files[lfn] = &f
		}
	}
	return files, nil
}

// Divide ends the failed and killed local jobs of a division permanently: they give their work back, and new local jobs
// do the work. A new local job keeps the place of the old local job, and thus the requested resources. The error is of
// kind Invalid if there would be more local jobs than the site allows, or if output names have too few serial numbers.
func (fd *Feeder) Divide(c *state.Change, id jjm.GridID, d split.Division, actor string) error {
	g := c.Grid(id)
	if err := fd.MayDivide(c.Ctx, g, d.Count()); err != nil {
		return err
	}
	var err error
	if g.Step.Carry, err = json.Marshal(d.Carry); err != nil {
		return err
	}
	for _, n := range d.Jobs() {
		l := c.Local(jjm.LocalID{Grid: id, N: n})
		first := int32(g.Step.Made)
		for _, part := range d.Parts[n] {
			c.Inserted = append(c.Inserted, jjm.LocalJob{ID: jjm.LocalID{Grid: id, N: int32(g.Step.Made)}, Step: l.Step,
				Place: l.Place, Part: part, Exit: -1, Origin: &jjm.Successor{Local: n}})
			g.Step.Made++
			g.Step.Expected++
		}
		last := int32(g.Step.Made) - 1
		from := jjm.StateWord(l.State, l.Phase)
		l.Phase = jjm.GivenBack
		c.Journal = append(c.Journal,
			jjm.JournalEntry{Time: c.Now, Grid: id, First: n, Last: n, From: from, To: string(jjm.GivenBack),
				Source: c.Name, Actor: actor,
				Cause: fmt.Sprintf("its work is cut again: local jobs %s.%d to %s.%d do it", id, first, id, last)},
			jjm.JournalEntry{Time: c.Now, Grid: id, First: first, Last: last, To: jjm.New.String(), Source: c.Name,
				Actor: actor, Cause: fmt.Sprintf("does a part of the work of local job %s", l.ID)})
		c.Released = append(c.Released, l)
	}
	return nil
}

// MayDivide returns an error of kind Invalid if a grid job may not get the given number of additional local jobs.
func (fd *Feeder) MayDivide(ctx context.Context, g *jjm.GridJob, more int) error {
	if most := fd.b.Conf().MaxLocalJobs; g.Step.Made+more > most {
		return jjm.Errorf(jjm.Invalid, "it would have %d local jobs; this site allows %d (engine.max_local_jobs): "+
			"make larger parts", g.Step.Made+more, most)
	}
	room, err := fd.s.PartsRoom(ctx, g, more)
	if err != nil {
		return err
	}
	return fd.s.WithinSerials(ctx, g, more, room)
}
