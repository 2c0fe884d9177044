package cover_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/work/cover"
)

// file returns the description of a file: every file of these tests has sections 1 to 9 of run 1.
func file(lfn string) (jjm.File, error) {
	return jjm.File{LFN: lfn, Size: 1000, Added: 17, Locations: []string{"here"},
		Lumis: []jjm.LumiRange{{Run: 1, First: 1, Last: 9}}}, nil
}

func recovered(t *testing.T, text []byte) (spec jjm.Spec) {
	t.Helper()
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return spec
}

// For any ledger, the spec of a recovery requests exactly the missing units.
func TestRecovery_DoesExactlyTheMissingUnits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt)
		if w.facts.Unit != jjm.UnitEvent && w.facts.Unit != jjm.UnitRow {
			return
		}
		r := cover.NewRecovery(jjm.Spec{Type: "x"}, w.facts.Unit, 17, w.facts.Made, 0, "/home/a")
		report, err := w.verify(r.Add)
		if err != nil || r.Empty() != (report.Missing == 0) {
			rt.Fatal(err, r.Empty(), report.Missing)
		}
		written, err := r.JobFile("l", "r", file)
		if err != nil {
			rt.Fatal(err)
		}
		text := written.Job
		var n int64
		next := int64(0)
		for _, s := range recovered(t, text).Only {
			if s.First < next || s.Count < 1 {
				rt.Fatalf("%s", text)
			}
			n, next = n+s.Count, s.Last()+2 // consecutive units form one range
		}
		if n != report.Missing {
			rt.Fatalf("%d chosen, %d missing", n, report.Missing)
		}
	})
}

