package all_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/handlers"
	"jjm/handlers/all"
	"jjm/internal/jjm"
	"jjm/internal/work/cover"
	"jjm/internal/work/split"
)

// The test makes a recovery of a job file for each unit of work: files, events and sections. It compares what the job
// file of the recovery owns with what was missing.
func TestRecovery_IsAJobFileThatOwnsExactlyWhatWasMissing(t *testing.T) {
	for _, c := range []struct {
		by, unit string
		missing  []cover.Finding
		want     []string
	}{
		{"FileBased", jjm.UnitFile, []cover.Finding{{LFN: "b"}}, []string{"b"}},
		{"EventBased", jjm.UnitRange, []cover.Finding{{LFN: "a", First: 5, Last: 6}, {LFN: "a", First: 9, Last: 9},
			{LFN: "b", First: 0, Last: 9}},
			[]string{"a 5+2", "a 9+1", "b 0+10"}},
		{"LumiBased", jjm.UnitLumi, []cover.Finding{{LFN: "a", Run: 1, First: 2, Last: 2},
			{LFN: "b", Run: 1, First: 3, Last: 4}}, []string{"a 1:2-2", "b 1:3-3", "b 1:4-4"}},
	} {
		doc, _, problems := check("job.toml", job(fmt.Sprintf("[split]\nby = %q", c.by)), handlers.Site{})
		if problems != nil {
			t.Fatal(problems)
		}
		r := cover.NewRecovery(doc.Spec, c.unit, 17, 40, 0, "/home/a")
		for _, f := range c.missing {
			f.Kind = cover.Missing
			if err := r.Add(f); err != nil {
				t.Fatal(err)
			}
		}
		known := map[string]jjm.File{}
		for _, f := range doc.Spec.Datasets[0].Files {
			known[f.LFN] = f.File
		}
		written, err := r.JobFile("list", "ranges", func(lfn string) (jjm.File, error) { return known[lfn], nil })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, owns(t, string(written.Job))); diff != "" {
			t.Errorf("%s (-missing +recovered):\n%s\n%s", c.by, diff, written.Job)
		}
	}
}

