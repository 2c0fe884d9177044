package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm"
	"jjm/adapters/adaptertest"
	"jjm/cover"
	"jjm/wire"
)

// mark marks files of alice's dataset raw.
func (w *world) mark(c wire.Caller, dry bool, state string, lfns ...string) (wire.Datasets, error) {
	return w.engine.Dataset(context.Background(), c, wire.Dataset{Do: wire.DatasetMark, Name: "raw", UID: &alice.UID, LFNs: lfns, State: state, Reason: "disk 7 is gone", DryRun: dry})
}

// A local job that owns a file which is lost goes on: if it completes, the file was
// processed; if not, its work is done again without that file, and the grid job ends
// finished and says what is missing.
func TestMarks_AFileIsLostWhileALocalJobOwnsIt(t *testing.T) {
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.N == 0 {
			return adaptertest.Play{Keyword: "-", Exit: 3, Life: time.Hour}
		}
		return adaptertest.Play{Life: time.Hour}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(4)))
		w.until(time.Hour, "both run", func() bool { return w.lookup(id).Counts.Running == 2 })
		dry, err := w.mark(alice, true, "lost", lfn(0), lfn(2))
		w.must(err)
		if in := w.input(id); in.ToBeUsed != 4 || len(dry.Marked) != 2 || !slices.Equal(dry.Marked[0].Locals, []string{jjm.LocalID{Grid: id}.String()}) {
			t.Errorf("a dry run: %+v, then %+v", dry, in)
		}
		got, err := w.mark(alice, false, "lost", lfn(0), lfn(2))
		w.must(err)
		if len(got.Marked) != 2 || got.Marked[0].Before || got.Marked[0].State != "lost" {
			t.Errorf("%+v", got)
		}
		again, err := w.mark(alice, false, "broken", lfn(0))
		w.must(err)
		if !again.Marked[0].Before || again.Marked[0].State != "lost" {
			t.Errorf("a mark stands: %+v", again)
		}
		w.reopen()
		w.final(4*time.Hour, id)
		owners := w.owners(id)
		if len(owners[lfn(0)]) != 0 || !slices.Equal(owners[lfn(1)], []int32{2}) || !slices.Equal(owners[lfn(2)], []int32{1}) {
			t.Errorf("%v", owners)
		}
		if in := w.input(id); in != (jjm.InputCounts{Files: 4, ToBeUsed: 3, Used: 3, Finished: 3, Events: 400, EventsUsed: 300}) {
			t.Errorf("%+v", in)
		}
		if l := w.lookup(id); l.Status != "finished" || !strings.Contains(l.Message, "1 file missing") {
			t.Errorf("%+v", l)
		}
		v := w.proof(id, "r.json")
		if v.Verdict != cover.Gap || v.Missing != 1 || len(v.Findings) != 1 || !strings.Contains(v.Findings[0].Why, "f0000: the file is lost: disk 7 is gone") {
			t.Errorf("%+v", v)
		}
		history, err := w.engine.History(context.Background(), alice, jjm.Ref{Grid: id}, 0)
		told := slices.ContainsFunc(history, func(e jjm.JournalEntry) bool {
			return e.Actor == alice.User && strings.Contains(e.To, "2 files of dataset raw are lost: disk 7 is gone")
		})
		if err != nil || !told {
			t.Errorf("the history does not say who marked what, and why: %+v %v", history, err)
		}
		w.verifyAfterReopening(id)
	})
}

