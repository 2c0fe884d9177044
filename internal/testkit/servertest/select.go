package servertest

import (
	"context"
	"maps"
	"slices"

	"jjm/internal/api/selection"
	"jjm/internal/api/server"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Select returns the jobs that patterns and filters select. The fake knows the name, type, owner and status of grid
// jobs, and treats all grid jobs as accepted at the present time.
func (f *Fake) Select(ctx context.Context, c server.Caller, r wire.SelectRequest) (a wire.SelectAnswer, err error) {
	out := &wire.Selected{}
	a.Select = out
	if err := f.hook(ctx, "select"); err != nil {
		return a, err
	}
	list, err := selection.Parse(r.Refs)
	if err != nil {
		return a, err
	}
	filter, err := r.Where.Parse()
	if err != nil {
		return a, err
	}
	if len(list) == 0 {
		list = selection.List{{Name: "*"}}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range list {
		if p.Name == "" && !r.Where.Any() {
			r.For = "" // jobs that are named by ids are always selected
		}
		for _, ref := range f.meant(c, p, &filter, r.For) {
			out.Refs = append(out.Refs, ref.String())
			if ref.Locals {
				out.Locals += int(ref.Last-ref.First) + 1
			} else {
				out.Grids++
			}
		}
	}
	return a, nil
}

// meant returns the references to the jobs that a pattern matches, with local jobs as ranges. The caller must hold
// f.mu.
func (f *Fake) meant(c server.Caller, p selection.Pattern, filter *selection.Filter, command selection.Purpose) (
	refs []jjm.Ref) {
	for _, id := range slices.Sorted(maps.Keys(f.jobs)) {
		j, err := f.get(c, id)
		if err != nil || p.Name == "" && p.Ref.Grid != id {
			continue
		}
		job := jjm.GridJob{ID: id, Owner: jjm.Owner{User: j.Status.Owner}}
		job.Spec.Name, job.Spec.Type = j.Status.Name, j.Status.Type
		if job.Status.UnmarshalText([]byte(j.Status.Lookup.Status)) != nil || p.Name != "" && !p.Name.Fits(job.Spec.Name) ||
			!filter.Grid(&job, 0) || !command.Grid(job.Status) {
			continue
		}
		if !p.Ref.Locals && !command.Locals(filter) {
			refs = append(refs, jjm.Ref{Grid: id})
			continue
		}
		for k := range j.Locals {
			l := &j.Locals[k]
			if (!p.Ref.Locals || p.Ref.Has(l.ID.N)) && filter.Local(l) && command.Local(l) {
				refs = selection.Join(refs, l.ID)
			}
		}
	}
	return refs
}