// A recovery cuts the remaining sections of a file as before: it expects for them only their share of the file's
// events, so no file counts as too long for a job.
func TestRecovery_OfSectionsExpectsTheirEvents(t *testing.T) {
	doc, _, problems := check("job.toml", job("[split]\nby = \"EventAwareLumiBased\"\n"+
		"params = { events_per_job = 500, job_time_limit = 5000, performance = { timePerEvent = 10 } }"), handlers.Site{})
	if problems != nil {
		t.Fatal(problems)
	}
	whole := jjm.File{Events: 1005, Lumis: []jjm.LumiRange{{Run: 1, First: 1, Last: 10}}}
	r := cover.NewRecovery(doc.Spec, jjm.UnitLumi, 17, 40, 0, "/home/a")
	for _, f := range []cover.Finding{{LFN: "a", Run: 1, First: 1, Last: 4}, {LFN: "a", Run: 1, First: 7, Last: 7},
		{LFN: "b", Run: 1, First: 9, Last: 9}} {
		f.Kind = cover.Missing
		if err := r.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	written, err := r.JobFile("list", "ranges", func(string) (jjm.File, error) { return whole, nil })
	if err != nil {
		t.Fatal(err)
	}
	var seconds []float64
	for _, p := range partsOf(t, string(written.Job)) {
		if p.Failure() != nil {
			t.Errorf("%v fails before it is made: %+v", p.Input.Lumis, p.Failure())
		}
		seconds = append(seconds, p.Input.Estimate.Seconds)
	}
	if diff := cmp.Diff([]float64{5000, 1000}, seconds); diff != "" { // 100 events for each section
		t.Errorf("(-want +got):\n%s\n%s", diff, written.Job)
	}
}

// owns returns the files, events and sections that the parts of a job file own.
func owns(t *testing.T, text string) (all []string) {
	t.Helper()
	parts := partsOf(t, text)
	for i := range parts {
		in := parts[i].Input
		if parts[i].Unit == jjm.UnitFile {
			all = append(all, in.Files...)
		}
		for _, r := range in.Events {
			all = append(all, fmt.Sprintf("%s %d+%d", in.Files[r.File], r.First, r.Count))
		}
		for _, r := range in.Lumis {
			all = append(all, fmt.Sprintf("%s %d:%d-%d", in.Files[r.File], r.Run, r.First, r.Last))
		}
	}
	return all
}

// partsOf cuts the work of a recovery's job file.
func partsOf(t *testing.T, text string) []jjm.Part {
	t.Helper()
	doc, h, problems := check("recovery.json", text, handlers.Site{})
	if problems = append(problems, handlers.Fits(doc.Spec.Type, h.Describe(), &doc.Spec)...); problems != nil {
		t.Fatalf("%v in\n%s", problems, text)
	}
	cut, err := h.Split(&doc.Spec, handlers.Site{})
	if err != nil {
		t.Fatal(err)
	}
	work, _ := handlers.Inline(&doc.Spec)
	s, err := split.Get(cut.Splitter)
	if err != nil {
		t.Fatal(err)
	}
	parts, _, _, err := s.Cut(work, split.Limits{}, cut.Params, split.From(doc.Spec.FirstSerial))
	if err != nil || len(parts) == 0 || parts[0].Serial != 41 {
		t.Fatal(parts, err)
	}
	return parts
}

// A recovery generates lost events again with the same event numbers, in the same run and in the same sections as
// before.
func TestRecovery_OfMadeUpEventsMakesThemInTheSameSections(t *testing.T) {
	for _, params := range []string{"events_per_job = 100, events_per_lumi = 40, production = true", "production = true",
		"events_per_job = 30, production = true"} {
		text := "type = \"reprocess\"\n[[datasets]]\nname = \"mc\"\nfiles = [{ lfn = \"MCFakeFile-1\", events = 250, " +
			"first_event = 11, lumis = [{ run = 1, first = 5, last = 5 }] }]\n[params]\ncommand = [\"make\"]\n" +
			"[split]\nby = \"EventBased\"\nparams = { " + params + " }\n"
		doc, _, problems := check("job.toml", text, handlers.Site{})
		if problems != nil {
			t.Fatal(problems)
		}
		cut, err := handlers.SplitBy(mustType(t, doc.Spec.Type), &doc.Spec, handlers.Site{})
		if err != nil {
			t.Fatal(err)
		}
		cut.Work, _ = handlers.Inline(&doc.Spec)
		sp, err := split.Get(cut.Splitter)
		if err != nil {
			t.Fatal(err)
		}
		whole, _, _, err := sp.Cut(cut.Work, split.Limits{}, cut.Params, split.Carry{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			in := whole[i].Input
			r := cover.NewRecovery(doc.Spec, jjm.UnitRange, 17, 40, 0, "/home/a")
			if err := r.Add(cover.Finding{Kind: cover.Missing, LFN: "MCFakeFile-1", First: in.Events[0].First,
				Last: in.Events[0].First + in.Events[0].Count - 1}); err != nil {
				t.Fatal(err)
			}
			written, err := r.JobFile("list", "ranges", func(string) (jjm.File, error) {
				return doc.Spec.Datasets[0].Files[0].File, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			again := partsOf(t, string(written.Job))
			if len(again) != 1 || again[0].Input.Mask != in.Mask {
				t.Errorf("%s: part %d is made with %+v, was %+v", params, i, again[0].Input.Mask, in.Mask)
			}
		}
	}
}

func mustType(t *testing.T, name string) handlers.Handler {
	t.Helper()
	h, err := all.Registry().Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The test lets random parts of random files fail. A recovery must own exactly the work of these parts.
func TestProperty_ARecoveryOwnsExactlyWhatItsGridJobLost(t *testing.T) {
	for by, unit := range map[string]string{"EventBased": jjm.UnitRange, "LumiBased": jjm.UnitLumi} {
		rapid.Check(t, func(rt *rapid.T) {
			g := goldenJob{by: by, params: map[string]json.RawMessage{}}
			size := map[string]string{"EventBased": "events_per_job", "LumiBased": "lumis_per_job"}[by]
			g.params[size] = json.RawMessage(strconv.Itoa(rapid.IntRange(1, 30).Draw(rt, "size")))
			for i := range rapid.IntRange(1, 6).Draw(rt, "files") {
				first := uint32(100*i + 1)
				g.files = append(g.files, jjm.File{LFN: fmt.Sprint("/f", i), Events: rapid.Int64Range(1, 60).Draw(rt, "events"),
					Lumis: []jjm.LumiRange{{Run: 1, First: first, Last: first + rapid.Uint32Range(0, 20).Draw(rt, "lumis")}}})
			}
			text, err := g.text()
			if err != nil {
				rt.Fatal(err)
			}
			whole, err := cutText(text, nil)
			if err != nil {
				rt.Fatal(err)
			}
			rec, lost := cover.NewRecovery(*whole.spec, unit, 17, len(whole.parts), 0, "/home/a"), []string{}
			for i := range whole.parts {
				if !rapid.Bool().Draw(rt, "fails") {
					continue
				}
				lost = append(lost, piecesOf(&whole.parts[i])...)
				for _, f := range findings(&whole.parts[i]) {
					if err := rec.Add(f); err != nil {
						rt.Fatal(err)
					}
				}
			}
			if rec.Empty() {
				return
			}
			files := map[string]jjm.File{}
			for _, f := range g.files {
				files[f.LFN] = f
			}
			written, err := rec.JobFile("list", "ranges", func(lfn string) (jjm.File, error) { return files[lfn], nil })
			if err != nil {
				rt.Fatal(err)
			}
			again, err := cutText(string(written.Job), nil)
			if err != nil {
				rt.Fatalf("%v\n%s", err, written.Job)
			}
			made := []string{}
			for i := range again.parts {
				made = append(made, piecesOf(&again.parts[i])...)
			}
			slices.Sort(lost)
			slices.Sort(made)
			if diff := cmp.Diff(lost, made); diff != "" {
				rt.Fatalf("%s (-lost +recovered):\n%s\n%s", by, diff, written.Job)
			}
		})
	}
}

// findings returns the ledger's findings about the missing work of a failed part.
func findings(p *jjm.Part) (all []cover.Finding) {
	in := p.Input
	for _, r := range in.Events {
		all = append(all, cover.Finding{Kind: cover.Missing, LFN: in.Files[r.File], First: r.First,
			Last: r.First + r.Count - 1})
	}
	for _, r := range in.Lumis {
		all = append(all, cover.Finding{Kind: cover.Missing, LFN: in.Files[r.File], Run: r.Run, First: int64(r.First),
			Last: int64(r.Last)})
	}
	return all
}

// piecesOf returns each single event and section that a part owns.
func piecesOf(p *jjm.Part) (all []string) {
	for _, f := range findings(p) {
		for n := f.First; n <= f.Last; n++ {
			all = append(all, fmt.Sprint(f.LFN, " ", f.Run, " ", n))
		}
	}
	return all
}
