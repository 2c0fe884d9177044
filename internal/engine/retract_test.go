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
	"jjm/internal/work/cover"
)

// retract declares outputs of alice's grid job lost. If the grid job is over, it is not reopened.
func (w *world) retract(c wire.Caller, id jjm.GridID, dry bool, recovery string, outputs ...string) (wire.Retracted,
	error) {
	over := w.isOver(id) // whether a new grid job, not this one, makes the outputs again
	return w.engine.Retract(context.Background(), c, id,
		wire.Retract{Outputs: outputs, Reason: "disk 7 is gone", DryRun: dry, Recovery: recovery, NewOutput: over})
}

// retractOver declares outputs of an ended grid job lost. The grid job is reopened to make the outputs again.
func (w *world) retractOver(id jjm.GridID, outputs ...string) (wire.Retracted, error) {
	return w.engine.Retract(context.Background(), alice, id, wire.Retract{Outputs: outputs, Reason: "disk 7 is gone"})
}

// While a grid job is live, a new local job makes a lost output again. The output counts once.
func TestRetract_ALiveGridJobRedoesTheOutputs(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{Life: time.Duration(1+10*(id.N%2)) * time.Minute}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("output_dataset = \"reco\"\n", "name = \"raw\"\n"+inline(4)))
		out := "filetest.1.0.out.dat"
		if _, err := w.retract(alice, id, false, "", out); jjm.KindOf(err) != jjm.Gone && jjm.KindOf(err) != jjm.Conflict {
			t.Errorf("before it is made: %v", err)
		}
		w.until(time.Hour, "one is completed", func() bool { return w.lookup(id).Counts.Completed == 1 })
		if _, err := w.retract(bob, id, false, "", out); jjm.KindOf(err) != jjm.Denied {
			t.Errorf("bob retracts what is alice's: %v", err)
		}
		for _, wrong := range []string{"out.dat", "filetest.1.0.other", "filetest.2.0.out.dat", "filetest.1.9.out.dat",
			"filetest.1.0"} {
			if _, err := w.retract(alice, id, false, "", wrong); jjm.KindOf(err) != jjm.Gone ||
				!strings.Contains(err.Error(), "filetest.1.3.out.root") {
				t.Errorf("%s: %v", wrong, err)
			}
		}
		if _, err := w.retract(alice, id, false, "", "filetest.1.1.out.dat"); jjm.KindOf(err) != jjm.Conflict ||
			!strings.Contains(err.Error(), "1.1 is ") {
			t.Errorf("what is not made yet: %v", err)
		}
		if _, err := w.retract(alice, id, false, "r.json", out); jjm.KindOf(err) != jjm.Conflict {
			t.Errorf("a recovery of what lives: %v", err)
		}
		dry, err := w.retract(alice, id, true, "", out)
		w.must(err)
		if l := w.lookup(id); l.Counts.Completed != 1 || len(dry.Locals) != 1 || dry.Locals[0].Next != "1.2" ||
			!slices.Equal(dry.Lost, []string{out}) {
			t.Fatalf("a dry run: %+v, then %+v", dry, l)
		}
		got, err := w.retract(alice, id, false, "", "filetest.1/"+out) // the name with its folder, as tar lists it
		w.must(err)
		if len(got.Locals) != 1 || got.Locals[0].Local != "1.0" || got.Locals[0].Next != "1.2" || got.Locals[0].Before {
			t.Errorf("%+v", got)
		}
		if l := w.lookup(id); l.Counts.Completed != 0 || l.Counts.GivenBack != 1 || l.Counts.Total != 3 {
			t.Errorf("%+v", l.Counts)
		}
		w.reopen()
		w.final(4*time.Hour, id)
		w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: 3})
		owners := w.owners(id)
		if !slices.Equal(owners[lfn(0)], []int32{2}) || !slices.Equal(owners[lfn(1)], []int32{2}) {
			t.Errorf("%v", owners)
		}
		if in := w.input(id); in != (jjm.InputCounts{Files: 4, ToBeUsed: 4, Used: 4, Finished: 4, Events: 400,
			EventsUsed: 400}) {
			t.Errorf("%+v", in)
		}
		if v := w.proof(id, ""); !v.Whole() || v.Assumed != 4 {
			t.Errorf("%+v", v)
		}
		files, err := tarFiles(w.tarBytes(id))
		w.must(err)
		for name := range files {
			if strings.HasSuffix(name, out) {
				t.Errorf("the tar has %s, which was retracted", name)
			}
		}
		reader := w.submit(alice, fileJob("", "name = \"reco\"\n"))
		w.final(time.Hour, reader)
		if got := w.owners(reader); got[out] != nil || len(got) != 2 {
			t.Errorf("who reads the outputs reads %v", got)
		}
		w.verifyAfterReopening(id)
	})
}

