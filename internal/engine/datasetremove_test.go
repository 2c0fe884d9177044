package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// drop removes datasets of alice as a caller, and returns the outcome for each.
func (w *world) drop(c wire.Caller, names ...string) []wire.RemovedDataset {
	w.t.Helper()
	got, err := w.engine.Dataset(context.Background(), c,
		wire.Dataset{Do: wire.DatasetRemove, Names: names, UID: &alice.UID})
	w.must(err)
	return got.Removed
}

// dropped removes a dataset as alice, and requires that the answer reports the given number of files.
func (w *world) dropped(name string, files int64) {
	w.t.Helper()
	want := []wire.RemovedDataset{{Name: name, Files: files}}
	if d := cmp.Diff(want, w.drop(alice, name)); d != "" {
		w.t.Error(d)
	}
}

// keptDataset tries to remove a dataset, and requires an error of the given kind that contains all texts. The dataset
// must not change.
func (w *world) keptDataset(name string, kind jjm.Kind, texts ...string) {
	w.t.Helper()
	before := w.dataset(name)
	err := w.drop(alice, name)[0].Error
	for _, text := range texts {
		if err == nil || err.Kind != kind || !strings.Contains(err.Text, text) {
			w.t.Errorf("dataset %s: %+v, want an error of kind %s with %q", name, err, kind, text)
		}
	}
	// Files may still be added to the dataset, and its readers continue meanwhile.
	if after := w.dataset(name); after.Container != before.Container || after.Files < before.Files {
		w.t.Errorf("dataset %s: it was %+v, and is %+v", name, before, after)
	}
}

// verifyCleared requires that the store has deleted all data of removed datasets within an hour.
func (w *world) verifyCleared() {
	w.t.Helper()
	w.until(time.Hour, "removed datasets are deleted", func() bool {
		left, err := w.store.RemovedDatasets(context.Background())
		return err == nil && len(left) == 0
	})
}

// The name of a removed dataset is free immediately. A new dataset of that name inherits nothing from the removed
// dataset: no file, no mark, no container, and it is open.
func TestDatasetRemove_TheNameIsFreeAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, options{chunk: 3}, func(t *testing.T, w *world) {
		w.must(w.put("raw", "run1", 0, 10))
		w.must(w.put("other", "", 0, 2))
		mark := wire.Dataset{Do: wire.DatasetMark, Name: "raw", LFNs: []string{lfn(1)}, State: "lost", Reason: "gone"}
		_, err := w.engine.Dataset(context.Background(), alice, mark)
		w.must(err)
		w.closeDataset(alice, "raw")
		dry := wire.Dataset{Do: wire.DatasetRemove, Names: []string{"raw", "none"}, DryRun: true}
		got, err := w.engine.Dataset(context.Background(), alice, dry)
		want := []wire.RemovedDataset{{Name: "raw", Files: 10},
			{Name: "none", Error: &wire.Error{Kind: jjm.Gone, Text: "no dataset none"}}}
		if d := cmp.Diff(want, got.Removed); d != "" || err != nil {
			t.Errorf("dry run: %s %v", d, err)
		}
		if d := w.dataset("raw"); d.Files != 10 || d.Closed == 0 {
			t.Errorf("after a dry run: %+v", d)
		}
		w.dropped("raw", 10)
		if show, err := w.engine.Dataset(context.Background(), alice, wire.Dataset{Do: wire.DatasetShow}); err != nil ||
			len(show.Shown) != 1 || show.Shown[0].Name != "other" {
			t.Errorf("%+v %v", show, err)
		}
		if err := w.drop(alice, "raw")[0].Error; err == nil || err.Kind != jjm.Gone || err.Text != "no dataset raw" {
			t.Errorf("again: %+v", err)
		}
		w.must(w.put("raw", "", 0, 4))
		if d := w.dataset("raw"); d.Files != 4 || d.Closed != 0 || d.Container != "" || d.Events != 400 {
			t.Errorf("the new one: %+v", d)
		}
		w.closeDataset(alice, "raw")
		id := w.submit(alice, fileJob("", "name = \"raw\"\n"))
		w.final(time.Hour, id)
		w.verify(id, isDone())
		if got := w.input(id); got.Finished != 4 {
			t.Errorf("%+v", got)
		}
		w.verifyCleared()
		w.reopen()
		if d := w.dataset("raw"); d.Files != 4 {
			t.Errorf("%+v", d)
		}
		orders, err := w.engine.History(context.Background(), admin, jjm.Ref{}, 0)
		if err != nil || !strings.Contains(causes(orders), "dataset raw removed, 10 files (uid ") {
			t.Errorf("%v %v", causes(orders), err)
		}
	})
}

