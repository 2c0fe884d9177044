package split

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

// drawTotals draws settings that leave units out: limits on files, sections and events, and skipped files without
// sections.
func drawTotals(t *rapid.T, p *Params) {
	p.TotalFiles = rapid.SampledFrom([]int64{0, 0, 3}).Draw(t, "total files")
	p.TotalLumis = rapid.SampledFrom([]int64{0, 0, 5}).Draw(t, "total lumis")
	p.TotalEvents = rapid.SampledFrom([]int64{0, 0, 300}).Draw(t, "total events")
	p.WithoutLumis = rapid.SampledFrom([]string{"", WithoutSkip, WithoutWhole}).Draw(t, "without")
}

// fileSubjects returns all splitters that read files.
func fileSubjects() []subject {
	return append(subjects(), subject{name: Pieces, partly: never, bound: func(*Params) int64 { return 1 << 40 },
		params: func(t *rapid.T) Params { return drawParams(t, Pieces) }})
}

// drawReasons draws reasons to leave files out: files without sections or locations, siblings that failed, parents
// whose local jobs failed, files that no piece names, and rules for records. It removes the files that stand for events
// to be generated, because parts own more units of such a file than the file lists.
func drawReasons(t *rapid.T, name string, w *Work, p *Params) {
	w.Files = slices.DeleteFunc(w.Files, func(f jjm.File) bool { return isGenerated(f.LFN) })
	for i := range w.Files {
		f := &w.Files[i]
		if rapid.IntRange(0, 3).Draw(t, "blank") == 0 {
			f.Lumis = nil
		}
		if rapid.IntRange(0, 5).Draw(t, "nowhere") == 0 {
			f.Locations = nil
		}
		switch {
		case name == SiblingProcessingBased:
			w.Siblings = append(w.Siblings, rapid.SampledFrom([]SiblingState{SiblingDone, SiblingDone,
				SiblingFailed}).Draw(t, "sibling"))
		case name == WMBSMergeBySize && rapid.IntRange(0, 4).Draw(t, "orphan") == 0:
			f.Parents = []string{"lost"}
		case name == Pieces:
			p.Pieces = append(p.Pieces, drawPieces(t, f)...)
		}
	}
	w.Parents["lost"] = Parent{Producers: []Producer{{Group: 2, Success: false}}}
	if name == JEDI {
		p.Records.Offset, p.Records.MaxFiles = rapid.IntRange(0, 2).Draw(t, "offset"), rapid.IntRange(0, 4).Draw(t, "most")
		p.Records.MaxEvents = rapid.SampledFrom([]int64{0, 0, 700}).Draw(t, "most events")
		p.Records.SkipShort = rapid.Bool().Draw(t, "short")
	}
	p.Trim, p.MaxMergeFiles = rapid.Bool().Draw(t, "trim"), rapid.Int64Range(0, 4).Draw(t, "merge files")
}

// drawPieces draws pieces of a file. The pieces may leave out some or all of the file.
func drawPieces(t *rapid.T, f *jjm.File) (all []Piece) {
	if f.Events == 0 && rapid.Bool().Draw(t, "whole") {
		return []Piece{{f.LFN, 0, jjm.ToTheEnd}}
	}
	for at := rapid.Int64Range(0, 300).Draw(t, "at"); at < f.Events; at += rapid.Int64Range(1, 300).Draw(t, "gap") {
		n := min(rapid.Int64Range(1, 200).Draw(t, "count"), f.Events-at)
		all = append(all, Piece{f.LFN, at, n})
		at += n
	}
	return all
}

// expected returns the number of units that a file lists, in the unit of the parts. A file without sections, or with an
// unknown number of events, counts as one unit.
func expected(unit string, f *jjm.File) int64 {
	switch unit {
	case jjm.UnitRange:
		return max(f.Events, 1)
	case jjm.UnitLumi:
		return max(lumiCount(f.Lumis), 1)
	}
	return 1
}

