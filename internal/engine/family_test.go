package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// halves returns a job file over n files, with more lines at its top. It makes two local jobs for each file, one for
// each half.
func halves(more string, n int) string {
	return fileJob(more, "name = \"raw\"\n"+inline(n)+"[split]\nby = \"EventBased\"\nparams = {events_per_job = 50}\n")
}

// together is the section of a job file that merges the files which were made from the same file into one, and no
// others.
const together = "[split]\nby = \"WMBSMergeBySize\"\nparams = {min_merge_size = 0, max_merge_size = 1}\n"

// failsSlowly returns a play in which local job n of the first grid job fails after two hours.
func failsSlowly(n int32) func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
	return func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Grid == 1 && id.N == n {
			return adaptertest.Play{Keyword: "-", Exit: 3, Life: 2 * time.Hour}
		}
		return adaptertest.Play{}
	}
}

// read returns the files that each local job of a grid job read, sorted.
func (w *world) read(id jjm.GridID) [][]string {
	w.t.Helper()
	locals := w.locals(id)
	numbers := make([]int32, len(locals))
	for i := range numbers {
		numbers[i] = int32(i)
	}
	inputs, err := w.store.PartInputs(context.Background(), id, numbers)
	w.must(err)
	var out [][]string
	for _, n := range numbers {
		if in := inputs[n].Input; in != nil {
			out = append(out, slices.Sorted(slices.Values(in.Files)))
		}
	}
	slices.SortFunc(out, slices.Compare)
	return out
}

// Grid job 2 merges outputs of grid job 1 that were made from the same file, once all of them exist. If one of them
// will never exist, the others fail at the end. It does not matter whether grid job 1 still runs or ended long ago.
func TestFamily_FilesOfOneParentAreMergedTogether(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, w *world, id jjm.GridID) {
		t.Helper()
		w.final(20*time.Hour, id)
		in := w.input(id)
		if l := w.lookup(id); l.Status != "finished" || in.Files != 7 || in.Finished != 6 || in.Failed != 1 {
			t.Errorf("%+v reads %+v", l, in)
		}
		want := [][]string{{"filetest.1.0.out.dat", "filetest.1.1.out.dat"}, {"filetest.1.4.out.dat", "filetest.1.5.out.dat"},
			{"filetest.1.6.out.dat", "filetest.1.7.out.dat"}}
		if got := w.read(id); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("merged were %v, want %v", got, want)
		}
		v := w.proof(id, "")
		if len(v.Findings) != 1 || v.Findings[0].LFN != "filetest.1.3.out.dat" {
			t.Errorf("it lacks %+v", v.Findings)
		}
	}
	once := func(c *engineConfig) { c.MaxAttempts = 1 }
	inWorld(t, options{play: failsSlowly(2), config: once}, func(t *testing.T, w *world) {
		first := w.submit(alice, halves("output_dataset = \"reco\"\n", 4))
		second := w.submit(alice, fileJob("", "name = \"reco\"\n"+together))
		w.until(time.Hour, "what is whole is merged", func() bool { return w.lookup(second).Counts.Completed == 3 })
		w.pass(10 * time.Minute)
		if l := w.lookup(second); l.Status != "running" || l.Counts.Total != 3 {
			t.Errorf("one half is missing: %+v", l)
		}
		w.reopen()
		check(t, w, second)
		w.final(time.Hour, first)
		check(t, w, w.submit(alice, fileJob("", "name = \"reco\"\n"+together)))
	})
}

// An output of a part of sections contains these sections. A later merge therefore does not merge files of different
// runs.
func TestFamily_RunsStayApart(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		files := `files = [{lfn = "a", lumis = [{run = 1, first = 1, last = 4}, {run = 2, first = 1, last = 2}]}]`
		first := w.submit(alice, fileJob("output_dataset = \"reco\"\n",
			"name = \"raw\"\n"+files+"\n[split]\nby = \"LumiBased\"\nparams = {lumis_per_job = 2}\n"))
		w.final(time.Hour, first)
		second := w.submit(alice, fileJob("",
			"name = \"reco\"\n"+strings.Replace(together, "max_merge_size = 1", "max_merge_size = 1000000", 1)))
		w.final(time.Hour, second)
		want := [][]string{{"filetest.1.0.out.dat", "filetest.1.1.out.dat"}, {"filetest.1.2.out.dat"}}
		if got := w.read(second); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("merged were %v, want %v", got, want)
		}
	})
}

