package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/testkit/adaptertest"
)

// resubmit requests as alice that local jobs run again: the failed ones, or with all also the killed ones.
func (w *world) resubmit(all bool, refs ...string) wire.Resubmitted {
	w.t.Helper()
	var parsed []jjm.Ref
	for _, text := range refs {
		ref, err := jjm.ParseRef(text)
		w.must(err)
		parsed = append(parsed, ref)
	}
	return w.engine.Resubmit(context.Background(), alice, parsed, wire.ResubmitHow{All: all})[0]
}

// refused requires that a resubmission failed with an error of a kind, and returns the text of the error.
func (w *world) refused(r wire.Resubmitted, kind jjm.Kind) string {
	w.t.Helper()
	if r.Error == nil || r.Error.Kind != kind {
		w.t.Fatalf("resubmitted %+v, error %+v; want one of kind %s", r, r.Error, kind)
	}
	return r.Error.Text
}

// over waits until people see that a grid job's current generation is over and archived, and returns the status. A
// generation is one life of a grid job: each reopening begins a new one.
func (w *world) over(limit time.Duration, id jjm.GridID) wire.Status {
	w.t.Helper()
	var st wire.Status
	w.until(limit, "over and archived", func() bool {
		st = w.status(id)
		return st.Over() && w.archived(id)
	})
	return st
}

// tarOf returns the tar of a generation (0 for the newest) and its description.
func (w *world) tarOf(id jjm.GridID, generation int) ([]byte, wire.Output) {
	w.t.Helper()
	r, _, out, err := w.engine.Output(context.Background(), alice, all(id), wire.Wanted{Generation: generation})
	w.must(err)
	defer r.Close()
	b, err := io.ReadAll(r)
	w.must(err)
	return b, out
}

// unluckyOnce returns a play in which the first attempts of some local jobs fail permanently.
func unluckyOnce(locals ...int32) func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
	return func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		for _, n := range locals {
			if id.N == n && id.Attempt == 0 {
				return adaptertest.Play{Keyword: "FAILED", Data: "bad luck"}
			}
		}
		return adaptertest.Play{}
	}
}

// A grid job that is over is reopened: its failed local jobs run again in the next generation, which has a separate end
// and a separate tar. Gatekeepers always see the end of the first generation and get its tar.
func TestResubmit_ReopensAGridJobThatIsOver(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyOnce(1, 4), chunk: 2}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(6))
		w.final(time.Hour, id)
		told, tar := w.lookup(id), w.tarBytes(id)
		if told.Status != "finished" {
			t.Fatalf("%+v", told)
		}
		if got := w.resubmit(false, id.String()); got.Jobs != 2 || got.Generation != 2 || got.Error != nil {
			t.Fatalf("%+v", got)
		}
		if st := w.status(id); st.Over() || st.Reopening == nil {
			t.Errorf("about to be reopened, people see %+v", st)
		}
		still := func() bool {
			d := cmp.Diff(told, w.lookup(id))
			if d != "" {
				t.Errorf("the gatekeeper is told something else: %s", d)
			}
			return d == ""
		}
		w.until(time.Hour, "runs again", func() bool { still(); return w.status(id).Lookup.Status == "running" })
		first := wire.KillHow{First: true}
		if k := w.engine.Kill(context.Background(), alice, []jjm.Ref{all(id)}, first)[0]; !k.NoChange || k.Error != nil {
			t.Errorf("a gatekeeper's kill of what is over for it: %+v", k)
		}
		w.until(time.Hour, "over again", func() bool { still(); return w.isOver(id) })
		st := w.over(time.Hour, id)
		still()
		if st.Lookup.Status != "done" || st.Generation != 2 || len(st.Endings) != 1 || st.Endings[0].Status != "finished" ||
			!strings.Contains(st.Endings[0].Why, "resubmit 2 local jobs") {
			t.Errorf("people see %+v", st)
		}
		w.checkTars(id, tar)
		if v := w.proof(id, ""); !v.Whole() {
			t.Errorf("%+v", v)
		}
		for n, want := range map[int32]int{0: 1, 1: 2, 4: 2} {
			attempts, err := w.store.Attempts(t.Context(), jjm.LocalID{Grid: id, N: n})
			w.must(err)
			if len(attempts) != want {
				t.Errorf("local job %d has %d attempts, want %d", n, len(attempts), want)
			}
		}
		if got := w.resubmit(true, id.String()); !got.NoChange || got.Error != nil {
			t.Errorf("nothing to run again: %+v", got)
		}
		w.verifyQuiet()
		w.reopen()
		still()
		w.checkTars(id, tar)
	})
}

