package split

import (
	"maps"
	"math"
	"slices"

	"jjm/internal/jjm"
)

// Tally determines from the parts of a cut which units the cut leaves out.
type Tally struct {
	leaver *Leaver
	owned  map[string]int64 // number of owned units by LFN
	unit   string
}

// NewTally returns the Tally of a cut by a splitter with its settings. It returns the error of [LeaverOf].
func NewTally(name string, p Params) (*Tally, error) {
	l, err := LeaverOf(name, p)
	return &Tally{leaver: l, owned: map[string]int64{}}, err
}

// Add adds a part of the cut. It returns the error of [jjm.Part.Pieces].
func (t *Tally) Add(p *jjm.Part) error {
	if t.unit = p.Unit; p.Input == nil || p.Unit == jjm.UnitEvent || p.Unit == jjm.UnitRow {
		return nil
	}
	for _, lfn := range p.Input.Files {
		t.owned[lfn] += 0 // the part reads the file, even if it owns no units of it
	}
	pieces, err := p.Pieces()
	for _, o := range pieces {
		if n := int64(1); o.Last == math.MaxInt64 {
			t.owned[o.LFN] += n
		} else {
			t.owned[o.LFN] += o.Last - o.First + 1
		}
	}
	return err
}

// Left returns the work that the cut leaves out permanently: no later cut will take this work, even if the dataset is
// open. dropped are the files that the splitter dropped ([Left.Dropped]).
func (t *Tally) Left(w *Work, dropped []Dropped) (out jjm.LeftList) {
	why := map[int32]string{}
	for _, d := range dropped {
		why[d.File] = d.Why
	}
	for i := range w.Files {
		f := &w.Files[i]
		n, read := t.owned[f.LFN]
		if read || t.once() && w.Closed && lumiCount(f.Lumis) > 0 {
			t.partly(&out, f, n)
			continue
		}
		reason, asked := t.leaver.File(f, why[int32(i)])
		if reason == jjm.LeftSplitter && !w.Closed {
			continue // the file waits
		}
		out.Add(jjm.LeftOut{What: "file", N: 1, Reason: reason, Why: t.leaver.Why(reason), Such: f.LFN, Asked: asked})
	}
	if t.once() {
		t.corrected(&out, w)
	}
	return out
}

// once reports whether a section that is in several files is owned in only one of these files.
func (t *Tally) once() bool { return t.leaver.p.LumiCorrection && t.leaver.CountsSections() }

// corrected adds the sections that are left out if [Tally.once] is true; for an open dataset only sections of files
// that parts read.
func (t *Tally) corrected(out *jjm.LeftList, w *Work) {
	held, holder, owned := lumiMask{}, map[uint32]string{}, int64(0)
	for i := range w.Files {
		f := &w.Files[i]
		n, read := t.owned[f.LFN]
		if !read && !w.Closed || lumiCount(f.Lumis) == 0 {
			continue
		}
		owned += n
		for _, r := range f.Lumis {
			if r.Count() > 0 {
				held.add(r.Run, r.First, r.Last)
			}
			if holder[r.Run] == "" {
				holder[r.Run] = f.LFN
			}
		}
	}
	held.tidy()
	good, such := int64(0), ""
	for _, run := range slices.Sorted(maps.Keys(held)) {
		before := good
		for _, r := range held[run] {
			good += t.masked(out, r, holder[run])
		}
		if good > before {
			such = holder[run] // a splitter that stops early leaves out sections of the last runs
		}
	}
	if good > owned {
		t.add(out, "section", good-owned, t.leaver.asks(), such)
	}
}

// masked adds the sections of a range that a setting leaves out, one by one. It returns the number of the other
// sections.
func (t *Tally) masked(out *jjm.LeftList, r jjm.LumiRange, lfn string) (good int64) {
	for at := int64(r.First); at <= int64(r.Last); {
		until, reason := t.leaver.Units(r.Run, at, int64(r.Last))
		if reason == jjm.LeftMask || reason == jjm.LeftRuns {
			t.add(out, "section", until-at+1, reason, lfn)
		} else {
			good += until - at + 1
		}
		at = until + 1
	}
	return good
}

// add adds n left-out units of a file, with the reason.
func (t *Tally) add(out *jjm.LeftList, what string, n int64, reason jjm.LeftReason, lfn string) {
	if reason == "" {
		reason = jjm.LeftSplitter
	}
	out.Add(jjm.LeftOut{What: what, N: n, Reason: reason, Why: t.leaver.Why(reason), Such: "some of " + lfn,
		Asked: reason != jjm.LeftSplitter})
}

// partly adds the left-out units of a file. n is the number of the file's units that parts own.
func (t *Tally) partly(out *jjm.LeftList, f *jjm.File, n int64) {
	switch {
	case t.once(): // another file may own these sections
	case t.unit == jjm.UnitRange && f.Events > 0:
		t.add(out, "event", f.Events-n, t.leaver.asks(), f.LFN)
	case t.unit == jjm.UnitLumi:
		good := int64(0)
		for _, r := range f.Lumis {
			good += t.masked(out, r, f.LFN)
		}
		if good > n {
			t.add(out, "section", good-n, t.leaver.asks(), f.LFN)
		}
	}
}