func TestRecovery_HasAbsolutePathsAndNewSeeds(t *testing.T) {
	spec := jjm.Spec{Type: "script", Key: "k", KeyReuse: true, FirstSerial: 11,
		Inputs:   []jjm.Input{{Path: "a/b"}, {Path: "/abs"}, {Path: "https://h/a", CredentialFile: "token"}},
		Callback: &jjm.Callback{SecretFile: "hook"},
		Params:   map[string]any{"args_file": "../rows", "command": []any{"x"}}}
	r := cover.NewRecovery(spec, jjm.UnitRow, 17, 40, 0, "/home/a")
	for _, n := range []int64{3, 4, 9} {
		if err := r.Add(cover.Finding{Kind: cover.Missing, First: n, Last: n}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Add(cover.Finding{Kind: cover.Doubled, First: 20, Last: 20}); err != nil {
		t.Fatal(err)
	}
	got, err := r.JobFile("l", "r", file)
	if err != nil || got.Files != nil || got.Ranges != nil || got.Redone != nil {
		t.Fatalf("%v %+v", err, got)
	}
	text := got.Job
	want := jjm.Spec{Type: "script", Key: "recovery-of-17", Recovers: 17, RecoversNumber: 1, FirstSerial: 51,
		Only:     []jjm.Span{{First: 3, Count: 2}, {First: 9, Count: 1}},
		Inputs:   []jjm.Input{{Path: "/home/a/a/b"}, {Path: "/abs"}, {Path: "https://h/a", CredentialFile: "/home/a/token"}},
		Callback: &jjm.Callback{SecretFile: "/home/a/hook"},
		Params:   map[string]any{"args_file": "/home/a/../rows", "command": []any{"x"}}}
	if diff := cmp.Diff(want, recovered(t, text)); diff != "" {
		t.Error(diff)
	}
	if spec.Callback.SecretFile != "hook" || spec.Inputs[0].Path != "a/b" || spec.Params["args_file"] != "../rows" {
		t.Error("the specification of the grid job was changed")
	}
}

func TestRecovery_OfADataset(t *testing.T) {
	spec := jjm.Spec{Type: "reprocess", OutputDataset: "reco",
		Datasets: []jjm.DatasetInput{{Name: "pileup", Secondary: true, Attributes: "repeat", From: "x"},
			{Name: "raw", Watch: "/data", Open: true}}}
	r := cover.NewRecovery(spec, jjm.UnitLumi, 17, 4, 2, "")
	for _, f := range []cover.Finding{{LFN: "a", Run: 1, First: 2, Last: 3}, {LFN: "a", Run: 1, First: 7, Last: 7},
		{LFN: "b", Run: 1, First: 1, Last: 9}} {
		f.Kind = cover.Missing
		if err := r.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	got, err := r.JobFile("l", "r", file)
	if err != nil || got.Files != nil {
		t.Fatal(err)
	}
	a, _ := file("a")
	b, _ := file("b")
	a.Added, b.Added = 0, 0
	a.Lumis = []jjm.LumiRange{{Run: 1, First: 2, Last: 3}, {Run: 1, First: 7, Last: 7}}
	want := []jjm.DatasetInput{{Name: "pileup", Secondary: true, Attributes: "repeat"},
		{Name: "raw#recovery-of-17-3", Files: []jjm.Listed{{File: a}, {File: b}}}}
	spec = recovered(t, got.Job)
	if diff := cmp.Diff(want, spec.Datasets); diff != "" {
		t.Error(diff)
	}
	if spec.Key != "recovery-of-17-3" || spec.OutputDataset != "reco#recovery-of-17-3" {
		t.Errorf("the third recovery is not another one than the first: %+v", spec)
	}
}

// If files share sections, a recovery lists the missing sections for each file. If a section is in two files and
// missing in one of them, a common list for both files would repeat work.
func TestRecovery_CutsByFileWhereSectionsAreShared(t *testing.T) {
	held := map[string][]jjm.LumiRange{"a": {{Run: 1, First: 1, Last: 6}}, "b": {{Run: 1, First: 1, Last: 3}},
		"c": {{Run: 2, First: 1, Last: 6}}}
	for _, c := range []struct {
		second  string
		params  map[string]any
		section uint32
		halts   any
	}{
		{"b", nil, 2, true},
		{"b", map[string]any{"lumis_per_job": 5.0}, 3, true},
		{"b", map[string]any{"applyLumiCorrection": true}, 2, nil},
		{"c", nil, 2, nil},
	} {
		r := cover.NewRecovery(jjm.Spec{Type: "reprocess", Split: &jjm.Splitting{By: "LumiBased", Params: c.params},
			Datasets: []jjm.DatasetInput{{Name: "raw"}}}, jjm.UnitLumi, 17, 4, 0, "")
		for _, f := range []cover.Finding{{LFN: "a", Run: 1, First: 6, Last: 6},
			{LFN: c.second, Run: held[c.second][0].Run, First: int64(c.section), Last: int64(c.section)}} {
			f.Kind = cover.Missing
			if err := r.Add(f); err != nil {
				t.Fatal(err)
			}
		}
		got, err := r.JobFile("l", "r", func(lfn string) (jjm.File, error) {
			return jjm.File{LFN: lfn, Events: 60, Lumis: held[lfn]}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if halts := recovered(t, got.Job).Split.Params["halt_job_on_file_boundaries"]; halts != c.halts {
			t.Errorf("%s %v: halts at files: %v, want %v", c.second, c.params, halts, c.halts)
		}
	}
}

func TestRecovery_RangesOfEventsArePieces(t *testing.T) {
	spec := jjm.Spec{Type: "reprocess",
		Split: &jjm.Splitting{By: "EventBased",
			Params: map[string]any{"events_per_job": 10.0, "include_parents": true, "siteBlacklist": []any{"x"}}},
		Datasets: []jjm.DatasetInput{{Name: "raw"}}}
	r := cover.NewRecovery(spec, jjm.UnitRange, 17, 4, 0, "")
	for _, f := range []cover.Finding{{LFN: "a", First: 50, Last: 59}, {LFN: "a", First: 80, Last: 99},
		{LFN: "b", Last: cover.Unbounded}} {
		f.Kind = cover.Missing
		if err := r.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	written, err := r.JobFile("l", "r", file)
	if err != nil {
		t.Fatal(err)
	}
	got := recovered(t, written.Job)
	want := &jjm.Splitting{By: "Pieces",
		Params: map[string]any{"events_per_job": 10.0, "include_parents": true, "siteBlacklist": []any{"x"}, "pieces": []any{
			map[string]any{"lfn": "a", "first": 50.0, "count": 10.0}, map[string]any{"lfn": "a", "first": 80.0, "count": 20.0},
			map[string]any{"lfn": "b", "first": 0.0, "count": -1.0}}}}
	if diff := cmp.Diff(want, got.Split); diff != "" || len(got.Datasets[0].Files) != 2 {
		t.Error(diff, got.Datasets)
	}
}

func TestRecovery_ManyFilesAreAList(t *testing.T) {
	r := cover.NewRecovery(jjm.Spec{Type: "reprocess", Datasets: []jjm.DatasetInput{{Name: "raw"}}}, jjm.UnitFile, 17, 4,
		0, "")
	for i := range 3000 {
		if err := r.Add(cover.Finding{Kind: cover.Missing, LFN: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := r.JobFile("r.json.files.jsonl", "r", file)
	if err != nil || strings.Count(string(got.Files), "\n") != 3000 || strings.Contains(string(got.Files), "added") {
		t.Fatal(err, len(got.Files))
	}
	if d := recovered(t, got.Job).Datasets[0]; d.From != "r.json.files.jsonl" || d.Files != nil {
		t.Errorf("%+v", d)
	}
}

// If there are too many ranges for the job file, all of them are written to a separate list.
func TestRecovery_ManyRangesAreAList(t *testing.T) {
	for _, unit := range []string{jjm.UnitEvent, jjm.UnitRange} {
		r := cover.NewRecovery(jjm.Spec{Datasets: []jjm.DatasetInput{{Name: "raw"}}}, unit, 17, 4, 0, "")
		var want strings.Builder
		for i := range int64(12_000) {
			f := cover.Finding{Kind: cover.Missing, First: 2 * i, Last: 2 * i}
			fmt.Fprintf(&want, "%d 1", 2*i)
			if unit == jjm.UnitRange {
				f.LFN = "a b"
				want.WriteString(" a b")
			}
			want.WriteString("\n")
			if err := r.Add(f); err != nil {
				t.Fatal(err)
			}
		}
		got, err := r.JobFile("f", "./r.json.ranges", file)
		if err != nil || string(got.Ranges) != want.String() {
			t.Fatal(err, len(got.Ranges), want.Len())
		}
		if spec := recovered(t, got.Job); spec.OnlyFrom != "r.json.ranges" || spec.Only != nil || unit == jjm.UnitRange &&
			len(spec.Split.Params) > 0 {
			t.Errorf("%s: %+v", unit, spec)
		}
	}
}

// If a local job processed too few units, a recovery repeats all its units. Units that a local job processed beyond its
// part are not repeated.
func TestRecovery_DoesShortLocalJobsAgain(t *testing.T) {
	w := &world{facts: cover.Facts{Unit: jjm.UnitEvent, Spans: []jjm.Span{{Count: 40}}, Made: 4, Closed: true, Over: true}}
	for n, processed := range []int64{10, 7, 12, 9} {
		w.jobs = append(w.jobs, cover.Job{N: int32(n), State: jjm.Completed, Count: 10, Events: 10,
			Processed: &jjm.Processed{Count: processed}, Merged: n == 3})
		w.rows = append(w.rows, cover.Row{First: int64(n) * 10, Last: int64(n)*10 + 9, Local: int32(n)})
	}
	r := cover.NewRecovery(jjm.Spec{}, jjm.UnitEvent, 17, 4, 0, "")
	report, err := w.verify(r.Add)
	if err != nil || report.Short != 4 || report.Over != 2 || report.Verdict != cover.Overlapping || r.Empty() {
		t.Fatalf("%v %+v", err, report)
	}
	got, err := r.JobFile("f", "r", file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]jjm.Span{{First: 10, Count: 10}}, recovered(t, got.Job).Only); diff != "" ||
		!slices.Equal(got.Redone, []int32{1}) {
		t.Error(diff, got.Redone)
	}
	if merged := report.Findings[2]; !slices.Equal(merged.Locals, []int32{3}) ||
		!strings.Contains(merged.Why, "in a merged file") {
		t.Errorf("%+v", report.Findings)
	}
}