// checkTars requires that the tar of generation 1 is unchanged, and that the newest tar is the tar of generation 2.
func (w *world) checkTars(id jjm.GridID, first []byte) {
	w.t.Helper()
	if again, out := w.tarOf(id, 1); !bytes.Equal(first, again) || out.Generation != 0 && out.Generation != 1 {
		w.t.Errorf("the first tar is %d bytes (%+v), and was %d", len(again), out, len(first))
	}
	second, out := w.tarOf(id, 0)
	if out.Generation != 2 || !strings.HasSuffix(out.Name, ".g2.tar") || bytes.Equal(first, second) {
		w.t.Errorf("the newest tar: %+v", out)
	}
	_, _, _, err := w.engine.Output(context.Background(), alice, all(id), wire.Wanted{Generation: 3})
	if jjm.KindOf(err) != jjm.Gone {
		w.t.Errorf("a generation that is not there: %v", err)
	}
}

// A reopened grid job is killed. The kill ends its current generation, which then has a separate tar.
func TestResubmit_AReopenedGridJobIsKilled(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyOnce(0), sim: adaptertest.SimConfig{Life: time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		w.final(10*time.Hour, id)
		told, tar := w.lookup(id), w.tarBytes(id)
		w.resubmit(false, id.String())
		w.until(time.Hour, "runs again", func() bool { return w.status(id).Lookup.Counts.Running == 1 })
		if k := w.kill(id.String()); k.NoChange || k.Error != nil {
			t.Fatalf("%+v", k)
		}
		if st := w.over(10*time.Hour, id); st.Lookup.Status != "aborted" {
			t.Errorf("%+v", st.Lookup)
		}
		w.checkTars(id, tar)
		if d := cmp.Diff(told, w.lookup(id)); d != "" {
			t.Error(d)
		}
		// killed local jobs run again only on request
		if got := w.resubmit(false, id.String()); !got.NoChange {
			t.Errorf("%+v", got)
		}
		if got := w.resubmit(true, id.String()); got.Jobs != 1 || got.Generation != 3 {
			t.Errorf("%+v", got)
		}
		if st := w.over(10*time.Hour, id); st.Lookup.Status != "done" || len(st.Endings) != 2 {
			t.Errorf("%+v", st)
		}
		w.verifyQuiet()
	})
}

// A failed local job is resubmitted while its grid job is not over. It runs again in the same generation.
func TestResubmit_JoinsAGridJobThatGoesOn(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: func(id jjm.AttemptID, job adaptertest.SimJob) adaptertest.Play {
		p := unluckyOnce(0)(id, job)
		if p.Life = time.Minute; id.N > 0 {
			p.Life = 5 * time.Hour
		}
		return p
	}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(3))
		w.until(time.Hour, "one failed", func() bool { return w.lookup(id).Counts.Failed == 1 })
		if got := w.resubmit(false, id.String()+".0", id.String()+".1"); got.Jobs != 1 || got.Generation != 0 ||
			len(got.Left) != 1 || !strings.Contains(got.Left[0].Why, "only what has ended") {
			t.Errorf("%+v", got)
		}
		w.final(10*time.Hour, id)
		if l := w.lookup(id); l.Status != "done" {
			t.Errorf("%+v", l)
		}
		if st := w.status(id); st.Generation != 0 || len(st.Endings) != 0 {
			t.Errorf("%+v", st)
		}
		w.verifyQuiet()
	})
}

