package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/work/cover"
)

// mark marks files of alice's dataset raw with a state, for example "lost".
func (w *world) mark(c wire.Caller, dry bool, state string, lfns ...string) (wire.Datasets, error) {
	return w.engine.Dataset(context.Background(), c,
		wire.Dataset{Do: wire.DatasetMark, Name: "raw", UID: &alice.UID, LFNs: lfns, State: state, Reason: "disk 7 is gone",
			DryRun: dry})
}

// oneByOne returns the configuration of a cluster on which only one local job may run at a time.
func oneByOne() map[string]engine.ClusterConfig {
	return map[string]engine.ClusterConfig{"sim": {MaxRunning: 1}}
}

// A file is marked lost while a local job owns it. The local job continues. If it completes, the file counts as
// processed. Otherwise the rest of its work is done again without the file, and the grid job ends as finished and names
// the missing file.
func TestMarks_AFileIsLostWhileALocalJobOwnsIt(t *testing.T) {
	t.Parallel()
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
		if in := w.input(id); in.ToBeUsed != 4 || len(dry.Marked) != 2 ||
			!slices.Equal(dry.Marked[0].Locals, []string{jjm.LocalID{Grid: id}.String()}) {
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
		if len(owners[lfn(0)]) != 0 || !slices.Equal(owners[lfn(1)], []int32{2}) ||
			!slices.Equal(owners[lfn(2)], []int32{1}) {
			t.Errorf("%v", owners)
		}
		if in := w.input(id); in != (jjm.InputCounts{Files: 4, ToBeUsed: 3, Used: 3, Finished: 3, Events: 400,
			EventsUsed: 300}) {
			t.Errorf("%+v", in)
		}
		if l := w.lookup(id); l.Status != "finished" || !strings.Contains(l.Message, "1 file missing") {
			t.Errorf("%+v", l)
		}
		v := w.proof(id, "r.json")
		if v.Verdict != cover.Gap || v.Missing != 1 || len(v.Findings) != 1 ||
			!strings.Contains(v.Findings[0].Why, "f0000: the file is lost: disk 7 is gone") {
			t.Errorf("%+v", v)
		}
		history, err := w.engine.History(context.Background(), alice, jjm.Ref{Grid: id}, 0)
		told := slices.ContainsFunc(history, func(e jjm.JournalEntry) bool {
			return e.Actor == alice.User && strings.Contains(e.To, "2 files of dataset raw now lost: disk 7 is gone")
		})
		if err != nil || !told {
			t.Errorf("the history does not say who marked what, and why: %+v %v", history, err)
		}
		w.verifyAfterReopening(id)
	})
}

// A file of a local job that is not submitted yet is marked as lost. The local job gives its files back, and another
// local job processes the remaining files, even if no further attempt was allowed. A submitted local job continues.
func TestMarks_AWaitingLocalJobGivesItsFilesBack(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Hour}, configs: oneByOne(), config: func(c *engineConfig) {
		c.MaxAttempts = 1
	}}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(6)))
		w.until(time.Hour, "one runs", func() bool {
			return w.lookup(id).Counts.Running == 1 && w.lookup(id).Counts.New == 2
		})
		got, err := w.mark(alice, false, "lost", lfn(0), lfn(2), lfn(4), lfn(5))
		w.must(err)
		first, second, third := jjm.LocalID{Grid: id}, jjm.LocalID{Grid: id, N: 1}, jjm.LocalID{Grid: id, N: 2}
		for i, want := range []wire.MarkedFile{
			{LFN: lfn(0), State: "lost", Locals: []string{first.String()}},
			{LFN: lfn(2), State: "lost", Back: []string{second.String()}},
			{LFN: lfn(4), State: "lost", Back: []string{third.String()}},
			{LFN: lfn(5), State: "lost", Back: []string{third.String()}},
		} {
			if diff := cmp.Diff(want, got.Marked[i]); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		}
		w.final(12*time.Hour, id)
		owners := w.owners(id)
		for i, want := range [][]int32{{0}, {0}, nil, {3}, nil, nil} {
			if !slices.Equal(owners[lfn(i)], want) {
				t.Errorf("%s is owned by %v, want %v", lfn(i), owners[lfn(i)], want)
			}
		}
		locals := w.locals(id)
		for n, want := range []jjm.Phase{"", jjm.GivenBack, jjm.GivenBack, ""} {
			if locals[n].Phase != want || n > 0 && n < 3 && locals[n].Submitted != 0 {
				t.Errorf("local job %s is %s/%s", locals[n].ID, locals[n].State, locals[n].Phase)
			}
		}
		if l := w.lookup(id); l.Status != "finished" || l.Counts.Completed != 2 || l.Counts.Failed != 0 ||
			l.Counts.GivenBack != 2 {
			t.Errorf("%+v", l)
		}
		if v := w.proof(id, ""); v.Missing != 3 || v.Assumed != 3 || v.Doubled+v.Overlap != 0 {
			t.Errorf("%+v", v)
		}
		w.verifyAfterReopening(id)
	})
}

