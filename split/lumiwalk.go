package split

import (
	"fmt"
	"slices"

	"jjm"
)

// failTooLong is WMCore's exit code for a part that would run for too long.
const failTooLong = 99305

// lumiWalk walks over the sections of one file after the other, place by place,
// and gathers them into parts. It stops where a part is complete, which is where
// the next one begins.
type lumiWalk struct {
	work    *Work
	p       *Params
	mask    lumiMask
	aware   bool  // of events
	total   int64 // sections or events at which to stop, 0 = never
	used    int64 // of them
	perLumi int64 // events per section, of the file scanned last
	waits   int

	places []*place
	at     int // in the files of the first place
	over   bool

	// Of the present file.
	started bool
	lumis   []jjm.LumiRange // by run
	i       int             // in lumis
	pos     int64           // next section
	passed  int64           // sections passed
	inRun   bool            // its run was looked at
	until   int64           // sections pos..until are good; none = not known
	mean    int64           // events per section
	inFile  int64           // sections that the part has of it
	gave    bool            // some part has sections of it
	fails   bool            // its part is createfailed
	adapt   bool            // the room is to be fitted to it

	// Of the present part and the stretch of sections that is being gathered.
	stop    bool // begin a new part at the next good section
	inPart  int64
	room    int64
	events  int64 // of earlier files in the part
	run     uint32
	hasRun  bool
	first   int64
	last    int64 // none = no stretch
	cur     *gathered
	spare   gathered
	made    int32 // parts begun
	counted int64 // parts counted without making them
	counts  bool  // make none

	seen  map[uint64]int32 // with lumi correction: the part of each section
	twice []twice
	again map[uint64]int // positions in twice
}

// twice is a section that further files hold.
type twice struct {
	lumi  uint64
	files []int32
}

// none is no section.
const none = -1

// gathered is a part in the making.
type gathered struct {
	place   *place
	files   []int32
	lumis   []jjm.FileLumis
	est     jjm.Estimate
	failure *jjm.CreateFailure
	skip    int64
}

func (l *lumiWalk) next(c *Cutting) (jjm.Part, bool) {
	for l.seek(c) {
		if l.take(c) {
			return l.part(c), true
		}
	}
	if l.flush(); l.cur == nil {
		return jjm.Part{}, false
	}
	return l.part(c), true
}

// count counts the parts without making them.
func (l *lumiWalk) count(*Cutting) int64 {
	l.counts = true
	for l.seek(nil) {
		if l.take(nil) {
			l.cur = nil
		}
	}
	return l.counted
}

// seek goes to the next good stretch of sections, pos..until of a run.
func (l *lumiWalk) seek(c *Cutting) bool {
	for !l.over && len(l.places) > 0 {
		switch {
		case l.started && l.until != none:
			return true
		case l.at == len(l.places[0].files):
			l.places, l.at, l.stop = l.places[1:], 0, true
		case !l.started:
			l.open()
		case l.i == len(l.lumis):
			l.leave(c)
		case !l.inRun:
			l.enterRun()
		case l.pos > int64(l.lumis[l.i].Last):
			l.nextRange()
		default:
			l.stretch()
		}
	}
	return false
}

// open begins the present file: how many sections a part may have now.
func (l *lumiWalk) open() {
	f := l.file()
	l.lumis = sortedRuns(f.Lumis)
	n := lumiCount(f.Lumis)
	l.started, l.i, l.pos, l.passed, l.inRun, l.until = true, 0, int64(l.lumis[0].First), 0, false, none
	l.mean, l.inFile, l.gave, l.fails, l.adapt = meanEvents(f.Events, n), 0, false, false, false
	l.first, l.last = none, none
	long := l.aware && n == 1 && (float64(l.mean)*l.p.Performance.TimePerEvent > l.p.JobTimeLimit ||
		l.p.LegacyMaxEvents && l.p.MaxEventsPerLumi > 0 && f.Events > l.p.MaxEventsPerLumi)
	switch {
	case long:
		l.fails, l.stop, l.room = l.p.AllowCreationFailure, true, 1
	case l.p.HaltOnFiles:
		l.stop = true
		if l.aware {
			l.room = l.whole(n)
		}
	case l.aware:
		l.adapt = true
		allowed := n
		if l.mean > 0 {
			allowed = max(l.p.EventsPerJob-l.events, 0) / l.mean
		}
		l.room = max(l.inPart+allowed, 1)
	}
}

