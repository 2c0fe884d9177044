package split

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/work/split/jedi"
)

// params returns the default parameters of a splitter, changed by change.
func params(t testing.TB, name string, change func(*Params)) Params {
	t.Helper()
	p, err := Defaults(name)
	if err != nil {
		t.Fatal(err)
	}
	change(&p)
	return p
}

// cut cuts all the work in one call.
func cut(t testing.TB, name string, w Work, change func(*Params)) ([]jjm.Part, Left) {
	t.Helper()
	parts, left, _, err := mustGet(t, name).Cut(w, Limits{}, params(t, name, change), Carry{})
	if err != nil {
		t.Fatal(err)
	}
	return parts, left
}

func file(lfn string, events int64, lumis ...jjm.LumiRange) jjm.File {
	return jjm.File{LFN: lfn, Size: 1000, Events: events, Lumis: lumis, Locations: []string{"A"}}
}

func lumis(run, first, last uint32) jjm.LumiRange {
	return jjm.LumiRange{Run: run, First: first, Last: last}
}

// reads lists the files that parts read, such as "a+b c".
func reads(parts []jjm.Part) string {
	var out []string
	for i := range parts {
		out = append(out, strings.Join(parts[i].Input.Files, "+"))
	}
	return strings.Join(out, " ")
}

func TestCut_RefusesTooManyPartsWithTheirNumber(t *testing.T) {
	one := func(f jjm.File) Work { return Work{Closed: true, Files: []jjm.File{f}} }
	for _, c := range []struct {
		name   string
		work   Work
		change func(*Params)
		want   string
	}{
		{EventBased, one(file("f", 1<<50)), func(p *Params) {
			p.EventsPerJob = 1
		}, "would make 1125899906842624 parts: at most 10000000"},
		{EventBased, one(file(GeneratedPrefix, 1<<62)), func(p *Params) {
			p.EventsPerJob = 1
		}, "would make 4611686018427387904 parts"},
		{LumiBased, one(file("f", 0, lumis(1, 1, 4_000_000_000))), func(p *Params) {
			p.LumisPerJob = 3
		}, "would make 1333333334 parts"},
		{EventAwareLumiBased, one(file("f", 8_000_000_000, lumis(1, 1, 4_000_000_000))), func(p *Params) {
			p.EventsPerJob = 4
		}, "would make 2000000000 parts"},
		{LHCbDataSplitter, one(file("f", 1<<50)), func(p *Params) {
			p.EventBunchSize = 1
		}, "would make 1125899906842624 parts"},
		{GaussSplitter, Work{}, func(p *Params) { p.NumberOfJobs = 1 << 40 }, "would make 1099511627776 parts"},
		{JEDI, one(file("f", 1<<50)), func(p *Params) {
			p.Records.RealEvents, p.Records.EventsPerJob = true, 1
		}, "would make as many as 11258999"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := params(t, c.name, c.change)
			if _, _, _, err := mustGet(t, c.name).Cut(c.work, Limits{MaxParts: 1}, p, Carry{}); err == nil ||
				!strings.Contains(err.Error(), c.want) || jjm.KindOf(err) != jjm.Invalid {
				t.Errorf("Cut: error is %v, want %q", err, c.want)
			}
			if _, err := mustGet(t, c.name).Count(c.work, p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Count: error is %v, want %q", err, c.want)
			}
		})
	}
	// A long range of sections is accepted if it makes few enough parts.
	n, err := mustGet(t, LumiBased).Count(one(file("f", 0, lumis(1, 1, 4_000_000_000))),
		params(t, LumiBased, func(p *Params) { p.LumisPerJob = 1000 }))
	if n != 4_000_000 || err != nil {
		t.Errorf("Count says %d, %v", n, err)
	}
}

