package feed

import (
	"context"
	"encoding/json"
	"fmt"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// Unfit returns the given local jobs of a grid job that cannot do their work again, each with the reason: a file that
// the local job owns can no longer be read, or another local job has the local job's random seed now.
func (fd *Feeder) Unfit(ctx context.Context, job *jjm.GridJob, locals []int32) (map[int32]string, error) {
	if len(job.Spec.Datasets) == 0 || len(locals) == 0 {
		return nil, nil
	}
	lost, err := fd.b.Store.Unreadable(ctx, job.ID)
	if err != nil {
		return nil, err
	}
	why := map[int32]string{}
	for n, lfn := range lost {
		why[n] = fmt.Sprintf("file %s, which it reads, is lost, missing or broken", lfn)
	}
	seeds, err := fd.seedsOf(ctx, job, locals)
	if err != nil || len(seeds) == 0 {
		return why, err
	}
	carry, err := carryOf(job)
	if err != nil {
		return nil, err
	}
	for n, seed := range seeds {
		if !carry.Seeds.TakeBack(seed) {
			why[n] = "its random seed went back to the pool, and another local job has it"
		}
	}
	return why, nil
}

// Resume makes local jobs that failed or were killed own their work again: their files are to be processed, and their
// seeds are taken. Unfit must have returned none of these local jobs.
func (fd *Feeder) Resume(c *state.Change, id jjm.GridID, locals []int32) error {
	job := c.Grid(id)
	if len(job.Spec.Datasets) == 0 {
		return nil
	}
	seeds, err := fd.seedsOf(c.Ctx, job, locals)
	if err != nil {
		return err
	}
	for _, n := range locals {
		if err := c.Tx.ReopenInputs(c.Local(jjm.LocalID{Grid: id, N: n})); err != nil {
			return err
		}
	}
	if len(seeds) == 0 {
		return nil
	}
	carry, err := carryOf(job)
	if err != nil {
		return err
	}
	for n, seed := range seeds {
		if !carry.Seeds.TakeBack(seed) {
			return jjm.Errorf(jjm.Conflict, "the random seed of local job %s.%d is taken", id, n)
		}
	}
	job.Step.Carry, err = json.Marshal(carry)
	return err
}

// seedsOf returns the seeds of local jobs, as numbers of the pool, without the local jobs that have
// no seed.
func (fd *Feeder) seedsOf(ctx context.Context, job *jjm.GridJob, locals []int32) (map[int32]int64, error) {
	if job.Step.Splitter != split.JEDI {
		return nil, nil
	}
	inputs, err := fd.b.Store.PartInputs(ctx, job.ID, locals)
	if err != nil {
		return nil, err
	}
	seeds := map[int32]int64{}
	for n, in := range inputs {
		if in.Input != nil && in.Input.More != nil && in.Input.More.Seed != 0 {
			seeds[n] = in.Input.More.Seed - seedOffset(&job.Spec)
		}
	}
	return seeds, nil
}

// carryOf returns the state of the splitter of a grid job's first step.
func carryOf(job *jjm.GridJob) (carry split.Carry, err error) {
	if err = json.Unmarshal(job.Step.Carry, &carry); err != nil {
		return carry, jjm.Errorf(jjm.Internal, "grid job %s: carry: %w", job.ID, err)
	}
	return carry, nil
}