// A failed local job still owns its files of the dataset. It processes them when it runs again.
func TestResubmit_OfFilesOfADataset(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyOnce(1)}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("result = \"glf\"\noutput_dataset = \"made\"\n", "name = \"raw\"\n"+inline(6)))
		w.final(time.Hour, id)
		told := w.lookup(id)
		before := w.filesIn("made")
		if got := w.input(id); got.Finished != 4 || got.Failed != 2 {
			t.Fatalf("%+v", got)
		}
		if got := w.resubmit(false, id.String()); got.Jobs != 1 || got.Error != nil {
			t.Fatalf("%+v", got)
		}
		if st := w.over(time.Hour, id); st.Lookup.Status != "done" {
			t.Errorf("%+v", st.Lookup)
		}
		if got, want := w.input(id), (jjm.InputCounts{Files: 6, ToBeUsed: 6, Used: 6, Finished: 6, Events: 600,
			EventsUsed: 600}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if after := w.filesIn("made"); len(after) != len(before)+1 {
			t.Errorf("files made: %v, before %v", after, before)
		}
		if d, err := w.store.DatasetNamed(t.Context(), alice.UID, "made"); err != nil || d.Closed == 0 {
			t.Errorf("%+v, %v", d, err)
		}
		if d := cmp.Diff(told, w.lookup(id)); d != "" {
			t.Error(d)
		}
		w.verifyQuiet()
	})
}

// A resubmission that would do work twice is refused, and nothing is stored.
func TestResubmit_Refuses(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyOnce(1, 2)}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(4))
		merged := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(4)+mergeTwo))
		w.final(time.Hour, id, merged)
		one := id.String()
		for ref, want := range map[string]string{one + ".0": "retract that first", merged.String(): "it merges its outputs"} {
			if text := w.refused(w.resubmit(false, ref), jjm.Conflict); !strings.Contains(text, want) {
				t.Errorf("%s: %s", ref, text)
			}
		}
		w.refused(w.resubmit(false, one+".9"), jjm.Gone)
		w.refused(w.engine.Resubmit(t.Context(), bob, []jjm.Ref{all(id)}, wire.ResubmitHow{})[0], jjm.Denied)
		w.give(wire.Order{Verb: "drain", Kind: "type", Name: "montecarlo", Reason: "a test"})
		w.refused(w.resubmit(false, one), jjm.Denied)
		w.give(wire.Order{Verb: "resume", Kind: "type", Name: "montecarlo"})
		how := wire.ResubmitHow{DryRun: true}
		if dry := w.engine.Resubmit(t.Context(), alice, []jjm.Ref{all(id)}, how)[0]; dry.Jobs != 2 {
			t.Errorf("dry run: %+v", dry)
		}
		if requests, err := w.store.Reopenings(t.Context()); err != nil || len(requests) != 0 {
			t.Errorf("%v, %v", requests, err)
		}
		if l := w.lookup(id); w.status(id).Generation != 0 || l.Status != "finished" {
			t.Errorf("%+v", l)
		}
	})
}