// Every unit in a dataset is either owned by one part, or left out with a reason.
func TestProperties_EveryUnitIsOwnedOrLeftOutWithAReason(t *testing.T) {
	for _, s := range fileSubjects() {
		t.Run(s.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w, p := drawFileWork(t, &s), s.params(t)
				drawSettings(t, &p)
				drawTotals(t, &p)
				p.LumiCorrection = false // see TestProperties_ACorrectedSectionIsOwnedOnceOrLeftOut
				drawReasons(t, s.name, &w, &p)
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

// accounted requires that no unit is owned twice, and that the numbers of owned and left-out units add up to the work.
func accounted(t *rapid.T, w *Work, parts []jjm.Part, tally *Tally, l *Leaver, dropped []Dropped) {
	owned := map[string]int64{}
	once := map[string]bool{}
	for i := range parts {
		if err := tally.Add(&parts[i]); err != nil {
			t.Fatal(err)
		}
		pieces, _ := parts[i].Pieces()
		for _, o := range pieces {
			last := o.Last
			if o.Whole() {
				last = o.First
			}
			for n := o.First; n <= last; n++ {
				key := fmt.Sprint(o.LFN, ":", o.Run, ":", n)
				if once[key] {
					t.Fatalf("%s is owned twice", key)
				}
				once[key] = true
				owned[o.LFN]++
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

// With applyLumiCorrection, a section that is in several files is owned by one part, through any of these files, or
// left out by a setting.
func TestProperties_ACorrectedSectionIsOwnedOnceOrLeftOut(t *testing.T) {
	for _, s := range fileSubjects() {
		if s.name != LumiBased && s.name != EventAwareLumiBased {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w, p := drawFileWork(t, &s), s.params(t)
				drawSettings(t, &p)
				drawTotals(t, &p)
				p.LumiCorrection = true
				drawReasons(t, s.name, &w, &p)
				parts, left, _, err := mustFind(t, s.name).Cut(w, Limits{}, p, Carry{})
				if jjm.KindOf(err) == jjm.Invalid {
					return
				}
				tally, wrong := NewTally(s.name, p)
				if err != nil || wrong != nil {
					t.Fatal(err, wrong)
				}
				ownedCorrected(t, &w, parts, tally, left.Dropped)
			})
		})
	}
}

// ownedCorrected requires that no section is owned twice, and that each section without an owner is in the tally with
// the setting that leaves it out. A file without sections must be owned, or be in the tally with a reason.
func ownedCorrected(t *rapid.T, w *Work, parts []jjm.Part, tally *Tally, dropped []Dropped) {
	type section struct{ run, n int64 }
	owned, whole, read := map[section]bool{}, map[string]bool{}, map[string]bool{}
	for i := range parts {
		if err := tally.Add(&parts[i]); err != nil {
			t.Fatal(err)
		}
		for _, lfn := range parts[i].Input.Files {
			read[lfn] = true
		}
		pieces, _ := parts[i].Pieces()
		for _, o := range pieces {
			if o.Run == int64(jjm.WholeFile().Run) {
				whole[o.LFN] = true
				continue
			}
			for n := o.First; n <= o.Last; n++ {
				at := section{int64(o.Run), n}
				if owned[at] {
					t.Fatalf("section %v is owned twice", at)
				}
				owned[at] = true
			}
		}
	}
	list := tally.Left(w, dropped)
	told := func(what string, reason jjm.LeftReason) bool {
		return slices.ContainsFunc(list, func(e jjm.LeftOut) bool {
			return e.What == what && e.Reason == reason
		})
	}
	for i := range w.Files {
		f := &w.Files[i]
		if !read[f.LFN] && lumiCount(f.Lumis) == 0 {
			reason, _ := tally.leaver.File(f, "")
			if reason == jjm.LeftSplitter || !told("file", reason) {
				t.Fatalf("no part reads %s, and %s is not told: %v", f.LFN, reason, list)
			}
			continue
		}
		if lumiCount(f.Lumis) == 0 && !whole[f.LFN] {
			t.Fatalf("%s is read and nobody owns it", f.LFN)
		}
		for _, r := range f.Lumis {
			for n := int64(r.First); n <= int64(r.Last); n++ {
				_, reason := tally.leaver.Units(r.Run, n, n)
				if !owned[section{int64(r.Run), n}] && (reason == "" || !told("section", reason)) {
					t.Fatalf("section %d:%d of %s has no owner, and %q is not told: %v", r.Run, n, f.LFN, reason, list)
				}
			}
		}
	}
}

func mustFind(t *rapid.T, name string) *method {
	m, err := find(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// If a splitter reads no files, its parts own each requested unit (event, row or argument) exactly once. If Only is
// set, they own only the units in Only.
func TestProperties_MadeWorkIsOwnedOnce(t *testing.T) {
	for _, name := range makers() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w, p, all := drawMade(t, name)
				parts, left, _, err := mustFind(t, name).Cut(w, Limits{}, p, Carry{})
				if err != nil || left.More || len(left.Dropped) > 0 {
					t.Fatalf("left %+v, error %v", left, err)
				}
				owned := map[int64]int{}
				for i := range parts {
					for n := range parts[i].Count {
						owned[parts[i].First+n]++
					}
				}
				want, err := restrict(all, w.Only)
				if err != nil {
					t.Fatal(err)
				}
				var units int64
				for _, span := range want {
					for n := range span.Count {
						if units++; owned[span.First+n] != 1 {
							t.Fatalf("unit %d is owned %d times", span.First+n, owned[span.First+n])
						}
					}
				}
				if int64(len(owned)) != units {
					t.Fatalf("%d units are owned, want %d", len(owned), units)
				}
			})
		})
	}
}

// makers returns the splitters that read no files.
func makers() []string {
	return []string{ByEvents, ByRows, ArgSplitter, GenericSplitter, GaussSplitter}
}

// drawMade draws work for a splitter that reads no files, and returns the range of all its units.
func drawMade(t *rapid.T, name string) (w Work, p Params, all jjm.Span) {
	p, err := Defaults(name)
	if err != nil {
		t.Fatal(err)
	}
	n, size := rapid.Int64Range(1, 60).Draw(t, "units"), rapid.Int64Range(1, 20).Draw(t, "size")
	all = jjm.Span{First: 0, Count: n}
	switch name {
	case ByEvents:
		w.First, w.Events, p.EventsPerJob = rapid.Int64Range(0, 100).Draw(t, "first"), n, size
		all.First = w.First
	case ByRows:
		w.Rows = make([][]string, n)
	case ArgSplitter:
		for i := range n {
			p.Args = append(p.Args, []any{fmt.Sprint(i)})
		}
	case GenericSplitter:
		p.Attribute = "application.args"
		for i := range n {
			p.Values = append(p.Values, []any{fmt.Sprint(i)})
		}
	case GaussSplitter:
		p.EventsPerSubjob, p.NumberOfJobs, p.FirstEventNumber = size, n, rapid.Int64Range(0, 100).Draw(t, "first")
		all = jjm.Span{First: p.FirstEventNumber + 1, Count: n * size}
	}
	for at := all.First; rapid.Bool().Draw(t, "only") && at <= all.Last(); at += 2 {
		count := min(rapid.Int64Range(1, 9).Draw(t, "only units"), all.Last()-at+1)
		w.Only = append(w.Only, jjm.Span{First: at, Count: count})
		at += count
	}
	return w, p, all
}

// The tests of ownership in this file test every splitter.
func TestProperties_WalkEverySplitter(t *testing.T) {
	walked := makers()
	for _, s := range fileSubjects() {
		walked = append(walked, s.name)
	}
	if slices.Sort(walked); !slices.Equal(walked, Names()) {
		t.Errorf("the properties walk %v; there are %v", walked, Names())
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
		{LumiBased, func(p *Params) { p.TotalFiles = 5 }, full, "", jjm.LeftSplitter, false}, // LumiBased ignores this limit
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
