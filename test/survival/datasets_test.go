package survival_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/testkit/needs"
	"jjm/internal/work/cover"
)

// reco is the program of the local jobs over a dataset. Its arguments are the serial number and the files. The local
// job with the serial number 2 fails; the local job that replaces it has another number and succeeds.
const reco = `#!/bin/sh
serial=$1
shift
[ "$serial" != 2 ] || exit 3
for f; do echo "$f"; done >args.txt
cmp -s args.txt "$JJM_INPUT_FILES" || exit 4
cat args.txt >out.txt
"$GBS_LOG" INFO "processed=$#"
for f; do echo "$f" >>"$LEDGER"; done
`

// datasetJob returns a job file that reads one open dataset and fills another dataset.
func datasetJob(s *site, files int) string {
	return fmt.Sprintf(`type = "reprocess"
name = "survival"
key = "once"
result = "exit"
outputs = ["out.txt"]
output_dataset = "made"
[env]
LEDGER = %q
[[inputs]]
path = "reco.sh"
executable = true
[split]
by = "FileBased"
params = { files_per_job = 3 }
[[datasets]]
name = "raw"
open = true
files = [%s]
[params]
command = ["reco.sh", "{serial}", "{files}"]
`, filepath.Join(s.dir, "ledgers", "datasets"), tomlFiles(0, files))
}

func rawFile(i int) string { return fmt.Sprintf("/raw/%04d", i) }

func tomlFiles(from, to int) string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprintf("{lfn = %q}", rawFile(i)))
	}
	return strings.Join(all, ", ")
}

// growing submits a grid job over the first 20 files, adds 20 more files in four requests, and closes the dataset. It
// repeats each request until a daemon answers.
func growing(ctx context.Context, s *site, text string) (jjm.GridID, error) {
	a, err := insist(ctx, s, wire.VerbSubmit(),
		wire.SubmitRequest{Submit: &wire.Submit{Name: "d.toml", Text: text, BaseDir: s.dir}})
	if err != nil {
		return 0, err
	}
	id := a.Submit.ID
	some := func(st wire.Status) bool { return st.Lookup.Counts.Completed >= 3 }
	if err := s.until(ctx, id.String(), some); err != nil {
		return id, err
	}
	for from := 20; from < 40; from += 5 {
		add := &wire.Dataset{Do: wire.DatasetAdd, Name: "raw"}
		for i := from; i < from+5; i++ {
			add.Files = append(add.Files, jjm.File{LFN: rawFile(i)})
		}
		if _, err := insist(ctx, s, wire.VerbDataset(), wire.DatasetRequest{Dataset: add}); err != nil {
			return id, err
		}
	}
	_, err = insist(ctx, s, wire.VerbDataset(),
		wire.DatasetRequest{Dataset: &wire.Dataset{Do: wire.DatasetClose, Name: "raw"}})
	return id, err
}

// A dataset grows while it is processed, and one part fails. The daemon dies while it takes in files, adds files,
// closes the dataset, or returns files to the dataset. Every file is processed exactly once, and is in the tar.
func TestFailpoint_DatasetsLoseNoFile(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"", "notice.before-commit:2", "notice.after-commit", "dataset-add.before-commit:3",
		"dataset-add.after-commit:2",
		"dataset-close.before-commit", "dataset-close.after-commit", "generate.after-commit:2", "verdict.before-commit:2"} {
		t.Run("at "+point, func(t *testing.T) {
			if point != "notice.after-commit" {
				needs.Campaign(t, needs.Faults)
			}
			growsUnder(t, point, "")
		})
	}
}

// The outputs are merged while the dataset grows. The daemon dies while it takes in outputs, makes merges, or settles
// the local jobs whose outputs are merged.
func TestFailpoint_MergingLosesNoOutput(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"", "notice.before-commit:2", "notice.after-commit:2", "generate.before-commit:2",
		"generate.after-commit:2",
		"verdict.before-commit:2", "verdict.after-commit:2"} {
		t.Run("at "+point, func(t *testing.T) {
			if point != "generate.after-commit:2" {
				needs.Campaign(t, needs.Faults)
			}
			growsUnder(t, point, "[merge]\nconcat = true\noutput = \"out.txt\"\nfiles = 4\n")
		})
	}
}