func TestCut_RefusesInvalidParameters(t *testing.T) {
	files := Work{Closed: true, Files: []jjm.File{file("f", 5, lumis(1, 1, 2))}}
	for _, c := range []struct {
		name   string
		work   Work
		change func(*Params)
		want   string
	}{
		{EventBased, files, func(p *Params) { p.EventsPerJob = 0 }, "events_per_job is 0"},
		{JEDI, files, func(p *Params) {
			p.Records.OrderBy = "eventAlignment"
		}, `order_by "eventAlignment": want "eventsAlignment"`},
		{EventBased, files, func(p *Params) { p.EventsPerLumi = 0 }, "events_per_lumi is 0"},
		{EventBased, Work{Files: []jjm.File{file("f", -1)}}, func(*Params) {}, `file "f" has -1 events`},
		{LumiBased, files, func(p *Params) { p.LumisPerJob = -1 }, "lumis_per_job is -1"},
		{LumiBased, files, func(p *Params) {
			p.Runs, p.Lumis = []string{"1", "2"}, []string{"1,2"}
		}, "runs has 2 elements and lumis 1"},
		{LumiBased, files, func(p *Params) { p.Runs, p.Lumis = []string{"1"}, []string{"1,2,3"} }, "3 numbers"},
		{LumiBased, files, func(p *Params) { p.Runs, p.Lumis = []string{"x"}, []string{"1,2"} }, `runs[0] is "x"`},
		{LumiBased, files, func(p *Params) { p.Runs, p.Lumis = []string{"1"}, []string{"1,y"} }, `"y" is no section number`},
		{EventAwareLumiBased, files, func(p *Params) { p.EventsPerJob = 0 }, "events_per_job is 0"},
		{EventAwareLumiBased, files, func(p *Params) {
			p.EventsPerJob, p.JobLimit = 1, 1
		}, "would make 2 parts: job_limit allows 1"},
		{FileBased, files, func(p *Params) { p.FilesPerJob = 0 }, "files_per_job is 0"},
		{SiblingProcessingBased, files, func(p *Params) { p.FilesPerJob = 0 }, "files_per_job is 0"},
		{SiblingProcessingBased, Work{Files: files.Files, Siblings: []SiblingState{0, 0}}, func(*Params) {},
			"2 states with siblings for 1 files"},
		{ArgSplitter, Work{}, func(p *Params) { p.Args = []any{"x"} }, "args[0]: x is no list"},
		{ArgSplitter, Work{}, func(p *Params) { p.Args = []any{[]any{map[string]any{}}} }, "element 0 is a list or a table"},
		{GenericSplitter, Work{}, func(p *Params) {
			p.Attribute, p.Values = "owner.uid", []any{0}
		}, `"owner.uid" is no field that a part may set`},
		{GenericSplitter, Work{}, func(p *Params) { p.Values = []any{0} }, "attribute is missing"},
		{GenericSplitter, Work{}, func(p *Params) {
			p.MultiAttrs = map[string][]any{"application.args": {1}, "backend.queue": {"a", "b"}}
		}, "1 values for application.args and 2 for backend.queue"},
		{GenericSplitter, Work{}, func(p *Params) {
			p.Attribute, p.MultiAttrs = "application.args", map[string][]any{"backend.queue": {"a"}}
		}, "want one of them"},
		{GangaDatasetSplitter, Work{Closed: true}, func(*Params) {}, "there are no files"},
		{GangaDatasetSplitter, files, func(p *Params) { p.MaxFiles = 0 }, "maxFiles 0"},
		{SplitByFiles, files, func(p *Params) { p.FilesPerSplit = 0 }, "filesPerJob is 0"},
		{LHCbDataSplitter, files, func(p *Params) { p.FileBunchSize = 0 }, "file_bunch_size is 0"},
		{GaussSplitter, Work{}, func(p *Params) { p.EventsPerSubjob = 0 }, "eventsPerJob is 0"},
		{FileBased, files, func(p *Params) { p.Runs, p.Lumis = []string{"1"}, []string{"1"} }, "1 numbers"},
	} {
		parts, _, _, err := mustGet(t, c.name).Cut(c.work, Limits{}, params(t, c.name, c.change), Carry{})
		if err == nil || !strings.Contains(err.Error(), c.want) || jjm.KindOf(err) != jjm.Invalid || parts != nil {
			t.Errorf("%s: %d parts, error %v, want %q", c.name, len(parts), err, c.want)
		}
	}
}

