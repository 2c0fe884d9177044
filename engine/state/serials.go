package state

import (
	"context"
	"slices"

	"jjm"
	"jjm/stream"
)

// PartsRoom returns how many local jobs the first step of a grid job may make at once, at
// most so many: each takes a number from every output template, and 0 says that one of
// these has none left.
func (s *State) PartsRoom(ctx context.Context, job *jjm.GridJob, most int) (int, error) {
	if !bounded(&job.Spec) {
		return most, nil
	}
	left, err := s.B.Store.SerialsLeft(ctx, job.ID, jjm.StepWork)
	for _, n := range left {
		if n >= 0 && n < int64(most) {
			most = int(n)
		}
	}
	return most, err
}

// NoSerials is why a grid job makes no further local job, of kind Invalid: an output
// template has no number left. It is nil if all have some.
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

// bounded reports whether an output template has a largest number.
func bounded(spec *jjm.Spec) bool {
	return slices.ContainsFunc(spec.OutputTemplates, func(t jjm.OutputTemplate) bool { return t.MaxSerial > 0 })
}

// WithinSerials refuses, with NoSerials, parts that are more than there is room for.
func (s *State) WithinSerials(ctx context.Context, job *jjm.GridJob, parts, room int) error {
	if parts <= room || !bounded(&job.Spec) {
		return nil
	}
	left, err := s.B.Store.SerialsLeft(ctx, job.ID, jjm.StepWork)
	if err != nil {
		return err
	}
	for i := range left { // what is there is too little
		if left[i] >= 0 && left[i] < int64(parts) {
			left[i] = 0
		}
	}
	return NoSerials(&job.Spec, left)
}

// MayInsert refuses one more local job of a step if its outputs could not be named: the
// error is of kind Invalid.
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
