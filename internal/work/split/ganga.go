package split

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// The names of the splitters of Ganga in this file: two that set fields of a job, and one for Monte-Carlo jobs. For
// each splitter, a function below returns its method, that is, its name, its unit of work, and the function that starts
// a cut. A cut may continue an earlier cut: carry.Next is then the number of units that the earlier cut has put into
// parts.
const (
	// ArgSplitter makes a part for each list of arguments.
	ArgSplitter = "ArgSplitter"
	// GenericSplitter makes a part for each value of a job field.
	GenericSplitter = "GenericSplitter"
	// GaussSplitter makes numberOfJobs parts of eventsPerJob events.
	GaussSplitter = "GaussSplitter"
)

// argMethod returns ArgSplitter. It makes one row for each list of arguments, and a part for each row.
func argMethod() *method {
	m := &method{name: ArgSplitter, unit: jjm.UnitRow, bound: func(_ *Work, p *Params) int64 { return int64(len(p.Args)) }}
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) {
		rows := make([][]string, len(p.Args))
		for i, arg := range p.Args {
			words, err := scalars(arg)
			if err != nil {
				return nil, m.invalid("args[%d]: %w", i, err)
			}
			rows[i] = words
		}
		if c.carry.Next > int64(len(rows)) {
			return nil, m.conflict("%d parts were made before, but args now has %d lists: it became shorter", c.carry.Next,
				len(rows))
		}
		r := &ranges{unit: m.unit, work: &Work{Rows: rows}, size: 1, at: c.carry.Next}
		var err error
		if r.spans, err = restrict(jjm.Span{Count: int64(len(rows))}, w.Only); err != nil {
			return nil, m.invalid("%w", err)
		}
		for _, s := range r.spans {
			r.total += s.Count
		}
		return r, nil
	}
	return m
}

// scalars converts a list of texts, numbers and booleans to words.
func scalars(arg any) ([]string, error) {
	list, ok := arg.([]any)
	if !ok {
		return nil, jjm.Errorf(jjm.Invalid, "%.40v is no list: want the list of the arguments of one part", arg)
	}
	words := make([]string, len(list))
	for i, v := range list {
		switch v.(type) {
		case string, bool, float64, int, int64, json.Number:
			words[i] = fmt.Sprint(v)
		default:
			return nil, jjm.Errorf(jjm.Invalid, "element %d is a list or a table: want a text, a number or a truth value", i)
		}
	}
	return words, nil
}

// genericMethod returns GenericSplitter. The values of all fields at one position are the settings of one part.
func genericMethod() *method {
	m := &method{name: GenericSplitter, unit: jjm.UnitRow}
	m.bound = func(_ *Work, p *Params) int64 {
		n := len(p.Values)
		for _, values := range p.MultiAttrs {
			n = max(n, len(values))
		}
		return int64(n)
	}
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) {
		g, err := newGeneric(m, w, p)
		if err != nil {
			return nil, err
		}
		if g.at = c.carry.Next; g.at > g.total {
			return g, m.conflict("%d parts were made before, but there are %d values now", g.at, g.total)
		}
		return g, nil
	}
	return m
}

// generic makes a part for each row of values.
type generic struct {
	ranges
	attrs map[string][]any
	rows  int
}

func newGeneric(m *method, w *Work, p *Params) (*generic, error) {
	g := &generic{attrs: p.MultiAttrs}
	switch {
	case len(p.MultiAttrs) == 0 && p.Attribute == "" && len(p.Values) > 0:
		return nil, m.invalid("attribute is missing: want the field that the %d values are for", len(p.Values))
	case len(p.MultiAttrs) == 0 && p.Attribute != "":
		g.attrs = map[string][]any{p.Attribute: p.Values}
	case len(p.MultiAttrs) > 0 && (p.Attribute != "" || len(p.Values) > 0):
		return nil, m.invalid("attribute and values, and multi_attrs: want one of them")
	}
	var err error
	if g.rows, err = g.check(m); err != nil {
		return nil, err
	}
	if err := g.checkFields(m); err != nil {
		return nil, err
	}
	g.ranges = ranges{unit: m.unit, work: &Work{Rows: make([][]string, g.rows)}, size: 1}
	if g.spans, err = restrict(jjm.Span{Count: int64(g.rows)}, w.Only); err != nil {
		return nil, m.invalid("%w", err)
	}
	for _, s := range g.spans {
		g.total += s.Count
	}
	return g, nil
}

// check returns the number of values. The error is of kind Invalid if a field is not settable, or if two fields have
// different numbers of values.
func (g *generic) check(m *method) (int, error) {
	n, of := -1, ""
	for _, path := range g.paths() {
		if !slices.Contains(Settable(), path) {
			return 0, m.invalid("%.60q is no field that a part may set: known are %s", path, strings.Join(Settable(), ", "))
		}
		if n >= 0 && len(g.attrs[path]) != n {
			return 0, m.invalid("multi_attrs has %d values for %s and %d for %s: want as many of each", n, of,
				len(g.attrs[path]), path)
		}
		n, of = len(g.attrs[path]), path
	}
	return max(n, 0), nil
}

func (g *generic) next(c *Cutting) (jjm.Part, bool) {
	before := g.at
	part, ok := g.ranges.next(c)
	if !ok {
		return part, false
	}
	part.Args, part.Input = nil, &c.inputs.take(1)[0]
	more(part.Input).Settings = g.settings(int(part.First + before))
	return part, true
}

// gaussMethod returns GaussSplitter. It is a splitter of event ranges: numberOfJobs times eventsPerJob events, starting
// after the event firstEventNumber.
func gaussMethod() *method {
	size := func(p *Params) (int64, error) {
		if p.EventsPerSubjob < 1 || p.NumberOfJobs < 0 || p.FirstEventNumber < 0 {
			return 0, jjm.Errorf(jjm.Invalid,
				"eventsPerJob is %d, numberOfJobs %d, firstEventNumber %d: want at least 1, 0 and 0",
				p.EventsPerSubjob, p.NumberOfJobs, p.FirstEventNumber)
		}
		return p.EventsPerSubjob, nil
	}
	m := rangesMethod(GaussSplitter, jjm.UnitEvent, size, events)
	work := func(p *Params) *Work {
		w := &Work{First: p.FirstEventNumber + 1, Events: math.MaxInt64}
		if p.EventsPerSubjob > 0 && p.NumberOfJobs <= math.MaxInt64/p.EventsPerSubjob {
			w.Events = p.EventsPerSubjob * p.NumberOfJobs
		}
		return w
	}
	bound, start, size1 := m.bound, m.start, m.size
	m.defaults = func(p *Params) { p.EventsPerSubjob, p.NumberOfJobs = 5, 2 }
	m.bound = func(_ *Work, p *Params) int64 { return bound(work(p), p) }
	m.size = func(_ *Work, p *Params) string { return size1(work(p), p) }
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) {
		all := work(p)
		all.Only = w.Only
		return start(c, all, p)
	}
	return m
}
