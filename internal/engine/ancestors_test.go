package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// withParents splits a dataset into local jobs of one file each, which also read the ancestors of that file: the files
// from which it was made.
const withParents = "[split]\nby = \"FileBased\"\nparams = {files_per_job = 1, include_parents = true}\n"

// parentsRead returns the ancestors that the local jobs of a grid job read. The key is the first file that a local job
// processes.
func (w *world) parentsRead(id jjm.GridID) map[string][]string {
	w.t.Helper()
	out := map[string][]string{}
	for _, in := range w.inputsOf(id) {
		out[in.Files[0]] = nil
		if in.More != nil {
			out[in.Files[0]] = slices.Sorted(slices.Values(in.More.Parents))
		}
	}
	return out
}

// output returns the name of the output file of local job n of a grid job.
func output(id jjm.GridID, n int) string { return fmt.Sprintf("filetest.%s.%d.out.dat", id, n) }

// chain submits grid jobs, each of which processes the outputs of the previous one; from is the input of the first grid
// job. It returns the ids of the grid jobs, and the name of the output dataset of the last grid job.
func (w *world) chain(steps int, from string) (ids []jjm.GridID, dataset string) {
	w.t.Helper()
	for i := range steps {
		dataset = fmt.Sprintf("gen%d", i)
		ids = append(ids, w.submit(alice, fileJob("output_dataset = \""+dataset+"\"\n", from)))
		w.final(time.Hour, ids[i])
		from = "name = \"" + dataset + "\"\n"
	}
	return ids, dataset
}

// Local jobs read the nearest merged ancestors of their files. Files that grid jobs made and did not merge are skipped:
// their own ancestors are read instead.
func TestAncestors_TheNearestMergedFilesAreRead(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		ids, last := w.chain(3, "name = \"raw\"\n"+inline(8)) // the files of the four datasets: 8, 4, 2, 1
		id := w.submit(alice, fileJob("", "name = \""+last+"\"\n"+withParents))
		w.final(time.Hour, id)
		w.verify(id, done(1))
		var raw []string
		for i := range 8 {
			raw = append(raw, lfn(i))
		}
		if diff := cmp.Diff(map[string][]string{output(ids[2], 0): raw}, w.parentsRead(id)); diff != "" {
			t.Error(diff)
		}
		second := w.submit(alice, fileJob("", "name = \"gen1\"\n"+withParents))
		w.final(time.Hour, second)
		if diff := cmp.Diff(map[string][]string{output(ids[1], 0): raw[:4], output(ids[1], 1): raw[4:]},
			w.parentsRead(second)); diff != "" {
			t.Error(diff)
		}
	})
}

// Outputs of a merge step count as merged, and so do files that a person lists.
func TestAncestors_MergedOutputsAndListedFilesAreMerged(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		merged := w.submit(alice, fileJob("output_dataset = \"merged\"\n", "name = \"raw\"\n"+inline(8)+mergeTwo))
		w.final(time.Hour, merged)
		derived := w.submit(alice, fileJob("output_dataset = \"derived\"\n", "name = \"merged\"\n"))
		w.final(time.Hour, derived)
		id := w.submit(alice, fileJob("", "name = \"derived\"\n"+withParents))
		w.final(time.Hour, id)
		if diff := cmp.Diff(map[string][]string{output(derived, 0): {output(merged, 4), output(merged, 5)}},
			w.parentsRead(id)); diff != "" {
			t.Error(diff)
		}
		of := w.submit(alice, fileJob("", "name = \"merged\"\n"+withParents))
		w.final(time.Hour, of)
		for lfn, parents := range w.parentsRead(of) {
			if len(parents) != 4 {
				t.Errorf("%s, which was merged of four files, reads %v along", lfn, parents)
			}
		}
		listed := w.submit(alice, fileJob("",
			"name = \"listed\"\nfiles = [{lfn = \"x\", parents = [\"p\", \"q\"]}, {lfn = \"y\"}]\n"+withParents))
		w.final(time.Hour, listed)
		if diff := cmp.Diff(map[string][]string{"x": {"p", "q"}, "y": nil}, w.parentsRead(listed)); diff != "" {
			t.Error(diff)
		}
	})
}

// A file without parents has no ancestors. The search for merged ancestors goes at most 16 grid jobs back; if it finds
// none, the grid job ends as broken.
func TestAncestors_OfFilesWithNoAndTooManyParents(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		made := w.submit(alice, mc(4, `output_dataset = "mc"`))
		w.final(time.Hour, made)
		derived := w.submit(alice, fileJob("output_dataset = \"derived\"\n", "name = \"mc\"\n"))
		w.final(time.Hour, derived)
		id := w.submit(alice, fileJob("", "name = \"derived\"\n"+withParents))
		w.final(time.Hour, id)
		w.verify(id, done(2))
		for lfn, parents := range w.parentsRead(id) {
			if len(parents) != 0 {
				t.Errorf("%s reads %v along", lfn, parents)
			}
		}
		_, last := w.chain(18, "name = \"raw\"\n"+inline(2))
		long := w.submit(alice, fileJob("", "name = \""+last+"\"\n"+withParents))
		w.final(time.Hour, long)
		if l := w.lookup(long); l.Status != "broken" ||
			!strings.Contains(
				l.Message, "split.params.include_parents: the merged ancestors of the files lie more than 16 grid jobs back") {
			t.Errorf("%+v", l)
		}
	})
}

// A recovery reads the same ancestors as its grid job, although it has another dataset. Local jobs read the same
// ancestors after a restart. A dry run shows the ancestors.
func TestAncestors_OfARecoveryAfterARestartAndOfADryRun(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Grid == 3 && id.N%2 == 1 {
			return adaptertest.Play{Keyword: "-", Exit: 3}
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{play: play, config: func(c *engineConfig) { c.MaxAttempts = 1 }}, func(t *testing.T, w *world) {
		ids, last := w.chain(2, "name = \"raw\"\n"+inline(8))
		text := fileJob("", "name = \""+last+"\"\n"+withParents)
		dry, err := w.engine.Submit(context.Background(), alice,
			wire.Submit{Name: "j.toml", Text: text, BaseDir: w.dir, DryRun: true})
		w.must(err)
		id := w.submit(alice, text)
		w.reopen()
		w.final(time.Hour, id)
		w.verify(id, want{status: jjm.Finished, gram: jjm.GRAMDone, jobs: 2})
		for n, in := range w.inputsOf(id) {
			if diff := cmp.Diff(in, dry.Plan.Parts[n].Input); diff != "" || len(in.More.Parents) != 4 {
				t.Errorf("the dry run differs: %s, %v", diff, in.More)
			}
		}
		s, err := w.trySubmit(alice, "", w.proof(id, "r.json").Recovery)
		w.must(err)
		w.final(time.Hour, s.ID)
		if diff := cmp.Diff(map[string][]string{output(ids[1], 1): {lfn(4), lfn(5), lfn(6), lfn(7)}},
			w.parentsRead(s.ID)); diff != "" {
			t.Error(diff)
		}
	})
}
