package split

import (
	"math"
	"strings"

	"jjm"
)

// EventBased is WMCore's splitter by events: each part has some events of one
// file. A file whose LFN begins with MadeUpPrefix holds nothing yet: its parts
// generate events and sections.
const EventBased = "EventBased"

// MadeUpPrefix begins the LFN of a file that stands for events to be generated.
const MadeUpPrefix = "MCFakeFile"

func madeUp(lfn string) bool { return strings.HasPrefix(lfn, MadeUpPrefix) }

func eventBasedMethod() *method {
	m := &method{name: EventBased, unit: jjm.UnitRange}
	m.defaults = func(p *Params) { p.EventsPerJob, p.EventsPerLumi = 100, AsEventsPerJob }
	m.bound = func(w *Work, p *Params) int64 {
		if p.EventsPerJob < 1 {
			return 0 // start says so
		}
		var n int64
		for i := range w.Files {
			n = saturated(n, max(ceil(w.Files[i].Events, p.EventsPerJob), 1))
		}
		return n
	}
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) {
		perLumi := p.EventsPerLumi
		if perLumi == AsEventsPerJob {
			perLumi = p.EventsPerJob
		}
		switch {
		case p.EventsPerJob < 1:
			return nil, m.invalid("events_per_job is %d: want at least 1", p.EventsPerJob)
		case perLumi < 1:
			return nil, m.invalid("events_per_lumi is %d: want at least 1", p.EventsPerLumi)
		}
		if i := negativeEvents(w); i >= 0 {
			return nil, m.invalid("file %.100q has %d events", w.Files[i].LFN, w.Files[i].Events)
		}
		e := &eventBased{work: w, p: p, perLumi: perLumi, names: lfns(w)}
		if w.Recovery != nil {
			e.lost = w.Recovery.byFile()
		}
		e.places = places(c, w, p, nil)
		e.resume(c.carry.Checkpoint)
		if e.lost == nil {
			c.expect = m.bound(w, p)
		}
		return e, nil
	}
	return m
}

// negativeEvents finds a file with a negative number of events; -1 if none.
func negativeEvents(w *Work) int {
	for i := range w.Files {
		if w.Files[i].Events < 0 {
			return i
		}
	}
	return -1
}

// lfns lists the names of the files, for parts to share.
func lfns(w *Work) []string {
	names := make([]string, len(w.Files))
	for i := range w.Files {
		names[i] = w.Files[i].LFN
	}
	return names
}

// ceil divides and rounds up.
func ceil(n, by int64) int64 { return n/by + min(n%by, 1) }

// saturated adds without overflow.
func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// eventBased walks over the events of one file after the other.
type eventBased struct {
	work    *Work
	p       *Params
	perLumi int64
	names   []string
	lost    map[string]*lostFile // nil: this is no recovery
	places  []*place             // those whose turn is not over
	at      int                  // in the files of the first place

	// Of the present file: the events cut, the next numbers to use, whether it
	// was begun, and the sections that a recovery has left.
	done    int64
	event   int64
	lumi    int64
	started bool
	lumis   []uint32
}

// resume goes to the file and event at which a limit stopped.
func (e *eventBased) resume(b *Checkpoint) {
	if b == nil || b.File == "" || len(e.places) == 0 {
		return
	}
	first(e.places[0], e.work, b.File)
	if !e.open() || e.name() != b.File {
		return
	}
	e.done, e.event, e.lumi = b.Done, b.Walk.Event, b.Walk.Lumi
	e.lumis = e.lumis[min(b.Walk.InPart, int64(len(e.lumis))):]
}

// first moves the file that was begun to the front of its place.
func first(p *place, w *Work, lfn string) {
	for i, f := range p.files {
		if w.Files[f].LFN == lfn {
			copy(p.files[1:i+1], p.files[:i])
			p.files[0] = f
			return
		}
	}
}

func (e *eventBased) name() string { return e.work.Files[e.file()].LFN }
func (e *eventBased) file() int32  { return e.places[0].files[e.at] }

// count counts the parts of all files.
func (e *eventBased) count(*Cutting) int64 {
	var n int64
	for _, pl := range e.places {
		for _, i := range pl.files {
			f := &e.work.Files[i]
			total := e.events(f)
			if total == 0 && !madeUp(f.LFN) && e.lost == nil {
				total = 1
			}
			n = saturated(n, ceil(max(total, 0), e.p.EventsPerJob))
		}
	}
	return n
}

// next makes the part at the present event.
func (e *eventBased) next(c *Cutting) (jjm.Part, bool) {
	for e.open() {
		if part, ok := e.part(c); ok {
			return part, true
		}
		e.leave()
	}
	return jjm.Part{}, false
}

