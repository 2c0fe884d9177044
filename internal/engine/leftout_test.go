package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/work/cover"
	"jjm/internal/work/split"
)

// readers returns the splitters that read listed files, each with settings that make small parts. WMBSMergeBySize is
// missing because it only reads files that other grid jobs made: see TestFamily_ADuplicateIsFailedAtTheEnd and the
// property test of package split.
func readers() map[string]map[string]any {
	return map[string]map[string]any{
		split.EventBased: {"events_per_job": 40}, split.LumiBased: {"lumis_per_job": 3},
		split.EventAwareLumiBased: {"events_per_job": 60}, split.FileBased: {"files_per_job": 2},
		split.MinFileBased: {"files_per_job": 2}, split.SiblingProcessingBased: {"files_per_job": 2},
		split.ParentlessMergeBySize: {"min_merge_size": 1500, "max_merge_size": 2500},
		split.GangaDatasetSplitter:  {"files_per_subjob": 2}, split.SplitByFiles: {"filesPerJob": 2},
		split.LHCbDataSplitter: {"file_bunch_size": 2, "event_bunch_size": 70},
		split.JEDIMerge:        {"max_merge_files": 2},
		split.JEDI:             {"records": map[string]any{"real_events": true, "events_per_job": 70}}, split.Pieces: {},
	}
}

// drawDataset draws files and the settings of a splitter. The settings leave out some of the files or events.
func drawDataset(t *rapid.T, by string) (files []jjm.File, params map[string]any) {
	params = readers()[by]
	read, err := split.Settings(by)
	if err != nil {
		t.Fatal(err)
	}
	set := func(key string, values ...any) {
		if v := rapid.SampledFrom(append(values, nil, nil)).Draw(t, key); v != nil && slices.Contains(read, key) {
			params[key] = v
		}
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "files") {
		f := jjm.File{LFN: lfn(i), Size: 1000, Events: rapid.SampledFrom([]int64{0, 50, 100}).Draw(t, "events"),
			Locations: []string{"here"}}
		if rapid.IntRange(0, 4).Draw(t, "nowhere") == 0 {
			f.Locations = nil
		}
		for run := range rapid.IntRange(0, 2).Draw(t, "runs") {
			first := uint32(rapid.IntRange(1, 6).Draw(t, "section"))
			f.Lumis = append(f.Lumis, jjm.LumiRange{Run: uint32(run + 1), First: first, Last: first + 3})
		}
		files = append(files, f)
	}
	if by == split.Pieces {
		params["pieces"] = []any{map[string]any{"lfn": lfn(0), "first": 0, "count": max(files[0].Events/2, -1)}}
		if files[0].Events == 0 {
			params["pieces"] = []any{map[string]any{"lfn": lfn(0), "first": 0, "count": -1}}
		}
	}
	if by == split.JEDI {
		params["records"].(map[string]any)["max_files"] = rapid.IntRange(0, 3).Draw(t, "records")
	}
	set("total_files", 2)
	set("total_lumis", 4)
	set("total_events", 60)
	set("maxFiles", 2)
	set("runWhitelist", []uint32{2})
	set("without_lumis", "skip", "whole")
	set("applyLumiCorrection", true)
	if slices.Contains(read, "runs") && rapid.Bool().Draw(t, "mask") {
		params["runs"], params["lumis"] = []string{"1", "2"}, []string{"2,5", "1,40"}
	}
	return files, params
}

