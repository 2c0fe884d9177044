package engine_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/outputs"
	"jjm/internal/jjm"
	"jjm/xmldb/head"
)

// want is the expected end of a grid job.
type want struct {
	status jjm.GridStatus
	gram   jjm.GRAM
	// states are the expected states of some local jobs.
	states map[int32]jjm.State
	// jobs is the expected number of local jobs; -1 for any number.
	jobs int
}

func done(n int) want { return want{status: jjm.Done, gram: jjm.GRAMDone, jobs: n} }

// verify compares an ended grid job with the expected end, and checks its local jobs, journal, tar and record against
// the invariants.
func (w *world) verify(id jjm.GridID, want want) {
	w.t.Helper()
	l := w.status(id).Lookup // the status that people see
	if l.Status != want.status.String() || l.GRAM != want.gram {
		w.t.Errorf("grid job %s is %s, GRAM %d; want %s, %d\n%s", id, l.Status, l.GRAM, want.status, want.gram,
			w.describe(id))
	}
	locals := w.locals(id)
	if want.jobs >= 0 && len(locals) != want.jobs {
		w.t.Errorf("grid job %s has %d local jobs, want %d", id, len(locals), want.jobs)
	}
	for n, state := range want.states {
		if int(n) < len(locals) && locals[n].State != state {
			w.t.Errorf("local job %s.%d is %s/%s, want %s\n%s", id, n, locals[n].State, locals[n].Phase, state, w.describe(id))
		}
	}
	w.verifyWhole(l, locals)
	w.verifyCauses(id, locals)
	w.verifyRuns(locals)
	w.verifyJournal(id, locals)
	w.verifyTar(id, locals)
	w.verifyRecord(id, l, locals)
}

// verifyWhole compares the counts of the grid job with its local jobs, and checks that their parts follow one another.
func (w *world) verifyWhole(l wire.Lookup, locals []jjm.LocalJob) {
	w.t.Helper()
	var n [jjm.NumStates]int
	next, counted := map[int32]int64{}, 0 // next position, by step
	for i := range locals {
		j := &locals[i]
		if j.Phase != jjm.GivenBack { // another local job did its work
			n[j.State]++
			counted++
		}
		if !j.Over() {
			w.t.Errorf("local job %s of a grid job that is over is %s/%s", j.ID, j.State, j.Phase)
		}
		if want, later := next[j.Step]; later && j.Part.First != want {
			w.t.Errorf("local job %s begins with %s %d, want %d", j.ID, j.Part.Unit, j.Part.First, want)
		}
		next[j.Step] = j.Part.First + j.Part.Count
	}
	c := l.Counts
	if c.Total != len(locals) || c.Completed != n[jjm.Completed]+n[jjm.CompletedFrozen] ||
		c.Failed != n[jjm.Failed]+n[jjm.FailedFrozen] || c.Killed != n[jjm.Killed] ||
		c.CompletedFrozen != n[jjm.CompletedFrozen] || c.FailedFrozen != n[jjm.FailedFrozen] {
		w.t.Errorf("grid job %s is told to have %+v; its local jobs are %v", l.ID, c, n)
	}
	if l.Status == jjm.Done.String() && (n[jjm.Completed] != counted || len(locals) != c.Expected || l.Exit != 0) {
		w.t.Errorf("grid job %s is called done, exit %d, with %v of %d expected", l.ID, l.Exit, n, c.Expected)
	}
}

// verifyRuns requires that no attempt ran twice. A completed local job must have run in the attempt that completed it,
// and in no later attempt.
func (w *world) verifyRuns(locals []jjm.LocalJob) {
	w.t.Helper()
	runs := w.runs()
	for id, n := range runs {
		if n > 1 {
			w.t.Errorf("attempt %s#%d ran %d times", id.LocalID, id.Attempt, n)
		}
	}
	for i := range locals {
		j := &locals[i]
		if j.State == jjm.Completed && runs[j.AttemptID()] != 1 {
			w.t.Errorf("local job %s is completed by attempt %d, which ran %d times", j.ID, j.Attempt, runs[j.AttemptID()])
		}
		for a := range runs {
			if a.LocalID == j.ID && a.Attempt > j.Attempt {
				w.t.Errorf("local job %s is %s with attempt %d, but attempt %d ran", j.ID, j.State, j.Attempt, a.Attempt)
			}
		}
	}
}

// finalWord reports whether a word of the journal is a final state.
func finalWord(word string) bool {
	var s jjm.State
	word, _, _ = strings.Cut(word, "/")
	return s.UnmarshalText([]byte(word)) == nil && s.Final()
}

