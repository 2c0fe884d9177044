package main

import (
	"slices"
	"time"

	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/xmldb/head"
)

// This file selects jobs among the records while no daemon answers. There are two separate mechanisms.
//
// offline.fitting is for jjm status with filters. It returns the statuses of the selected grid jobs. If a filter or a
// reference is about local jobs, each status contains the selected local jobs of its grid job.
//
// offline.choose is for jjm list. It makes a chosen, and offline.list then calls chosen.has for one grid job after
// another.
//
// In this file, a selection.List is the list of ids and patterns of a command line. A wire.List is the whole request of
// jjm list; its member Refs contains such ids and patterns.

// named returns references to the jobs that a list of ids and patterns means. It keeps ids and handles unchanged, and
// replaces each pattern of names by the ids of the grid jobs whose names match. It looks up the names in the readable
// records. If no record has a matching name, the error is of kind Busy and not Gone, because the daemon may know such a
// job.
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

// withName returns the ids of the grid jobs whose names match a pattern, in ascending order. It reads only the newest
// records, at most o.most, and prints a message if there are more records, and a message for each damaged record. If no
// name matches, it returns an error of kind Busy.
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

// fitting returns the statuses of the jobs that patterns and filters select among the readable records. If a pattern or
// a filter is about local jobs, a status contains only the matching local jobs. A filter of reasons finds no local job
// by the reason why it is held or waits, because records do not contain these reasons. If the list is not empty, the
// first error about one of its jobs ends the search. If the list is empty, fitting searches the newest records; it then
// skips unreadable records, and prints the errors except those of kind Denied, which are about the records of other
// accounts.
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

// among returns references to the jobs that a list of patterns means, in the order of the list. If the list is empty,
// it returns the ids of the newest grid jobs that have records, at most o.most, in ascending order, and prints a
// message if there are more.
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

// fits returns the status of the grid job of one reference. ok reports whether the filter selects the grid job. If the
// reference or the filter is about local jobs, the status contains only the matching local jobs, and ok is false if
// there are none. The error means that the record or its local jobs could not be read.
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

// chosen decides, from the records, which grid jobs a request of jjm list selects. list and filter are the parsed
// patterns and filters of the request l.
type chosen struct {
	o      *offline
	l      wire.List
	list   selection.List
	filter selection.Filter
	now    jjm.Time
}

// choose makes the chosen of a request of jjm list. It parses the patterns and filters of the request, which were
// already checked, and replaces handles by the ids of their grid jobs. If there is no record for a handle, the error is
// of kind Busy.
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

// has reports whether the request selects the grid job of a head. It reads the local jobs from the record only if a
// filter is about local jobs; the error means that they could not be read. A filter of reasons finds no local job by
// the reason why it is held or waits, because records do not contain these reasons.
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
