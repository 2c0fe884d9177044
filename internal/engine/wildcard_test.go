package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/golden"
)

// wildRow is a row of the golden data of Ganga's dataset splitter. The files of the row may contain wildcards.
type wildRow struct {
	Files     any
	PerSubjob int64 `json:"files_per_subjob"`
	MaxFiles  int64 `json:"maxFiles"`
	Expect    struct{ Subjobs []any }
}

// entries returns the files of the row as a job file lists them. For each wildcard it makes a separate folder with the
// files that match. ok is false if the row has no wildcards.
func (r wildRow) entries(w *world) (text string, ok bool) {
	list, _ := r.Files.([]any)
	var words []string
	for i, entry := range list {
		if name, is := entry.(string); is {
			words = append(words, fmt.Sprintf("{lfn = %q}", name))
			continue
		}
		matched, _ := entry.(map[string]any)["wildcard"].([]any)
		if matched == nil {
			return "", false
		}
		var names []string
		for _, name := range matched {
			names = append(names, name.(string))
		}
		folder := w.filled(fmt.Sprintf("wild%d", i), names...)
		words = append(words, fmt.Sprintf("{wildcard = %q}", folder+"/[a-z]"))
		ok = true
	}
	return "files = [" + strings.Join(words, ", ") + "]\n", ok
}

// filled makes a folder with the given files, and returns its path.
func (w *world) filled(name string, files ...string) string {
	w.t.Helper()
	folder := filepath.Join(w.dir, name)
	w.must(os.MkdirAll(folder, 0o755))
	for _, file := range files {
		w.must(os.WriteFile(filepath.Join(folder, file), []byte("data"), 0o644))
	}
	return folder
}

// subjobs returns, for each local job, the names of the files that it read, in the order of the dataset.
func (w *world) subjobs(id jjm.GridID) (out []any) {
	w.t.Helper()
	owners := w.owners(id)
	w.must(w.store.FileStatuses(w.t.Context(), id, 0, func(f store.FileStatus) error {
		for _, n := range owners[f.LFN] {
			for len(out) <= int(n) {
				out = append(out, []any{})
			}
			out[n] = append(out[n].([]any), filepath.Base(f.LFN))
		}
		return nil
	}))
	return out
}

// The test submits the golden rows with wildcards as job files. The daemon finds the matching files with the owner's
// rights when it prepares the grid job.
func TestWildcards_GoldenRows(t *testing.T) {
	t.Parallel()
	rows := 0
	golden.Rows(t, "jedi/ganga_splitters", func(name string, r wildRow) (wrong string) {
		inTime(t, options{config: quick, sim: quickSim()}, func(w *world) {
			files, wild := r.entries(w)
			if !wild {
				return
			}
			rows++
			id := w.submit(alice, fileJob("", "name = \"raw\"\n"+files)+fmt.Sprintf(
				"[split]\nby = \"GangaDatasetSplitter\"\nparams = {files_per_subjob = %d, maxFiles = %d}\n", r.PerSubjob,
				r.MaxFiles))
			await.True(t, "done", func() bool { return w.lookup(id).Status == "done" })
			wrong = cmp.Diff(r.Expect.Subjobs, w.subjobs(id))
		})
		return wrong
	})
	if rows == 0 {
		t.Error("no row has a wildcard")
	}
}

// A file that the job file names keeps its position among the files that match a wildcard. Links, folders, and names
// that begin with a dot do not match. A dry run shows the same local jobs and makes none.
func TestWildcards_InTheirPlaces(t *testing.T) {
	t.Parallel()
	inTime(t, options{config: quick, sim: quickSim()}, func(w *world) {
		folder := w.filled("raw", "b.root", "c.root", "a.root", ".root", "x.txt")
		w.must(os.Mkdir(filepath.Join(folder, "d.root"), 0o755))
		w.must(os.Symlink("a.root", filepath.Join(folder, "e.root")))
		job := fileJob("", fmt.Sprintf("name = \"raw\"\nfiles = [{lfn = \"first\"}, {wildcard = %q}, {lfn = %q}]\n",
			folder+"/*.root", folder+"/b.root")) + "[split]\nby = \"GangaDatasetSplitter\"\nparams = {files_per_subjob = 2}\n"
		dry, err := w.engine.Submit(t.Context(), alice, wire.Submit{Name: "j.toml", Text: job, BaseDir: "/", DryRun: true})
		w.must(err)
		if dry.Plan.Jobs != 2 {
			t.Errorf("a dry run makes %d local jobs: %+v", dry.Plan.Jobs, dry.Plan)
		}
		id := w.submit(alice, job)
		await.True(t, "done", func() bool { return w.lookup(id).Status == "done" })
		if diff := cmp.Diff([]any{[]any{"first", "a.root"}, []any{"c.root", "b.root"}}, w.subjobs(id)); diff != "" {
			t.Error(diff)
		}
	})
}

// Mistakes are reported with their field, as early as possible.
func TestWildcards_Mistakes(t *testing.T) {
	t.Parallel()
	inTime(t, options{config: quick, sim: quickSim()}, func(w *world) {
		folder := w.filled("raw", "a.root", "line\nbreak.dat")
		job := func(entry string) string {
			return fileJob("", "name = \"raw\"\nfiles = [{lfn = \"first\"}, "+entry+"]\n")
		}
		text := func(s string) string { b, _ := json.Marshal(s); return string(b) }
		for entry, want := range map[string]string{
			`{wildcard = "raw/*.root"}`:                   "datasets[0].files[1].wildcard: \"raw/*.root\": want an absolute path",
			`{wildcard = "/data/raw"}`:                    "has no wildcard: say lfn =",
			`{wildcard = "/data/*/x.root"}`:               "only the last element",
			`{wildcard = "/data/[.root"}`:                 "is no pattern",
			`{wildcard = "/data/*.root", events = 5}`:     "a wildcard has no other keys",
			`{wildcrad = "/data/*.root"}`:                 `did you mean "wildcard"`,
			`{lfn = "/data/1.root", wildcard = "/d/*.x"}`: "a wildcard has no other keys",
		} {
			_, err := w.engine.Submit(t.Context(), alice, wire.Submit{Name: "j.toml", Text: job(entry), BaseDir: w.dir})
			if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", entry, err, want)
			}
		}
		_, err := w.engine.Submit(t.Context(), bob, wire.Submit{Name: "j.toml", BaseDir: w.dir,
			Text: job("{wildcard = " + text(folder+"/*.root") + "}")})
		if err == nil || !strings.Contains(err.Error(), "datasets[0].files: wildcards:") ||
			!strings.Contains(err.Error(), "run_as") {
			t.Errorf("as another account: %v", err)
		}
		for pattern, want := range map[string]string{
			"/*.txt": "datasets[0].files[1].wildcard: " + folder + "/*.txt matches none of the 2 files",
			"/*.dat": "whose names no dataset can hold",
		} {
			id := w.submit(alice, job("{wildcard = "+text(folder+pattern)+"}"))
			await.True(t, "over", func() bool { return w.lookup(id).Status == "broken" })
			if l := w.lookup(id); !strings.Contains(l.Message, want) {
				t.Errorf("%s: %s", pattern, l.Message)
			}
		}
	})
}
