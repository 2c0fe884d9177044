package split

import (
	"fmt"

	"jjm/internal/jjm"
)

// The names of jjm's own splitters.
const (
	ByEvents = "events" // makes parts of EventsPerJob events; the last part may have fewer
	ByRows   = "rows"   // makes one part for each row
)

func ownMethods() []*method {
	return []*method{
		rangesMethod(ByEvents, jjm.UnitEvent, eventsPerJob, events),
		rangesMethod(ByRows, jjm.UnitRow, oneRow, rows),
	}
}

// rangesMethod returns a splitter that cuts numbered units into ranges of one size. size returns the number of units of
// a part, and total the range of all units.
func rangesMethod(name, unit string, size func(*Params) (int64, error), total func(*Work) (jjm.Span, error)) *method {
	m := &method{name: name, unit: unit}
	measure := func(w *Work, p *Params) (r *ranges, err error) {
		r = &ranges{unit: unit, work: w}
		var all jjm.Span
		if r.size, err = size(p); err == nil {
			all, err = total(w)
		}
		if err == nil {
			r.spans, err = restrict(all, w.Only)
		}
		if err != nil {
			return nil, m.invalid("%w", err)
		}
		for _, s := range r.spans {
			r.total += s.Count
		}
		return r, nil
	}
	m.bound = func(w *Work, p *Params) int64 {
		r, err := measure(w, p)
		if err != nil {
			return 0 // the function start reports the error
		}
		return r.parts()
	}
	m.size = func(w *Work, p *Params) string {
		r, err := measure(w, p)
		if err != nil {
			return ""
		}
		return fmt.Sprintf("%d units in parts of %d ", r.total, r.size)
	}
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) {
		r, err := measure(w, p)
		if err != nil {
			return nil, err
		}
		if r.at = c.carry.Next; r.at > r.total {
			return nil, m.conflict("%d units were cut before, but the work now has %d: it became smaller", r.at, r.total)
		}
		c.expect = r.parts()
		if unit == jjm.UnitEvent && len(w.Secondary) > 0 {
			return newAlong(m, c, w, p, r)
		}
		return r, nil
	}
	return m
}

func eventsPerJob(p *Params) (int64, error) {
	if p.EventsPerJob < 1 {
		return 0, jjm.Errorf(jjm.Invalid, "events_per_job is %d, which would make parts without events: want at least 1",
			p.EventsPerJob)
	}
	return p.EventsPerJob, nil
}

func oneRow(*Params) (int64, error) { return 1, nil }

// events returns the range of the event numbers. The numbers must also be exact as a float64, because they pass through
// JSON and scripts.
func events(w *Work) (jjm.Span, error) {
	const most = 1 << 53
	if w.First < 0 || w.Events < 0 || w.First > most || w.Events > most-w.First {
		return jjm.Span{}, jjm.Errorf(jjm.Invalid, "%d events from event %d on: want numbers from 0 to %d", w.Events, w.First,
			int64(most))
	}
	return jjm.Span{First: w.First, Count: w.Events}, nil
}

func rows(w *Work) (jjm.Span, error) { return jjm.Span{Count: int64(len(w.Rows))}, nil }

// restrict returns the ranges to cut: chosen, or all if chosen is nil. The chosen ranges must be ascending, disjoint,
// and within all.
func restrict(all jjm.Span, chosen []jjm.Span) ([]jjm.Span, error) {
	if chosen == nil {
		return []jjm.Span{all}, nil
	}
	next := all.First
	for _, s := range chosen {
		if s.Count < 1 || s.First < next || s.Last() < s.First || s.Last() > all.Last() {
			return nil, jjm.Errorf(jjm.Invalid, "only %d to %d: want ranges in order, apart from one another, within %d to %d",
				s.First, s.Last(), all.First, all.Last())
		}
		next = s.Last() + 1
	}
	return chosen, nil
}

// ranges cuts the units of spans into parts of size units. total is the number of all units, and at the number of units
// already cut. No part has units of two spans.
type ranges struct {
	unit            string
	work            *Work
	spans           []jjm.Span
	size, total, at int64
	// span is the current span, and gone the number of units in the spans before it.
	span int
	gone int64
}

// place returns the span of the next unit, and how many units of this span are already cut.
func (r *ranges) place() (i int, behind int64) {
	for behind = r.at; i < len(r.spans) && behind >= r.spans[i].Count; i++ {
		behind -= r.spans[i].Count
	}
	return i, behind
}

// parts returns the number of parts that are not cut yet.
func (r *ranges) parts() (n int64) {
	i, behind := r.place()
	for ; i < len(r.spans); i++ {
		units := r.spans[i].Count - behind
		n, behind = n+units/r.size+min(1, units%r.size), 0
	}
	return n
}

func (r *ranges) count(*Cutting) int64 { return r.parts() }

// next returns the next part, or false if no unit is left. The part's arguments share memory with the row of the work.
func (r *ranges) next(*Cutting) (jjm.Part, bool) {
	if r.at >= r.total {
		return jjm.Part{}, false
	}
	for r.gone+r.spans[r.span].Count <= r.at {
		r.gone += r.spans[r.span].Count
		r.span++
	}
	s := r.spans[r.span]
	first := s.First + r.at - r.gone
	// First is relative to the units already cut, because the Cutting adds their number.
	p := jjm.Part{Unit: r.unit, First: first - r.at, Count: min(r.size, s.Last()-first+1)}
	if r.unit == jjm.UnitRow {
		row := r.work.Rows[first]
		p.Args = row[:len(row):len(row)]
	}
	r.at += p.Count
	return p, true
}

// checkpoint returns nil, because Carry.Next is the position.
func (r *ranges) checkpoint() *Checkpoint { return nil }

func (r *ranges) left(*Left) {}
