package split

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/work/split/jedi"
)

// subject is a splitter that reads files, with the facts about it that the property tests need.
type subject struct {
	name string
	// params draws parameters for the splitter.
	params func(*rapid.T) Params
	// bound returns the largest number of units that a part may have.
	bound func(*Params) int64
	// cyclic is set if one large cut and several small cuts of the same work may make different parts.
	cyclic bool
	// partly reports whether the splitter may leave files out although the dataset is closed.
	partly func(*Params) bool
	made   bool // the splitter also accepts files that stand for events to be generated
}

func drawParams(t *rapid.T, name string) Params {
	p, err := Defaults(name)
	if err != nil {
		t.Fatal(err)
	}
	p.Performance = Performance{TimePerEvent: 2, SizePerEvent: 3, Memory: 100}
	p.TrustSitelists = rapid.IntRange(0, 9).Draw(t, "trust") == 0
	p.DeterministicPileup = rapid.Bool().Draw(t, "pileup")
	return p
}

func never(*Params) bool { return false }

func subjects() []subject {
	size := func(t *rapid.T, name string, most int64) int64 { return rapid.Int64Range(1, most).Draw(t, name) }
	lumi := func(t *rapid.T, name string) Params {
		p := drawParams(t, name)
		p.HaltOnFiles, p.SplitOnRun = rapid.Bool().Draw(t, "halt"), rapid.Bool().Draw(t, "onRun")
		return p
	}
	unbound := func(*Params) int64 { return 1 << 40 }
	filesPerJob := func(p *Params) int64 { return p.FilesPerJob }
	files := func(name string) func(*rapid.T) Params {
		return func(t *rapid.T) Params {
			p := drawParams(t, name)
			p.FilesPerJob, p.RespectRuns = size(t, "files", 5), rapid.Bool().Draw(t, "runs")
			p.JobsPerGroup = rapid.Int64Range(0, 3).Draw(t, "group")
			return p
		}
	}
	return []subject{
		{name: EventBased, made: true, partly: never, bound: func(p *Params) int64 { return p.EventsPerJob },
			params: func(t *rapid.T) Params {
				p := drawParams(t, EventBased)
				p.EventsPerJob, p.EventsPerLumi = size(t, "events", 300), size(t, "perLumi", 100)
				return p
			}},
		{name: LumiBased, partly: never, bound: func(p *Params) int64 { return p.LumisPerJob },
			params: func(t *rapid.T) Params {
				p := lumi(t, LumiBased)
				p.LumisPerJob = size(t, "lumis", 12)
				return p
			}},
		{name: EventAwareLumiBased, partly: never, bound: unbound,
			params: func(t *rapid.T) Params {
				p := lumi(t, EventAwareLumiBased)
				p.EventsPerJob, p.JobTimeLimit = size(t, "events", 400), float64(size(t, "limit", 900))
				p.AllowCreationFailure = rapid.Bool().Draw(t, "allow")
				return p
			}},
		{name: FileBased, params: files(FileBased), bound: filesPerJob, partly: never},
		{name: MinFileBased, params: files(MinFileBased), bound: filesPerJob, partly: never},
		{name: SiblingProcessingBased, params: files(SiblingProcessingBased), bound: filesPerJob,
			partly: never},
		{name: ParentlessMergeBySize, cyclic: true, bound: unbound, partly: never,
			params: mergeParams(ParentlessMergeBySize)},
		{name: WMBSMergeBySize, cyclic: true, bound: unbound, partly: never, params: mergeParams(WMBSMergeBySize)},
		{name: GangaDatasetSplitter, bound: func(p *Params) int64 {
			return p.FilesPerSubjob
		}, partly: func(p *Params) bool { return p.MaxFiles > 0 },
			params: func(t *rapid.T) Params {
				p := drawParams(t, GangaDatasetSplitter)
				p.FilesPerSubjob = size(t, "files", 5)
				if p.MaxFiles = rapid.Int64Range(-3, 30).Draw(t, "max"); p.MaxFiles < 1 {
					p.MaxFiles = -1
				}
				return p
			}},
		{name: SplitByFiles, bound: func(p *Params) int64 { return p.FilesPerSplit }, partly: never,
			params: func(t *rapid.T) Params {
				p := drawParams(t, SplitByFiles)
				p.FilesPerSplit = size(t, "files", 5)
				return p
			}},
		{name: LHCbDataSplitter, partly: never, params: func(t *rapid.T) Params {
			p := drawParams(t, LHCbDataSplitter)
			p.FileBunchSize, p.EventBunchSize = size(t, "files", 4), rapid.Int64Range(0, 300).Draw(t, "events")
			return p
		}, bound: func(p *Params) int64 {
			if p.EventBunchSize == 0 {
				return 1 << 40
			}
			return p.EventBunchSize
		}},
		{name: JEDI, partly: never, bound: unbound, params: jediParams},
		{name: JEDIMerge, cyclic: true, partly: never, params: jediMergeParams, bound: func(p *Params) int64 {
			if p.FilesPerJob > 0 {
				return p.FilesPerJob
			}
			return p.MaxMergeFiles
		}},
	}
}

