package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/testkit/needs"
)

// put adds the files from..to-1 to alice's dataset. If the dataset does not exist, put creates it in the container; ""
// means none.
func (w *world) put(name, container string, from, to int) error {
	var files []jjm.File
	for i := from; i < to; i++ {
		files = append(files, jjm.File{LFN: lfn(i), Events: 100, Size: 1000})
	}
	_, err := w.engine.Dataset(context.Background(), alice,
		wire.Dataset{Do: wire.DatasetAdd, Name: name, Container: container, Files: files})
	return err
}

// dataset returns the state of one of alice's datasets.
func (w *world) dataset(name string) wire.DatasetState {
	w.t.Helper()
	got, err := w.engine.Dataset(context.Background(), alice, wire.Dataset{Do: wire.DatasetShow, Name: name})
	w.must(err)
	return got.Shown[0]
}

// A grid job that reads a container (a named group of datasets) reads each file of its datasets once. It gets more
// files while one of the datasets is open, and when a dataset is added. The status shows the dataset of each file.
func TestContainer_IsReadAsItsDatasets(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		read := func(name string) string { return fileJob("", "name = \""+name+"\"\ncontainer = \"run1\"\n") }
		if _, err := w.trySubmit(alice, "", read("all")); jjm.KindOf(err) != jjm.Invalid ||
			!strings.Contains(err.Error(), "no dataset in a container run1") {
			t.Errorf("a container that is not there: %v", err)
		}
		w.must(w.put("a", "run1", 0, 4))
		w.must(w.put("b", "run1", 3, 6)) // one file is in both datasets
		w.must(w.put("else", "", 7, 9))
		for _, wrong := range []struct{ name, container, want string }{{"a", "run2", "in container run1"},
			{"else", "run1", "is in no container"}, {"run9", "run9", "cannot have the name"}} {
			if err := w.put(wrong.name, wrong.container, 20, 21); err == nil || !strings.Contains(err.Error(), wrong.want) {
				t.Errorf("%v: %v", wrong, err)
			}
		}
		if _, err := w.trySubmit(alice, "", read("a")); jjm.KindOf(err) != jjm.Invalid ||
			!strings.Contains(err.Error(), "is in the container itself") {
			t.Errorf("a container read into its own: %v", err)
		}
		_, err := w.engine.Dataset(context.Background(), alice,
			wire.Dataset{Do: wire.DatasetMark, Name: "a", LFNs: []string{lfn(1)}, State: "lost", Reason: "gone"})
		w.must(err)
		id := w.submit(alice, read("all"))
		w.until(time.Hour, "what is there is done", func() bool { return w.input(id).Finished == 5 })
		w.reopen()
		w.closeDataset(alice, "a")
		w.must(w.put("c", "run1", 10, 12))
		w.until(time.Hour, "what joined is done", func() bool { return w.input(id).Finished == 7 })
		_, err = w.engine.Dataset(context.Background(), alice,
			wire.Dataset{Do: wire.DatasetMark, Name: "a", LFNs: []string{lfn(1)}, State: "ready", Reason: "back"})
		w.must(err)
		w.until(time.Hour, "what is back is done", func() bool { return w.input(id).Finished == 8 })
		w.closeDataset(alice, "b")
		w.closeDataset(alice, "c")
		w.final(2*time.Hour, id)
		w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: -1})
		show := w.dataset("all")
		if show.Files != 8 || show.Closed == 0 ||
			!slices.Equal(show.Origins, []wire.DatasetOrigin{{Name: "a", Files: 4}, {Name: "b", Files: 3},
				{Name: "c", Files: 2}}) {
			t.Errorf("%+v", show)
		}
		history, err := w.engine.History(context.Background(), alice, jjm.Ref{Grid: id}, 0)
		if err != nil || !slices.ContainsFunc(history, func(e jjm.JournalEntry) bool {
			return strings.Contains(e.To, "dataset all has the 3 files of dataset b of container run1")
		}) {
			t.Errorf("the history does not name the datasets: %+v %v", history, err)
		}
		w.verifyAfterReopening(id)
	})
}

// If a file in a dataset of a container is marked as lost, the grid jobs that read the container no longer process the
// file.
func TestContainer_AMarkReachesItsReaders(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Hour}, configs: oneByOne()}, func(t *testing.T, w *world) {
		w.must(w.put("a", "run1", 0, 4))
		w.closeDataset(alice, "a")
		id := w.submit(alice, fileJob("", "name = \"all\"\ncontainer = \"run1\"\n"))
		w.until(time.Hour, "one runs", func() bool {
			return w.lookup(id).Counts.Running == 1 && w.lookup(id).Counts.New == 1
		})
		got, err := w.engine.Dataset(context.Background(), alice,
			wire.Dataset{Do: wire.DatasetMark, Name: "a", LFNs: []string{lfn(2)}, State: "lost", Reason: "gone"})
		w.must(err)
		if len(got.Marked) != 1 || !slices.Equal(got.Marked[0].Back, []string{"1.1"}) {
			t.Errorf("%+v", got.Marked)
		}
		w.final(6*time.Hour, id)
		if owners := w.owners(id); owners[lfn(2)] != nil || !slices.Equal(owners[lfn(3)], []int32{2}) {
			t.Errorf("%v", owners)
		}
	})
}

