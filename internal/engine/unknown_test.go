package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/work/cover"
	"jjm/internal/work/split"
)

// byEvents is the section of a job file that splits files into parts of 50 events.
const byEvents = "[split]\nby = \"EventBased\"\nparams = {events_per_job = 50}\n"

// mixed returns a list of n files for a job file. Every second file has 0 events, which means that its number of events
// is unknown.
func mixed(n int) string {
	var files []string
	for i := range n {
		files = append(files, fmt.Sprintf("{lfn = %q, events = %d, size = 1000}", lfn(i), i%2*100))
	}
	return "files = [" + strings.Join(files, ", ") + "]\n"
}

// A file with an unknown number of events belongs to one local job. If that local job fails, the recovery contains the
// file.
func TestUnknownEvents_AreOwnedByOneLocalJobAndRecovered(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Grid == 1 && (id.N == 0 || id.N == 2) {
			return adaptertest.Play{Exit: 1, Keyword: "FAILED", Data: "x"}
		}
		return adaptertest.Play{}
	}
	once := func(c *engineConfig) { c.MaxAttempts = 1 }
	inWorld(t, options{play: play, config: once}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("", "name = \"raw\"\n"+mixed(4)+byEvents))
		w.final(time.Hour, id)
		owners := w.owners(id)
		for i, want := range []int{1, 2, 1, 2} {
			if len(owners[lfn(i)]) != want {
				t.Errorf("file %d is owned by %v, want %d local jobs", i, owners[lfn(i)], want)
			}
		}
		v := w.proof(id, "r.json")
		if v.Verdict != cover.Gap || v.Missing != 51 || v.Expected != 202 {
			t.Fatalf("%+v", v)
		}
		s, err := w.trySubmit(alice, "", v.Recovery)
		w.must(err)
		w.final(time.Hour, s.ID)
		w.verify(s.ID, done(2))
		if v := w.proof(id, ""); v.Missing+v.Overlap+v.Doubled+v.Disagree != 0 || v.Assumed != 202 {
			t.Errorf("with its recovery: %+v", v)
		}
	})
}

// The store permanently refuses the local jobs of a grid job. The grid job ends as broken with the reason, and grid
// jobs that read its outputs see that no more files will come.
func TestGenerate_WhatTheStoreRefusesForGoodBreaksTheGridJob(t *testing.T) {
	t.Parallel()
	c := &crasher{}
	inWorld(t, options{crash: c}, func(t *testing.T, w *world) {
		const id = jjm.GridID(1)
		rival := jjm.LocalJob{ID: jjm.LocalID{Grid: id}, Exit: -1,
			Part: jjm.Part{Unit: jjm.UnitEvent, First: 1, Count: 1, Serial: 1}}
		var once sync.Once
		c.mu.Lock()
		c.on = func(point string) {
			if point == "prepare.after-commit" { // stored before the engine makes its local jobs, and without its knowledge
				once.Do(func() {
					w.must(w.store.Update(context.Background(), func(tx *store.Tx) error {
						return tx.InsertLocals([]jjm.LocalJob{rival})
					}))
				})
			}
		}
		c.mu.Unlock()
		w.submit(alice, mc(2, "output_dataset = \"made\""))
		reader := w.submit(alice, fileJob("", "name = \"made\"\n"))
		w.until(time.Hour, "it tells why it does not go on", func() bool {
			return len(w.status(id).Trouble) > 0 || w.lookup(id).Status == "broken"
		})
		w.until(time.Hour, "it ends", func() bool { return w.lookup(id).GRAM == jjm.GRAMFailed })
		if l := w.lookup(id); l.Status != "broken" || !strings.Contains(l.Message, "a mistake in jjm itself") ||
			!strings.Contains(l.Message, "local job 1.0") {
			t.Errorf("%s: %s", l.Status, l.Message)
		}
		if d := w.dataset("made"); d.Closed == 0 {
			t.Errorf("its output dataset is still open: %+v", d)
		}
		w.until(time.Hour, "its reader ends", func() bool { return w.lookup(reader).GRAM == jjm.GRAMFailed })
	})
}

// Every splitter of files makes parts that the store accepts, even if files have an unknown number of events.
func TestUnknownEvents_EverySplitterMakesPartsThatTheStoreTakes(t *testing.T) {
	t.Parallel()
	for _, by := range []string{split.EventBased, split.LHCbDataSplitter, split.FileBased, split.JEDI} {
		inWorld(t, options{}, func(t *testing.T, w *world) {
			id := w.submit(alice, fileJob("", "name = \"raw\"\n"+mixed(5)+"[split]\nby = \""+by+"\"\n"))
			w.final(time.Hour, id)
			w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: -1})
			if v := w.proof(id, ""); !v.Whole() || v.Files != 5 {
				t.Errorf("%s: %+v", by, v)
			}
		})
	}
}
