package split

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

// steps returns, by splitter, settings that make coarse parts. The parts of these splitters can be cut again.
func steps() map[string]func(*Params) {
	return map[string]func(*Params){
		FileBased:              func(p *Params) { p.FilesPerJob = 4 },
		MinFileBased:           func(p *Params) { p.FilesPerJob = 4 },
		SiblingProcessingBased: func(p *Params) { p.FilesPerJob = 4 },
		SplitByFiles:           func(p *Params) { p.FilesPerSplit = 4 },
		GangaDatasetSplitter:   func(p *Params) { p.FilesPerSubjob = 4 },
		EventBased:             func(p *Params) { p.EventsPerJob, p.TotalEvents = 25, 150 },
		LHCbDataSplitter:       func(p *Params) { p.FileBunchSize, p.EventBunchSize = 3, 70 },
		LumiBased:              func(p *Params) { p.LumisPerJob = 20 },
		EventAwareLumiBased:    func(p *Params) { p.EventsPerJob = 60 },
	}
}

// sixFiles returns a closed dataset of 6 files with events and sections, and a function that finds a file by its LFN.
func sixFiles() (Work, func(string) *jjm.File) {
	files := map[string]*jjm.File{}
	w := Work{Closed: true}
	for i := range 6 {
		f := file(fmt.Sprint("f", i), int64(40+i), lumis(1, uint32(10*i+1), uint32(10*i+8)))
		w.Files = append(w.Files, f)
		files[f.LFN] = &f
	}
	return w, func(lfn string) *jjm.File { return files[lfn] }
}

// owner returns, for each unit of the work, the local job that owns the unit. It fails the test if a unit has two
// owners.
func owner(t interface{ Fatalf(string, ...any) }, live map[int32]jjm.Part) map[string]int32 {
	own := map[string]int32{}
	for n, p := range live {
		pieces, err := p.Pieces()
		if err != nil {
			t.Fatalf("local job %d: %v", n, err)
		}
		for _, piece := range pieces {
			if piece.Whole() {
				piece.Last = 0
			}
			for at := piece.First; at <= piece.Last; at++ {
				unit := fmt.Sprintf("%s %d %d", piece.LFN, piece.Run, at)
				if before, twice := own[unit]; twice {
					t.Fatalf("%s: local jobs %d and %d own it", unit, before, n)
				}
				own[unit] = n
			}
		}
	}
	return own
}

// After any sequence of cuts, each unit has exactly one owner. The serial numbers of all parts follow one another
// without gaps, and so do their unit numbers.
func TestProperty_EachUnitHasOneOwnerAfterAnyResplits(t *testing.T) {
	names := slices.Sorted(maps.Keys(steps()))
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "splitter")
		work, find := sixFiles()
		p, err := Defaults(name)
		if err != nil {
			t.Fatal(err)
		}
		steps()[name](&p)
		s, err := Get(name)
		if err != nil {
			t.Fatal(err)
		}
		parts, _, carry, err := s.Cut(work, Limits{}, p, Carry{})
		if err != nil {
			t.Fatal(err)
		}
		live, made := map[int32]jjm.Part{}, int32(0)
		var ever []jjm.Part
		add := func(parts []jjm.Part) {
			for _, p := range parts {
				live[made] = p
				made++
			}
			ever = append(ever, parts...)
		}
		add(parts)
		all := owner(t, live)
		for range rapid.IntRange(1, 6).Draw(t, "resplits") {
			old := map[int32]*jjm.Part{}
			for _, n := range slices.Sorted(maps.Keys(live)) {
				if rapid.Bool().Draw(t, "failed") {
					part := live[n]
					old[n] = &part
				}
			}
			size := rapid.Int64Range(1, 12).Draw(t, "size")
			want := Finer{EventsPerJob: size, FilesPerJob: size, LumisPerJob: size}
			if rapid.Bool().Draw(t, "into") {
				want = Finer{Into: size + 1}
			}
			d, err := Divide(name, p, old, want, find, carry)
			if err != nil {
				t.Fatal(err)
			}
			if len(d.Parts)+len(d.Uncut) != len(old) {
				t.Fatalf("of %d parts %d were cut and %d were not", len(old), len(d.Parts), len(d.Uncut))
			}
			for _, n := range d.Jobs() {
				delete(live, n)
				add(d.Parts[n])
			}
			carry = d.Carry
			now := owner(t, live)
			if !slices.Equal(slices.Sorted(maps.Keys(now)), slices.Sorted(maps.Keys(all))) {
				t.Fatalf("%d units are owned, want %d", len(now), len(all))
			}
		}
		apart(t, ever)
	})
}

