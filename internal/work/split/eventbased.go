package split

import (
	"math"
	"strings"

	"jjm/internal/jjm"
)

// EventBased is WMCore's splitter by events: each part has events_per_job events of one file. A file whose LFN begins
// with GeneratedPrefix stands for events to generate; the parts of such a file also get section numbers.
const EventBased = "EventBased"

// GeneratedPrefix begins the LFN of a file that stands for events to generate.
const GeneratedPrefix = "MCFakeFile"

func isGenerated(lfn string) bool { return strings.HasPrefix(lfn, GeneratedPrefix) }

func eventBasedMethod() *method {
	m := &method{name: EventBased, unit: jjm.UnitRange}
	m.defaults = func(p *Params) { p.EventsPerJob, p.EventsPerLumi = 100, AsEventsPerJob }
	m.bound = func(w *Work, p *Params) int64 {
		if p.EventsPerJob < 1 {
			return 0 // the function start reports the error
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
		e.places = places(c, w, p, nil)
		e.resume(c.carry.Checkpoint)
		c.expect = m.bound(w, p)
		return e, nil
	}
	return m
}

// negativeEvents returns the position of a file with a negative number of events, -1 if there is no such file.
func negativeEvents(w *Work) int {
	for i := range w.Files {
		if w.Files[i].Events < 0 {
			return i
		}
	}
	return -1
}

// lfns returns the LFNs of the files. All parts share this slice.
func lfns(w *Work) []string {
	names := make([]string, len(w.Files))
	for i := range w.Files {
		names[i] = w.Files[i].LFN
	}
	return names
}

// ceil returns n/by, rounded up.
func ceil(n, by int64) int64 { return n/by + min(n%by, 1) }

// saturated returns a+b, or the largest int64 if the sum overflows.
func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// eventBased walks over the events of one file after another, place by place.
type eventBased struct {
	work    *Work
	p       *Params
	perLumi int64
	names   []string
	places  []*place // unfinished places; the first place is the current place
	at      int      // position in the files of the first place

	// done and the fields after it describe the current file: the number of events cut so far, the number of the next
	// event, the number of the next section, and whether these fields are set.
	done    int64
	event   int64
	lumi    int64
	started bool
}

// resume moves to the file and event where a cut stopped because of a limit.
func (e *eventBased) resume(b *Checkpoint) {
	if b == nil || b.File == "" || len(e.places) == 0 {
		return
	}
	moveToFront(e.places[0], e.work, b.File)
	if !e.open() || e.name() != b.File {
		return
	}
	e.done, e.event, e.lumi = b.Done, b.Walk.Event, b.Walk.Lumi
}

// moveToFront moves a file to the front of its place.
func moveToFront(p *place, w *Work, lfn string) {
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

// count returns the number of parts of all files.
func (e *eventBased) count(*Cutting) int64 {
	var n int64
	for _, pl := range e.places {
		for _, i := range pl.files {
			f := &e.work.Files[i]
			total := f.Events
			if total == 0 && !isGenerated(f.LFN) {
				total = 1
			}
			n = saturated(n, ceil(max(total, 0), e.p.EventsPerJob))
		}
	}
	return n
}

// next returns the part that begins at the current event, or false if no part is left.
func (e *eventBased) next(c *Cutting) (jjm.Part, bool) {
	for e.open() {
		if part, ok := e.part(c); ok {
			return part, true
		}
		e.leave()
	}
	return jjm.Part{}, false
}

// open starts the current file if it is not started yet. It returns false if no file is left.
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
	e.started, e.done, e.event, e.lumi = true, 0, f.FirstEvent, firstLumi(f)
	return true
}

// leave moves to the next file.
func (e *eventBased) leave() { e.at, e.started = e.at+1, false }

// part returns the next part of the current file, or false if the file has no further part. A file without events that
// is not generated makes one part.
func (e *eventBased) part(c *Cutting) (jjm.Part, bool) {
	i := e.file()
	f := &e.work.Files[i]
	total, made := f.Events, isGenerated(f.LFN)
	empty := total == 0 && !made && e.done == 0
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
	if made {
		carryLHE(in, e.p)
	}
	estimate(in, &e.p.Performance, float64(n))
	addParents(in, e.work, e.p, i)
	failIfNoCluster(in)
	if e.done += max(n, 1); e.done >= total {
		c.finish(i)
		e.leave()
	}
	return part, true
}

// carryLHE copies lheInputFiles to a part that generates events. Like WMCore it also copies the value false.
func carryLHE(in *jjm.PartInput, p *Params) {
	set := p.LHEInputFiles
	more(in).LHEInput = &set
}

// mask sets the n events of a part and, if the events are generated, its sections. It then advances to the next event.
// remain is the number of events of the file that are not cut yet.
func (e *eventBased) mask(c *Cutting, in *jjm.PartInput, n, remain int64, made bool) {
	in.Events = c.events.take(1)
	in.Events[0] = jjm.EventRange{First: e.work.Skip[e.name()] + e.done, Count: n}
	if n == 0 { // the number is unknown: the part owns the file to its end
		in.Events[0].Count = jjm.ToTheEnd
		in.Mask.Events = jjm.Span{First: e.event, Count: jjm.ToTheEnd}
		return
	}
	if made {
		e.wrap(remain)
	}
	in.Mask.Events = jjm.Span{First: e.event, Count: n}
	e.event += n
	if made {
		in.Mask.Lumis = e.generate(ceil(n, e.perLumi))
	}
}

// wrap restarts the event numbers at 1 if the numbers of the next part and of the rest of the file would exceed 32
// bits. WMCore does the same.
func (e *eventBased) wrap(remain int64) {
	const most = math.MaxUint32
	if e.event+e.p.EventsPerJob-1 > most && e.event+remain > most {
		e.event = 1
	}
}

// generate returns the next n section numbers.
func (e *eventBased) generate(n int64) jjm.Span {
	s := jjm.Span{First: e.lumi, Count: n}
	e.lumi += n
	return s
}

// firstLumi returns the lowest section of the first run of a file, 1 if the file has no sections.
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
	return b
}

func (e *eventBased) left(*Left) {}