// An output was made from several files. It is merged with the outputs of that one of these files which entered its
// dataset first, whatever the order in which the local job read the files.
func TestFamily_TheEarliestParentCounts(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		files := `files = [{lfn = "late", lumis = [{run = 1, first = 4, last = 6}]},` +
			` {lfn = "early", lumis = [{run = 1, first = 1, last = 3}]}]`
		first := w.submit(alice, fileJob("output_dataset = \"reco\"\n",
			"name = \"raw\"\n"+files+"\n[split]\nby = \"LumiBased\"\nparams = {lumis_per_job = 2}\n"))
		w.final(time.Hour, first)
		second := w.submit(alice, fileJob("", "name = \"reco\"\n"+together))
		w.final(time.Hour, second)
		want := [][]string{{"filetest.1.0.out.dat"}, {"filetest.1.1.out.dat", "filetest.1.2.out.dat"}}
		if got := w.read(second); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("merged were %v, want %v", got, want)
		}
	})
}

// Outputs of several clusters are in one dataset per cluster. A grid job that reads one of these datasets, or all of
// them through a container, knows the producers of its files.
func TestFamily_OutputsOfSeveralClusters(t *testing.T) {
	t.Parallel()
	o := options{sim: adaptertest.SimConfig{Slots: 2}, more: []adaptertest.SimConfig{{Name: "second", Slots: 2}}}
	inWorld(t, o, func(t *testing.T, w *world) {
		first := w.submit(alice, halves("output_dataset = \"reco\"\nclusters = [\"sim\", \"second\"]\n", 8))
		w.final(2*time.Hour, first)
		for _, reads := range []string{"name = \"reco.second\"\n", "name = \"all\"\ncontainer = \"reco\"\n"} {
			id, err := w.trySubmit(alice, "", fileJob("", reads+together))
			if err != nil {
				t.Errorf("%s: %v", reads, err)
				continue
			}
			w.final(2*time.Hour, id.ID)
		}
		all := [][]string{}
		for n := range 8 {
			all = append(all, []string{fmt.Sprintf("filetest.1.%d.out.dat", 2*n), fmt.Sprintf("filetest.1.%d.out.dat", 2*n+1)})
		}
		slices.SortFunc(all, slices.Compare)
		if got := w.read(3); !slices.EqualFunc(got, all, slices.Equal) {
			t.Errorf("merged were %v, want %v", got, all)
		}
	})
}

// A file in a dataset was not made by a known local job, so a merge cannot know which files belong to it. It must not
// delay the grid job forever: the file fails at the end.
func TestFamily_ADuplicateIsFailedAtTheEnd(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		first := w.submit(alice, halves("output_dataset = \"reco\"\n", 1))
		second := w.submit(alice, fileJob("", "name = \"reco\"\n"+together))
		w.submit(alice, fileJob("", "name = \"reco\"\nopen = true\nfiles = [{lfn = \"duplicate\"}]\n"))
		w.final(time.Hour, first, second)
		if in := w.input(second); in.Finished != 2 || in.Failed != 1 || w.lookup(second).Status != "finished" {
			t.Errorf("%+v %+v", in, w.lookup(second))
		}
	})
}

func TestFamily_IsRefusedForUnknownProducers(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		plain := w.submit(alice, "output_dataset = \"events\"\n"+mc(1))
		w.final(time.Hour, plain)
		_, err := w.engine.Dataset(context.Background(), alice,
			wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: []jjm.File{{LFN: "mc.1.7.out.dat"}}})
		w.must(err)
		for text, want := range map[string]string{
			fileJob("", "name = \"events\"\n"+
				together): "grid job 1, which makes them, reads no dataset",
			fileJob("", "name = \"raw\"\n"+
				together): "no grid job has output_dataset = \"raw\"",
			mc(2) + "[merge]\nconcat = true\nsplit = {by = \"WMBSMergeBySize\"}\n":                                         "merge.split.by: WMBSMergeBySize keeps together what was made of one file, and this job reads none",
			halves("", 2) + "[merge]\nconcat = true\nfiles = 3\nmax_wait = \"1h\"\nsplit = {by = \"WMBSMergeBySize\"}\n":   "merge.files: WMBSMergeBySize ignores it",
			halves("", 2) + "[merge]\nconcat = true\nsplit = {by = \"WMBSMergeBySize\", params = {max_merge_files = 3}}\n": "merge.split.params.max_merge_files",
			halves("", 2) + "[merge]\nconcat = true\nsplit = {by = \"SiblingProcessingBased\"}\n":                          "merge.split.by",
		} {
			if _, err := w.trySubmit(alice, "", text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v\nwant %q of\n%s", err, want, text)
			}
		}
	})
}

