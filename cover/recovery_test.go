package cover_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm"
	"jjm/cover"
)

// file gives what is known of a file of these tests.
func file(lfn string) (jjm.File, error) {
	return jjm.File{LFN: lfn, Size: 1000, Added: 17, Locations: []string{"here"}, Lumis: []jjm.LumiRange{{Run: 1, First: 1, Last: 9}}}, nil
}

func recovered(t *testing.T, text []byte) (spec jjm.Spec) {
	t.Helper()
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return spec
}

// TestRecovery_ChoosesExactlyWhatIsMissing, whatever the ledger is like.
func TestRecovery_ChoosesExactlyWhatIsMissing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt)
		if w.facts.Unit != jjm.UnitEvent && w.facts.Unit != jjm.UnitRow {
			return
		}
		r := cover.NewRecovery(jjm.Spec{Type: "x"}, w.facts.Unit, 17, w.facts.Made, "/home/a")
		report, err := w.verify(r.Add)
		if err != nil || r.Empty() != (report.Missing == 0) {
			rt.Fatal(err, r.Empty(), report.Missing)
		}
		text, _, err := r.JobFile("l", file)
		if err != nil {
			rt.Fatal(err)
		}
		var n int64
		next := int64(0)
		for _, s := range recovered(t, text).Only {
			if s.First < next || s.Count < 1 {
				rt.Fatalf("%s", text)
			}
			n, next = n+s.Count, s.Last()+2 // what follows on is one range
		}
		if n != report.Missing {
			rt.Fatalf("%d chosen, %d missing", n, report.Missing)
		}
	})
}

func TestRecovery_IsIndependentOfItsFolderAndNeverTheSameSeed(t *testing.T) {
	spec := jjm.Spec{Type: "script", Key: "k", KeyReuse: true, FirstSerial: 11,
		Inputs: []jjm.Input{{Path: "a/b"}, {Path: "/abs"}}, Params: map[string]any{"args_file": "../rows", "command": []any{"x"}}}
	r := cover.NewRecovery(spec, jjm.UnitRow, 17, 40, "/home/a")
	for _, n := range []int64{3, 4, 9} {
		if err := r.Add(cover.Finding{Kind: cover.Missing, First: n, Last: n}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Add(cover.Finding{Kind: cover.Doubled, First: 20, Last: 20}); err != nil {
		t.Fatal(err)
	}
	text, list, err := r.JobFile("l", file)
	if err != nil || list != nil {
		t.Fatal(err, list)
	}
	want := jjm.Spec{Type: "script", Key: "recovery-of-17", FirstSerial: 51, Only: []jjm.Span{{First: 3, Count: 2}, {First: 9, Count: 1}},
		Inputs: []jjm.Input{{Path: "/home/a/a/b"}, {Path: "/abs"}}, Params: map[string]any{"args_file": "/home/a/../rows", "command": []any{"x"}}}
	if diff := cmp.Diff(want, recovered(t, text)); diff != "" {
		t.Error(diff)
	}
	if spec.Inputs[0].Path != "a/b" || spec.Params["args_file"] != "../rows" {
		t.Error("the specification of the grid job was changed")
	}
}

func TestRecovery_OfADataset(t *testing.T) {
	spec := jjm.Spec{Type: "reprocess", Datasets: []jjm.DatasetInput{{Name: "pileup", Secondary: true, Attributes: "repeat", From: "x"}, {Name: "raw", Watch: "/data", Open: true}}}
	r := cover.NewRecovery(spec, jjm.UnitLumi, 17, 4, "")
	for _, f := range []cover.Finding{{LFN: "a", Run: 1, First: 2, Last: 3}, {LFN: "a", Run: 1, First: 7, Last: 7}, {LFN: "b", Run: 1, First: 1, Last: 9}} {
		f.Kind = cover.Missing
		if err := r.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	text, list, err := r.JobFile("l", file)
	if err != nil || list != nil {
		t.Fatal(err)
	}
	a, _ := file("a")
	b, _ := file("b")
	a.Added, b.Added = 0, 0
	a.Lumis = []jjm.LumiRange{{Run: 1, First: 2, Last: 3}, {Run: 1, First: 7, Last: 7}}
	want := []jjm.DatasetInput{{Name: "pileup", Secondary: true, Attributes: "repeat"}, {Name: "raw#recovery-of-17", Files: []jjm.File{a, b}}}
	if diff := cmp.Diff(want, recovered(t, text).Datasets); diff != "" {
		t.Error(diff)
	}
}

func TestRecovery_RangesOfEventsArePieces(t *testing.T) {
	spec := jjm.Spec{Type: "reprocess", Split: &jjm.Splitting{By: "EventBased"}, Datasets: []jjm.DatasetInput{{Name: "raw"}}}
	r := cover.NewRecovery(spec, jjm.UnitRange, 17, 4, "")
	for _, f := range []cover.Finding{{LFN: "a", First: 50, Last: 59}, {LFN: "a", First: 80, Last: 99}, {LFN: "b", Last: cover.Unbounded}} {
		f.Kind = cover.Missing
		if err := r.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	text, _, err := r.JobFile("l", file)
	if err != nil {
		t.Fatal(err)
	}
	got := recovered(t, text)
	want := &jjm.Splitting{By: "Pieces", Params: map[string]any{"pieces": []any{
		map[string]any{"lfn": "a", "first": 50.0, "count": 10.0}, map[string]any{"lfn": "a", "first": 80.0, "count": 20.0},
		map[string]any{"lfn": "b", "first": 0.0, "count": -1.0}}}}
	if diff := cmp.Diff(want, got.Split); diff != "" || len(got.Datasets[0].Files) != 2 {
		t.Error(diff, got.Datasets)
	}
}

func TestRecovery_ManyFilesStandInAListBeside(t *testing.T) {
	r := cover.NewRecovery(jjm.Spec{Type: "reprocess", Datasets: []jjm.DatasetInput{{Name: "raw"}}}, jjm.UnitFile, 17, 4, "")
	for i := range 3000 {
		if err := r.Add(cover.Finding{Kind: cover.Missing, LFN: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	text, list, err := r.JobFile("r.json.files.jsonl", file)
	if err != nil || strings.Count(string(list), "\n") != 3000 || strings.Contains(string(list), "added") {
		t.Fatal(err, len(list))
	}
	if d := recovered(t, text).Datasets[0]; d.From != "r.json.files.jsonl" || d.Files != nil {
		t.Errorf("%+v", d)
	}
}

func TestRecovery_RefusesWhatAJobFileCannotSay(t *testing.T) {
	r := cover.NewRecovery(jjm.Spec{}, jjm.UnitEvent, 17, 4, "")
	for i := range int64(10_001) {
		if err := r.Add(cover.Finding{Kind: cover.Missing, First: 2 * i, Last: 2 * i}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := r.JobFile("l", file); jjm.KindOf(err) != jjm.Conflict {
		t.Error(err)
	}
}