// What is marked before it is cut never comes into a part, whichever grid job reads
// it and when; and nobody is told that all was done.
func TestMarks_WhatCannotBeReadIsNeverCut(t *testing.T) {
	inWorld(t, options{}, func(t *testing.T, w *world) {
		files := make([]jjm.File, 6)
		for i := range files {
			files[i] = jjm.File{LFN: lfn(i), Events: 100}
		}
		_, err := w.engine.Dataset(context.Background(), alice, wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: files[:4]})
		w.must(err)
		_, err = w.mark(alice, false, "broken", lfn(1))
		w.must(err)
		id := w.submit(alice, fileJob("", "name = \"raw\"\n\n[split]\nby = \"FileBased\"\nparams = {files_per_job = 1, total_files = 5}\n"))
		w.until(time.Hour, "three completed", func() bool { return w.lookup(id).Counts.Completed == 3 })
		_, err = w.engine.Dataset(context.Background(), alice, wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: files})
		w.must(err)
		w.closeDataset(alice, "raw")
		w.final(time.Hour, id)
		if got := w.owners(id)[lfn(1)]; got != nil {
			t.Errorf("local jobs %v own what is broken", got)
		}
		// total_files leaves out files, but not the broken one.
		if v := w.proof(id, ""); v.Verdict != cover.Gap || v.Missing != 1 || v.Findings[0].LFN != lfn(1) {
			t.Errorf("%+v", v)
		}
		if l := w.lookup(id); l.Status != "finished" {
			t.Errorf("%+v", l)
		}
	})
}

// Work that would make absurdly many local jobs is refused with their number before
// any is made, also of files that come later; and so is a dataset of absurd size.
func TestLimits_AbsurdWorkIsRefusedWithItsNumber(t *testing.T) {
	for how, want := range map[string]string{
		"by = \"EventBased\"\nparams = {events_per_job = 1}":                           "1000000000000000 ",
		"by = \"LumiBased\"\nparams = {lumis_per_job = 1}":                             "4000000000 ",
		"by = \"JEDI\"\nparams = {records = {events_per_job = 1, real_events = true}}": "would make",
	} {
		for _, open := range []bool{false, true} {
			inWorld(t, options{}, func(t *testing.T, w *world) {
				file := jjm.File{LFN: "huge", Events: 1e15, Lumis: []jjm.LumiRange{{Run: 1, First: 1, Last: 4e9}}}
				_, err := w.engine.Dataset(context.Background(), alice, wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: []jjm.File{file}})
				w.must(err)
				if !open {
					w.closeDataset(alice, "raw")
				}
				id := w.submit(alice, fileJob("", "name = \"raw\"\n\n[split]\n"+how+"\n"))
				w.final(time.Hour, id)
				if l := w.lookup(id); l.Status != "broken" || l.Counts.Total != 0 || !strings.Contains(l.Message, want) {
					t.Errorf("%s, open %v: %+v", how, open, l)
				}
			})
		}
	}
	inWorld(t, options{config: func(c *engineConfig) { c.MaxFiles = 3 }}, func(t *testing.T, w *world) {
		add := func(from, to int) error {
			var files []jjm.File
			for i := from; i < to; i++ {
				files = append(files, jjm.File{LFN: lfn(i)})
			}
			_, err := w.engine.Dataset(context.Background(), alice, wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: files})
			return err
		}
		w.must(add(0, 3))
		w.must(add(1, 3))
		if err := add(2, 5); jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "would have 5 files; this site allows 3") {
			t.Errorf("%v", err)
		}
		id := w.submit(alice, fileJob("", "name = \"other\"\n"+inline(4)))
		w.final(time.Hour, id)
		if l := w.lookup(id); l.Status != "broken" || !strings.Contains(l.Message, "would have 4 files") {
			t.Errorf("%+v", l)
		}
	})
}

func TestMarks_AreForOwnersAndOfFilesThatAreThere(t *testing.T) {
	inWorld(t, options{}, func(t *testing.T, w *world) {
		_, err := w.engine.Dataset(context.Background(), alice, wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: []jjm.File{{LFN: "a"}}})
		w.must(err)
		if _, err := w.mark(bob, false, "lost", "a"); jjm.KindOf(err) != jjm.Denied {
			t.Errorf("bob marks alice's: %v", err)
		}
		if _, err := w.mark(alice, false, "lost", "a", "b"); jjm.KindOf(err) != jjm.Gone || !strings.Contains(err.Error(), `"b"`) {
			t.Errorf("a file that is not there: %v", err)
		}
		got, err := w.mark(admin, false, "lost", "a")
		if err != nil || got.Marked[0].Before {
			t.Errorf("one of two that was refused stays unmarked: %+v %v", got, err)
		}
	})
}