// If the daemon stores a mark but stops or dies before it acts on the mark, the next daemon acts on the mark.
func TestMarks_SurviveARestart(t *testing.T) {
	t.Parallel()
	crash := &crasher{}
	inWorld(t, options{crash: crash, sim: adaptertest.SimConfig{Life: time.Hour}, configs: oneByOne()},
		func(t *testing.T, w *world) {
			id := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(4)))
			w.until(time.Hour, "one runs", func() bool {
				return w.lookup(id).Counts.Running == 1 && w.lookup(id).Counts.New == 1
			})
			crash.arm("dataset-mark.after-commit")
			if _, err := w.mark(alice, false, "lost", lfn(2)); err == nil {
				t.Fatal("the engine did not die")
			}
			w.reopen()
			w.final(12*time.Hour, id)
			if owners := w.owners(id); owners[lfn(2)] != nil || !slices.Equal(owners[lfn(3)], []int32{2}) {
				t.Errorf("%v", owners)
			}
		})
}

// The mark of a file is withdrawn. Grid jobs that still make local jobs process the file. The answer also names the
// grid jobs that continue without the file.
func TestMarks_AMarkCanBeWithdrawn(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Grid == 1 && id.N == 0 {
			return adaptertest.Play{Keyword: "-", Exit: 3}
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		job := fileJob("", "name = \"raw\"\n\n[split]\nby = \"FileBased\"\nparams = {files_per_job = 1}\n")
		add := func(from, to int) {
			var files []jjm.File
			for i := from; i < to; i++ {
				files = append(files, jjm.File{LFN: lfn(i), Events: 100})
			}
			_, err := w.engine.Dataset(context.Background(), alice, wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: files})
			w.must(err)
		}
		add(0, 3)
		_, err := w.mark(alice, false, "missing", lfn(1))
		w.must(err)
		a := w.submit(alice, job)
		w.until(time.Hour, "two are completed", func() bool { return w.lookup(a).Counts.Completed == 2 })
		if l := w.lookup(a); l.Counts.GivenBack != 1 {
			t.Fatalf("%+v", l)
		}
		_, err = w.mark(bob, false, "ready", lfn(1))
		if jjm.KindOf(err) != jjm.Denied {
			t.Errorf("bob takes back a mark of alice's: %v", err)
		}
		for _, dry := range []bool{true, false} {
			got, err := w.mark(alice, dry, "ready", lfn(0), lfn(1))
			w.must(err)
			want := []wire.MarkedFile{{LFN: lfn(0), State: "ready", Before: true},
				{LFN: lfn(1), State: "ready", Again: []jjm.GridID{a}}}
			if diff := cmp.Diff(want, got.Marked); diff != "" {
				t.Errorf("dry run %v (-want +got)\n%s", dry, diff)
			}
		}
		w.until(time.Hour, "three are completed", func() bool { return w.lookup(a).Counts.Completed == 3 })
		w.closeDataset(alice, "raw")
		w.final(time.Hour, a)
		w.verify(a, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: 4})
		if v := w.proof(a, ""); !v.Whole() || v.Assumed != 3 {
			t.Errorf("%+v", v)
		}
		history, err := w.engine.History(context.Background(), alice, jjm.Ref{Grid: a}, 0)
		told := slices.ContainsFunc(history, func(e jjm.JournalEntry) bool {
			return e.Actor == alice.User && strings.Contains(e.To, "1 file of dataset raw can be read again: disk 7 is gone")
		})
		if err != nil || !told {
			t.Errorf("the history does not say who took the mark back: %+v %v", history, err)
		}
	})
}