// frozenWord reports whether a word of the journal is a frozen state.
func frozenWord(word string) bool {
	var s jjm.State
	word, _, _ = strings.Cut(word, "/")
	return s.UnmarshalText([]byte(word)) == nil && s.IsFrozen()
}

// verifyJournal requires that every local job ended once. A freeze, an unfreeze, a kill of a local job that will not be
// submitted, and a forced state that replaces an end do not count as a second end.
func (w *world) verifyJournal(id jjm.GridID, locals []jjm.LocalJob) {
	w.t.Helper()
	entries, err := w.engine.History(context.Background(), wire.Caller{Admin: true}, jjm.Ref{Grid: id}, -1)
	w.must(err)
	ends, again := map[int32]int{}, map[int32]int{} // again: how often a local job was resubmitted
	finals := 0
	for _, e := range entries {
		word, _, _ := strings.Cut(e.To, "/")
		var s jjm.State
		forced := strings.HasSuffix(e.To, "/"+string(jjm.Forced))
		withheld := jjm.StateWord(jjm.New, jjm.Unsubmitted)
		replaced := e.From == withheld && word == jjm.Killed.String() ||
			finalWord(e.From) && (forced || frozenWord(e.From) || frozenWord(e.To))
		over := s.UnmarshalText([]byte(word)) == nil && s.Final() || e.To == withheld
		if e.First >= 0 && e.From != e.To && over && !replaced {
			for n := e.First; n <= e.Last; n++ {
				ends[n]++
			}
		}
		resubmitted := strings.HasPrefix(e.Cause, "resubmitted") || strings.HasPrefix(e.Cause, "run again by itself")
		for n := e.First; n >= 0 && n <= e.Last && resubmitted; n++ {
			again[n]++
		}
		var g jjm.GridStatus
		if e.First < 0 && g.UnmarshalText([]byte(e.To)) == nil && g.Final() {
			finals++
		}
	}
	for i := range locals {
		if n := locals[i].ID.N; ends[n] != 1+again[n] {
			w.t.Errorf("the journal ends local job %s %d times, and it was resubmitted %d times", locals[i].ID, ends[n], again[n])
		}
	}
	if generation := max(w.status(id).Generation, 1); finals != generation {
		w.t.Errorf("the journal ends grid job %s %d times, in generation %d", id, finals, generation)
	}
}

// tarFiles returns the contents of the files in a tar by name.
func tarFiles(b []byte) (map[string]string, error) {
	files := map[string]string{}
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		if _, twice := files[h.Name]; twice {
			return nil, fmt.Errorf("%s is in the tar twice", h.Name)
		}
		files[h.Name] = string(text)
	}
}

// verifyTar requires that the tar contains the outputs of completed local jobs, the log, the record, and a manifest
// that lists all files.
func (w *world) verifyTar(id jjm.GridID, locals []jjm.LocalJob) {
	w.t.Helper()
	files, err := tarFiles(w.tarBytes(id))
	if err != nil {
		w.t.Fatalf("tar of grid job %s: %v", id, err)
	}
	names := slices.Sorted(maps.Keys(files))
	if len(names) == 0 {
		w.t.Fatalf("tar of grid job %s is empty", id)
	}
	prefix, _, _ := strings.Cut(names[0], "/")
	job, err := w.store.Grid(context.Background(), id)
	w.must(err)
	merges := slices.ContainsFunc(locals, func(l jjm.LocalJob) bool { return l.Step == jjm.StepMerge })
	for i := range locals {
		j := &locals[i]
		out := files[prefix+"/"+outputs.Name(prefix, j.ID, "work/out.dat",
			outputs.Names(&job.Spec, j))]
		if merges && j.Step == jjm.StepWork {
			if j.State == jjm.Completed && out != "" {
				w.t.Errorf("output of local job %s is in the tar, and merged too", j.ID)
			}
			continue
		}
		if j.State == jjm.Completed && !j.IsForced() && out != "events of "+j.ID.String()+"\n" {
			w.t.Errorf("output of completed local job %s in the tar: %q", j.ID, out)
		}
	}
	for _, name := range []string{"jjm.log", "report.html", "record/record.xml"} {
		if files[prefix+"/"+name] == "" {
			w.t.Errorf("tar of grid job %s has no %s; it has %v", id, name, names)
		}
	}
	var manifest []struct {
		Path, SHA256, Absent string
		Size                 int64
	}
	if err := json.Unmarshal([]byte(files[prefix+"/manifest.json"]), &manifest); err != nil {
		w.t.Errorf("manifest of grid job %s: %v", id, err)
	}
	present := 1 // counts the manifest
	for _, m := range manifest {
		if m.Absent == "" {
			present++
		}
	}
	if present != len(files) {
		w.t.Errorf("tar of grid job %s has %d files, its manifest accounts for %d", id, len(files), present)
	}
}