// mergedByFile is a merge step that merges the outputs that were made from the same file.
const mergedByFile = "[merge]\nconcat = true\noutput = \"out.dat\"\nbytes = 2\n[merge.split]\nby = \"WMBSMergeBySize\"\nparams = {min_merge_size = 0}\n"

// A grid job with a merge step splits each file into halves. One half fails permanently. The other half is then not
// merged: its local job fails too, and has no successor.
func TestFamily_AMergeStepKeepsFilesTogether(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.N == 2 || id.N == 11 { // local job 11 is the successor of local job 2
			return adaptertest.Play{Keyword: "-", Exit: 3, Life: 2 * time.Hour}
		}
		return adaptertest.Play{Life: time.Duration(9-id.N%2) * time.Minute} // the second halves of files end first
	}
	inWorld(t, options{play: play, config: func(c *engineConfig) { c.MaxAttempts = 2 }}, func(t *testing.T, w *world) {
		id := w.submit(alice, halves("", 4)+mergedByFile)
		w.until(time.Hour, "what is whole is merged", func() bool { return w.lookup(id).Counts.Completed == 9 })
		w.reopen()
		w.final(20*time.Hour, id)
		w.verify(id, want{status: jjm.Finished, gram: jjm.GRAMDone, jobs: 12,
			states: map[int32]jjm.State{2: jjm.Failed, 3: jjm.Failed, 11: jjm.Failed}})
		locals := w.locals(id)
		if l := locals[3]; l.Phase != jjm.ByLimit ||
			!strings.Contains(l.Message, "not merged: a job that read a parent of it failed") {
			t.Errorf("%+v", l)
		}
		for n := 8; n <= 10; n++ {
			inputs, err := w.store.PartInputs(context.Background(), id, []int32{int32(n)})
			w.must(err)
			if l, in := locals[n], inputs[int32(n)].Input; l.Step != jjm.StepMerge || len(in.Files) != 2 ||
				in.Files[0] > in.Files[1] {
				t.Errorf("%+v of %+v, want a merge of two halves in their order", l, in)
			}
		}
		v := w.proof(id, "")
		if v.Verdict != "gap" || v.Missing != 100 || v.Merge == nil || v.Merge.Files != 6 || !v.Merge.Whole() {
			t.Errorf("%+v %+v", v.Report, v.Merge)
		}
	})
}

// An output that was made from very many files enters its dataset with the names of all of them.
func TestFamily_AnOutputKeepsAllItsParents(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		const n = 10_001 // more than the number of parents that a list from outside may name
		for from := 0; from < n; from += wire.MaxFiles {
			var files []jjm.File
			for i := from; i < min(from+wire.MaxFiles, n); i++ {
				files = append(files, jjm.File{LFN: lfn(i)})
			}
			_, err := w.engine.Dataset(context.Background(), alice, wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: files})
			w.must(err)
		}
		w.closeDataset(alice, "raw")
		id := w.submit(alice, fileJob("output_dataset = \"reco\"\n",
			"name = \"raw\"\n[split]\nby = \"FileBased\"\nparams = {files_per_job = 20000}\n"))
		w.final(time.Hour, id)
		d, err := w.store.DatasetNamed(context.Background(), alice.UID, "reco")
		w.must(err)
		parents := 0
		w.must(w.store.Files(context.Background(), d.ID, 0, 0, func(_ int64, f jjm.File) error {
			parents += len(f.Parents)
			return nil
		}))
		if d.Files != 1 || parents != n {
			t.Errorf("%d files of %d parents, want 1 of %d", d.Files, parents, n)
		}
	})
}
