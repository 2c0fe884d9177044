package split

import (
	"fmt"
	"slices"

	"jjm/internal/jjm"
)

// failTooLong is WMCore's exit code for a part whose expected time exceeds the limit.
const failTooLong = 99305

// lumiWalk walks over the sections of one file after another, place by place, and gathers sections into parts. It does
// the work of WMCore's loops as a state machine, so that it can stop after any part and resume from a Checkpoint.
type lumiWalk struct {
	work    *Work
	p       *Params
	mask    lumiMask
	aware   bool  // whether the size of a part is in events (EventAwareLumiBased)
	total   int64 // number of sections or events after which to stop; 0 = never
	used    int64 // sections or events used of total
	perLumi int64 // events per section of the file that keep examined last
	waits   int

	places []*place
	at     int // position in the files of the first place
	over   bool

	// The following fields describe the current file.
	started bool
	lumis   []jjm.LumiRange // the file's ranges, sorted by run
	i       int             // position of the current range in lumis
	pos     int64           // the next section
	passed  int64           // number of sections before pos, good or not
	inRun   bool            // whether enterRun has examined the current run
	until   int64           // sections pos..until are good; none = not determined
	mean    int64           // mean number of events per section
	inFile  int64           // number of the file's sections in the current part
	gave    bool            // whether some part has a section of the file
	fails   bool            // whether the part with the file's only section is createfailed
	adapt   bool            // whether room must be computed for this file at the next part

	// The following fields describe the current part, and the range of sections that is being gathered for it.
	stop    bool // whether a new part starts at the next good section
	inPart  int64
	room    int64
	events  int64 // number of events of earlier files in the part
	run     uint32
	hasRun  bool
	first   int64
	last    int64 // none = no range
	cur     *gathered
	spare   gathered
	made    int32 // number of parts started
	counted int64 // number of parts that count has counted
	counts  bool  // whether parts are only counted, not made

	seen  map[uint64]int32 // with LumiCorrection: the part of each section
	twice []twice
	again map[uint64]int // positions in twice
}

// twice is a section that several files have.
type twice struct {
	lumi  uint64
	files []int32
}

// none means "no section".
const none = -1

// gathered is a part to which sections are still added.
type gathered struct {
	place   *place
	files   []int32
	lumis   []jjm.FileLumis
	est     jjm.Estimate
	failure *jjm.CreateFailure
	skip    int64
	shared  shared
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

// count returns the number of parts without making them.
func (l *lumiWalk) count(*Cutting) int64 {
	l.counts = true
	for l.seek(nil) {
		if l.take(nil) {
			l.cur = nil
		}
	}
	return l.counted
}

// seek moves to the next range of good sections, pos..until of a run. It returns false if no good section is left.
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

// open starts the current file and determines how many sections a part may have (room).
func (l *lumiWalk) open() {
	f := l.file()
	l.lumis = sortedRuns(f.Lumis)
	n := lumiCount(f.Lumis)
	l.started, l.i, l.pos, l.passed, l.inRun, l.until = true, 0, int64(l.lumis[0].First), 0, false, none
	l.mean, l.inFile, l.gave, l.fails, l.adapt = meanEvents(f.Events, n), 0, false, false, false
	l.first, l.last = none, none
	if isWhole(l.lumis) {
		l.stop = true // no list of sections describes the file
	}
	// long: the only section of the file takes longer than the time limit, or (legacy setting) has too many events.
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

// whole returns the number of sections that fit into a part which has only the current file. The file has n sections.
func (l *lumiWalk) whole(n int64) int64 {
	if l.mean == 0 {
		return n
	}
	return max(l.p.EventsPerJob/l.mean, 1)
}

func (l *lumiWalk) file() *jjm.File { return &l.work.Files[l.places[0].files[l.at]] }

// leave finishes the current file.
func (l *lumiWalk) leave(c *Cutting) {
	l.flush()
	if l.gave && c != nil {
		c.finish(l.places[0].files[l.at])
	}
	if !l.p.HaltOnFiles {
		l.events += l.mean * l.inFile
	}
	if l.cur != nil && (l.cur.failure != nil || isWhole(l.lumis)) {
		l.stop = true // the next sections must not join a createfailed part or the part of a file without sections
	}
	l.at, l.started = l.at+1, false
}

// enterRun skips the run of the current range if the run is not wanted. It is called once for each run.
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

// nextRange moves to the next range, and ends the gathered range if the run changes.
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

// stretch sets until if section pos is good. Otherwise it skips the sections that are not good.
func (l *lumiWalk) stretch() {
	r := l.lumis[l.i]
	end, good := l.mask.good(r.Run, uint32(l.pos), r.Last)
	until := int64(end)
	if good && l.seen != nil && !isWhole(l.lumis) {
		until = l.pos
		good = l.firstSeen(uint64(r.Run)<<32 | uint64(l.pos))
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

// firstSeen reports whether the section is in no earlier file of this cut. If it is in an earlier file, firstSeen notes
// the current file in twice.
func (l *lumiWalk) firstSeen(lumi uint64) bool {
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

// take adds good sections to the current part. If there is no current part, take begins a part. If the part is
// complete, take adds nothing and returns true.
func (l *lumiWalk) take(c *Cutting) bool {
	if l.last > 0 && l.pos != l.last+1 { // like WMCore, this ignores a gap after section 0
		l.flush()
	}
	// The part ends if a new part must begin, if the part is full, or if its one mask would claim more than the part owns.
	if l.stop = l.stop || l.inPart == l.room || l.work.OneMask && l.claimsMore(); l.stop {
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

// add adds n sections to the part, or fewer if the total is reached.
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
	if l.joins(i) {
		if l.seen == nil && !l.counts && !l.work.OneMask && l.claimsMore() {
			l.cur.shared.found = true
		}
		l.cur.files = append(l.cur.files, i)
	}
	if l.seen != nil && !isWhole(l.lumis) {
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

// begin starts a part at the current section.
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

// flush adds the gathered range to the part.
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

// part returns the gathered part.
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
	if g.shared.found {
		more(in).ByFile = true
	}
	addParents(in, l.work, l.p, g.files...)
	if g.failure != nil {
		more(in).Failure = g.failure
	}
	failIfNoCluster(in)
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

// resume moves to the section where a cut stopped because of a limit.
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
	moveToFront(l.places[0], l.work, b.File)
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
