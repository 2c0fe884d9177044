package split

import (
	"math"

	"jjm"
)

// Tally finds what a cut leaves out, from its parts.
type Tally struct {
	leaver *Leaver
	owned  map[string]int64 // units by LFN
	unit   string
}

// NewTally returns the Tally of a cut by a splitter with its settings. The error is of kind Invalid.
func NewTally(name string, p Params) (*Tally, error) {
	l, err := LeaverOf(name, p)
	return &Tally{leaver: l, owned: map[string]int64{}}, err
}

// Add adds a part of the cut. The error is that of [jjm.Part.Pieces].
func (t *Tally) Add(p *jjm.Part) error {
	if t.unit = p.Unit; p.Input == nil || p.Unit == jjm.UnitEvent || p.Unit == jjm.UnitRow {
		return nil
	}
	for _, lfn := range p.Input.Files {
		t.owned[lfn] += 0 // read, even if it owns nothing of it
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

// Left returns what the cut leaves out of its work for good. Of an open dataset that is what no later cut takes
// either. dropped are the files that the splitter dropped ([Left.Dropped]).
func (t *Tally) Left(w *Work, dropped []Dropped) (out jjm.LeftList) {
	why := map[int32]string{}
	for _, d := range dropped {
		why[d.File] = d.Why
	}
	for i := range w.Files {
		f := &w.Files[i]
		n, read := t.owned[f.LFN]
		if read {
			t.partly(&out, f, n)
			continue
		}
		reason, asked := t.leaver.File(f, why[int32(i)])
		if reason == jjm.LeftSplitter && !w.Closed {
			continue // it waits
		}
		out.Add(jjm.LeftOut{What: "file", N: 1, Reason: reason, Why: t.leaver.Why(reason), Such: f.LFN, Asked: asked})
	}
	return out
}

// partly adds what is left out of a file of which parts own n units.
func (t *Tally) partly(out *jjm.LeftList, f *jjm.File, n int64) {
	if t.leaver.p.LumiCorrection && t.leaver.unit == jjm.UnitLumi {
		return // another file may stand for its sections
	}
	add := func(what string, n int64, reason jjm.LeftReason) {
		if reason == "" {
			reason = jjm.LeftSplitter
		}
		out.Add(jjm.LeftOut{What: what, N: n, Reason: reason, Why: t.leaver.Why(reason), Such: "some of " + f.LFN,
			Asked: reason != jjm.LeftSplitter})
	}
	switch {
	case t.unit == jjm.UnitRange && f.Events > 0:
		add("event", f.Events-n, t.leaver.asks())
	case t.unit == jjm.UnitLumi:
		good := int64(0)
		for _, r := range f.Lumis {
			for at := int64(r.First); at <= int64(r.Last); {
				until, reason := t.leaver.Units(r.Run, at, int64(r.Last))
				if reason == jjm.LeftMask || reason == jjm.LeftRuns {
					add("section", until-at+1, reason)
				} else {
					good += until - at + 1
				}
				at = until + 1
			}
		}
		if good > n {
			add("section", good-n, t.leaver.asks())
		}
	}
}