func TestOpenDatasets_WaitForEnoughWork(t *testing.T) {
	five := []jjm.File{file("a", 10, lumis(1, 1, 2)), file("b", 10, lumis(1, 3, 4)), file("c", 10, lumis(1, 5, 6)),
		file("d", 10, lumis(1, 7, 8)), file("e", 10, lumis(1, 9, 10))}
	for _, c := range []struct {
		name       string
		change     func(*Params)
		open, shut string
		waits      int
	}{
		{EventBased, func(p *Params) { p.EventsPerJob = 100 }, "a b c d e", "a b c d e", 0},
		{FileBased, func(p *Params) { p.FilesPerJob = 2 }, "a+b c+d e", "a+b c+d e", 0},
		{MinFileBased, func(p *Params) { p.FilesPerJob = 2 }, "a+b c+d", "a+b c+d e", 1},
		{SiblingProcessingBased, func(p *Params) { p.FilesPerJob = 2 }, "a+b c+d", "a+b c+d e", 1},
		{LumiBased, func(p *Params) { p.LumisPerJob = 11 }, "", "a+b+c+d+e", 5},
		{LumiBased, func(p *Params) { p.LumisPerJob = 8 }, "a+b+c+d e", "a+b+c+d e", 0},
		{EventAwareLumiBased, func(p *Params) { p.EventsPerJob = 51 }, "", "a+b+c+d+e", 5},
		{ParentlessMergeBySize, func(p *Params) { p.MinMergeSize, p.MaxMergeSize = 2500, 3000 }, "a+b+c", "a+b+c d+e", 2},
		{GangaDatasetSplitter, func(p *Params) { p.FilesPerSubjob = 2 }, "a+b c+d", "a+b c+d e", 1},
		{LHCbDataSplitter, func(p *Params) { p.FileBunchSize = 3 }, "a+b+c", "a+b+c d+e", 2},
		{JEDI, func(p *Params) { p.Task.Rule, p.ChunksToWait = "NF=2", 2 }, "a+b c+d", "a+b c+d e", 1},
		{JEDI, func(p *Params) { p.Task.Rule = "NF=2" }, "", "a+b c+d e", 5},
		{JEDI, func(p *Params) { p.Task.Rule, p.ChunksToWait = "MF=2", 3 }, "a+b c+d e", "a+b c+d e", 0},
		{JEDI, func(p *Params) { p.Task.Rule, p.ChunksToWait = "MF=2", 4 }, "", "a+b c+d e", 5},
	} {
		parts, left := cut(t, c.name, Work{Files: five}, c.change)
		if got := reads(parts); got != c.open || left.Waiting != c.waits || (left.Why == "") != (c.waits == 0) {
			t.Errorf("%s, open: %q, %d wait for %q; want %q and %d", c.name, got, left.Waiting, left.Why, c.open, c.waits)
		}
		parts, left = cut(t, c.name, Work{Files: five, Closed: true}, c.change)
		if got := reads(parts); got != c.shut || left.Waiting != 0 {
			t.Errorf("%s, closed: %q, %d wait; want %q", c.name, got, left.Waiting, c.shut)
		}
	}
}

func TestMerge_OldFilesDoNotWait(t *testing.T) {
	w := Work{Files: []jjm.File{file("a", 1, lumis(1, 1, 1)), file("b", 1, lumis(1, 2, 2))}, Now: 43_201_000}
	w.Files[1].Added = 2000
	change := func(p *Params) { p.MinMergeSize = 5000 }
	if parts, _ := cut(t, ParentlessMergeBySize, w, change); reads(parts) != "a+b" {
		t.Errorf("after twelve hours: %q", reads(parts))
	}
	w.Now = 43_200_000
	if parts, left := cut(t, ParentlessMergeBySize, w, change); reads(parts) != "" || left.Waiting != 2 {
		t.Errorf("before: %q, %d wait", reads(parts), left.Waiting)
	}
	w.Closed, w.Pending = true, true
	if parts, _ := cut(t, ParentlessMergeBySize, w, change); reads(parts) != "" {
		t.Errorf("closed, but not injected: %q", reads(parts))
	}
}