// An output is declared lost after the end of the grid job, which is then reopened to make the output again. The same
// local job makes it if its part belongs to it permanently. A new local job makes it if the files were given back.
func TestRetract_ReopensAGridJobThatIsOver(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		job, output string
		by          int32 // number of the local job that makes the output again
		states      map[int32]jjm.State
	}{
		"events": {mc(4), "mc.1.2.out.dat", 2, map[int32]jjm.State{2: jjm.Completed}},
		"rows":   {plain(3), "plain.1.0.out.dat", 0, map[int32]jjm.State{0: jjm.Completed}},
		"files": {fileJob("output_dataset = \"made\"\n", "name = \"raw\"\n"+inline(6)), "filetest.1.1.out.dat", 3,
			map[int32]jjm.State{1: jjm.Failed, 3: jjm.Completed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, options{chunk: 2}, func(t *testing.T, w *world) {
				id := w.submit(alice, test.job)
				w.final(time.Hour, id)
				told, tar := w.lookup(id), w.tarBytes(id)
				got, err := w.retractOver(id, test.output)
				if err != nil || got.Generation != 2 || len(got.Locals) != 1 || !slices.Contains(got.Lost, test.output) {
					t.Fatalf("%+v, %v", got, err)
				}
				if _, err := w.retractOver(id, test.output); jjm.KindOf(err) != jjm.Conflict &&
					jjm.KindOf(err) != jjm.Busy { // Busy: the grid job runs again already
					t.Errorf("a second time: %v", err)
				}
				if st := w.over(time.Hour, id); st.Lookup.Status != "done" || st.Generation != 2 ||
					!strings.Contains(st.Endings[0].Why, "lost: disk 7 is gone") {
					t.Errorf("%+v", st)
				}
				if d := cmp.Diff(told, w.lookup(id)); d != "" {
					t.Errorf("the gatekeeper is told something else: %s", d)
				}
				w.checkTars(id, tar)
				again := fmt.Sprintf("1.%d.out.dat", test.by)
				if files := slices.Collect(maps.Keys(w.collected(id))); !slices.ContainsFunc(files, func(f string) bool {
					return strings.HasSuffix(f, again)
				}) {
					t.Errorf("no %s among %v", again, files)
				}
				locals := w.locals(id)
				for n, state := range test.states {
					if locals[n].State != state {
						t.Errorf("local job %d is %s", n, locals[n].State)
					}
				}
				if v := w.proof(id, ""); !v.Whole() {
					t.Errorf("%+v", v.Report)
				}
				w.verifyQuiet()
			})
		})
	}
}

// A retraction that would need an impossible reopening is refused, and the error names an alternative.
func TestRetract_RefusesToReopen(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		merged := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(4)+mergeTwo))
		kept := w.submit(alice, mc(2, "output_dataset = \"made\""))
		w.final(time.Hour, merged, kept)
		for id, output := range map[jjm.GridID]string{merged: "filetest.1.0.out.dat", kept: "mc.2.0.out.dat"} {
			_, err := w.retractOver(id, output)
			if jjm.KindOf(err) != jjm.Conflict || !strings.Contains(err.Error(), "--new-output") {
				t.Errorf("grid job %s: %v", id, err)
			}
		}
		if _, err := w.retractOver(kept, "nothing"); err == nil {
			t.Error("an output that there is not")
		}
	})
}

// A grid job has a recovery. A resubmission of the grid job does not repeat the work that the recovery did, but does
// the work at which the recovery failed. Together they do all work once.
func TestResubmit_BesideARecovery(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyOnce(1, 2)}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(4))
		w.final(time.Hour, id)
		recovery := w.proof(id, "again.json")
		file := wire.Submit{Name: "again.json", Text: recovery.Recovery, BaseDir: w.dir}
		got, err := w.engine.Submit(t.Context(), alice, file)
		w.must(err)
		if text := w.refused(w.resubmit(false, id.String()), jjm.Conflict); !strings.Contains(text, "until that is over") {
			t.Error(text)
		}
		w.final(time.Hour, got.ID) // one of the recovery's two local jobs failed as well
		if text := w.refused(w.resubmit(false, got.ID.String()), jjm.Conflict); !strings.Contains(text, "reopen that one") {
			t.Error(text)
		}
		again := w.resubmit(false, id.String())
		if again.Jobs != 1 || len(again.Left) != 1 || !strings.Contains(again.Left[0].Why, "did its work") {
			t.Fatalf("%+v", again)
		}
		other := file
		other.Text = strings.Replace(file.Text, `"recovery-of-1"`, `"another"`, 1)
		_, err = w.engine.Submit(t.Context(), alice, other)
		if err == nil || !strings.Contains(err.Error(), "recovers") {
			t.Errorf("a recovery of what is reopened: %v", err)
		}
		if same, err := w.engine.Submit(t.Context(), alice, file); err != nil || !same.Existed || same.ID != got.ID {
			t.Errorf("the submission that was accepted before, repeated: %+v, %v", same, err)
		}
		w.over(time.Hour, id)
		if v := w.proof(id, ""); !v.Whole() {
			t.Errorf("%+v", v)
		}
		w.verifyQuiet()
	})
}