// isDone is the expected end of a grid job that is done, with any number of local jobs.
func isDone() want { return want{status: jjm.Done, gram: jjm.GRAMDone, jobs: -1} }

// causes returns the causes of journal entries, a line each.
func causes(all []jjm.JournalEntry) string {
	var lines []string
	for _, en := range all {
		lines = append(lines, en.Cause)
	}
	return strings.Join(lines, "\n")
}

// A dataset cannot be removed while a grid job that is not over reads it or fills it. After the end it cannot be
// removed until the grid jobs that read it are removed, because their proofs need its files.
func TestDatasetRemove_WaitsForThoseWhoNeedIt(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Minute}}, func(t *testing.T, w *world) {
		w.must(w.put("raw", "", 0, 4))
		a := w.submit(alice, fileJob("output_dataset = \"made\"\n", "name = \"raw\"\n"))
		for range 3 {
			w.submit(alice, fileJob("", "name = \"raw\"\n"))
		}
		reader := w.submit(alice, fileJob("", "name = \"made\"\n"))
		w.keptDataset("raw", jjm.Conflict, "read or filled by grid jobs 1, 2, 3 and 1 more, not over yet", "jjm kill 1 2 3)")
		w.keptDataset("made", jjm.Conflict, "grid jobs 1, 5, not over yet")
		w.until(time.Hour, "made has files", func() bool { return w.dataset("made").Files > 0 })
		w.keptDataset("made", jjm.Conflict, "grid jobs 1, 5, not over yet")
		w.closeDataset(alice, "raw")
		w.final(time.Hour, a, 2, 3, 4, reader)
		w.keptDataset("raw", jjm.Conflict, "read by grid jobs 1, 2, 3 and 1 more, and jjm verify", "(jjm remove 1 2 3)")
		w.keptDataset("made", jjm.Conflict, "read by grid job 5, and jjm verify asks", "(jjm remove 5)")
		before := w.proof(a, "")

		for _, id := range []jjm.GridID{2, 3, 4, reader} {
			w.lookup(id)
			w.must(w.remove(alice, true, id)[0].Error.Err())
			w.until(time.Hour, "it is removed", func() bool { return w.removed(id) })
		}
		w.keptDataset("raw", jjm.Conflict, "read by grid job 1, and")
		w.refusedRemoval(alice, a, jjm.Conflict, "dataset made refers to its outputs")
		w.dropped("made", w.dataset("made").Files)
		if d := cmp.Diff(before, w.proof(a, "")); d != "" {
			t.Errorf("the proof of the grid job that filled it: %s", d)
		}
		w.lookup(a)
		w.must(w.remove(alice, true, a)[0].Error.Err())
		w.until(time.Hour, "its files go with it", func() bool { return w.removed(a) })
		w.dropped("raw", 4)
		w.verifyCleared()
	})
}

// A grid job is reopened after its output dataset was removed. It does not fill another dataset that has the same name
// now.
func TestDatasetRemove_AReopenedGridJobFillsNoOther(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyOnce(1)}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("result = \"glf\"\noutput_dataset = \"made\"\n", "name = \"raw\"\n"+inline(6)))
		w.final(time.Hour, id)
		w.dropped("made", w.dataset("made").Files)
		w.must(w.put("made", "", 20, 21))
		if got := w.resubmit(false, id.String()); got.Jobs != 1 || got.Error != nil {
			t.Fatalf("%+v", got)
		}
		if st := w.over(time.Hour, id); st.Lookup.Status != "done" {
			t.Errorf("%+v", st.Lookup)
		}
		if d := w.dataset("made"); d.Files != 1 || d.Closed != 0 {
			t.Errorf("%+v", d)
		}
		w.verifyQuiet()
	})
}

