package split

import (
	"sort"

	"jjm"
)

// MaxParts bounds the parts of one step, whatever the site allows: local jobs
// are numbered by 32-bit integers, and a store of one site holds far fewer.
const MaxParts = 10_000_000

// The names of the splitters.
const (
	ByEvents = "events" // EventsPerJob events per part, the last part shorter
	ByRows   = "rows"   // one part per row
)

// all lists the splitters.
func all() map[string]Splitter {
	return map[string]Splitter{
		ByEvents: ranges{name: ByEvents, unit: jjm.UnitEvent, size: eventsPerJob, total: events},
		ByRows:   ranges{name: ByRows, unit: jjm.UnitRow, size: one, total: rows},
	}
}

// Get finds a splitter; an unknown one is refused naming the known ones.
func Get(name string) (Splitter, error) {
	if s := all()[name]; s != nil {
		return s, nil
	}
	return nil, jjm.Errorf(jjm.Invalid, "splitter: unknown splitter %.40q: known are %v", name, Names())
}

// Names lists the splitters, sorted.
func Names() []string {
	var names []string
	for name := range all() {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// ranges cuts numbered units into ranges of one size. What differs between the
// splitters is how many units a part takes and how many there are.
type ranges struct {
	name, unit string
	size       func(Params) (int64, error)
	total      func(Work) (int64, error)
}

var _ Splitter = ranges{}

func eventsPerJob(p Params) (int64, error) {
	if p.EventsPerJob < 1 {
		return 0, jjm.Errorf(jjm.Invalid, "split by events: events_per_job is %d, which would make parts without events: want at least 1", p.EventsPerJob)
	}
	return p.EventsPerJob, nil
}

func one(Params) (int64, error) { return 1, nil }

// events counts the events; their numbers must be whole in a float64 as well,
// because they pass through JSON and scripts.
func events(w Work) (int64, error) {
	const most = 1 << 53
	if w.First < 0 || w.Events < 0 || w.First > most || w.Events > most-w.First {
		return 0, jjm.Errorf(jjm.Invalid, "split by events: %d events from event %d on: want numbers from 0 to %d", w.Events, w.First, int64(most))
	}
	return w.Events, nil
}

func rows(w Work) (int64, error) { return int64(len(w.Rows)), nil }

func (r ranges) Name() string { return r.name }

// Count gives the number of parts of the whole work; an error of kind Invalid
// names the number if there would be more than MaxParts.
func (r ranges) Count(work Work, params Params) (int64, error) {
	_, _, n, err := r.measure(work, params)
	return n, err
}

// measure gives the size of a part, the number of units and that of parts.
func (r ranges) measure(work Work, params Params) (size, total, parts int64, err error) {
	if size, err = r.size(params); err != nil {
		return 0, 0, 0, err
	}
	if total, err = r.total(work); err != nil {
		return 0, 0, 0, err
	}
	parts = total / size
	if total%size > 0 {
		parts++
	}
	if parts > MaxParts {
		return 0, 0, 0, jjm.Errorf(jjm.Invalid, "split by %s: %d units in parts of %d would make %d parts: at most %d", r.name, total, size, parts, MaxParts)
	}
	return size, total, parts, nil
}

// Cut gives the next parts. The words of a row are shared with the work, not
// copied.
func (r ranges) Cut(work Work, limits Limits, params Params, carry Carry) ([]jjm.Part, Carry, bool, error) {
	size, total, _, err := r.measure(work, params)
	if err != nil {
		return nil, carry, false, err
	}
	if carry.Next < 0 || carry.Next > total || carry.Serial < 0 {
		return nil, carry, false, jjm.Errorf(jjm.Conflict, "split by %s: %d units were cut before, but the work now has %d: it became smaller", r.name, carry.Next, total)
	}
	n := (total-carry.Next)/size + min(1, (total-carry.Next)%size)
	if limits.MaxParts > 0 {
		n = min(n, int64(limits.MaxParts))
	}
	parts := make([]jjm.Part, n)
	for i := range parts {
		carry.Serial++
		parts[i] = r.part(work, carry, min(size, total-carry.Next))
		carry.Next += parts[i].Count
	}
	return parts, carry, carry.Next < total, nil
}

// part makes the part of count units that starts at the carry.
func (r ranges) part(work Work, carry Carry, count int64) jjm.Part {
	p := jjm.Part{Unit: r.unit, First: carry.Next, Count: count, Serial: carry.Serial}
	if r.unit == jjm.UnitEvent {
		p.First += work.First
		return p
	}
	row := work.Rows[carry.Next]
	p.Args = row[:len(row):len(row)]
	return p
}