// lateIDs claims once that an id is not reserved, and calls wait before it reserves this id. At that moment a
// submission has checked its job file but has not stored its grid job.
type lateIDs struct {
	base.IDs
	wait func()
}

func (l *lateIDs) Reserved(id jjm.GridID) bool { return l.wait == nil && l.IDs.Reserved(id) }

func (l *lateIDs) Reserve(ctx context.Context, id jjm.GridID) error {
	wait := l.wait
	if l.wait = nil; wait != nil {
		wait()
	}
	return l.IDs.Reserve(ctx, id)
}

// A recovery that is submitted while its grid job is being reopened is refused, at every stage of the reopening,
// because two local jobs would own the same events.
func TestResubmit_WhileARecoveryIsSubmitted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		refusal   *regexp.Regexp
		meanwhile func(w *world, id jjm.GridID)
	}{
		{"asked for", regexp.MustCompile("is being reopened by alice|is in generation 2: make it anew"), func(w *world, id jjm.GridID) { w.resubmit(false, id.String()) }},
		{"running", regexp.MustCompile("is in generation 2: make it anew"), func(w *world, id jjm.GridID) {
			w.resubmit(false, id.String())
			w.until(time.Hour, "the second generation", func() bool { return w.specOf(id).Generation == 2 })
		}},
		{"over again", regexp.MustCompile("is in generation 2: make it anew"), func(w *world, id jjm.GridID) {
			w.resubmit(false, id.String())
			w.over(time.Hour, id)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ids := &lateIDs{}
			o := options{play: unluckyOnce(1, 2), ids: func(known base.IDs) base.IDs { ids.IDs = known; return ids }}
			inWorld(t, o, func(t *testing.T, w *world) {
				id := w.submit(alice, mc(4))
				w.final(time.Hour, id)
				recovery := w.proof(id, "again.json")
				file := wire.Submit{Name: "again.json", Text: recovery.Recovery, BaseDir: w.dir}
				ids.wait = func() { tt.meanwhile(w, id) }
				_, err := w.engine.Submit(t.Context(), alice, file)
				if err == nil || !tt.refusal.MatchString(err.Error()) {
					t.Errorf("want %s, got %v", tt.refusal, err)
				}
				w.over(time.Hour, id)
				if v := w.proof(id, ""); !v.Whole() {
					t.Errorf("%+v", v)
				}
				w.verifyQuiet()
			})
		})
	}
}

// The job file of a recovery covers the work that was missing at one end of the grid job. If the grid job was reopened
// afterwards, the job file is refused, because the reopened grid job may have done that work.
func TestResubmit_AFileOfARecoveryIsOfOneEnd(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyTwice}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(3))
		w.final(time.Hour, id)
		old := w.proof(id, "again.json")
		w.resubmit(false, id.String())
		if st := w.over(time.Hour, id); st.Lookup.Status != "finished" {
			t.Fatalf("%+v", st.Lookup)
		}
		_, err := w.engine.Submit(t.Context(), alice, wire.Submit{Name: "a.json", Text: old.Recovery, BaseDir: w.dir})
		if err == nil || !strings.Contains(err.Error(), "make it anew") {
			t.Errorf("a file of the first end: %v", err)
		}
		anew := w.proof(id, "again.json")
		if !strings.Contains(anew.Recovery, `"recovers_generation": 2`) {
			t.Errorf("%s", anew.Recovery)
		}
		got, err := w.engine.Submit(t.Context(), alice, wire.Submit{Name: "a.json", Text: anew.Recovery, BaseDir: w.dir})
		w.must(err)
		w.final(time.Hour, got.ID)
		if v := w.proof(id, ""); v.Overlap+v.Doubled+v.Missing > 0 {
			t.Errorf("%+v", v)
		}
	})
}

