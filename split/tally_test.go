package split

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"jjm"
)

// drawTotals draws the settings that leave out units, with which a splitter may end before the end.
func drawTotals(t *rapid.T, p *Params) {
	p.TotalFiles = rapid.SampledFrom([]int64{0, 0, 3}).Draw(t, "total files")
	p.TotalLumis = rapid.SampledFrom([]int64{0, 0, 5}).Draw(t, "total lumis")
	p.TotalEvents = rapid.SampledFrom([]int64{0, 0, 300}).Draw(t, "total events")
	p.WithoutLumis = rapid.SampledFrom([]string{"", WithoutSkip, WithoutWhole}).Draw(t, "without")
}

// expected returns the number of units that files list, in the unit of parts; a file without sections or of unknown
// length is one.
func expected(unit string, f *jjm.File) int64 {
	switch unit {
	case jjm.UnitRange:
		return max(f.Events, 1)
	case jjm.UnitLumi:
		return max(lumiCount(f.Lumis), 1)
	}
	return 1
}

// Every unit that a dataset lists is owned once, or left out with a reason.
func TestProperties_EveryUnitIsOwnedOrLeftOutWithAReason(t *testing.T) {
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w, p := drawFileWork(t, &s), s.params(t)
				drawSettings(t, &p)
				drawTotals(t, &p)
				if p.LumiCorrection = false; s.made { // made-up files own more than they list
					w.Files = nil
				}
				for i := range w.Files {
					if rapid.IntRange(0, 3).Draw(t, "blank") == 0 {
						w.Files[i].Lumis = nil
					}
				}
				splitter, err := Get(s.name)
				if err != nil {
					t.Fatal(err)
				}
				parts, left, _, err := splitter.Cut(w, Limits{}, p, Carry{})
				if jjm.KindOf(err) == jjm.Invalid {
					return
				}
				tally, wrong := NewTally(s.name, p)
				if err != nil || wrong != nil {
					t.Fatal(err, wrong)
				}
				accounted(t, &w, parts, tally, tally.leaver, left.Dropped)
			})
		})
	}
}

// accounted requires that no unit is owned twice, and that what is owned and what is left out add up to the work.
func accounted(t *rapid.T, w *Work, parts []jjm.Part, tally *Tally, l *Leaver, dropped []Dropped) {
	owned := map[string]int64{}
	once := map[string]bool{}
	for i := range parts {
		if err := tally.Add(&parts[i]); err != nil {
			t.Fatal(err)
		}
		pieces, _ := parts[i].Pieces()
		for _, o := range pieces {
			key := fmt.Sprint(o)
			if once[key] {
				t.Fatalf("%s is owned twice", key)
			}
			once[key] = true
			if o.Run == -1 && o.First == 0 && o.Whole() {
				owned[o.LFN]++
			} else {
				owned[o.LFN] += o.Last - o.First + 1
			}
		}
	}
	unit := l.unit
	if len(parts) > 0 {
		unit = parts[0].Unit
	}
	list := tally.Left(w, dropped)
	var whole, some, files, units int64
	for i := range w.Files {
		f := &w.Files[i]
		switch n, want := owned[f.LFN], expected(unit, f); {
		case n == 0:
			whole++
		case n > want:
			t.Fatalf("parts own %d of the %d %ss of %s", n, want, unit, f.LFN)
		default:
			some += want - n
		}
	}
	for _, e := range list {
		if e.Reason == "" || e.Why == "" || e.Such == "" {
			t.Fatalf("left out without a reason: %+v", e)
		}
		if e.Reason == jjm.LeftSplitter {
			t.Fatalf("nobody knows why it is left out: %+v", e)
		}
		if e.What == "file" {
			files += e.N
		} else {
			units += e.N
		}
	}
	if files != whole || units != some {
		t.Fatalf("%d files and %d units of others have no owner; told are %d and %d: %v", whole, some, files, units, list)
	}
}

func TestLeaver_HasAWordForEachReason(t *testing.T) {
	blank := jjm.File{LFN: "a", Events: 5}
	full := jjm.File{LFN: "a", Events: 5, Lumis: []jjm.LumiRange{{Run: 1, First: 1, Last: 5}}}
	mask := func(p *Params) { p.Runs, p.Lumis = []string{"2"}, []string{"1,9"} }
	for _, c := range []struct {
		by     string
		change func(*Params)
		file   jjm.File
		why    string
		want   jjm.LeftReason
		asked  bool
	}{
		{LumiBased, func(*Params) {}, blank, "", jjm.LeftNoSections, false},
		{EventAwareLumiBased, func(*Params) {}, blank, "", jjm.LeftNoSections, false},
		{LumiBased, func(p *Params) { p.WithoutLumis = WithoutSkip }, blank, "", jjm.LeftNoSections, true},
		{LumiBased, func(p *Params) { p.TotalLumis = 5 }, full, "", jjm.LeftTotal, true},
		{LumiBased, func(p *Params) { p.TotalFiles = 5 }, full, "", jjm.LeftSplitter, false}, // it does not read that
		{LumiBased, mask, full, "", jjm.LeftMask, true},
		{EventAwareLumiBased, func(p *Params) { p.RunWhitelist = []uint32{2} }, full, "", jjm.LeftRuns, true},
		{EventAwareLumiBased, func(p *Params) { p.TotalEvents = 2 }, full, "", jjm.LeftTotal, true},
		{FileBased, mask, full, "", jjm.LeftMask, true},
		{FileBased, func(p *Params) { p.TotalFiles = 2 }, full, "", jjm.LeftTotal, true},
		{GangaDatasetSplitter, func(p *Params) { p.MaxFiles = 2 }, full, "", jjm.LeftTotal, true},
		{SplitByFiles, func(p *Params) { p.MaxFiles = 2 }, full, "", jjm.LeftTotal, true},
		{Pieces, func(p *Params) { p.Pieces = []Piece{{LFN: "b", Count: 1}} }, full, "", jjm.LeftPieces, true},
		{JEDI, func(p *Params) { p.Records.SkipShort = true }, full, "", jjm.LeftRecords, true},
		{WMBSMergeBySize, func(*Params) {}, full, whyProducer, jjm.LeftProducer, false},
		{WMBSMergeBySize, func(*Params) {}, blank, "", jjm.LeftNoSections, false},
		{SiblingProcessingBased, func(*Params) {}, full, "", jjm.LeftNoLocation, false},
		{SiblingProcessingBased, func(*Params) {}, full, whySibling, jjm.LeftSibling, false},
	} {
		p, err := Defaults(c.by)
		if err != nil {
			t.Fatal(err)
		}
		c.change(&p)
		l, err := LeaverOf(c.by, p)
		if err != nil {
			t.Fatal(err)
		}
		if got, asked := l.File(&c.file, c.why); got != c.want || asked != c.asked {
			t.Errorf("%s: %s, asked for %v; want %s, %v", c.by, got, asked, c.want, c.asked)
		}
	}
}