// Outputs are declared lost after the end of the grid job. The work of their local jobs is then missing, and a recovery
// does only this work.
func TestRetract_ARecoveryRedoesThoseOfAnEndedGridJob(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Grid == 1 && id.N == 3 {
			return adaptertest.Play{Exit: 1, Keyword: "-"}
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(6))
		w.until(time.Hour, "it runs", func() bool { return w.lookup(id).Counts.Completed > 0 })
		w.final(time.Hour, id)
		for _, archived := range []bool{false, true} {
			if archived {
				w.reopen()
			}
			got, err := w.retract(alice, id, false, "r.json", "plain.1.1.out.dat")
			w.must(err)
			if len(got.Locals) != 1 || got.Locals[0].Before != archived || got.Recovery == "" ||
				!strings.Contains(got.Recovery, `"recovers": 1`) {
				t.Fatalf("%+v", got)
			}
			v := w.proof(id, "r.json")
			if v.Missing != 2 || v.Verdict != cover.Gap || !strings.Contains(v.Findings[0].Why, "retracted: disk 7 is gone") {
				t.Errorf("%+v", v)
			}
		}
		got, err := w.retract(alice, id, false, "r.json", "plain.1.1.out.dat")
		w.must(err)
		s, err := w.trySubmit(alice, "", got.Recovery)
		w.must(err)
		w.final(time.Hour, s.ID)
		if l := w.locals(s.ID); len(l) != 1 || l[0].Part.First != 1 {
			t.Errorf("the recovery made %+v", l)
		}
		if v := w.proof(id, ""); v.Missing != 1 || v.Doubled+v.Overlap != 0 || v.Recoveries[0].Units != 1 {
			t.Errorf("%+v", v)
		}
		if again, err := w.retract(alice, id, false, "r.json", "plain.1.1.out.dat"); err != nil || again.Recovery != "" {
			t.Errorf("made again, and still a recovery: %+v %v", again, err)
		}
		history, err := w.engine.History(context.Background(), alice, jjm.Ref{Grid: id, Locals: true, First: 1, Last: 1}, 0)
		if err != nil || !slices.ContainsFunc(history, func(e jjm.JournalEntry) bool {
			return e.Actor == alice.User && e.To == "retracted"
		}) {
			t.Errorf("%+v %v", history, err)
		}
	})
}

// If a merged file is declared lost, the local jobs whose outputs are in the merged file are found, and the files that
// they read are processed again.
func TestRetract_AMergedFileLeadsToItsOrigins(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(8)+mergeTwo))
		w.until(time.Hour, "a merge is made", func() bool { return w.lookup(id).Counts.Total > 4 })
		w.final(6*time.Hour, id)
		var merges []int32
		for _, l := range w.locals(id) {
			if l.Step == jjm.StepMerge {
				merges = append(merges, l.ID.N)
			}
		}
		if len(merges) != 2 || w.lookup(id).Status != "done" {
			t.Fatalf("merges %v, %+v", merges, w.lookup(id))
		}
		files, err := tarFiles(w.tarBytes(id))
		w.must(err)
		name := ""
		for path := range files {
			if strings.Contains(path, fmt.Sprintf(".1.%d.", merges[0])) && !strings.HasSuffix(path, "stdout") &&
				!strings.HasSuffix(path, "stderr") && !strings.HasSuffix(path, "glf") {
				name = path
			}
		}
		got, err := w.retract(alice, id, false, "r.json", name)
		w.must(err)
		if len(got.Locals) != 2 || len(got.Lost) != 3 || got.Recovery == "" {
			t.Fatalf("%s: %+v", name, got)
		}
		v := w.proof(id, "")
		if v.Missing != 4 || !v.Merge.Whole() {
			t.Errorf("%+v; merging %+v", v, v.Merge)
		}
		s, err := w.trySubmit(alice, "", got.Recovery)
		w.must(err)
		w.final(6*time.Hour, s.ID)
		if v := w.proof(id, "r.json"); !v.Whole() || v.Recovery != "" || v.Recoveries[0].Units != 4 {
			t.Errorf("%+v", v)
		}
	})
}