// A recovery failed in part. Two job files do what it left undone: a second recovery of the grid job itself, and a
// recovery of the recovery. Whichever of them is submitted first, the other one is refused, also if it was made before.
// The same holds if the grid job itself was reopened, because it does the work then.
func TestRecovery_TheSameWorkIsNotRecoveredTwice(t *testing.T) {
	t.Parallel()
	bad := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Grid == 1 && (id.N == 1 || id.N == 3) && id.Attempt == 0 || id.Grid == 2 && id.N == 0 {
			return adaptertest.Play{Keyword: "FAILED", Data: "bad luck"}
		}
		return adaptertest.Play{}
	}
	file := func(w *world, id jjm.GridID) wire.Submit {
		return wire.Submit{Name: "a.json", Text: w.proof(id, "a.json").Recovery, BaseDir: w.dir}
	}
	accept := func(id jjm.GridID) func(*testing.T, *world, wire.Submit) {
		return func(t *testing.T, w *world, s wire.Submit) {
			t.Helper()
			if got, err := w.engine.Submit(t.Context(), alice, s); err != nil || got.ID != 3 {
				t.Errorf("the first one: %+v, %v", got, err)
			}
			w.final(time.Hour, 3)
		}
	}
	tests := map[string]struct {
		first  jjm.GridID // the grid job whose missing work is done first
		then   jjm.GridID // the grid job whose missing work is refused then
		before func(*testing.T, *world, wire.Submit)
		want   string
	}{
		"the grid job, then its recovery": {1, 2, accept(1), "grid job 3 recovers grid job 1 and is later than grid job 2: both do"},
		"the recovery, then the grid job": {2, 1, accept(2), "grid job 1 has 2 recoveries by now"},
		"reopened, then its recovery": {1, 2, func(t *testing.T, w *world, _ wire.Submit) {
			w.resubmit(false, "1")
			w.over(time.Hour, 1)
		}, "grid job 1, which grid job 2 recovers, was reopened"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, options{play: bad}, func(t *testing.T, w *world) {
				w.final(time.Hour, w.submit(alice, mc(4)))
				got, err := w.engine.Submit(t.Context(), alice, file(w, 1))
				w.must(err)
				w.final(time.Hour, got.ID)
				first, then := file(w, tt.first), file(w, tt.then)
				tt.before(t, w, first)
				_, err = w.engine.Submit(t.Context(), alice, then)
				if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), tt.want) ||
					!strings.Contains(err.Error(), "jjm verify 1 --recovery FILE") {
					t.Errorf("the second one: %v", err)
				}
				_, err = w.engine.Verify(t.Context(), alice, 2, "b.json")
				if tt.then == 2 && (jjm.KindOf(err) != jjm.Conflict || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("a new file of the recovery: %v", err)
				}
				for id := range jjm.GridID(2) {
					if v := w.proof(id+1, ""); v.Overlap+v.Doubled > 0 || id == 0 && !v.Whole() {
						t.Errorf("%+v", v)
					}
				}
			})
		})
	}
}

// unluckyTwice plays attempts: the first attempts of local jobs 0 and 1 fail, and so does the second attempt of local
// job 1.
func unluckyTwice(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
	if id.Grid == 1 && (id.Attempt == 0 && id.N < 2 || id.Attempt == 1 && id.N == 1) {
		return adaptertest.Play{Keyword: "FAILED", Data: "bad luck"}
	}
	return adaptertest.Play{}
}

