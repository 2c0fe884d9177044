package split

import (
	"maps"
	"slices"
	"strings"

	"jjm/internal/formats/nearest"
	"jjm/internal/jjm"
)

// MaxParts is the maximum number of parts of a step, for all settings of a site. Local jobs have 32-bit numbers, and
// the store of a site can hold far fewer local jobs.
const MaxParts = 10_000_000

// method implements Splitter: it is the description of one splitter.
type method struct {
	name, unit string
	defaults   func(*Params)
	// start checks the parameters and returns the cutter that makes the parts. When start is called, only the field carry
	// of the Cutting is set.
	start func(*Cutting, *Work, *Params) (cutter, error)
	// bound quickly returns an upper bound of the number of parts.
	bound func(*Work, *Params) int64
	// size returns a description of the amount of work, which an error text puts before "would make N parts"; nil if the
	// splitter has no such description.
	size func(*Work, *Params) string
}

var _ Splitter = (*method)(nil)

// counter is a cutter that can count its parts without making them.
type counter interface{ count(*Cutting) int64 }

// all returns all splitters that jjm has.
func all() []*method {
	return append(ownMethods(), eventBasedMethod(), fileBasedMethod(), minFileBasedMethod(), lumiBasedMethod(),
		eventAwareMethod(),
		parentlessMethod(), wmbsMergeMethod(), siblingMethod(),
		argMethod(), genericMethod(), gaussMethod(), gangaDatasetMethod(), splitByFilesMethod(), lhcbMethod(),
		jediMethod(), jediMergeMethod(), piecesMethod())
}

// Get returns a splitter by name. If the name is unknown, the error is of kind Invalid and names the known splitters.
func Get(name string) (Splitter, error) { return find(name) }

func find(name string) (*method, error) {
	for _, m := range all() {
		if m.name == name {
			return m, nil
		}
	}
	if near := nearest.Of(name, Names()); near != "" {
		return nil, jjm.Errorf(jjm.Invalid, "splitter: unknown splitter %.40q: did you mean %s?", name, near)
	}
	return nil, jjm.Errorf(jjm.Invalid, "splitter: unknown splitter %.40q: known are %s", name,
		strings.Join(Names(), ", "))
}

// Names returns the names of the splitters, sorted.
func Names() []string {
	var names []string
	for _, m := range all() {
		names = append(names, m.name)
	}
	slices.Sort(names)
	return names
}

func (m *method) Name() string { return m.name }

func (m *method) Cut(work Work, limits Limits, params Params, carry Carry) ([]jjm.Part, Left, Carry, error) {
	c, err := m.Start(work, params, carry)
	if err != nil {
		return nil, Left{}, carry, err
	}
	parts, left, next := c.Next(limits)
	return parts, left, next, nil
}

func (m *method) Start(work Work, params Params, carry Carry) (*Cutting, error) {
	if _, err := m.refuse(work, params); err != nil {
		return nil, err
	}
	c, err := m.begin(&work, &params, carry)
	if err == nil && work.Sites != nil {
		c.binder = &binder{work: &work}
	}
	return c, err
}

// begin starts a cut like Start, but does not check MaxParts.
func (m *method) begin(work *Work, params *Params, carry Carry) (*Cutting, error) {
	if carry.Next < 0 || carry.Serial < 0 {
		return nil, m.conflict("the carry says that %d units and %d parts were made before", carry.Next, carry.Serial)
	}
	c := &Cutting{unit: m.unit, carry: carry}
	c.carry.Cursors = maps.Clone(carry.Cursors) // the caller's map stays unchanged
	if params.Production {
		c.run = 1
	}
	var err error
	if c.cutter, err = m.start(c, work, params); err != nil {
		return nil, err
	}
	return c, nil
}

// Count implements [Splitter.Count]. It cuts the work to count the parts, unless the splitter can count faster.
func (m *method) Count(work Work, params Params) (int64, error) {
	n, err := m.refuse(work, params)
	if n >= 0 || err != nil {
		return n, err
	}
	return m.tally(&work, &params)
}

// refuse returns an error for work that makes more than MaxParts parts. It returns the number of parts if it had to
// count the parts, and otherwise -1.
func (m *method) refuse(work Work, params Params) (int64, error) {
	if m.bound(&work, &params) <= MaxParts {
		return -1, nil
	}
	n, err := m.tally(&work, &params)
	if err != nil {
		return 0, err
	}
	if n > MaxParts {
		size := ""
		if m.size != nil {
			size = m.size(&work, &params)
		}
		return 0, m.invalid("%swould make %d parts: at most %d", size, n, MaxParts)
	}
	return n, nil
}

// tally returns the number of parts of the work if no further files come.
func (m *method) tally(work *Work, params *Params) (int64, error) {
	whole := *work
	whole.Closed, whole.Pending = true, false
	c, err := m.begin(&whole, params, Carry{})
	if err != nil {
		return 0, err
	}
	if k, ok := c.cutter.(counter); ok {
		return k.count(c), nil
	}
	var n int64
	for {
		if _, ok := c.cutter.next(c); !ok {
			return n, nil
		}
		n++
	}
}

func (m *method) invalid(format string, args ...any) error {
	return jjm.Errorf(jjm.Invalid, "split by "+m.name+": "+format, args...)
}

func (m *method) conflict(format string, args ...any) error {
	return jjm.Errorf(jjm.Conflict, "split by "+m.name+": "+format, args...)
}