// apart requires that the serial numbers of the parts are 1, 2, 3 and so on, and that the unit numbers of each part
// follow those of the part before.
func apart(t *rapid.T, parts []jjm.Part) {
	for i, p := range parts {
		if p.Serial != int64(i+1) || i > 0 && p.First != parts[i-1].Last()+1 {
			t.Fatalf("part %d has serial number %d and the units %d to %d", i, p.Serial, p.First, p.Last())
		}
	}
}

func TestDivide_SaysWhyAPartCannotBeCutAgain(t *testing.T) {
	_, find := sixFiles()
	files := func(more *jjm.PartMore, lfns ...string) jjm.Part {
		return jjm.Part{Unit: jjm.UnitFile, Count: int64(len(lfns)), Serial: 1,
			Input: &jjm.PartInput{Files: lfns, More: more}}
	}
	ranged := func(lfn string, first, n int64) jjm.Part {
		return jjm.Part{Unit: jjm.UnitRange, Count: max(n, 1), Serial: 1, Input: &jjm.PartInput{Files: []string{lfn},
			Events: []jjm.EventRange{{First: first, Count: n}}}}
	}
	two := Finer{Into: 2}
	for _, c := range []struct {
		name, splitter string
		part           jjm.Part
		want           Finer
		set            func(*Params)
		why            string
	}{
		{"events", ByEvents, jjm.Part{Unit: jjm.UnitEvent, Count: 10, Serial: 1}, two, nil, "its events are generated"},
		{"row", ByRows, jjm.Part{Unit: jjm.UnitRow, Count: 1, Serial: 1}, two, nil, "it owns one row"},
		{"one file", FileBased, files(nil, "f1"), two, nil, "it cannot be cut further: it owns file f1"},
		{"larger", FileBased, files(nil, "f1", "f2"), Finer{FilesPerJob: 2}, nil, "cannot be cut further"},
		{"other unit", FileBased, files(nil, "f1", "f2"), Finer{EventsPerJob: 2}, nil,
			"it owns files: say how many with --files"},
		{"seed", JEDI, files(&jjm.PartMore{Seed: 4}, "f1", "f2"), two, nil, "random seed"},
		{"JEDI", JEDI, files(nil, "f1", "f2"), two, nil, "parts of the splitter JEDI cannot"},
		{"secondary", FileBased, files(&jjm.PartMore{Secondary: []jjm.StreamFiles{{Dataset: "mb"}}}, "f1", "f2"), two, nil,
			"secondary"},
		{"generated", EventBased, ranged("MCFakeFile-1", 0, 10), two, nil, "numbers of their sections"},
		{"one event", EventBased, ranged("f1", 3, 1), two, nil, "cannot be cut further"},
		{"unknown length", EventBased, ranged("f1", 0, jjm.ToTheEnd), two, nil, "number of events"},
		{"gone", EventBased, ranged("x", 0, 10), two, nil, "no longer known"},
		{"parents", FileBased, files(nil, "f1", "f2"), two, func(p *Params) { p.IncludeParents = true }, "include_parents"},
		{"pile-up", EventBased, ranged("f1", 0, 10), two, func(p *Params) { p.DeterministicPileup = true }, "pile-up"},
		{"correction", LumiBased, files(nil, "f1", "f2"), two, func(p *Params) { p.LumiCorrection = true }, "several files"},
	} {
		p, err := Defaults(c.splitter)
		if err != nil {
			t.Fatal(err)
		}
		if c.set != nil {
			c.set(&p)
		}
		was := Carry{Next: 50, Serial: 5}
		d, err := Divide(c.splitter, p, map[int32]*jjm.Part{3: &c.part}, c.want, find, was)
		if err != nil || !strings.Contains(d.Uncut[3], c.why) || d.Count() != 0 || d.Carry.Serial != was.Serial {
			t.Errorf("%s: %+v, %v; want %q", c.name, d, err, c.why)
		}
	}
}