// jobOf returns a job file, in JSON, in which a splitter splits the files.
func jobOf(t *rapid.T, by string, files []jjm.File, params map[string]any) string {
	listed := []jjm.Listed{}
	for _, f := range files {
		listed = append(listed, jjm.Listed{File: f})
	}
	text, err := json.Marshal(jjm.Spec{Type: "filetest", Datasets: []jjm.DatasetInput{{Name: "raw", Files: listed}},
		Split: &jjm.Splitting{By: by, Params: params}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// previewed splits files without a daemon, as a dry run does. It returns the units that are left out with the reasons,
// the number of files that wait for more files, and an error if the settings are refused.
func previewed(by string, files []jjm.File, params map[string]any) (jjm.LeftList, int, error) {
	p, err := split.Defaults(by)
	if err != nil {
		return nil, 0, err
	}
	text, err := json.Marshal(params)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return nil, 0, err
	}
	s, err := split.Get(by)
	if err != nil {
		return nil, 0, err
	}
	w := split.Work{Files: files, Closed: true, Now: 1}
	parts, left, _, err := s.Cut(w, split.Limits{}, p, split.Carry{})
	if err != nil {
		return nil, 0, err
	}
	tally, err := split.NewTally(by, p)
	for i := range parts {
		if err == nil {
			err = tally.Add(&parts[i])
		}
	}
	return tally.Left(&w, left.Dropped), left.Waiting, err
}

// In a grid job that reads files, every unit (an event or a file) either has one owner, or is left out for a reason.
// The preview, the status and verify show this reason. A grid job is not done if units were left out that the job file
// did not exclude.
func TestProperty_NothingIsLeftOutInSilence(t *testing.T) {
	drawLives(t)
	for by := range readers() {
		t.Run(by, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				files, params := drawDataset(rt, by)
				preview, _, refused := previewed(by, files, params)
				if refused != nil {
					return
				}
				text := jobOf(rt, by, files, params)
				ok := t.Run("", func(t *testing.T) {
					inWorld(t, options{}, func(t *testing.T, w *world) {
						id := w.submit(alice, text)
						w.final(24*time.Hour, id)
						w.leftOut(id, preview)
						w.ownedOnce(id)
						if t.Failed() {
							t.Logf("%s", text)
						}
					})
				})
				if !ok {
					rt.Fatalf("see above")
				}
			})
		})
	}
}

// leftOut requires that preview, status and verify of a grid job that is over name the same reasons, and that the grid
// job is not done if units were left out that the job file did not exclude.
func (w *world) leftOut(id jjm.GridID, preview jjm.LeftList) {
	w.t.Helper()
	proof, status := w.proof(id, ""), w.lookup(id)
	words := func(list jjm.LeftList) (all []string) {
		for _, l := range list {
			all = append(all, fmt.Sprintf("%s asked=%v", l.Reason, l.Asked))
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	if a, b := words(preview), words(proof.Left); !slices.Equal(a, b) {
		w.t.Errorf("the preview tells %v\n%v\nverify tells %v\n%v", a, preview, b, proof.Left)
	}
	asked := true
	for _, l := range append(slices.Clone(preview), proof.Left...) {
		if asked = asked && l.Asked; !strings.Contains(status.Message, "("+string(l.Reason)+")") {
			w.t.Errorf("the status does not tell %s: %s %q", l.Reason, status.Status, status.Message)
		}
	}
	if whole := asked && proof.Missing == 0; status.Status == "done" && (!whole || proof.Verdict == cover.Gap) {
		w.t.Errorf("done, and %s with %d missing units: %v", proof.Verdict, proof.Missing, proof.Left)
	}
}

// ownedOnce requires that no unit of a grid job has two owners in the ledger.
func (w *world) ownedOnce(id jjm.GridID) {
	w.t.Helper()
	last := map[string]int64{}
	w.must(w.store.Cover(context.Background(), id, 0, func(o store.Owned) error {
		key := fmt.Sprint(o.File, "/", o.Run)
		if before, owned := last[key]; owned && o.First <= before && o.Released == 0 {
			w.t.Errorf("file %d, run %d: unit %d has two owners", o.File, o.Run, o.First)
		}
		last[key] = min(o.Last, math.MaxInt64-1)
		return nil
	}))
}

// With applyLumiCorrection, other files may own all sections of a file. Such a file does not count as left out.
func TestLeftOut_AFileWhoseSectionsOthersOwnIsNotLeftOut(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, `{"type":"filetest","datasets":[{"name":"raw","files":[
			{"lfn":"a","size":1000,"events":50,"lumis":[{"run":1,"first":1,"last":4}],"locations":["here"]},
			{"lfn":"b","size":1000,"events":50,"lumis":[{"run":1,"first":2,"last":3}],"locations":["here"]}]}],
			"split":{"by":"LumiBased","params":{"applyLumiCorrection":true,"lumis_per_job":4}}}`)
		w.final(time.Hour, id)
		if l, v := w.lookup(id), w.proof(id, ""); l.Status != "done" || len(v.Left) > 0 || v.Missing != 0 || v.Expected != 4 {
			t.Errorf("%s %q; %+v", l.Status, l.Message, v)
		}
	})
}
