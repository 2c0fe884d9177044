package state

import (
	"context"
	"slices"

	"jjm/internal/jjm"
	"jjm/internal/work/stream"
)

// PartsRoom returns how many local jobs the first step of a grid job may make now, at most limit. Each local job uses
// up one serial number of every output template of the job file. The result is therefore at most the smallest count of
// numbers left; 0 if a template has none left. The error is an error of the store.
func (s *State) PartsRoom(ctx context.Context, job *jjm.GridJob, limit int) (int, error) {
	if !bounded(&job.Spec) {
		return limit, nil
	}
	left, err := s.B.Store.SerialsLeft(ctx, job.ID, jjm.StepWork)
	for _, n := range left {
		if n >= 0 && n < int64(limit) {
			limit = int(n)
		}
	}
	return limit, err
}

// NoSerials returns an error of kind Invalid if an output template has no serial number left for one more local job,
// else nil. left contains the counts of numbers left in the order of the templates, negative for a template without a
// largest number.
func NoSerials(spec *jjm.Spec, left []int64) error {
	for i, o := range stream.Outputs(spec, jjm.StepWork) {
		if i < len(left) && left[i] == 0 {
			return jjm.Errorf(jjm.Invalid,
				"%s.max_serial: the numbers of %s end with %d, and a local job is left over: set it higher", o.Field, o.Name,
				o.MaxSerial)
		}
	}
	return nil
}

// bounded reports whether an output template of a job file sets a largest serial number.
func bounded(spec *jjm.Spec) bool {
	return slices.ContainsFunc(spec.OutputTemplates, func(t jjm.OutputTemplate) bool { return t.MaxSerial > 0 })
}

// WithinSerials returns the error of NoSerials if a cut has made more parts than an output template has serial numbers
// left. room is the result of PartsRoom; the numbers are read again only if parts is greater than room.
func (s *State) WithinSerials(ctx context.Context, job *jjm.GridJob, parts, room int) error {
	if parts <= room || !bounded(&job.Spec) {
		return nil
	}
	left, err := s.B.Store.SerialsLeft(ctx, job.ID, jjm.StepWork)
	if err != nil {
		return err
	}
	for i := range left { // a template with too few numbers counts as one without any
		if left[i] >= 0 && left[i] < int64(parts) {
			left[i] = 0
		}
	}
	return NoSerials(&job.Spec, left)
}

// MayInsert returns the error of NoSerials if an output template has no serial number left for one more local job of a
// step. The local jobs of the step that this change already inserts count.
func (c *Change) MayInsert(g *jjm.GridJob, step int32) error {
	if step != jjm.StepWork || !bounded(&g.Spec) {
		return nil
	}
	left, err := c.Tx.SerialsLeft(g.ID, step)
	if err != nil {
		return err
	}
	for i := range c.Inserted {
		if l := &c.Inserted[i]; l.ID.Grid != g.ID || l.Step != step {
			continue
		}
		for n := range left {
			if left[n] > 0 {
				left[n]--
			}
		}
	}
	return NoSerials(&g.Spec, left)
}
