package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm"
	"jjm/wire"
)

// withPileup is a job file over n files of a dataset, two for each local job, with as many
// of a dataset that is there.
func withPileup(n int, more string) string {
	return fileJob("", "name = \"raw\"\n"+inline(n)+
		"[[datasets]]\nname = \"pileup\"\nsecondary = true\n"+more+
		"[split]\nby = \"JEDI\"\nparams = {task = {rule = \"NF=2\"}}\n")
}

// pileup adds files to the secondary dataset.
func (w *world) pileup(first, n int) {
	w.t.Helper()
	var files []jjm.File
	for i := range n {
		files = append(files, jjm.File{LFN: fmt.Sprintf("p%d", first+i), Events: 10})
	}
	_, err := w.engine.Dataset(w.t.Context(), alice, wire.Dataset{Do: wire.DatasetAdd, Name: "pileup", Files: files})
	w.must(err)
}

// A local job for which an open secondary dataset has too little waits, the status says for
// what, and it is made once there is enough.
func TestSecondary_AnOpenDatasetIsWaitedFor(t *testing.T) {
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

// Once it is closed and has too little, the grid job ends and says what is missing; with
// allow_incomplete it takes what there is.
func TestSecondary_AClosedOneThatFallsShortIsRefused(t *testing.T) {
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