func mergeParams(name string) func(*rapid.T) Params {
	return func(t *rapid.T) Params {
		p := drawParams(t, name)
		p.MinMergeSize = rapid.Int64Range(0, 800).Draw(t, "min")
		p.MaxMergeSize = rapid.Int64Range(1, 3000).Draw(t, "max")
		p.MaxMergeEvents = rapid.Int64Range(1, 3000).Draw(t, "events")
		p.MergeAcrossRuns = rapid.Bool().Draw(t, "across")
		return p
	}
}

func jediParams(t *rapid.T) Params {
	p := drawParams(t, JEDI)
	p.RandomSeed = true
	switch rapid.IntRange(0, 3).Draw(t, "rule") {
	case 0:
		p.Task.Rule = fmt.Sprintf("NF=%d", rapid.IntRange(1, 5).Draw(t, "NF"))
	case 1:
		p.Records.RealEvents, p.Records.EventsPerJob = true, rapid.Int64Range(1, 300).Draw(t, "NE")
		p.Records.OrderBy = rapid.SampledFrom([]string{"", jedi.EventsAlignment}).Draw(t, "order")
	case 2:
		p.Records.RealEvents, p.Records.TargetEvents = true, rapid.Int64Range(1, 300).Draw(t, "target")
	default:
		p.Task.Rule = "MF=7"
	}
	return p
}

// drawFileWork draws a closed dataset for a splitter.
func drawFileWork(t *rapid.T, s *subject) Work {
	w := Work{Closed: true, Now: 1_000_000, Parents: map[string]Parent{}, OneMask: rapid.Bool().Draw(t, "oneMask")}
	places := [][]string{{"A"}, {"B"}, {"A", "B"}}
	n := rapid.IntRange(0, 25).Draw(t, "files")
	for i := range n {
		f := jjm.File{LFN: fmt.Sprintf("/store/%03d/%d", (i*7919)%1000, i), Size: rapid.Int64Range(0, 2000).Draw(t, "size"),
			Events: max(rapid.Int64Range(-100, 500).Draw(t, "events"), 0), FirstEvent: rapid.Int64Range(0, 100).Draw(t, "first"),
			Locations: places[rapid.IntRange(0, 2).Draw(t, "place")], Parents: []string{"p"}}
		if s.made && rapid.Bool().Draw(t, "made") {
			f.LFN = GeneratedPrefix + f.LFN
		}
		f.Lumis = drawLumis(t)
		w.Files = append(w.Files, f)
	}
	w.Parents["p"] = Parent{Producers: []Producer{{Group: 1, Success: true}}}
	if rapid.Bool().Draw(t, "second") {
		second := Stream{Dataset: jjm.Dataset{Name: "minbias", Attributes: "ratio=2,repeat"}}
		for i := range rapid.IntRange(1, 5).Draw(t, "others") {
			second.Files = append(second.Files, jjm.File{LFN: fmt.Sprintf("mb%d", i), Size: 10})
		}
		w.Secondary = []Stream{second, {Dataset: jjm.Dataset{Name: jedi.Sequence}}}
	}
	return w
}

func drawLumis(t *rapid.T) []jjm.LumiRange {
	var out []jjm.LumiRange
	for run := range rapid.IntRange(1, 3).Draw(t, "runs") {
		at := uint32(rapid.IntRange(1, 20).Draw(t, "lumi"))
		for range rapid.IntRange(1, 2).Draw(t, "ranges") {
			last := at + uint32(rapid.IntRange(0, 8).Draw(t, "length"))
			out = append(out, jjm.LumiRange{Run: uint32(run + 1), First: at, Last: last})
			at = last + 2
		}
	}
	return out
}

func asText(t *rapid.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestProperties_FilesAreCutOnce(t *testing.T) {
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			splitter := mustGet(t, s.name)
			rapid.Check(t, func(t *rapid.T) {
				w, p := drawFileWork(t, &s), s.params(t)
				if s.name == GangaDatasetSplitter || s.name == SplitByFiles {
					if len(w.Files) == 0 {
						return // the splitter refuses the work; another test covers this
					}
				}
				before := asText(t, w)
				parts, left, carry, err := splitter.Cut(w, Limits{}, p, Carry{})
				if err != nil || left.More || carry.Checkpoint != nil {
					t.Fatalf("left %+v, carry %+v, error %v", left, carry, err)
				}
				again, _, _, _ := splitter.Cut(w, Limits{}, p, Carry{})
				if diff := cmp.Diff(asText(t, parts), asText(t, again)); diff != "" {
					t.Fatalf("the same work is cut in another way:\n%s", diff)
				}
				if asText(t, w) != before {
					t.Fatal("the work was changed")
				}
				if n, err := splitter.Count(w, p); err != nil || n != int64(len(parts)) {
					t.Fatalf("Count says %d (%v), Cut made %d", n, err, len(parts))
				}
				inOrderAndBounded(t, &s, &p, parts)
				if left.Waiting != 0 {
					t.Fatalf("%d files wait for %q although the dataset is closed", left.Waiting, left.Why)
				}
				ownedOnce(t, &w, parts, left.Done, s.partly(&p))
				if !s.cyclic {
					progressive(t, splitter, w, p, parts)
				}
			})
		})
	}
}

