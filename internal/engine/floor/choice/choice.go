// Package choice finds the jobs that patterns and filters select (package selection), among the jobs that the caller
// may see. It reads live grid jobs from memory and ended grid jobs from the store.
package choice

import (
	"context"
	"slices"

	"jjm/internal/api/selection"
	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// Chooser finds jobs. Its methods may be called from many goroutines.
type Chooser struct {
	b *base.Base
	s *state.State
}

// New returns a Chooser.
func New(s *state.State) *Chooser { return &Chooser{s.B, s} }

// Select returns the jobs that a request selects. Without a filter, it returns an id unchanged, even if no such job
// exists: the command that acts on the id reports the missing job. The error is of kind Gone if there is no filter and
// no grid job has a requested name. The error is of kind Invalid for a bad pattern or filter, and for more than
// wire.MostSelected references.
func (ch *Chooser) Select(ctx context.Context, caller wire.Caller, r wire.SelectRequest) (wire.SelectAnswer, error) {
	list, err := selection.Parse(r.Refs)
	if err != nil {
		return wire.SelectAnswer{}, err
	}
	filter, err := r.Where.Parse()
	if err != nil {
		return wire.SelectAnswer{}, err
	}
	se := search{Chooser: ch, caller: caller, filter: &filter, purpose: r.For, now: jjm.At(ch.b.Now()),
		found: map[jjm.Ref]bool{}}
	if len(list) == 0 {
		list = selection.List{{Name: "*"}}
	}
	for _, p := range list {
		if err := se.pattern(ctx, p, r.Where.Any()); err != nil {
			return wire.SelectAnswer{}, err
		}
		if err := tooMany(len(se.out.Refs)); err != nil {
			return wire.SelectAnswer{}, err
		}
	}
	return wire.SelectAnswer{Select: &se.out}, nil
}

// tooMany returns an error of kind Invalid if more jobs were found than an answer may contain.
func tooMany(found int) error {
	if found <= wire.MostSelected {
		return nil
	}
	return jjm.Errorf(jjm.Invalid, "more than %d jobs and ranges of jobs are selected: narrow it with another filter",
		wire.MostSelected)
}

// search is the state of one request: its filters, its purpose (the command for which jobs are selected), and the jobs
// found so far.
type search struct {
	*Chooser
	caller  wire.Caller
	filter  *selection.Filter
	purpose selection.Purpose
	now     jjm.Time

	out   wire.Selected
	found map[jjm.Ref]bool // the references found by names and filters; prevents duplicates
}

// pattern adds the jobs that one pattern selects.
func (se *search) pattern(ctx context.Context, p selection.Pattern, filtered bool) error {
	switch {
	case p.Name != "":
		return se.named(ctx, p, filtered)
	case filtered:
		return se.filtered(ctx, p.Ref)
	}
	return se.given(ctx, p.Ref)
}

// given adds an id without filtering, and counts the jobs that the id stands for.
func (se *search) given(ctx context.Context, ref jjm.Ref) error {
	se.out.Refs = append(se.out.Refs, ref.String())
	n, known := selection.Pattern{Ref: ref}.Jobs()
	switch {
	case !ref.Locals:
		se.out.Grids++
		return nil
	case known:
		se.out.Locals += n
		return nil
	}
	job, err := se.s.Find(ctx, se.caller, ref.Grid)
	if err != nil {
		return ctx.Err() // the command that acts on the id reports the error
	}
	return se.each(ctx, &job, ref, func(*jjm.LocalJob) bool {
		se.out.Locals++
		return true
	})
}

// filtered adds the jobs of an id that fit the filters and the purpose.
func (se *search) filtered(ctx context.Context, ref jjm.Ref) error {
	job, err := se.s.Find(ctx, se.caller, ref.Grid)
	if err != nil {
		return err
	}
	refs, err := se.fitting(ctx, &job, ref)
	se.add(refs)
	return err
}

// pageSize is the number of rows of grid jobs that are read from the store at a time.
const pageSize = 200

// named adds the jobs that fit the filters and the purpose, of grid jobs whose names fit the pattern, by ascending ids.
func (se *search) named(ctx context.Context, p selection.Pattern, filtered bool) error {
	named, found := 0, 0
	var perJob [][]jjm.Ref
	over := !filtered || se.purpose.Grid(jjm.Done) // ended grid jobs may be killed again: that succeeds (decision R13)
	err := se.page(ctx, over, func(job *jjm.GridJob) error {
		if !p.Name.Fits(job.Spec.Name) {
			return nil
		}
		named++
		refs, err := se.fitting(ctx, job, jjm.Ref{Grid: job.ID})
		perJob, found = append(perJob, refs), found+len(refs)
		if err != nil {
			return err
		}
		return tooMany(found)
	})
	if err != nil {
		return err
	}
	if named == 0 {
		if err := se.known(ctx, p); err != nil {
			return err
		}
	}
	for _, refs := range slices.Backward(perJob) {
		se.add(refs)
	}
	return nil
}

// known returns an error of kind Gone if no grid job that the caller may see has a name that fits the pattern, whatever
// the filters say.
func (se *search) known(ctx context.Context, p selection.Pattern) error {
	all, known := *se, false
	all.filter = &selection.Filter{}
	err := all.page(ctx, true, func(job *jjm.GridJob) error {
		known = known || p.Name.Fits(job.Spec.Name)
		return nil
	})
	if err != nil || known {
		return err
	}
	return jjm.Errorf(jjm.Gone, "%s: no grid job that may be seen has such a name", p)
}

// page calls fn with the grid jobs that the caller may see and whose type, owner and status fit, newest first. It
// includes ended grid jobs only if over is set.
func (se *search) page(ctx context.Context, over bool, fn func(*jjm.GridJob) error) error {
	f := store.Filter{Statuses: se.filter.Statuses, All: over, Type: se.filter.Type, Owner: se.filter.User,
		Limit: pageSize}
	if !se.caller.Admin {
		f.Owner = se.caller.User
	}
	for {
		jobs, err := se.b.Store.Grids(ctx, f)
		if err != nil {
			return err
		}
		for i := range jobs {
			if !se.caller.May(jobs[i].Owner.UID) {
				continue
			}
			if err := fn(&jobs[i]); err != nil {
				return err
			}
		}
		if len(jobs) < pageSize {
			return nil
		}
		f.Before = jobs[len(jobs)-1].ID
	}
}

// fitting returns the jobs of ref, in a grid job, that fit the filters and the purpose: the local jobs if ref names
// some or the purpose acts on local jobs, else the grid job if it has a local job that fits.
func (se *search) fitting(ctx context.Context, job *jjm.GridJob, ref jjm.Ref) ([]jjm.Ref, error) {
	if !se.filter.Grid(job, se.now) || !se.purpose.Grid(job.Status) {
		return nil, nil
	}
	if !ref.Locals && !se.purpose.Locals(se.filter) {
		has, err := se.Has(ctx, job, se.filter)
		if err != nil || !has {
			return nil, err
		}
		return []jjm.Ref{ref}, nil
	}
	var refs []jjm.Ref
	if !se.filter.MayHold(job.Status) {
		return nil, nil
	}
	err := se.each(ctx, job, ref, func(l *jjm.LocalJob) bool {
		if se.filter.Local(l) && se.purpose.Local(l) {
			refs = selection.Join(refs, l.ID)
		}
		return true
	})
	return refs, err
}

// add adds the references that were not found so far.
func (se *search) add(refs []jjm.Ref) {
	for _, ref := range refs {
		if se.found[ref] {
			continue
		}
		se.found[ref] = true
		se.out.Refs = append(se.out.Refs, ref.String())
		if ref.Locals {
			se.out.Locals += int(ref.Last-ref.First) + 1
		} else {
			se.out.Grids++
		}
	}
}

// Has reports whether a grid job has a local job that fits the filter. It returns true if the filter is not about local
// jobs.
func (ch *Chooser) Has(ctx context.Context, job *jjm.GridJob, f *selection.Filter) (has bool, err error) {
	if !f.OfLocals() {
		return true, nil
	}
	if !f.MayHold(job.Status) {
		return false, nil
	}
	err = ch.each(ctx, job, jjm.Ref{Grid: job.ID}, func(l *jjm.LocalJob) bool {
		has = f.Local(l)
		return !has
	})
	return has, err
}

// each calls fn with the local jobs of ref until fn returns false; a reference to a grid job stands for all its local
// jobs. fn must not keep the local jobs.
func (ch *Chooser) each(ctx context.Context, job *jjm.GridJob, ref jjm.Ref, fn func(*jjm.LocalJob) bool) error {
	if !ref.Locals {
		ref = jjm.Ref{Grid: ref.Grid, Locals: true, Last: -1}
	}
	if ch.eachLive(job, ref, fn) {
		return nil
	}
	rows, err := ch.b.Store.Locals(ctx, job.ID, ref.First, ref.Last)
	if err != nil {
		return err
	}
	for i := range rows {
		if !fn(&rows[i]) {
			return nil
		}
	}
	return nil
}

// eachLive does the same as each, but only for a grid job in memory. It returns false, without calling fn, if the local
// jobs are not in memory.
func (ch *Chooser) eachLive(job *jjm.GridJob, ref jjm.Ref, fn func(*jjm.LocalJob) bool) (ok bool) {
	v := ch.s.View()
	defer v.Close()
	g := v.Grid(job.ID)
	if g == nil || len(g.Locals) == 0 && g.Job.Status.Final() {
		return false
	}
	for n := int(ref.First); n < len(g.Locals) && ref.Has(int32(n)); n++ {
		if !fn(&g.Locals[n]) {
			break
		}
	}
	return true
}

// Verbs returns the verbs that Chooser answers.
func Verbs(ch *Chooser) []serve.Verb {
	return []serve.Verb{
		serve.Handle(wire.VerbSelect(), serve.Owners, ch.Select),
	}
}