// The withdrawal of a mark does not reach grid jobs that have ended, and the answer says so.
func TestMarks_AWithdrawalDoesNotReachEndedGridJobs(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{Life: time.Hour}
	}}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(4)))
		w.until(time.Hour, "both run", func() bool { return w.lookup(id).Counts.Running == 2 })
		_, err := w.mark(alice, false, "lost", lfn(0))
		w.must(err)
		got, err := w.mark(alice, false, "ready", lfn(0))
		w.must(err)
		// The local job of the grid job still owns the file.
		if diff := cmp.Diff([]wire.MarkedFile{{LFN: lfn(0), State: "ready"}}, got.Marked); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		w.final(4*time.Hour, id)
		w.verify(id, done(2))
		_, err = w.mark(alice, false, "lost", lfn(1))
		w.must(err)
		second := w.submit(alice, fileJob("", "name = \"raw\"\n"))
		w.final(4*time.Hour, second)
		if l := w.lookup(second); l.Status != "finished" {
			t.Fatalf("%+v", l)
		}
		got, err = w.mark(alice, false, "ready", lfn(1))
		w.must(err)
		if diff := cmp.Diff([]wire.MarkedFile{{LFN: lfn(1), State: "ready", Without: []jjm.GridID{second}}},
			got.Marked); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if v := w.proof(second, "r.json"); v.Missing != 1 || !strings.Contains(v.Recovery, lfn(1)) {
			t.Errorf("%+v", v)
		}
	})
}

// A file that is marked before it is split is in no part of any grid job, and none of these grid jobs is done.
func TestMarks_AMarkedFileIsNeverCut(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		files := make([]jjm.File, 6)
		for i := range files {
			files[i] = jjm.File{LFN: lfn(i), Events: 100}
		}
		_, err := w.engine.Dataset(context.Background(), alice,
			wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: files[:4]})
		w.must(err)
		_, err = w.mark(alice, false, "broken", lfn(1))
		w.must(err)
		id := w.submit(alice, fileJob("",
			"name = \"raw\"\n\n[split]\nby = \"FileBased\"\nparams = {files_per_job = 1, total_files = 5}\n"))
		w.until(time.Hour, "three completed", func() bool { return w.lookup(id).Counts.Completed == 3 })
		_, err = w.engine.Dataset(context.Background(), alice, wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: files})
		w.must(err)
		w.closeDataset(alice, "raw")
		w.final(time.Hour, id)
		if got := w.owners(id)[lfn(1)]; got != nil {
			t.Errorf("local jobs %v own what is broken", got)
		}
		// total_files leaves out some files on request, but the broken file counts as missing
		if v := w.proof(id, ""); v.Verdict != cover.Gap || v.Missing != 1 || v.Findings[0].LFN != lfn(1) {
			t.Errorf("%+v", v)
		}
		if l := w.lookup(id); l.Status != "finished" {
			t.Errorf("%+v", l)
		}
	})
}

