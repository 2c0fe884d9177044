package xmldb

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
	"jjm/xmldb/head"
)

// mergingHead returns the head of a grid job that merges, and its local jobs.
func mergingHead() (Head, Shard) {
	h := sampleHead(17, 3)
	h.Grid.Merging = &jjm.MergeStep{Splitter: "ParentlessMergeBySize", Made: 1, Closed: true}
	h.Steps = []jjm.StepCounts{{Step: 0, GivenBack: 1, Merging: 1, Expected: 2}, {Step: 1, Expected: 1, Closed: true}}
	h.Steps[0].Counts[jjm.Completing], h.Steps[0].Counts[jjm.Failed] = 1, 1
	h.Steps[1].Counts[jjm.Running] = 1
	h.Grid.Step.Closed = false
	merge := sampleJob(17, 2)
	merge.Step = jjm.StepMerge
	return h, Shard{Jobs: []jjm.LocalJob{sampleJob(17, 0), sampleJob(17, 1), merge}}
}

func TestSteps_AreInTheRecordAndComeBack(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	h, shard := mergingHead()
	for range 2 { // the second call also reads the record of the first
		if err := db.Publish(t.Context(), h, slices.Values([]Shard{shard})); err != nil {
			t.Fatal(err)
		}
	}
	wantValid(t, recordFiles(t, dir)...)
	got, err := head.Read(dir, 17)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h.Steps, got.Steps); diff != "" {
		t.Error(diff)
	}
	text := readText(t, filepath.Join(dir, "17", "record.xml"))
	if strings.Count(text, "<step ") != 2 {
		t.Errorf("%s", text)
	}
	ids, err := db.Query(17, "//localjob[@step='1']/@id")
	if err != nil || !slices.Equal(ids, []string{"17.2"}) {
		t.Errorf("local jobs of the second step: %v; %v", ids, err)
	}
}

// Older readers know only one step, and use the last step in the record. Therefore the first step, which is not the
// merge step, is written last.
func TestSteps_TheFirstStepIsWrittenLast(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	h, shard := mergingHead()
	if err := db.Publish(t.Context(), h, slices.Values([]Shard{shard})); err != nil {
		t.Fatal(err)
	}
	text := readText(t, filepath.Join(dir, "17", "record.xml"))
	last := text[strings.LastIndex(text, "<step "):]
	if !strings.HasPrefix(last, `<step n="0" cluster="local" splitter="event_based" expected="3" made="3"`) {
		t.Errorf("%s", last)
	}
}

func TestSteps_ASingleStepIsWrittenAsBefore(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 17, 2)
	text := readText(t, filepath.Join(dir, "17", "record.xml")) + readText(t, filepath.Join(dir, "17", "jobs-0000.xml"))
	if strings.Count(text, "<step ") != 1 || strings.Contains(text, `done="0" of=`) || strings.Contains(text, ` step="`) {
		t.Errorf("%s", text)
	}
}