// Files without sections and locations are merged by size only, and never together with files that have a location.
func TestMerge_BySizeAlone(t *testing.T) {
	var w Work
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		w.Files = append(w.Files, jjm.File{LFN: name, Size: 1000})
	}
	w.Files[2].Size = 1800
	w.Files = append(w.Files, file("there", 1, lumis(1, 1, 1)), file("alike", 1))
	w.Closed = true
	parts, left := cut(t, ParentlessMergeBySize, w, func(p *Params) { p.MinMergeSize, p.MaxMergeSize = 1500, 2500 })
	if reads(parts) != "a+b c d+e alike+there" || left.Waiting+len(left.Dropped) != 0 {
		t.Errorf("%q, left %+v", reads(parts), left)
	}
	w.Closed = false
	parts, left = cut(t, ParentlessMergeBySize, w, func(p *Params) { p.MinMergeSize, p.MaxMergeSize = 2100, 4000 })
	if reads(parts) != "a+b+c" || left.Waiting != 4 {
		t.Errorf("open: %q, left %+v", reads(parts), left)
	}
}

// A merge of max_merge_files files is made even if the files are small (JEDI: 50 files). No merge has more files.
func TestMerge_HasAtMostMaxMergeFiles(t *testing.T) {
	var w Work
	for i := range 7 {
		w.Files = append(w.Files, file(string(rune('a'+i)), 1, lumis(1, uint32(i+1), uint32(i+1))))
	}
	change := func(p *Params) { p.MaxMergeFiles = 3 }
	if parts, left := cut(t, ParentlessMergeBySize, w, change); reads(parts) != "a+b+c d+e+f" || left.Waiting != 1 {
		t.Errorf("open: %q, %d wait", reads(parts), left.Waiting)
	}
	w.Files = w.Files[:6]
	if parts, left := cut(t, ParentlessMergeBySize, w, change); reads(parts) != "a+b+c d+e+f" || left.Waiting != 0 {
		t.Errorf("open, all full: %q, %d wait", reads(parts), left.Waiting)
	}
	w.Closed = true
	if parts, _ := cut(t, ParentlessMergeBySize, w, change); reads(parts) != "a+b+c d+e+f" {
		t.Errorf("closed: %q", reads(parts))
	}
	if parts, _ := cut(t, ParentlessMergeBySize, w, func(p *Params) {}); reads(parts) != "a+b+c+d+e+f" {
		t.Errorf("no bound: %q", reads(parts))
	}
}

func TestMerge_CyclesLeaveNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{ParentlessMergeBySize, WMBSMergeBySize}).Draw(t, "name")
		s, err := Get(name)
		if err != nil {
			t.Fatal(err)
		}
		w := drawFileWork(t, &subject{})
		p := mergeParams(name)(t)
		carry, merged := Carry{}, map[string]bool{}
		for more := true; more; {
			parts, left, next, err := s.Cut(w, Limits{MaxParts: rapid.IntRange(1, 3).Draw(t, "limit")}, p, carry)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range parts {
				for _, lfn := range part.Input.Files {
					if merged[lfn] {
						t.Fatalf("%s is merged twice", lfn)
					}
					merged[lfn] = true
				}
			}
			w.Files = slices.DeleteFunc(slices.Clone(w.Files), func(f jjm.File) bool { return merged[f.LFN] })
			carry, more = next, left.More
		}
		if len(w.Files) > 0 {
			t.Fatalf("%d files of a closed dataset are not merged", len(w.Files))
		}
	})
}

func TestWMBSMerge_OrphansFailWhenTheDatasetCloses(t *testing.T) {
	w := Work{Files: []jjm.File{file("good", 1, lumis(1, 1, 1)), file("orphan", 1, lumis(1, 2, 2)),
		file("half", 1, lumis(1, 3, 3))},
		Parents: map[string]Parent{"p": {1, []Producer{{1, true}}}, "q": {2, []Producer{{1, false}}},
			"r": {3, []Producer{{1, false}, {2, true}}}}}
	for i, parent := range []string{"p", "q", "r"} {
		w.Files[i].Parents = []string{parent}
	}
	change := func(p *Params) { p.MinMergeSize = 0 }
	parts, left := cut(t, WMBSMergeBySize, w, change)
	if reads(parts) != "good+half" || len(left.Dropped) != 0 || left.Waiting != 1 {
		t.Errorf("open: %q, left %+v", reads(parts), left)
	}
	w.Closed, w.Pending = true, true
	parts, left = cut(t, WMBSMergeBySize, w, change)
	if reads(parts) != "good" || len(left.Dropped) != 2 || !left.Dropped[0].Failed || left.Dropped[0].File != 1 {
		t.Errorf("closed: %q, left %+v", reads(parts), left)
	}
}

