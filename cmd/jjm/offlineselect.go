package main

import (
	"slices"
	"time"

	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/xmldb/head"
)

// named returns the ids that patterns mean, with names looked up in the records that may be read. A name that none has
// is an error, which says nothing about the jobs: the daemon may know one.
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

// withName returns the grid jobs whose names fit a pattern, by ascending ids.
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

// chosen are the grid jobs that a list selects among records.
type chosen struct {
	o      *offline
	l      wire.List
	list   selection.List
	filter selection.Filter
	now    jjm.Time
}

// choose reads the patterns and filters of a list, which were checked. Handles are looked up.
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

// has reports whether a grid job is selected. Its local jobs are read if a filter is of these. Records do not tell why
// local jobs are held or wait.
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