// If a grid job with an output dataset runs on several clusters, jjm makes one dataset per cluster, in a container with
// the name in the job file. Grid jobs that read the container get the files of all clusters.
func TestContainer_OfOutputsFromSeveralClusters(t *testing.T) {
	t.Parallel()
	o := options{sim: adaptertest.SimConfig{Slots: 2}, more: []adaptertest.SimConfig{{Name: "second", Slots: 2}}}
	inWorld(t, o, func(t *testing.T, w *world) {
		maker := w.submit(alice, fileJob("output_dataset = \"reco\"\nclusters = [\"sim\", \"second\"]\n",
			"name = \"raw\"\n"+inline(16)))
		w.until(time.Hour, "its dataset is there", func() bool { return w.lookup(maker).Counts.Total > 0 })
		for _, wrong := range []string{"name = \"reco\"\n", "name = \"x\"\ncontainer = \"none\"\n"} {
			if _, err := w.trySubmit(alice, "", fileJob("", wrong)); jjm.KindOf(err) != jjm.Invalid {
				t.Errorf("%s: %v", wrong, err)
			}
		}
		if err := w.put("reco", "", 0, 1); jjm.KindOf(err) != jjm.Conflict {
			t.Errorf("files for a container: %v", err)
		}
		if _, err := w.trySubmit(alice, "",
			fileJob("output_dataset = \"reco\"\n", "name = \"raw\"\n")); jjm.KindOf(err) != jjm.Invalid ||
			!strings.Contains(err.Error(), "reco already") {
			t.Errorf("a container twice: %v", err)
		}
		reader := w.submit(alice, fileJob("", "name = \"all_reco\"\ncontainer = \"reco\"\n"))
		w.final(2*time.Hour, maker)
		w.final(2*time.Hour, reader)
		w.verify(maker, done(8))
		w.verify(reader, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: -1})
		here, there := w.dataset("reco.sim"), w.dataset("reco.second")
		if here.Files == 0 || there.Files == 0 || here.Files+there.Files != 8 || here.Container != "reco" ||
			here.Closed == 0 {
			t.Errorf("%+v %+v", here, there)
		}
		if in := w.input(reader); in.Finished != 8 {
			t.Errorf("%+v", in)
		}
	})
}

// The parts of a grid job that reads a container may contain files of several datasets. Many datasets of one file each
// therefore make full parts.
func TestContainer_OfManyDatasetsMakesFullParts(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		const sets = 601
		for i := range sets {
			name := fmt.Sprintf("d%d", i)
			w.must(w.put(name, "run1", i, i+1))
			w.closeDataset(alice, name)
		}
		id := w.submit(alice, fileJob("", "name = \"all\"\ncontainer = \"run1\"\n"))
		w.final(6*time.Hour, id)
		w.verify(id, done((sets+1)/2))
	})
}

// A grid job that reads a container copies the files of each dataset into its own dataset, in one transaction per
// dataset. While some datasets are not copied yet, and also if the daemon dies then, the splitter must not split the
// files that are already there.
func TestContainer_NobodyCutsItsFilesBeforeAllAreThere(t *testing.T) {
	t.Parallel()
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprintf("the daemon dies %v", dies), func(t *testing.T) {
			t.Parallel()
			crash := &crasher{}
			inWorld(t, options{crash: crash}, func(t *testing.T, w *world) {
				for i := range 6 {
					w.must(w.put(fmt.Sprintf("d%d", i), "run1", i, i+1))
				}
				crash.mu.Lock()
				crash.on = func(point string) {
					if point == "dataset-take" {
						time.Sleep(time.Second)
						if err := w.put("all", "", 100, 101); err != nil { // this change of the dataset wakes the grid jobs that read it
							t.Error(err)
						}
						time.Sleep(time.Second)
					}
				}
				if dies {
					crash.point, crash.nth = "dataset-take", 3
				}
				crash.mu.Unlock()
				id := w.submit(alice, fileJob("", "name = \"all\"\ncontainer = \"run1\"\n")+
					"[split]\nby = \"FileBased\"\nparams = {files_per_job = 10}\n")
				if dies {
					w.until(time.Hour, "it died", crash.isDead)
					w.reopen()
				}
				w.until(time.Hour, "local jobs", func() bool { return w.lookup(id).Counts.Total > 0 })
				w.pass(time.Hour)
				if n := w.lookup(id).Counts.Total; n != 1 {
					t.Errorf("%d local jobs, want one with all files", n)
				}
			})
		})
	}
}

// 5000 datasets of one file each, split into parts of 1000 files, make five local jobs. Outside the campaign "hostile",
// the test uses a fifth of both numbers.
func TestContainer_FiveThousandDatasetsMakeFiveParts(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		sets, each := 1000, 200
		if needs.InCampaign(needs.Hostile) {
			sets, each = 5000, 1000
		}
		w.must(w.store.Update(t.Context(), func(tx *store.Tx) error { // in one transaction, which takes a second
			for i := range sets {
				id, _, err := tx.PutDataset(alice.UID, jjm.Dataset{Name: fmt.Sprintf("d%d", i), Container: "run1"})
				if err == nil {
					_, err = tx.AddFiles(id, []jjm.File{{LFN: lfn(i), Events: 100, Size: 1000}})
				}
				if err != nil {
					return err
				}
			}
			return nil
		}))
		id := w.submit(alice, fileJob("", "name = \"all\"\ncontainer = \"run1\"\n")+
			"[split]\nby = \"FileBased\"\nparams = {files_per_job = "+strconv.Itoa(each)+"}\n")
		w.until(6*time.Hour, "five local jobs", func() bool { return w.lookup(id).Counts.Total == sets/each })
		w.pass(time.Hour)
		if n := w.lookup(id).Counts.Total; n != sets/each {
			t.Errorf("%d local jobs", n)
		}
	})
}