// Removing a container removes only the container, not its datasets. A dataset cannot be removed while another dataset
// has copied files from it.
func TestDatasetRemove_OfContainers(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Minute}}, func(t *testing.T, w *world) {
		w.must(w.put("a", "run1", 0, 4))
		w.must(w.put("b", "run1", 4, 6))
		id := w.submit(alice, fileJob("", "name = \"all\"\ncontainer = \"run1\"\n"))
		w.until(time.Hour, "all has files", func() bool { return w.dataset("all").Files == 6 })
		w.keptDataset("a", jjm.Conflict, "grid job 1, not over yet")
		w.keptDataset("all", jjm.Conflict, "grid job 1, not over yet")
		if err := w.drop(alice, "run1")[0].Error; err == nil || err.Kind != jjm.Conflict {
			t.Errorf("a container that is being read: %+v", err)
		}
		w.closeDataset(alice, "a")
		w.closeDataset(alice, "b")
		w.final(time.Hour, id)
		w.keptDataset("a", jjm.Conflict, "read by grid job 1, and")
		container := []wire.RemovedDataset{{Name: "run1", Container: true, Datasets: 2}}
		if d := cmp.Diff(container, w.drop(alice, "run1")); d != "" {
			t.Error(d)
		}
		if d := w.dataset("a"); d.Files != 4 || d.Container != "" {
			t.Errorf("%+v", d)
		}
		if d := w.dataset("all"); len(d.Origins) != 2 {
			t.Errorf("%+v", d)
		}
		w.verify(id, isDone())
		w.lookup(id)
		w.must(w.remove(alice, true, id)[0].Error.Err())
		w.until(time.Hour, "it is removed", func() bool { return w.removed(id) })
		w.keptDataset("a", jjm.Conflict, "dataset all has files of it", "(jjm dataset remove all)")
		w.dropped("all", 6)
		w.dropped("a", 4)
		w.must(w.put("run1", "", 0, 1))
		w.verifyCleared()
	})
}

// The container that a grid job filled from several clusters is removed, and also one of its datasets. When the grid
// job is reopened, its new outputs enter the remaining datasets of the grid job, and never datasets that were made
// under these names meanwhile.
func TestDatasetRemove_OfWhatSeveralClustersMade(t *testing.T) {
	t.Parallel()
	o := options{sim: adaptertest.SimConfig{Slots: 2}, more: []adaptertest.SimConfig{{Name: "second", Slots: 2}},
		play: unluckyOnce(1, 2)}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("result = \"glf\"\noutput_dataset = \"reco\"\nclusters = [\"sim\", \"second\"]\n",
			"name = \"raw\"\n"+inline(16)))
		w.keptDataset("reco", jjm.Conflict, "grid job 1, not over yet")
		w.final(2*time.Hour, id)
		here := w.dataset("reco.sim").Files
		container := []wire.RemovedDataset{{Name: "reco", Container: true, Datasets: 2}}
		if d := cmp.Diff(container, w.drop(alice, "reco")); d != "" {
			t.Error(d)
		}
		if d := w.dataset("reco.sim"); d.Container != "" || d.Files != here || d.Closed == 0 {
			t.Errorf("%+v", d)
		}
		w.dropped("reco.second", w.dataset("reco.second").Files)
		w.must(w.put("reco.second", "", 20, 21))
		if got := w.resubmit(false, id.String()); got.Jobs != 2 || got.Error != nil {
			t.Fatalf("%+v", got)
		}
		if st := w.over(time.Hour, id); st.Lookup.Status != "done" {
			t.Errorf("%+v", st.Lookup)
		}
		if d := w.dataset("reco.second"); d.Files != 1 || d.Closed != 0 {
			t.Errorf("%+v", d)
		}
		if d := w.dataset("reco.sim"); d.Files < here || d.Closed == 0 {
			t.Errorf("%+v, before %d files", d, here)
		}
		w.verifyQuiet()
	})
}

// Only its owner and administrators can remove a dataset. Other accounts get the same error whether the dataset exists
// or not.
func TestDatasetRemove_IsForItsOwner(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		w.must(w.put("raw", "", 0, 2))
		ask := func(c wire.Caller, uid *int, name string) (wire.Datasets, error) {
			return w.engine.Dataset(context.Background(), c,
				wire.Dataset{Do: wire.DatasetRemove, Names: []string{name}, UID: uid})
		}
		there, err := ask(bob, &alice.UID, "raw")
		not, err2 := ask(bob, &alice.UID, "none")
		if jjm.KindOf(err) != jjm.Denied || jjm.KindOf(err2) != jjm.Denied || err.Error() != err2.Error() ||
			cmp.Diff(there, not) != "" {
			t.Errorf("%v, %v", err, err2)
		}
		if got, err := ask(bob, nil, "raw"); err != nil || got.Removed[0].Error.Kind != jjm.Gone {
			t.Errorf("%+v, %v", got, err)
		}
		if d := w.dataset("raw"); d.Files != 2 {
			t.Errorf("%+v", d)
		}
		if got := w.drop(admin, "raw"); got[0].Error != nil {
			t.Errorf("%+v", got)
		}
	})
}

// removeDataset returns an action that removes a dataset of alice. The action also succeeds if the dataset is gone
// already.
func removeDataset(name string) func(*stage) error {
	return func(s *stage) error {
		got, err := s.engine.Dataset(context.Background(), alice,
			wire.Dataset{Do: wire.DatasetRemove, Names: []string{name}})
		if err != nil {
			return err
		}
		if e := got.Removed[0].Error; e != nil && e.Kind != jjm.Gone {
			return e.Err()
		}
		return nil
	}
}
