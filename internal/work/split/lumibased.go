package split

import (
	"slices"

	"jjm/internal/jjm"
)

// LumiBased and EventAwareLumiBased are WMCore's splitters by luminosity section:
//
//	LumiBased            a part has lumis_per_job sections
//	EventAwareLumiBased  a part has so many sections that about events_per_job events are expected in them
const (
	LumiBased           = "LumiBased"
	EventAwareLumiBased = "EventAwareLumiBased"
)

// jobTimeLimit is WMCore's default limit for a part with a single section: 48 hours, in
// seconds.
const jobTimeLimit = 48 * 3600

func lumiBasedMethod() *method {
	m := lumiMethod(LumiBased)
	m.defaults = func(p *Params) { p.LumisPerJob, p.SplitOnRun = 1, true }
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) {
		if p.LumisPerJob < 1 {
			return nil, m.invalid("lumis_per_job is %d: want at least 1", p.LumisPerJob)
		}
		l := &lumiWalk{work: w, p: p, room: p.LumisPerJob, total: p.TotalLumis}
		return m.walk(c, l, p.LumisPerJob, func(f *jjm.File) int64 { return lumiCount(f.Lumis) })
	}
	return m
}

func eventAwareMethod() *method {
	m := lumiMethod(EventAwareLumiBased)
	m.defaults = func(p *Params) {
		p.EventsPerJob, p.JobTimeLimit, p.SplitOnRun, p.AllowCreationFailure = 5000, jobTimeLimit, true, true
	}
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) {
		if p.EventsPerJob < 1 {
			return nil, m.invalid("events_per_job is %d: want at least 1", p.EventsPerJob)
		}
		if i := negativeEvents(w); i >= 0 {
			return nil, m.invalid("file %.100q has %d events", w.Files[i].LFN, w.Files[i].Events)
		}
		l := &lumiWalk{work: w, p: p, aware: true, total: p.TotalEvents}
		return m.walk(c, l, p.EventsPerJob, func(f *jjm.File) int64 { return f.Events })
	}
	return m
}

func lumiMethod(name string) *method {
	return &method{name: name, unit: jjm.UnitLumi, bound: func(w *Work, _ *Params) int64 {
		var n int64
		for i := range w.Files {
			n = saturated(n, max(lumiCount(w.Files[i].Lumis), 1))
		}
		return n
	}}
}

// walk prepares a walk over the sections. While the dataset is open, the files of a place are not cut until the sum of
// measure over these files reaches enough.
func (m *method) walk(c *Cutting, l *lumiWalk, enough int64, measure func(*jjm.File) int64) (cutter, error) {
	if !slices.Contains([]string{"", WithoutSkip, WithoutWhole}, l.p.WithoutLumis) {
		return nil, m.invalid("without_lumis is %.40q: want %q or %q", l.p.WithoutLumis, WithoutSkip, WithoutWhole)
	}
	if l.p.WithoutLumis == WithoutWhole {
		l.work = wholeFiles(l.work)
	}
	var err error
	if l.mask, err = maskOf(l.p); err != nil {
		return nil, m.invalid("%w", err)
	}
	var going []string
	if b := c.carry.Checkpoint; b != nil {
		going = b.Places
	}
	for _, pl := range places(c, l.work, l.p, nil) {
		var have int64
		for _, i := range pl.files {
			have = saturated(have, measure(&l.work.Files[i]))
		}
		if have < enough && !l.work.Closed && !slices.Contains(going, pl.key) {
			l.waits += len(pl.files)
			continue
		}
		if l.keep(pl); len(pl.files) > 0 {
			l.places = append(l.places, pl)
		}
	}
	l.used = c.carry.Used
	l.over = l.total > 0 && l.used >= l.total
	l.resume(c.carry.Checkpoint)
	if l.p.JobLimit > 0 && c.carry.Checkpoint == nil {
		try := *l
		if n := try.count(nil); n > l.p.JobLimit {
			return nil, m.invalid("would make %d parts: job_limit allows %d", n, l.p.JobLimit)
		}
	}
	if l.p.LumiCorrection {
		c.whole = true
		l.seen, l.again = map[uint64]int32{}, map[uint64]int{}
		return l.correct(c), nil
	}
	return l, nil
}

