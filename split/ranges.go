package split

import (
	"fmt"

	"jjm"
)

// The names of jjm's own splitters.
const (
	ByEvents = "events" // EventsPerJob events per part, the last part shorter
	ByRows   = "rows"   // one part per row
)

func ownMethods() []*method {
	return []*method{
		rangesMethod(ByEvents, jjm.UnitEvent, eventsPerJob, events),
		rangesMethod(ByRows, jjm.UnitRow, one, rows),
	}
}

// rangesMethod cuts numbered units into ranges of one size. What differs between
// the splitters is how many units a part takes and how many there are.
func rangesMethod(name, unit string, size func(*Params) (int64, error), total func(*Work) (int64, error)) *method {
	m := &method{name: name, unit: unit}
	measure := func(w *Work, p *Params) (r *ranges, err error) {
		r = &ranges{unit: unit, work: w}
		if r.size, err = size(p); err == nil {
			r.total, err = total(w)
		}
		if err != nil {
			return nil, m.invalid("%w", err)
		}
		return r, nil
	}
	m.bound = func(w *Work, p *Params) int64 {
		r, err := measure(w, p)
		if err != nil {
			return 0 // start says so
		}
		return r.parts(r.total)
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
		c.expect = r.parts(r.total - r.at)
		return r, nil
	}
	return m
}

func eventsPerJob(p *Params) (int64, error) {
	if p.EventsPerJob < 1 {
		return 0, jjm.Errorf(jjm.Invalid, "events_per_job is %d, which would make parts without events: want at least 1", p.EventsPerJob)
	}
	return p.EventsPerJob, nil
}

func one(*Params) (int64, error) { return 1, nil }

// events counts the events; their numbers must be whole in a float64 as well,
// because they pass through JSON and scripts.
func events(w *Work) (int64, error) {
	const most = 1 << 53
	if w.First < 0 || w.Events < 0 || w.First > most || w.Events > most-w.First {
		return 0, jjm.Errorf(jjm.Invalid, "%d events from event %d on: want numbers from 0 to %d", w.Events, w.First, int64(most))
	}
	return w.Events, nil
}

func rows(w *Work) (int64, error) { return int64(len(w.Rows)), nil }

// ranges cuts units 0..total-1 into parts of size.
type ranges struct {
	unit            string
	work            *Work
	size, total, at int64
}

// parts is how many parts the units make.
func (r *ranges) parts(units int64) int64 { return units/r.size + min(1, units%r.size) }

func (r *ranges) count(*Cutting) int64 { return r.parts(r.total) }

// next gives the next part. The words of a row are shared with the work, not
// copied.
func (r *ranges) next(*Cutting) (jjm.Part, bool) {
	n := min(r.size, r.total-r.at)
	if n <= 0 {
		return jjm.Part{}, false
	}
	p := jjm.Part{Unit: r.unit, Count: n}
	if r.unit == jjm.UnitEvent {
		p.First = r.work.First
	} else {
		row := r.work.Rows[r.at]
		p.Args = row[:len(row):len(row)]
	}
	r.at += n
	return p, true
}

// begun is nil: the carry's count of units says it all.
func (r *ranges) begun() *Begun { return nil }

func (r *ranges) left(*Left) {}