// open goes to the present file, if there is one.
func (e *eventBased) open() bool {
	for len(e.places) > 0 && e.at == len(e.places[0].files) {
		e.places, e.at = e.places[1:], 0
	}
	if len(e.places) == 0 {
		return false
	}
	if e.started {
		return true
	}
	f := &e.work.Files[e.file()]
	e.started, e.done, e.event, e.lumi, e.lumis = true, 0, f.FirstEvent, firstLumi(f), nil
	if l := e.lost[f.LFN]; l != nil {
		e.event, e.lumis = l.first, l.lumis
	}
	return true
}

// leave goes on to the next file.
func (e *eventBased) leave() { e.at, e.started = e.at+1, false }

// events is how many events of the file are to be cut in all; -1 if none of it.
func (e *eventBased) events(f *jjm.File) int64 {
	if e.lost == nil {
		return f.Events
	}
	if l := e.lost[f.LFN]; l != nil {
		return max(l.events, 0)
	}
	return -1
}

// part makes the next part of the present file, false if it has none left.
func (e *eventBased) part(c *Cutting) (jjm.Part, bool) {
	i := e.file()
	f := &e.work.Files[i]
	total, made := e.events(f), madeUp(f.LFN)
	empty := total == 0 && !made && e.lost == nil && e.done == 0
	if e.done >= total && !empty {
		return jjm.Part{}, false
	}
	n := min(total-e.done, e.p.EventsPerJob)
	pl := e.places[0]
	pl.open(c, false)
	part := c.part(pl, e.names[i:i+1:i+1], max(n, 1))
	in := part.Input
	e.mask(c, in, n, total-e.done, made)
	if e.p.DeterministicPileup {
		m := more(in)
		m.SkipPileup, m.HasSkip = c.carry.Serial*e.p.EventsPerJob, true
	}
	priced := n
	if e.lost != nil {
		priced = e.p.EventsPerJob
	}
	estimate(in, &e.p.Performance, float64(priced))
	ancestors(in, e.work, e.p, i)
	barred(in)
	if e.done += max(n, 1); e.done >= total {
		c.finish(i)
		e.leave()
	}
	return part, true
}

// mask says which n events, of those that remain, and which sections the part
// has, and moves on.
func (e *eventBased) mask(c *Cutting, in *jjm.PartInput, n, remain int64, made bool) {
	if n == 0 {
		in.Mask.Events = jjm.Span{First: e.event, Count: jjm.ToTheEnd}
		return
	}
	offset := e.work.Skip[e.name()] + e.done
	if e.lost != nil {
		offset = max(e.event-e.work.Files[e.file()].FirstEvent, 0)
	}
	if made {
		e.wrap(remain)
	}
	ranges := c.events.take(1)
	ranges[0] = jjm.EventRange{First: offset, Count: n}
	in.Events = ranges
	in.Mask.Events = jjm.Span{First: e.event, Count: n}
	e.event += n
	if made {
		in.Mask.Lumis = e.generate(ceil(n, e.perLumi))
	}
}

// wrap begins anew at event 1 where the numbers of a part would pass 32 bits.
func (e *eventBased) wrap(remain int64) {
	const most = math.MaxUint32
	size := e.p.EventsPerJob
	if e.lost != nil {
		if e.event > most-size {
			e.event = 1
		}
	} else if e.event+size-1 > most && e.event+remain > most {
		e.event = 1
	}
}

// generate returns the part n sections; in a recovery, fewer if those that were
// lost are not consecutive.
func (e *eventBased) generate(n int64) jjm.Span {
	if e.lost == nil {
		s := jjm.Span{First: e.lumi, Count: n}
		e.lumi += n
		return s
	}
	if len(e.lumis) == 0 {
		return jjm.Span{}
	}
	n = min(n, int64(len(e.lumis)))
	for int64(e.lumis[n-1]-e.lumis[0]) != n-1 {
		n--
	}
	s := jjm.Span{First: int64(e.lumis[0]), Count: n}
	e.lumis = e.lumis[n:]
	return s
}

// firstLumi is the lowest section of the first run of a file.
func firstLumi(f *jjm.File) int64 {
	if len(f.Lumis) == 0 {
		return 1
	}
	low := f.Lumis[0].First
	for _, l := range f.Lumis {
		if l.Run == f.Lumis[0].Run {
			low = min(low, l.First)
		}
	}
	return int64(low)
}

func (e *eventBased) checkpoint() *Checkpoint {
	b := &Checkpoint{}
	b.Places, b.Open = remaining(e.places)
	if !e.started {
		return b
	}
	b.File, b.Done = e.name(), e.done
	b.Walk = Walk{Event: e.event, Lumi: e.lumi}
	if l := e.lost[b.File]; l != nil {
		b.Walk.InPart = int64(len(l.lumis) - len(e.lumis))
	}
	return b
}

func (e *eventBased) left(*Left) {}