// A resubmission is accepted, and becomes impossible before the daemon carries it out. It is then refused: the grid job
// stays over, its rows are moved back to the history, and the journal has the reason.
func TestResubmit_ThatBecameImpossibleIsRefused(t *testing.T) {
	t.Parallel()
	c := &crasher{point: "request.after-commit", nth: 1}
	inWorld(t, options{play: unluckyOnce(1), crash: c, chunk: 1}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("result = \"glf\"\n", "name = \"raw\"\n"+inline(6)))
		w.final(time.Hour, id)
		before := w.status(id)
		w.resubmit(false, id.String())
		w.shut()
		s, err := store.Open(filepath.Join(w.dir, "store.db"), store.Options{Scratch: true})
		w.must(err)
		w.must(s.Update(t.Context(), func(tx *store.Tx) error {
			d, err := s.DatasetNamed(t.Context(), alice.UID, "raw")
			if err != nil {
				return err
			}
			_, err = tx.MarkFiles(d.ID, []store.Mark{{LFN: lfn(2), State: jjm.FileLost}}, "alice", "the disk is gone")
			return err
		}))
		w.must(s.Close())
		w.open()
		w.until(time.Hour, "refused", func() bool { return w.isOver(id) })
		w.pass(time.Minute)
		before.LostInputs = []wire.LostInputs{{Dataset: "raw", Count: 1, Owned: 1, Marked: true,
			First: []wire.LostInput{{LFN: lfn(2), Lies: lfn(2)}}}}
		if d := cmp.Diff(before, w.status(id)); d != "" {
			t.Error(d)
		}
		if left, err := w.store.Unsettled(t.Context()); err != nil || len(left) != 0 {
			t.Errorf("%v, %v", left, err)
		}
		lines, err := w.engine.Log(t.Context(), alice, id)
		w.must(err)
		if text := strings.Join(lines, "\n"); !strings.Contains(text, "reopening refused") ||
			!strings.Contains(text, "is lost, missing or broken") {
			t.Error(text)
		}
		w.verifyQuiet()
	})
}

// isOver reports whether a grid job is over and no reopening of it is requested.
func (w *world) isOver(id jjm.GridID) bool {
	w.t.Helper()
	st := w.status(id)
	return st.Over()
}

// resubmitOf returns an action that resubmits the failed local jobs of a grid job.
func resubmitOf(key string) func(*stage) error { return resubmitWith(key, nil) }

// resubmitWith returns an action that resubmits the failed local jobs of a grid job with other resources.
func resubmitWith(key string, asked *jjm.Resources) func(*stage) error {
	return func(s *stage) error {
		how := wire.ResubmitHow{Resources: asked}
		got := s.engine.Resubmit(context.Background(), alice, []jjm.Ref{all(s.ids[key])}, how)[0]
		if got.Error != nil && got.Error.Kind == jjm.Conflict { // the request was stored before the engine died
			return nil
		}
		return got.Error.Err()
	}
}

// retractAfterTheEnd returns an action that declares an output of an ended grid job lost.
func retractAfterTheEnd(key, output string) func(*stage) error {
	return func(s *stage) error {
		_, err := s.retractOver(s.ids[key], fmt.Sprintf(output, s.ids[key]))
		if jjm.KindOf(err) == jjm.Conflict { // the request was stored before the engine died
			return nil
		}
		return err
	}
}

// nothing is an action that does nothing. A scenario continues at least until the time of its last action.
func nothing(*stage) error { return nil }

// requestedBefore returns an action that stores a request to reopen a grid job while no daemon runs. The request is
// therefore not checked before the daemon carries it out.
func requestedBefore(key, request string) func(*stage) error {
	return func(s *stage) error {
		s.shut()
		st, err := store.Open(filepath.Join(s.dir, "store.db"), store.Options{Scratch: true})
		s.must(err)
		r := store.Reopening{Grid: s.ids[key], Generation: 2, Request: []byte(request), Actor: "alice", Why: "a test"}
		s.must(st.Update(context.Background(), func(tx *store.Tx) error { return tx.PutReopening(&r) }))
		s.must(st.Close())
		s.open()
		return nil
	}
}