// growsUnder processes a growing dataset while the daemon dies once at a failpoint.
func growsUnder(t *testing.T, point, more string) {
	t.Parallel()
	s := newSite(t, settings{slots: 4})
	if err := os.WriteFile(filepath.Join(s.dir, "reco.sh"), []byte(reco), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), finalWithin)
	defer cancel()
	s.start(point)
	type answer struct {
		id  jjm.GridID
		err error
	}
	grown := make(chan answer, 1)
	go func() {
		id, err := growing(ctx, s, datasetJob(s, 20)+more)
		grown <- answer{id, err}
	}()
	if point != "" {
		s.died(deadWithin)
		s.sawFailpoint(point)
		s.startReady()
	}
	got := <-grown
	if got.err != nil {
		t.Fatal(got.err)
	}
	s.final(got.id)
	s.checkDataset(got.id)
}

// checkDataset compares the end of the grid job with the expected end.
func (s *site) checkDataset(id jjm.GridID) {
	s.t.Helper()
	s.nothingRuns()
	st := s.status(id)
	if st.Lookup.Status != "done" || len(st.Inputs) < 1 || st.Inputs[0].Counts.Finished != 40 ||
		st.Lookup.Counts.GivenBack != 1 {
		s.t.Errorf("%s: %+v, reads %+v", st.Lookup.Status, st.Lookup, st.Inputs)
	}
	var want []string
	for i := range 40 {
		want = append(want, rawFile(i))
	}
	if ran := readLines(s.t, filepath.Join(s.dir, "ledgers", "datasets")); !slices.Equal(ran, want) {
		s.t.Errorf("processed were %q, want each of 40 files once", ran)
	}
	files, _ := readTar(s.t, st.Lookup.Tar)
	var collected []string
	for name, text := range files {
		if strings.HasSuffix(name, ".out.txt") {
			collected = append(collected, strings.Fields(string(text))...)
		}
	}
	slices.Sort(collected)
	if !slices.Equal(collected, want) {
		s.t.Errorf("the tar has outputs of %q, want of each of 40 files once", collected)
	}
	if v := must(s, wire.VerbVerify(),
		wire.VerifyRequest{One: wire.OneRef(id.String())}).Verify; v == nil || v.Verdict != cover.Proven || v.Proven != 40 {
		s.t.Errorf("verify says %+v, want 40 files proven", v)
	}
	s.stop()
	s.checkMade(id, want)
}

// checkMade checks the dataset that the grid job filled, and the ledger.
func (s *site) checkMade(id jjm.GridID, want []string) {
	s.t.Helper()
	db, err := store.Open(filepath.Join(s.state, "store.db"), store.Options{ReadOnly: true})
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	made, err := db.DatasetNamed(ctx, os.Geteuid(), "made")
	if err != nil || made.Closed == 0 {
		s.t.Fatalf("%+v %v", made, err)
	}
	var parents []string
	errFiles := db.Files(ctx, made.ID, 0, 0, func(_ int64, f jjm.File) error {
		parents = append(parents, f.Parents...)
		return nil
	})
	owners := map[int64]int{}
	errCover := db.Cover(ctx, id, 0, func(o store.Owned) error {
		if o.Released == 0 {
			owners[o.File]++
		}
		return nil
	})
	slices.Sort(parents)
	if errFiles != nil || errCover != nil || !slices.Equal(parents, want) {
		s.t.Errorf("the outputs come from %q; %v %v", parents, errFiles, errCover)
	}
	if len(owners) != 40 || slices.Max(slices.Collect(maps.Values(owners))) != 1 {
		s.t.Errorf("owners of files: %v", owners)
	}
	if err := db.Check(ctx); err != nil {
		s.t.Error(err)
	}
}

// readLines returns the lines of a file, sorted.
func readLines(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []string
	for s := bufio.NewScanner(f); s.Scan(); {
		lines = append(lines, s.Text())
	}
	slices.Sort(lines)
	return lines
}