// whole is how many sections of the file, of n, a part of its own may have.
func (l *lumiWalk) whole(n int64) int64 {
	if l.mean == 0 {
		return n
	}
	return max(l.p.EventsPerJob/l.mean, 1)
}

func (l *lumiWalk) file() *jjm.File { return &l.work.Files[l.places[0].files[l.at]] }

// leave ends the present file.
func (l *lumiWalk) leave(c *Cutting) {
	l.flush()
	if l.gave && c != nil {
		c.finish(l.places[0].files[l.at])
	}
	if !l.p.HaltOnFiles {
		l.events += l.mean * l.inFile
	}
	if l.cur != nil && l.cur.failure != nil {
		l.stop = true // what follows must not be lost with it
	}
	l.at, l.started = l.at+1, false
}

// enterRun looks at the run of the present range, once.
func (l *lumiWalk) enterRun() {
	run := l.lumis[l.i].Run
	l.inRun = true
	if !l.mask.goodRun(run) || len(l.p.RunWhitelist) > 0 && !slices.Contains(l.p.RunWhitelist, run) {
		for l.i < len(l.lumis) && l.lumis[l.i].Run == run {
			l.pass(l.lumis[l.i].Count())
			l.nextRange()
		}
		return
	}
	if l.p.SplitOnRun && (!l.hasRun || run != l.run) {
		l.stop = true
	}
}

// nextRange goes to the next range, and ends the run if it is of another.
func (l *lumiWalk) nextRange() {
	run := l.lumis[l.i].Run
	if l.i++; l.i == len(l.lumis) {
		l.flush()
		return
	}
	l.pos = int64(l.lumis[l.i].First)
	if l.lumis[l.i].Run != run {
		l.flush()
		l.inRun = false
	}
}

func (l *lumiWalk) pass(n int64) { l.passed += n }

// stretch finds the sections from pos on that are all good, or passes those
// that are not.
func (l *lumiWalk) stretch() {
	r := l.lumis[l.i]
	end, good := l.mask.good(r.Run, uint32(l.pos), r.Last)
	until := int64(end)
	if good && l.seen != nil {
		until = l.pos
		good = l.fresh(uint64(r.Run)<<32 | uint64(l.pos))
	}
	if good {
		l.until = until
		return
	}
	if l.first != l.pos || until > l.pos {
		l.flush()
	}
	l.pass(until - l.pos + 1)
	l.pos = until + 1
}

// fresh says whether a section was not seen in this cut, and remembers the files
// of those that were.
func (l *lumiWalk) fresh(lumi uint64) bool {
	if _, ok := l.seen[lumi]; !ok {
		l.seen[lumi] = none
		return true
	}
	file := l.places[0].files[l.at]
	i, ok := l.again[lumi]
	if !ok {
		i = len(l.twice)
		l.again[lumi] = i
		l.twice = append(l.twice, twice{lumi: lumi})
	}
	l.twice[i].files = append(l.twice[i].files, file)
	return false
}

// take returns good sections to the present part; true if that is complete and
// a new one must begin first.
func (l *lumiWalk) take(c *Cutting) bool {
	if l.last > 0 && l.pos != l.last+1 { // a gap after section 0 is not seen
		l.flush()
	}
	if l.stop = l.stop || l.inPart == l.room; l.stop {
		if l.cur != nil {
			l.flush()
			return true
		}
		l.begin(c)
	}
	if l.first == none {
		l.first = l.pos
	}
	l.add(min(l.until-l.pos+1, max(l.room-l.inPart, 1)))
	return false
}

// add returns the part n sections, or as many as the total allows.
func (l *lumiWalk) add(n int64) {
	if l.total > 0 {
		each := int64(1)
		if l.aware {
			each = l.mean
		}
		if rest := l.total - l.used; each > 0 && ceil(max(rest, 1), each) <= n {
			n, l.over = ceil(max(rest, 1), each), true
		} else if rest <= 0 {
			n, l.over = 1, true
		}
		l.used += n * each
	}
	i := l.places[0].files[l.at]
	if files := l.cur.files; len(files) == 0 || files[len(files)-1] != i {
		l.cur.files = append(files, i)
	}
	if l.seen != nil {
		l.seen[uint64(l.lumis[l.i].Run)<<32|uint64(l.pos)] = l.made - 1
	}
	l.inPart, l.inFile, l.gave = l.inPart+n, l.inFile+n, true
	l.run, l.hasRun, l.stop = l.lumis[l.i].Run, true, false
	l.last = l.pos + n - 1
	l.pass(n)
	if l.pos += n; l.pos > l.until {
		l.until = none
	}
}