// wholeFiles returns a copy of the work in which each file without sections has one section that stands for the whole
// file.
func wholeFiles(w *Work) *Work {
	files := slices.Clone(w.Files)
	for i := range files {
		if lumiCount(files[i].Lumis) == 0 {
			files[i].Lumis = []jjm.LumiRange{jjm.WholeFile()}
		}
	}
	out := *w
	out.Files = files
	return &out
}

// isWhole reports whether sections stand for a whole file without sections.
func isWhole(lumis []jjm.LumiRange) bool { return len(lumis) == 1 && lumis[0] == jjm.WholeFile() }

// keep drops the files of a place that have no sections, and sorts the remaining files by lowest run.
func (l *lumiWalk) keep(pl *place) {
	files := pl.files[:0]
	for _, i := range pl.files {
		if n := lumiCount(l.work.Files[i].Lumis); n > 0 {
			files = append(files, i)
			l.perLumi = meanEvents(l.work.Files[i].Events, n)
		}
	}
	pl.files = files
	sortByRun(l.work, files)
}

// sortByRun sorts files by their lowest run; files with the same lowest run keep their order.
func sortByRun(w *Work, files []int32) {
	type entry struct {
		lumis []jjm.LumiRange
		i     int32
		at    int32
	}
	list := make([]entry, len(files))
	for k, i := range files {
		list[k] = entry{lumis: sortedRuns(w.Files[i].Lumis), i: i, at: int32(k)}
	}
	order := func(a, b entry) int {
		if c := compareRuns(a.lumis, b.lumis); c != 0 {
			return c
		}
		return int(a.at - b.at)
	}
	if slices.IsSortedFunc(list, order) {
		return
	}
	slices.SortFunc(list, order)
	for k := range list {
		files[k] = list[k].i
	}
}

// corrected is the cutter of a walk with LumiCorrection.
type corrected struct {
	parts []jjm.Part
	walk  *lumiWalk
}

// correct first makes all parts. If several files have the same section, it then adds these files to the part that has
// the section.
func (l *lumiWalk) correct(c *Cutting) *corrected {
	k := &corrected{walk: l}
	serial := c.carry.Serial
	for {
		part, ok := l.next(c)
		if !ok {
			break
		}
		c.carry.Serial++ // the following parts get the next serial number
		k.parts = append(k.parts, part)
	}
	c.carry.Serial = serial
	l.readAlong(k.parts)
	return k
}

// readAlong adds further files to parts: if a section of a part is also in another file, the part gets this file. A
// part lists such a file once, even if the file has several of the part's sections. WMCore lists the file once for each
// section; the application would then read the file again.
func (l *lumiWalk) readAlong(parts []jjm.Part) {
	listed := map[int32]map[string]bool{}
	for _, t := range l.twice {
		n := l.seen[t.lumi]
		in := parts[n].Input
		if listed[n] == nil {
			listed[n] = map[string]bool{}
			for _, lfn := range in.Files {
				listed[n][lfn] = true
			}
		}
		for _, i := range t.files {
			if lfn := l.work.Files[i].LFN; !listed[n][lfn] {
				listed[n][lfn] = true
				in.Files = append(in.Files, lfn)
			}
		}
	}
}

func (k *corrected) next(*Cutting) (jjm.Part, bool) {
	if len(k.parts) == 0 {
		return jjm.Part{}, false
	}
	part := k.parts[0]
	k.parts = k.parts[1:]
	return part, true
}

func (k *corrected) checkpoint() *Checkpoint { return nil }
func (k *corrected) left(left *Left)         { k.walk.left(left) }
