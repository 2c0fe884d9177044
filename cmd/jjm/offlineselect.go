package main

import (
	"slices"
	"time"

	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/xmldb/head"
)

// named returns the patterns as words, with ids in place of names. It looks up the names in the readable records. If no
// record has a name, the error is of kind Busy and not Gone, because the daemon may know such a job.
func (o *offline) named(list selection.List) ([]string, error) {
	var refs []string
	for _, p := range list {
		if p.Name == "" {
			refs = append(refs, p.String())
			continue
		}
		found, err := o.withName(p)
		if err != nil {
			return nil, err
		}
		refs = append(refs, found...)
	}
	return refs, nil
}

// withName returns the grid jobs whose names match a pattern, by ascending ids. It reads only the newest records, at
// most o.most, and prints which records are damaged.
func (o *offline) withName(p selection.Pattern) ([]string, error) {
	ids, err := o.ids(0)
	if err != nil {
		return nil, err
	}
	var refs []string
	for _, id := range ids[:min(len(ids), o.most)] {
		h, ok, err := o.readable(id)
		if err != nil {
			o.c.say("jjm %s: %v", o.name, err)
		}
		if ok && p.Name.Fits(h.Grid.Spec.Name) {
			refs = append(refs, id.String())
		}
	}
	if len(ids) > o.most {
		o.c.say("names were looked for in the newest %d records only", o.most)
	}
	if len(refs) == 0 {
		return nil, o.unknown(jjm.Errorf(jjm.Gone, "%s: no record that may be read has such a name", p))
	}
	slices.Reverse(refs)
	return refs, nil
}

// fitting returns the statuses of the jobs that patterns and filters select among the readable records: of grid jobs,
// or of their matching local jobs. Records do not contain the reasons why local jobs are held or wait.
func (o *offline) fitting(list selection.List, where selection.Filters) (found []wire.Status, err error) {
	filter, err := where.Parse()
	if err != nil {
		return nil, err
	}
	refs, err := o.among(list)
	if err != nil {
		return nil, err
	}
	var asOf jjm.Time
	for _, text := range refs {
		st, ok, err := o.fits(text, &filter)
		switch {
		case err != nil && len(list) > 0:
			return nil, err
		case err != nil && jjm.KindOf(err) != jjm.Denied: // other accounts' records are skipped
			o.c.say("jjm %s: %v", o.name, err)
		case ok:
			asOf = max(asOf, st.Lookup.AsOf)
			found = append(found, st)
		}
	}
	o.say(asOf)
	return found, nil
}

// among returns the ids that the patterns select, in ascending order. Without patterns, it returns the ids of the
// newest records, at most o.most.
func (o *offline) among(list selection.List) (refs []string, err error) {
	if len(list) > 0 {
		return o.named(list)
	}
	ids, err := o.ids(0)
	if len(ids) > o.most {
		o.c.say("only the newest %d records were looked at", o.most)
		ids = ids[:o.most]
	}
	for _, id := range slices.Backward(ids) {
		refs = append(refs, id.String())
	}
	return refs, err
}

// fits returns the status of a grid job, and whether the filter selects the grid job. If the reference or the filter is
// about local jobs, the status contains the matching local jobs, and a grid job without such local jobs is not
// selected.
func (o *offline) fits(text string, filter *selection.Filter) (st wire.Status, ok bool, err error) {
	h, ref, err := o.head(text)
	if err != nil || !filter.Grid(&h.Grid, jjm.At(time.Now())) {
		return st, false, err
	}
	if filter.OfLocals() && !ref.Locals {
		ref = jjm.Ref{Grid: ref.Grid, Locals: true, Last: -1}
	}
	st, _, err = o.statusOf(ref.String())
	st.Locals = slices.DeleteFunc(st.Locals, func(l jjm.LocalJob) bool { return !filter.Local(&l) })
	return st, err == nil && (!ref.Locals || len(st.Locals) > 0), err
}

// chosen holds the patterns and filters by which a list selects grid jobs from the records.
type chosen struct {
	o      *offline
	l      wire.List
	list   selection.List
	filter selection.Filter
	now    jjm.Time
}

// choose parses the patterns and filters of a list, which were already checked, and looks up handles.
func (o *offline) choose(l wire.List) (s chosen, err error) {
	s = chosen{o: o, l: l, now: jjm.At(time.Now())}
	if s.list, err = selection.Parse(l.Refs); err != nil {
		return s, err
	}
	for i := range s.list {
		p := &s.list[i]
		if p.Handle == "" {
			continue
		}
		if p.Ref.Grid, err = head.ByHandle(o.dir, p.Handle); err != nil {
			return s, o.unknown(err)
		}
		p.Handle = ""
	}
	s.filter, err = l.Where.Parse()
	return s, err
}

// has reports whether a grid job is selected. It reads the local jobs only if a filter is about local jobs. Records do
// not contain the reasons why local jobs are held or wait.
func (s *chosen) has(h *head.Head) (bool, error) {
	if !selects(s.l, h) || !s.list.Means(&h.Grid) || !s.filter.Grid(&h.Grid, s.now) {
		return false, nil
	}
	if !s.filter.OfLocals() {
		return true, nil
	}
	locals, err := head.Locals(s.o.dir, jjm.Ref{Grid: h.Grid.ID, Locals: true, Last: -1}, mostLocals)
	return slices.ContainsFunc(locals, func(l jjm.LocalJob) bool { return s.filter.Local(&l) }), err
}