// A job file that would make an absurd number of local jobs is refused with this number, before any local job is made.
// Files that are added later, and a dataset of absurd size, are treated in the same way.
func TestLimits_AbsurdWorkIsRefusedWithItsSize(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{
		"by = \"EventBased\"\nparams = {events_per_job = 1}":                           "1000000000000000 ",
		"by = \"LumiBased\"\nparams = {lumis_per_job = 1}":                             "4000000000 ",
		"by = \"JEDI\"\nparams = {records = {events_per_job = 1, real_events = true}}": "would make",
	} {
		for _, open := range []bool{false, true} {
			inWorld(t, options{}, func(t *testing.T, w *world) {
				file := jjm.File{LFN: "huge", Events: 1e15, Lumis: []jjm.LumiRange{{Run: 1, First: 1, Last: 4e9}}}
				_, err := w.engine.Dataset(context.Background(), alice,
					wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: []jjm.File{file}})
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
		if err := add(2, 5); jjm.KindOf(err) != jjm.Invalid ||
			!strings.Contains(err.Error(), "would have 5 files; this site allows 3") {
			t.Errorf("%v", err)
		}
		id := w.submit(alice, fileJob("", "name = \"other\"\n"+inline(4)))
		w.final(time.Hour, id)
		if l := w.lookup(id); l.Status != "broken" || !strings.Contains(l.Message, "would have 4 files") {
			t.Errorf("%+v", l)
		}
	})
}

func TestMarks_AreForOwnersAndExistingFiles(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		_, err := w.engine.Dataset(context.Background(), alice,
			wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: []jjm.File{{LFN: "a"}}})
		w.must(err)
		if _, err := w.mark(bob, false, "lost", "a"); jjm.KindOf(err) != jjm.Denied {
			t.Errorf("bob marks alice's: %v", err)
		}
		if _, err := w.mark(alice, false, "lost", "a", "b"); jjm.KindOf(err) != jjm.Gone ||
			!strings.Contains(err.Error(), "no file b") {
			t.Errorf("a file that is not there: %v", err)
		}
		got, err := w.mark(admin, false, "lost", "a")
		if err != nil || got.Marked[0].Before {
			t.Errorf("one of two that was refused stays unmarked: %+v %v", got, err)
		}
	})
}

// Ganga's splitter groups files and cuts each group by events. A file that was lost earlier is not in the groups. A
// file that is lost while the parts wait removes only its own events from the parts, and the recovery processes only
// these events.
func TestMarks_GroupsOfFilesCutByEvents(t *testing.T) {
	t.Parallel()
	o := options{sim: adaptertest.SimConfig{Life: time.Minute}}
	inWorld(t, o, func(t *testing.T, w *world) {
		w.must(w.put("raw", "", 0, 8))
		_, err := w.mark(alice, false, "broken", lfn(1))
		w.must(err)
		_, err = w.engine.Order(context.Background(), admin,
			&wire.Order{Verb: jjm.OrderPause, Kind: jjm.OrderCluster, Name: "sim", Reason: "a test"})
		w.must(err)
		w.closeDataset(alice, "raw")
		id := w.submit(alice, fileJob("",
			"name = \"raw\"\n\n[split]\nby = \"LHCbDataSplitter\"\nparams = {file_bunch_size = 3, event_bunch_size = 150}\n"))
		w.until(time.Hour, "all are made", func() bool { return w.lookup(id).Counts.New == 5 })
		owners := w.owners(id)
		// The groups of files are 0, 2 and 3; then 4, 5 and 6; then 7. A group of three files has 300 events, and each local
		// job gets 150 of them.
		for i, want := range [][]int32{{0}, nil, {0, 1}, {1}, {2}, {2, 3}, {3}, {4}} {
			if got := slices.Sorted(slices.Values(owners[lfn(i)])); !slices.Equal(got, want) {
				t.Errorf("%s is owned by %v, want %v", lfn(i), got, want)
			}
		}
		got, err := w.mark(alice, false, "lost", lfn(5), lfn(7))
		w.must(err)
		if !slices.Equal(got.Marked[0].Back, []string{"1.2", "1.3"}) || !slices.Equal(got.Marked[1].Back, []string{"1.4"}) {
			t.Errorf("%+v", got.Marked)
		}
		w.until(time.Hour, "the others are made", func() bool { return w.lookup(id).Counts.Total == 7 })
		_, err = w.engine.Order(context.Background(), admin,
			&wire.Order{Verb: jjm.OrderResume, Kind: jjm.OrderCluster, Name: "sim"})
		w.must(err)
		w.final(2*time.Hour, id)
		w.verify(id, want{status: jjm.Finished, gram: jjm.GRAMDone, jobs: 7})
		owners = w.owners(id)
		if !slices.Equal(owners[lfn(4)], []int32{5}) || !slices.Equal(owners[lfn(6)], []int32{6}) || owners[lfn(5)] != nil ||
			owners[lfn(7)] != nil {
			t.Errorf("%v", owners)
		}
		back, err := w.mark(alice, false, "ready", lfn(1), lfn(5), lfn(7))
		w.must(err)
		for _, m := range back.Marked {
			if !slices.Equal(m.Without, []jjm.GridID{id}) || m.Again != nil {
				t.Errorf("%+v", m)
			}
		}
		v := w.proof(id, "r.json")
		if v.Missing != 300 || v.Assumed != 500 || v.Doubled+v.Overlap != 0 {
			t.Errorf("%+v", v)
		}
		s, err := w.trySubmit(alice, "", v.Recovery)
		w.must(err)
		w.final(2*time.Hour, s.ID)
		if v := w.proof(id, ""); !v.Whole() || v.Assumed != 800 {
			t.Errorf("%+v", v)
		}
	})
}