// begin begins a part at the present section.
func (l *lumiWalk) begin(c *Cutting) {
	l.cur = &l.spare
	*l.cur = gathered{place: l.places[0], files: l.spare.files[:0], lumis: l.spare.lumis[:0],
		est: jjm.Estimate{MemoryMB: l.p.Performance.Memory}}
	l.made++
	if l.counts {
		l.counted++
	} else {
		l.cur.skip = c.carry.Serial * l.room * l.perLumi
	}
	if f := l.file(); l.fails {
		l.cur.failure = &jjm.CreateFailure{Code: failTooLong, Reason: fmt.Sprintf(
			"File %s has a single lumi %d, in run %d with too many events %d and it would take %d sec to run",
			f.LFN, l.pos, l.lumis[l.i].Run, f.Events, int64(float64(l.mean)*l.p.Performance.TimePerEvent))}
		l.fails = false
	}
	l.inPart, l.inFile, l.events = 0, 0, 0
	if l.adapt {
		l.adapt = false
		l.room = l.whole(lumiCount(l.lumis))
	}
	if l.counts && l.total == 0 && l.seen == nil {
		full := (l.until - l.pos) / l.room
		l.counted += full
		l.pass(full * l.room)
		l.pos += full * l.room
	}
}

// flush ends the stretch that is being gathered.
func (l *lumiWalk) flush() {
	if l.first == none || l.last == none {
		l.first, l.last = none, none
		return
	}
	r := jjm.LumiRange{Run: l.run, First: uint32(l.first), Last: uint32(l.last)}
	if !l.counts {
		l.cur.lumis = append(l.cur.lumis, jjm.FileLumis{File: int32(len(l.cur.files) - 1), LumiRange: r})
	}
	events := float64(r.Count() * l.mean)
	l.cur.est.Seconds += events * l.p.Performance.TimePerEvent
	l.cur.est.DiskKB += events * l.p.Performance.SizePerEvent
	l.first, l.last = none, none
}

// part makes a part of what was gathered.
func (l *lumiWalk) part(c *Cutting) jjm.Part {
	g := l.cur
	l.cur = nil
	pl := g.place
	pl.open(c, false)
	names := c.words.take(len(g.files))
	for i, f := range g.files {
		names[i] = l.work.Files[f].LFN
	}
	part := c.part(pl, names, l.inPart)
	in := part.Input
	in.Lumis = c.lumis.take(len(g.lumis))
	copy(in.Lumis, g.lumis)
	in.Estimate = g.est
	if l.p.DeterministicPileup {
		m := more(in)
		m.SkipPileup, m.HasSkip = g.skip, true
	}
	ancestors(in, l.work, l.p, g.files...)
	if g.failure != nil {
		more(in).Failure = g.failure
	}
	barred(in)
	c.carry.Used = l.used
	return part
}

func (l *lumiWalk) checkpoint() *Checkpoint {
	b := &Checkpoint{Walk: Walk{Run: l.run, HasRun: l.hasRun, InPart: l.inPart, Room: l.room, Events: l.events,
		Adapt: l.adapt, PerLumi: l.perLumi}}
	b.Places, b.Open = remaining(l.places)
	if l.started {
		b.File, b.Done = l.file().LFN, l.passed
	}
	return b
}

// resume goes to the section at which a limit stopped.
func (l *lumiWalk) resume(b *Checkpoint) {
	l.stop, l.first, l.last, l.until = true, none, none, none
	if b == nil {
		return
	}
	k := b.Walk
	l.run, l.hasRun, l.inPart, l.events, l.perLumi = k.Run, k.HasRun, k.InPart, k.Events, k.PerLumi
	if len(l.places) == 0 || b.File == "" {
		l.room = max(k.Room, l.room)
		return
	}
	first(l.places[0], l.work, b.File)
	if l.open(); l.file().LFN != b.File {
		l.started = false
		return
	}
	l.room, l.adapt = k.Room, k.Adapt
	for l.passed < b.Done && l.i < len(l.lumis) {
		n := min(l.lumis[l.i].Count(), b.Done-l.passed)
		l.pass(n)
		if l.pos = int64(l.lumis[l.i].First) + n; l.pos > int64(l.lumis[l.i].Last) {
			l.nextRange()
		}
	}
	l.gave = b.Done > 0
}

func (l *lumiWalk) left(left *Left) {
	if left.Waiting = l.waits; l.waits > 0 {
		left.Why = "a place waits for more sections or events, or for the dataset to close"
	}
}
