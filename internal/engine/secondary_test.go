package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// withPileup returns a job file over n files of a dataset, two per local job, with as many
// files of a secondary dataset.
func withPileup(n int, more string) string {
	return fileJob("", "name = \"raw\"\n"+inline(n)+
		"[[datasets]]\nname = \"pileup\"\nsecondary = true\n"+more+
		"[split]\nby = \"JEDI\"\nparams = {task = {rule = \"NF=2\"}}\n")
}

// pileup adds n files, numbered from first, to the dataset pileup.
func (w *world) pileup(first, n int) {
	w.t.Helper()
	var files []jjm.File
	for i := range n {
		files = append(files, jjm.File{LFN: fmt.Sprintf("p%d", first+i), Events: 10})
	}
	_, err := w.engine.Dataset(w.t.Context(), alice, wire.Dataset{Do: wire.DatasetAdd, Name: "pileup", Files: files})
	w.must(err)
}

// A local job that needs more files of an open secondary dataset waits, and the status names the dataset. The local job
// is made once there are enough files.
func TestSecondary_WaitsForAnOpenDataset(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		w.pileup(0, 3)
		id := w.submit(alice, withPileup(6, ""))
		w.until(10*time.Minute, "one completed", func() bool { return w.lookup(id).Counts.Completed == 1 })
		w.pass(time.Hour)
		w.reopen()
		w.pass(time.Hour)
		l := w.lookup(id)
		const says = "dataset pileup has 1 of the 2 files that the next local job needs of it, and is open"
		if l.Status != "running" || l.Counts.Total != 1 || w.status(id).Waits != says {
			t.Errorf("while it waits: %+v", l)
		}
		entries, err := w.engine.History(w.t.Context(), admin, jjm.Ref{Grid: id}, 0)
		w.must(err)
		if !slices.ContainsFunc(entries, func(e jjm.JournalEntry) bool { return e.To == "waits: "+says }) {
			t.Errorf("the history does not tell what it waits for: %+v", entries)
		}
		w.pileup(3, 2)
		w.until(10*time.Minute, "two completed", func() bool { return w.lookup(id).Counts.Completed == 2 })
		w.pileup(5, 1)
		w.final(10*time.Minute, id)
		w.verify(id, done(3))
	})
}

// The secondary dataset is closed with too few files. The grid job then ends, and its message names the missing files.
// With allow_incomplete the grid job uses the files that exist.
func TestSecondary_AClosedDatasetWithTooFewFilesIsRefused(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		w.pileup(0, 3)
		short := w.submit(alice, withPileup(4, ""))
		w.until(10*time.Minute, "one completed", func() bool { return w.lookup(short).Counts.Completed == 1 })
		incomplete := w.submit(alice, strings.Replace(withPileup(4, ""), "params = {", "params = {allow_incomplete = true, ",
			1))
		w.closeDataset(alice, "pileup")
		w.final(time.Hour, short, incomplete)
		if l := w.lookup(short); l.Status != "finished" ||
			!strings.Contains(l.Message, "dataset pileup has 1 of the 2 files") {
			t.Errorf("%+v", l)
		}
		w.verify(incomplete, done(2))
	})
}

// withMinbias returns a job file that generates n events, ten per local job, with files of a
// dataset of minimum bias.
func withMinbias(n int, dataset string) string {
	return fmt.Sprintf("type = \"montecarlo\"\nresult = \"exit\"\n[[datasets]]\nname = \"pileup\"\nsecondary = true\n%s"+
		"[params]\ncommand = [\"/bin/true\", \"{events}\"]\nevents = %d\nevents_per_job = 10\n", dataset, n)
}

// Job types that generate events can also read files of secondary datasets. The attributes of a dataset say how many
// files each local job reads.
func TestSecondary_GeneratedEventsHaveFiles(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		files := "files = [{lfn = \"p0\"}, {lfn = \"p1\"}, {lfn = \"p2\"}, {lfn = \"p3\"}]\n"
		id := w.submit(alice, withMinbias(25, "attributes = \"repeat,ratio=2\"\n"+files))
		w.final(10*time.Minute, id)
		w.verify(id, done(3))
		inputs, err := w.store.PartInputs(t.Context(), id, []int32{0, 1, 2})
		w.must(err)
		for n, want := range [][]string{{"p0", "p1"}, {"p2", "p3"}, {"p0", "p1"}} {
			in := inputs[int32(n)].Input
			if in == nil || in.More == nil || len(in.More.Secondary) != 1 ||
				!slices.Equal(in.More.Secondary[0].Files, want) || in.Mask.Events.First != int64(1+10*n) {
				t.Errorf("local job %d reads %+v, want %v", n, in, want)
			}
		}
		_, err = w.engine.Submit(t.Context(), alice, wire.Submit{Name: "job.toml", BaseDir: w.dir,
			Text: strings.Replace(withMinbias(45, files), "\"pileup\"", "\"few\"", 1)})
		if err == nil || !strings.Contains(err.Error(), "dataset few has 4 of the 5 files that local jobs need of it") {
			t.Errorf("too few files: %v", err)
		}
	})
}

// An open secondary dataset has too few files. No further local jobs are made until it has enough files, also after a
// restart.
func TestSecondary_GeneratedEventsWaitForAnOpenDataset(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		w.pileup(0, 1)
		id := w.submit(alice, withMinbias(30, ""))
		w.until(10*time.Minute, "one completed", func() bool { return w.lookup(id).Counts.Completed == 1 })
		w.pass(time.Hour)
		w.reopen()
		w.pass(time.Hour)
		const says = "dataset pileup has 0 of the 1 files that the next local job needs of it, and is open"
		if l := w.lookup(id); l.Counts.Total != 1 || w.status(id).Waits != says {
			t.Errorf("while it waits: %+v, %q", l, w.status(id).Waits)
		}
		w.pileup(1, 2)
		w.final(10*time.Minute, id)
		w.verify(id, done(3))
	})
}