// While a grid job is live and merges, a lost merged file is made again from new outputs, and nothing is merged twice.
func TestRetract_AMergedFileOfALiveGridJob(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: halfLater}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("output_dataset = \"reco\"\n", "name = \"raw\"\n"+inline(8)+mergeTwo))
		w.until(time.Hour, "a merge is made", func() bool { return w.lookup(id).Counts.Completed == 3 })
		lost := "filetest.1.4.out.dat"
		dry, err := w.retract(alice, id, true, "", lost)
		w.must(err)
		got, err := w.retract(alice, id, false, "", lost)
		w.must(err)
		if len(got.Locals) != 2 || got.Locals[0].Next != "1.5" || got.Locals[1].Next != "1.6" || len(got.Lost) != 3 ||
			!slices.Equal(got.Lost, dry.Lost) {
			t.Fatalf("%+v, a dry run %+v", got, dry)
		}
		if c := w.lookup(id).Counts; c.Completed != 0 || c.GivenBack != 3 {
			t.Errorf("%+v", c)
		}
		w.reopen()
		w.final(6*time.Hour, id)
		w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: 9})
		if v := w.proof(id, ""); !v.Whole() || !v.Merge.Whole() || v.Merge.Files != 4 || v.Merge.Dropped != 2 {
			t.Errorf("%+v; merging %+v", v.Report, v.Merge)
		}
		files, err := tarFiles(w.tarBytes(id))
		w.must(err)
		for name := range files {
			if strings.HasSuffix(name, lost) {
				t.Errorf("the tar has %s, which was retracted", name)
			}
		}
		reader := w.submit(alice, fileJob("", "name = \"reco\"\n"))
		w.final(time.Hour, reader)
		if got := w.owners(reader); got[lost] != nil || len(got) != 2 {
			t.Errorf("who reads the merged files reads %v", got)
		}
	})
}

// halfLater plays attempts: the first two of four local jobs end long before the last two.
func halfLater(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
	return adaptertest.Play{Life: time.Duration(1+10*(id.N/2%2)) * time.Minute}
}

// A file that waits to be merged can be retracted. While a merge reads the file, the retraction must wait for the end
// of the merge.
func TestRetract_OfUnmergedOutputs(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{Life: time.Duration(1+2*id.N) * time.Minute}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(8)+mergeTwo))
		w.until(time.Hour, "one waits", func() bool { return w.lookup(id).Counts.Completing == 1 })
		got, err := w.retract(alice, id, false, "", "filetest.1.0.out.dat")
		w.must(err)
		if len(got.Locals) != 1 || got.Locals[0].Next != "1.4" || len(got.Lost) != 1 {
			t.Errorf("%+v", got)
		}
		w.until(time.Hour, "two are being merged", func() bool {
			l := w.locals(id)
			return len(l) > 5 && l[5].State == jjm.Running
		})
		if _, err := w.retract(alice, id, false, "", "filetest.1.1.out.dat"); jjm.KindOf(err) != jjm.Busy ||
			!strings.Contains(err.Error(), "is merging the outputs of local job 1.1") {
			t.Errorf("%v", err)
		}
		w.final(6*time.Hour, id)
		w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: 7})
		if v := w.proof(id, ""); !v.Whole() || !v.Merge.Whole() || v.Merge.Files != 4 || v.Merge.Dropped != 1 {
			t.Errorf("%+v; merging %+v", v.Report, v.Merge)
		}
	})
}

// A retraction of outputs that cannot be made again is refused, and the error has the reason and a remedy.
func TestRetract_IsRefusedWithARemedy(t *testing.T) {
	t.Parallel()
	long := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{Life: time.Duration(1+10*(id.N%2)) * time.Minute}
	}
	for name, job := range map[string]string{"makes its work itself": plain(2),
		"itself, and merges": plain(2) + mergeTwo} {
		inWorld(t, options{play: long}, func(t *testing.T, w *world) {
			id := w.submit(alice, job)
			w.until(time.Hour, "one has ended", func() bool {
				c := w.lookup(id).Counts
				return c.Completed+c.Completing == 1 && c.Running == 1
			})
			_, err := w.retract(alice, id, false, "", "plain.1.0.out.dat")
			if jjm.KindOf(err) != jjm.Conflict || !strings.Contains(err.Error(), "its type generates its work") {
				t.Errorf("%s: %v", name, err)
			}
			w.final(6*time.Hour, id)
			w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: -1})
		})
	}
	inWorld(t, options{play: long}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(4)))
		w.until(time.Hour, "one is completed", func() bool { return w.lookup(id).Counts.Completed == 1 })
		_, err := w.mark(alice, false, "lost", lfn(0), lfn(1))
		w.must(err)
		if _, err := w.retract(alice, id, false, "", "filetest.1.0.out.dat"); jjm.KindOf(err) != jjm.Conflict ||
			!strings.Contains(err.Error(), "lost themselves: f0000 f0001") {
			t.Errorf("%v", err)
		}
		_, err = w.mark(alice, false, "ready", lfn(0))
		w.must(err)
		got, err := w.retract(alice, id, false, "", "filetest.1.0.out.dat")
		w.must(err)
		if len(got.Locals) != 1 || got.Locals[0].Next == "" {
			t.Errorf("%+v", got)
		}
		w.final(6*time.Hour, id)
		if l := w.lookup(id); l.Status != "finished" || l.Counts.Completed != 2 {
			t.Errorf("%+v", l)
		}
		if v := w.proof(id, ""); v.Missing != 1 || v.Findings[0].LFN != lfn(1) {
			t.Errorf("%+v", v)
		}
	})
}