// A mark of a file is not withdrawn while the splitter is splitting the dataset in several transactions: it would then
// continue at the wrong file. The withdrawal is refused until the splitting has ended.
func TestMarks_AreNotWithdrawnInTheMiddleOfACut(t *testing.T) {
	t.Parallel()
	const events, chunk = 400, 500
	crash := &crasher{}
	inWorld(t, options{crash: crash, chunk: chunk}, func(t *testing.T, w *world) {
		var files []jjm.File
		for i := range 3 {
			files = append(files, jjm.File{LFN: lfn(i), Events: events, Size: 1000})
		}
		_, err := w.engine.Dataset(context.Background(), alice, wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: files})
		w.must(err)
		_, err = w.mark(alice, false, "lost", lfn(0))
		w.must(err)
		_, err = w.engine.Order(context.Background(), admin,
			&wire.Order{Verb: jjm.OrderPause, Kind: jjm.OrderCluster, Name: "sim", Reason: "a test"})
		w.must(err)
		answer := make(chan error, 1)
		crash.mu.Lock()
		cuts := 0
		crash.on = func(point string) {
			if point != "generate.after-commit" {
				return
			}
			if cuts++; cuts == 1 { // at this point the third file is begun
				go func() {
					_, err := w.mark(alice, false, "ready", lfn(0))
					answer <- err
				}()
			}
		}
		crash.mu.Unlock()
		id := w.submit(alice, fileJob("",
			"name = \"raw\"\n\n[split]\nby = \"JEDI\"\nparams = {records = {events_per_job = 1, real_events = true}, task = {rule = \"NE=1\"}}\n"))
		err = <-answer
		if err != nil && jjm.KindOf(err) != jjm.Busy {
			t.Fatalf("%v", err)
		}
		w.until(time.Hour, "two files are cut", func() bool { return w.lookup(id).Counts.Total >= 2*events })
		if err != nil {
			_, err = w.mark(alice, false, "ready", lfn(0))
			w.must(err)
		}
		w.until(time.Hour, "all files are cut", func() bool { return w.lookup(id).Counts.Total == 3*events })
		for i := range 3 {
			if n := len(w.owners(id)[lfn(i)]); n != events {
				t.Errorf("%s is owned in %d pieces", lfn(i), n)
			}
		}
		if l := w.lookup(id); l.Status != "pending" {
			t.Errorf("%+v", l)
		}
	})
}