// If local jobs of several job groups contributed to a file, the file is merged with the lowest-numbered parent that a
// successful group read, whatever the numbers of the groups are.
func TestWMBSMerge_TheLowestParentCounts(t *testing.T) {
	w := Work{Closed: true, Files: []jjm.File{file("both", 1, lumis(1, 1, 1)), file("first", 1, lumis(1, 2, 2)),
		file("second", 1, lumis(1, 3, 3))},
		Parents: map[string]Parent{"p1": {1, []Producer{{5, true}}}, "p2": {2, []Producer{{2, true}}}}}
	w.Files[0].Parents = []string{"p1", "p2"}
	w.Files[1].Parents, w.Files[2].Parents = []string{"p1"}, []string{"p2"}
	parts, left := cut(t, WMBSMergeBySize, w, func(p *Params) { p.MinMergeSize, p.MaxMergeSize = 0, 1 })
	if reads(parts) != "both+first second" || left.Waiting != 0 {
		t.Errorf("%q, left %+v", reads(parts), left)
	}
}

func TestTotals_HoldOverAllCuts(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Params)
		want   string
	}{
		{FileBased, func(p *Params) { p.FilesPerJob, p.TotalFiles = 2, 3 }, "a+b c"},
		{LumiBased, func(p *Params) { p.LumisPerJob, p.TotalLumis = 2, 5 }, "a b c"},
		{EventAwareLumiBased, func(p *Params) { p.EventsPerJob, p.TotalEvents = 20, 45 }, "a b c"},
	} {
		p, carry := params(t, c.name, c.change), Carry{}
		var got []string
		for i := range 4 { // one or two files at a time
			w := Work{Closed: true, Files: []jjm.File{file(string(rune('a'+i)), 20, lumis(1, uint32(2*i+1), uint32(2*i+2)))}}
			if c.name == FileBased && i%2 == 0 {
				w.Files = append(w.Files, file(string(rune('a'+i+1)), 20))
			} else if c.name == FileBased {
				continue
			}
			parts, _, next, err := mustGet(t, c.name).Cut(w, Limits{}, p, carry)
			if err != nil {
				t.Fatal(err)
			}
			carry = next
			if len(parts) > 0 {
				got = append(got, reads(parts))
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}

func TestCreationFailure_IsReported(t *testing.T) {
	w := Work{Closed: true, Files: []jjm.File{file("long", 5000, lumis(1, 7, 7)), file("short", 10, lumis(1, 8, 9))}}
	change := func(p *Params) { p.Performance.TimePerEvent, p.JobTimeLimit = 10, 40_000 }
	parts, _ := cut(t, EventAwareLumiBased, w, change)
	if reads(parts) != "long short" {
		t.Fatalf("parts read %q: what follows a createfailed part is no part of it", reads(parts))
	}
	failure := parts[0].Failure()
	if failure == nil || failure.Code != 99305 ||
		!strings.Contains(failure.Reason, "File long has a single lumi 7, in run 1") ||
		parts[0].Input.Estimate.Seconds != 50_000 {
		t.Fatalf("failure is %+v, estimate %+v", failure, parts[0].Input.Estimate)
	}
	if parts[1].Failure() != nil {
		t.Error("the other part failed too")
	}
}

func TestMaxEventsPerLumi_NeedsLegacyMaxEvents(t *testing.T) {
	w := Work{Closed: true, Files: []jjm.File{file("f", 101, lumis(1, 1, 1))}}
	for legacy, want := range map[bool]bool{false: false, true: true} {
		parts, _ := cut(t, EventAwareLumiBased, w, func(p *Params) { p.MaxEventsPerLumi, p.LegacyMaxEvents = 100, legacy })
		if failed := parts[0].Failure() != nil; failed != want {
			t.Errorf("legacy %v: failed %v", legacy, failed)
		}
	}
}

// owned lists, sorted, the units that parts own.
func owned(parts []jjm.Part) []string {
	var out []string
	for i := range parts {
		in := parts[i].Input
		for _, r := range in.Events {
			for n := r.First; n < r.First+r.Count; n++ {
				out = append(out, fmt.Sprintf("%s event %04d", in.Files[r.File], n))
			}
		}
		for _, r := range in.Lumis {
			for n := r.First; n <= r.Last; n++ {
				out = append(out, fmt.Sprintf("%s run %d lumi %04d", in.Files[r.File], r.Run, n))
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestLumiCorrection_EachSectionIsOwnedOnceWithAllItsFiles(t *testing.T) {
	s := mustGet(t, LumiBased)
	rapid.Check(t, func(t *rapid.T) {
		w := drawFileWork(t, &subject{})
		p, err := Defaults(LumiBased)
		if err != nil {
			t.Fatal(err)
		}
		p.LumiCorrection, p.LumisPerJob = true, rapid.Int64Range(1, 9).Draw(t, "lumis")
		// A limit on the number of parts does not interrupt a cut with LumiCorrection.
		parts, left, _, err := s.Cut(w, Limits{MaxParts: 1}, p, Carry{})
		if err != nil || left.More {
			t.Fatalf("more %v, error %v", left.More, err)
		}
		owner := map[[2]uint32]int{}
		for i := range parts {
			for _, r := range parts[i].Input.Lumis {
				for n := r.First; n <= r.Last; n++ {
					if _, twice := owner[[2]uint32{r.Run, n}]; twice {
						t.Fatalf("run %d section %d is owned twice", r.Run, n)
					}
					owner[[2]uint32{r.Run, n}] = i
				}
			}
		}
		for _, f := range w.Files {
			for _, r := range f.Lumis {
				for n := r.First; n <= r.Last; n++ {
					i, ok := owner[[2]uint32{r.Run, n}]
					if !ok || !slices.Contains(parts[i].Input.Files, f.LFN) {
						t.Fatalf("run %d section %d of %s is not read by its owner (%v)", r.Run, n, f.LFN, ok)
					}
				}
			}
		}
	})
}

func TestPlaces_APartThatNoClusterMayRunIsCreatefailed(t *testing.T) {
	w := Work{Closed: true, Files: []jjm.File{file("a", 1), file("b", 1)}, Sites: map[string][]string{"A": {"one", "two"}}}
	w.Files[1].Locations = []string{"B"}
	parts, _ := cut(t, FileBased, w, func(*Params) {})
	if parts[0].Failure() != nil || !slices.Equal(parts[0].Input.Place.Clusters, []string{"one", "two"}) {
		t.Errorf("part of a: %+v, %+v", parts[0].Failure(), parts[0].Input.Place)
	}
	if f := parts[1].Failure(); f == nil || f.Code != 71101 || !strings.Contains(f.Reason, "none that can read from B") {
		t.Errorf("part of b: %+v", f)
	}
	parts, _ = cut(t, FileBased, w, func(p *Params) { p.TrustSitelists, p.SiteWhitelist = true, []string{"three"} })
	if len(parts) != 1 || !slices.Equal(parts[0].Input.Place.Clusters, []string{"three"}) {
		t.Errorf("site lists trusted: %d parts, first at %+v", len(parts), parts[0].Input.Place)
	}
}

// A file without a location is processed at the clusters that can read every file.
func TestPlaces_OfAFileWithoutLocations(t *testing.T) {
	w := Work{Closed: true, Files: []jjm.File{{LFN: "a", Events: 1}},
		Sites: map[string][]string{"": {"all"}, "A": {"one"}}}
	parts, _ := cut(t, FileBased, w, func(*Params) {})
	if parts[0].Failure() != nil || !slices.Equal(parts[0].Input.Place.Clusters, []string{"all"}) {
		t.Errorf("%+v, %+v", parts[0].Failure(), parts[0].Input.Place)
	}
	w.Sites[""] = nil
	parts, _ = cut(t, FileBased, w, func(*Params) {})
	if f := parts[0].Failure(); f == nil || f.Code != 71101 {
		t.Errorf("%+v", f)
	}
}

// Splitters that do not group files by place set the clusters of a part to those that can read all its files.
func TestPlaces_OfSplittersThatMixPlaces(t *testing.T) {
	for _, name := range []string{GangaDatasetSplitter, SplitByFiles, LHCbDataSplitter, JEDI} {
		w := Work{Closed: true, Sites: map[string][]string{"A": {"one", "both"}, "B": {"two", "both"}, "C": {"three"}}}
		for i, at := range [][]string{{"A"}, {"B"}, {"A", "B"}, {"A"}, {"C"}, {"A"}} {
			w.Files = append(w.Files, jjm.File{LFN: fmt.Sprint("f", i), Events: 10, Size: 10, Locations: at})
		}
		set := func(p *Params) {
			p.FilesPerSubjob, p.FilesPerSplit, p.FileBunchSize = 2, 2, 2
			p.Task.Rule = "NF=2"
		}
		parts, _ := cut(t, name, w, set)
		var got []string
		for i := range parts {
			got = append(got, strings.Join(parts[i].Input.Place.Storages, "+")+" on "+
				strings.Join(parts[i].Input.Place.Clusters, "+"))
		}
		if diff := cmp.Diff([]string{"A+B on both", "A+B on both+one", "A+C on "}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if f := parts[2].Failure(); f == nil || f.Code != 71101 ||
			!strings.Contains(f.Reason, "none can read all of its files, which are at A, C") || parts[1].Failure() != nil {
			t.Errorf("%s: %+v", name, f)
		}
		w.Sites = nil
		if parts, _ := cut(t, name, w, set); parts[0].Input.Place != nil {
			t.Errorf("%s: not asked, and at %+v", name, parts[0].Input.Place)
		}
	}
}

func TestSiblings_FailedFilesAreCompletedAtTheEnd(t *testing.T) {
	w := Work{Files: []jjm.File{file("done", 1), file("pending", 1), file("failed", 1)},
		Siblings: []SiblingState{SiblingDone, SiblingPending, SiblingFailed}}
	one := func(p *Params) { p.FilesPerJob = 1 }
	parts, left := cut(t, SiblingProcessingBased, w, one)
	if reads(parts) != "done" || left.Waiting != 2 || left.Dropped != nil {
		t.Errorf("open: %q, left %+v", reads(parts), left)
	}
	w.Closed = true
	parts, left = cut(t, SiblingProcessingBased, w, one)
	if reads(parts) != "done" || left.Waiting != 1 || len(left.Dropped) != 1 || left.Dropped[0].File != 2 ||
		left.Dropped[0].Failed {
		t.Errorf("closed: %q, left %+v", reads(parts), left)
	}
}

func TestJEDI_SecondaryDatasetsSeedsAndSequenceContinue(t *testing.T) {
	w := Work{Closed: true, Files: []jjm.File{file("a", 1), file("b", 1)},
		Secondary: []Stream{{Dataset: jjm.Dataset{Name: "mb", Attributes: "ratio=2,repeat"},
			Files: []jjm.File{{LFN: "x"}, {LFN: "y"}, {LFN: "z"}}},
			{Dataset: jjm.Dataset{Name: jedi.Sequence}}}}
	p := params(t, JEDI, func(p *Params) { p.Task.Rule, p.RandomSeed, p.RandomSeedOffset = "NF=1", true, 100 })
	carry := Carry{Cursors: map[string]int64{"mb": 1}, Seeds: jedi.Numbers{Last: 3, Free: []int64{2}}}
	parts, left, next, err := mustGet(t, JEDI).Cut(w, Limits{MaxParts: 1}, p, carry)
	if err != nil || !left.More || carry.Cursors["mb"] != 1 {
		t.Fatalf("more %v, error %v, the caller's carry %+v", left.More, err, carry)
	}
	want := &jjm.PartMore{Secondary: []jjm.StreamFiles{{Dataset: "mb", Files: []string{"y", "z"}}}, Seed: 102, Sequence: 1}
	if diff := cmp.Diff(want, parts[0].Input.More); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	w.Files = w.Files[1:]
	parts, _, _, err = mustGet(t, JEDI).Cut(w, Limits{}, p, next)
	if err != nil {
		t.Fatal(err)
	}
	want = &jjm.PartMore{Secondary: []jjm.StreamFiles{{Dataset: "mb", Files: []string{"x", "y"}}}, Seed: 104, Sequence: 2}
	if diff := cmp.Diff(want, parts[0].Input.More); diff != "" {
		t.Errorf("second (-want +got):\n%s", diff)
	}
}

func TestResplit_TheNewPartsOwnWhatTheOldOneDid(t *testing.T) {
	files := map[string]*jjm.File{}
	w := Work{Closed: true}
	for i := range 6 {
		f := file(fmt.Sprint("f", i), int64(40+i), lumis(1, uint32(10*i+1), uint32(10*i+8)))
		w.Files = append(w.Files, f)
		files[f.LFN] = &f
	}
	find := func(lfn string) *jjm.File { return files[lfn] }
	for _, c := range []struct {
		first, second string
		coarse, fine  func(*Params)
	}{
		{EventBased, EventBased, func(p *Params) { p.EventsPerJob = 25 }, func(p *Params) { p.EventsPerJob = 7 }},
		{LHCbDataSplitter, LHCbDataSplitter, func(p *Params) { p.FileBunchSize, p.EventBunchSize = 3, 70 },
			func(p *Params) { p.FileBunchSize, p.EventBunchSize = 3, 9 }},
		{LumiBased, LumiBased, func(p *Params) { p.LumisPerJob = 20 }, func(p *Params) { p.LumisPerJob = 3 }},
	} {
		parts, _, carry, err := mustGet(t, c.first).Cut(w, Limits{}, params(t, c.first, c.coarse), Carry{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range parts {
			fine, next, err := Resplit(c.second, &parts[i], find, params(t, c.second, c.fine), carry)
			if err != nil {
				t.Fatalf("%s: part %d: %v", c.first, i, err)
			}
			if diff := cmp.Diff(owned(parts[i:i+1]), owned(fine)); diff != "" {
				t.Fatalf("%s: part %d (-old +new):\n%s", c.first, i, diff)
			}
			if len(fine) < 2 || fine[0].Serial != carry.Serial+1 || fine[0].First != carry.Next ||
				next.Serial != carry.Serial+int64(len(fine)) {
				t.Errorf("%s: part %d: %d new parts from serial %d and unit %d, carry was %+v, is %+v", c.first, i, len(fine),
					fine[0].Serial, fine[0].First, carry, next)
			}
			carry = next
		}
	}
}

func TestResplit_RefusesCoarserUnits(t *testing.T) {
	parts, _ := cut(t, EventBased, Work{Closed: true, Files: []jjm.File{file("f", 10)}}, func(*Params) {})
	known := func(string) *jjm.File { return &jjm.File{LFN: "f", Events: 10} }
	none := func(string) *jjm.File { return nil }
	for want, c := range map[string]struct {
		name string
		file func(string) *jjm.File
	}{
		"cannot cut it into files":           {FileBased, known},
		`reads file "f", which is no longer`: {EventBased, none},
		`unknown splitter "x"`:               {"x", known},
	} {
		if _, _, err := Resplit(c.name, &parts[0], c.file, params(t, EventBased, func(*Params) {}), Carry{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
	event := jjm.Part{Unit: jjm.UnitEvent, First: 101, Count: 100, Serial: 2}
	fine, _, err := Resplit(ByEvents, &event, none, Params{EventsPerJob: 40}, Carry{Next: 500, Serial: 5})
	if err != nil || len(fine) != 3 || fine[0].First != 101 || fine[2].Last() != 200 || fine[2].Serial != 8 {
		t.Errorf("events: %+v, %v", fine, err)
	}
}

func FuzzLumiMask(f *testing.F) {
	for _, seed := range []string{"1,2", "5,1,7,9", "1,4294967295,2,3", " 1 , 2", ",", "1,2,x"} {
		f.Add("1", seed)
	}
	f.Fuzz(func(t *testing.T, run, text string) {
		m, err := maskOf(&Params{Runs: []string{run}, Lumis: []string{text}})
		if err != nil {
			if jjm.KindOf(err) != jjm.Invalid {
				t.Fatalf("error %v is of kind %v", err, jjm.KindOf(err))
			}
			return
		}
		for run, list := range m {
			for i, r := range list {
				if r.First > r.Last || i > 0 && list[i-1].Last >= r.First {
					t.Fatalf("ranges %v", list)
				}
				if until, ok := m.good(run, r.First, r.Last); !ok || until != r.Last {
					t.Fatalf("%v is not good in %v", r, list)
				}
			}
		}
	})
}