// verifyRecord requires that the published record agrees with the lookup.
func (w *world) verifyRecord(id jjm.GridID, l wire.Lookup, locals []jjm.LocalJob) {
	w.t.Helper()
	head, err := head.Read(filepath.Join(w.dir, "records"), id)
	if err != nil {
		w.t.Errorf("record of grid job %s: %v", id, err)
		return
	}
	if head.Grid.Status.String() != l.Status || head.GRAM != l.GRAM || head.Counts[jjm.Completed] != l.Counts.Completed ||
		head.Counts[jjm.Killed] != l.Counts.Killed || head.Tar != l.Tar || head.Tar == "" {
		w.t.Errorf("record of grid job %s says %s, GRAM %d, %v, tar %q; lookup says %s, %d, %+v, %q", id,
			head.Grid.Status, head.GRAM, head.Counts, head.Tar, l.Status, l.GRAM, l.Counts, l.Tar)
	}
	ids, err := w.records.Query(id, "//localjob/@id")
	w.must(err)
	states, err := w.records.Query(id, "//localjob/@state")
	w.must(err)
	if len(ids) != len(locals) || len(states) != len(locals) {
		w.t.Errorf("record of grid job %s has %d local jobs with %d states, want %d", id, len(ids), len(states), len(locals))
		return
	}
	for i := range locals {
		if ids[i] != locals[i].ID.String() || states[i] != locals[i].State.String() {
			w.t.Errorf("record of grid job %s: local job %s is %s, want %s %s", id, ids[i], states[i], locals[i].ID,
				locals[i].State)
		}
	}
}

// verifyQuiet requires that nothing is left after all grid jobs have ended: no live batch job, no folder of a bulk, no
// live row in the store. The store must pass its own check.
func (w *world) verifyQuiet() {
	w.t.Helper()
	ctx := context.Background()
	for _, o := range []jjm.Owner{owner(alice), owner(bob), *service} {
		for _, a := range w.adapters() {
			l, err := a.List(ctx, o, time.Time{})
			w.must(err)
			for _, r := range l.Reports {
				if r.State.Alive() {
					w.t.Errorf("batch job %s (tag %s) is still %s", r.ID, r.Tag, r.State)
				}
			}
		}
	}
	folders, err := filepath.Glob(filepath.Join(w.dir, "work", "*", "bulks", "*"))
	w.must(err)
	if len(folders) > 0 {
		w.t.Errorf("folders of bulks are left over: %v", folders)
	}
	live, err := w.store.Live(ctx)
	w.must(err)
	if len(live.Grids)+len(live.Bulks) > 0 {
		w.t.Errorf("live in the store: %d grid jobs, %d bulks", len(live.Grids), len(live.Bulks))
	}
	w.must(w.store.Check(ctx))
}

// verifyAfterReopening restarts the daemon, and requires that the lookups of grid jobs do not change.
func (w *world) verifyAfterReopening(ids ...jjm.GridID) {
	w.t.Helper()
	var before []wire.Lookup
	for _, id := range ids {
		before = append(before, w.lookup(id))
	}
	w.reopen()
	for i, id := range ids {
		if after := w.lookup(id); !cmp.Equal(after, before[i]) {
			w.t.Errorf("after reopening, lookup of %s:\n%+v\nbefore:\n%+v", id, after, before[i])
		}
	}
}

// rows returns the numbers of rows in the store, and the paths of all files in the work areas, the records and the drop
// folder. A refused submission must not change them.
func (w *world) rows(t *testing.T) string {
	t.Helper()
	totals, err := w.store.Totals(context.Background())
	w.must(err)
	var paths []string
	for _, root := range []string{"work", "records", "drop"} {
		err := filepath.WalkDir(filepath.Join(w.dir, root), func(path string, _ os.DirEntry, err error) error {
			paths = append(paths, strings.TrimPrefix(path, w.dir))
			return err
		})
		w.must(err)
	}
	sort.Strings(paths)
	return fmt.Sprintf("%+v\n%s", totals, strings.Join(paths, "\n"))
}