// inOrderAndBounded requires that serial numbers and units have no gaps, and that no part is empty or larger than
// bound.
func inOrderAndBounded(t *rapid.T, s *subject, p *Params, parts []jjm.Part) {
	var next int64
	for i := range parts {
		part := &parts[i]
		switch {
		case part.Serial != int64(i)+1 || part.First != next:
			t.Fatalf("part %d has serial %d and begins at %d, want %d", i, part.Serial, part.First, next)
		case part.Count < 1 || part.Count > s.bound(p) && !toTheEnd(part):
			t.Fatalf("part %d has %d units: want 1 to %d", i, part.Count, s.bound(p))
		case len(part.Input.Files) == 0:
			t.Fatalf("part %d reads nothing", i)
		}
		if _, err := part.Pieces(); err != nil {
			t.Fatalf("part %d, which the store would refuse: %v", i, err)
		}
		next += part.Count
	}
}

// toTheEnd reports whether a part owns a file with an unknown number of events. Such a file cannot be cut, so the part
// may be larger than bound.
func toTheEnd(p *jjm.Part) bool {
	return slices.ContainsFunc(p.Input.Events, func(r jjm.EventRange) bool { return r.Count == jjm.ToTheEnd })
}

// ownedOnce requires that each file, event or section is owned by exactly one part, and that exactly the files that are
// owned completely are done.
func ownedOnce(t *rapid.T, w *Work, parts []jjm.Part, done []int32, partly bool) {
	owned := map[string]int{}
	total := map[string]int64{}
	own := func(key string, n int64, lfn string) {
		if owned[key]++; owned[key] > 1 {
			t.Fatalf("%s is owned twice", key)
		}
		total[lfn] += n
	}
	for i := range parts {
		in := parts[i].Input
		switch parts[i].Unit {
		case jjm.UnitFile:
			for _, lfn := range in.Files {
				own(lfn, 1, lfn)
			}
		case jjm.UnitRange:
			for _, r := range in.Events {
				if r.Count == jjm.ToTheEnd {
					own(in.Files[r.File], 1, in.Files[r.File])
				}
				for n := r.First; n < r.First+r.Count; n++ {
					own(fmt.Sprint(in.Files[r.File], ":", n), 1, in.Files[r.File])
				}
			}
		case jjm.UnitLumi:
			for _, l := range in.Lumis {
				for n := l.First; n <= l.Last; n++ {
					own(fmt.Sprint(in.Files[l.File], ":", l.Run, ":", n), 1, in.Files[l.File])
				}
			}
		}
	}
	if len(parts) == 0 {
		return
	}
	for i, f := range w.Files {
		events := f.Events
		if events == 0 && !isGenerated(f.LFN) { // unknown number of events: the file counts as one
			events = 1
		}
		want := map[string]int64{jjm.UnitFile: 1, jjm.UnitRange: events, jjm.UnitLumi: lumiCount(f.Lumis)}[parts[0].Unit]
		if total[f.LFN] != want && !(partly && total[f.LFN] == 0) {
			t.Fatalf("%d of the %d units of %s are owned", total[f.LFN], want, f.LFN)
		}
		if whole := total[f.LFN] > 0; whole && !slices.Contains(done, int32(i)) {
			t.Fatalf("%s is owned whole, but not done: %v", f.LFN, done)
		}
	}
	if slices.Sort(done); len(slices.Compact(done)) != len(done) {
		t.Fatalf("files are done twice: %v", done)
	}
}

// progressive cuts the work a few parts at a time. Each call starts from the stored carry and the files that are not
// done, as after a restart. The parts must be the same as those of one cut.
func progressive(t *rapid.T, s Splitter, w Work, p Params, want []jjm.Part) {
	var got []jjm.Part
	var text []byte
	for more := true; more; {
		var carry Carry
		if text != nil {
			if err := json.Unmarshal(text, &carry); err != nil {
				t.Fatal(err)
			}
		}
		limits := Limits{MaxParts: rapid.IntRange(1, 6).Draw(t, "limit")}
		parts, left, next, err := s.Cut(w, limits, p, carry)
		if err != nil {
			t.Fatal(err)
		}
		if len(parts) > limits.MaxParts || left.More && len(parts) != limits.MaxParts {
			t.Fatalf("%d parts for a limit of %d, more %v", len(parts), limits.MaxParts, left.More)
		}
		got = append(got, parts...)
		w.Files = slices.Clone(w.Files)
		slices.Sort(left.Done)
		for _, i := range slices.Backward(left.Done) {
			w.Files = slices.Delete(w.Files, int(i), int(i)+1)
		}
		text = []byte(asText(t, next))
		more = left.More
	}
	if diff := cmp.Diff(lines(t, want), lines(t, got)); diff != "" {
		t.Fatalf("cut progressively (-at once +progressively):\n%s", diff)
	}
}

func lines(t *rapid.T, parts []jjm.Part) []string {
	var out []string
	for i := range parts {
		out = append(out, asText(t, parts[i]))
	}
	return out
}
