package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// resplit requests that the work of failed local jobs is split into smaller parts.
func (w *world) resplit(by wire.Caller, how wire.ResplitHow, refs ...string) wire.Resplit {
	w.t.Helper()
	var parsed []jjm.Ref
	for _, text := range refs {
		ref, err := jjm.ParseRef(text)
		w.must(err)
		parsed = append(parsed, ref)
	}
	return w.engine.Resplit(context.Background(), by, parsed, how)[0]
}

// ranged returns a job file over n files of 100 events each, split into parts of 50 events. The application reports its
// end in a log file (GLF).
func ranged(n int) string {
	return fileJob("result = \"glf\"\n", "name = \"raw\"\n"+inline(n)+byEvents)
}

// checkOnce requires that each file is owned only by local jobs that completed, and that the work is done once.
func (w *world) checkOnce(id jjm.GridID) {
	w.t.Helper()
	locals := w.locals(id)
	for file, owners := range w.owners(id) {
		for _, n := range owners {
			if locals[n].State != jjm.Completed {
				w.t.Errorf("%s is owned by local job %d, which is %s/%s", file, n, locals[n].State, locals[n].Phase)
			}
		}
	}
	if v := w.proof(id, ""); !v.Whole() {
		w.t.Errorf("%+v", v.Report)
	}
}

func TestResplit_ReopensAGridJobThatIsOver(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyOnce(1, 4), chunk: 2}, func(t *testing.T, w *world) {
		id := w.submit(alice, ranged(3))
		w.final(time.Hour, id)
		told := w.lookup(id)
		if told.Status != "finished" {
			t.Fatalf("%+v", told)
		}
		dry := w.resplit(alice, wire.ResplitHow{EventsPerJob: 20, DryRun: true}, id.String())
		if dry.Jobs != 2 || dry.Parts != 6 || dry.Generation != 2 || dry.Error != nil || w.status(id).Reopening != nil {
			t.Fatalf("%+v", dry)
		}
		got := w.resplit(alice, wire.ResplitHow{EventsPerJob: 20}, id.String())
		if got.Jobs != 2 || got.Parts != 6 || got.Generation != 2 || got.Error != nil {
			t.Fatalf("%+v", got)
		}
		w.until(time.Hour, "over again", func() bool { return w.isOver(id) && w.status(id).Generation == 2 })
		w.over(time.Hour, id)
		w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: 12,
			states: map[int32]jjm.State{1: jjm.Failed, 4: jjm.Failed, 6: jjm.Completed, 11: jjm.Completed}})
		locals := w.locals(id)
		if locals[1].Phase != jjm.GivenBack || locals[1].Message == "" || locals[8].Part.Count != 10 ||
			locals[6].Part.Serial != 7 {
			t.Errorf("%+v, %+v, %+v", locals[1], locals[6], locals[8])
		}
		if attempts, err := w.store.Attempts(t.Context(), jjm.LocalID{Grid: id, N: 1}); err != nil ||
			len(attempts) != 1 || attempts[0].Evidence == nil {
			t.Errorf("the evidence of the local job that failed: %+v, %v", attempts, err)
		}
		w.checkOnce(id)
		if again := w.resplit(alice, wire.ResplitHow{}, id.String()); !again.NoChange || again.Error != nil {
			t.Errorf("nothing to cut again: %+v", again)
		}
		w.verifyQuiet()
		w.reopen()
		w.checkOnce(id)
	})
}

func TestResplit_JoinsAGridJobThatGoesOn(t *testing.T) {
	t.Parallel()
	sim := adaptertest.SimConfig{Slots: 1, Life: 20 * time.Minute}
	inWorld(t, options{sim: sim, play: unluckyOnce(0)}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("result = \"glf\"\n", "name = \"raw\"\n"+inline(8)))
		w.until(time.Hour, "failed", func() bool { return w.lookup(id).Counts.Failed == 1 })
		got := w.resplit(alice, wire.ResplitHow{FilesPerJob: 1}, id.String()+".0")
		if got.Jobs != 1 || got.Parts != 2 || got.Generation != 0 || got.Error != nil {
			t.Fatalf("%+v", got)
		}
		w.final(10*time.Hour, id)
		w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: 6, states: map[int32]jjm.State{0: jjm.Failed}})
		if in := w.input(id); in.Finished != 8 || in.Failed != 0 {
			t.Errorf("%+v", in)
		}
		w.checkOnce(id)
	})
}

// A killed local job is cut again if the request names it. The id of its grid job means failed local jobs only.
func TestResplit_CutsAKilledLocalJobThatIsNamed(t *testing.T) {
	t.Parallel()
	sim := adaptertest.SimConfig{Life: 20 * time.Minute}
	inWorld(t, options{sim: sim}, func(t *testing.T, w *world) {
		id := w.submit(alice, ranged(2))
		w.running(id, 4)
		if got := w.kill(id.String() + ".1"); got.Error != nil {
			t.Fatalf("%+v", got)
		}
		w.final(10*time.Hour, id)
		if got := w.resplit(alice, wire.ResplitHow{}, id.String()); !got.NoChange || got.Error != nil {
			t.Errorf("the grid job: %+v", got)
		}
		got := w.resplit(alice, wire.ResplitHow{}, id.String()+".1")
		if got.Jobs != 1 || got.Parts != 2 || got.Generation != 2 || got.Error != nil {
			t.Fatalf("%+v, %v", got, got.Error)
		}
		w.until(time.Hour, "over again", func() bool { return w.isOver(id) && w.status(id).Generation == 2 })
		w.over(time.Hour, id)
		w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: 6, states: map[int32]jjm.State{1: jjm.Killed}})
		if l := w.locals(id)[1]; l.Phase != jjm.GivenBack {
			t.Errorf("%s/%s", l.State, l.Phase)
		}
		w.checkOnce(id)
	})
}

// The new local jobs are cut again when they fail too.
func TestResplit_CutsAgainAndAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyOnce(1, 4, 5)}, func(t *testing.T, w *world) {
		id := w.submit(alice, ranged(2))
		w.final(time.Hour, id)
		for generation, want := range []int{2, 4} {
			if got := w.resplit(alice, wire.ResplitHow{}, id.String()); got.Parts != want || got.Error != nil {
				t.Fatalf("generation %d: %+v", generation+2, got)
			}
			w.until(time.Hour, "over again", func() bool { return w.isOver(id) && w.status(id).Generation == generation+2 })
			w.over(time.Hour, id)
		}
		w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: 10})
		w.checkOnce(id)
	})
}

func TestResplit_SaysWhyItRefuses(t *testing.T) {
	t.Parallel()
	few := func(c *engineConfig) { c.MaxLocalJobs = 10 }
	inWorld(t, options{play: unluckyOnce(1), config: few}, func(t *testing.T, w *world) {
		events := w.submit(alice, mc(6))
		files := w.submit(alice, ranged(2))
		merges := w.submit(alice, fileJob("result = \"glf\"\n", "name = \"more\"\n"+inline(4)+mergeTwo))
		w.final(time.Hour, events, files, merges)
		for _, c := range []struct {
			by   wire.Caller
			how  wire.ResplitHow
			ref  string
			kind jjm.Kind
			text string
		}{
			{alice, wire.ResplitHow{}, events.String(), jjm.Conflict, "its events are generated"},
			{alice, wire.ResplitHow{}, merges.String(), jjm.Conflict, "it merges its outputs"},
			{alice, wire.ResplitHow{}, files.String() + ".0", jjm.Conflict, "its result counts"},
			{alice, wire.ResplitHow{}, files.String() + ".7", jjm.Gone, "has 4 local jobs"},
			{alice, wire.ResplitHow{FilesPerJob: 1}, files.String(), jjm.Conflict, "it owns events: say how many with --events"},
			{alice, wire.ResplitHow{EventsPerJob: 50}, files.String(), jjm.Conflict, "it cannot be cut further"},
			{alice, wire.ResplitHow{Into: 25}, files.String(), jjm.Invalid, "engine.max_local_jobs"},
			{bob, wire.ResplitHow{}, files.String(), jjm.Denied, ""},
		} {
			got := w.resplit(c.by, c.how, c.ref)
			if got.Error == nil || got.Error.Kind != c.kind || !strings.Contains(got.Error.Text, c.text) {
				t.Errorf("%s, %+v: %+v, error %+v; want %s %q", c.ref, c.how, got, got.Error, c.kind, c.text)
			}
		}
	})
}

// Failed local jobs are split again in any sequence, including local jobs that an earlier resplit made. At the end each
// event has one owner.
func TestProperty_EachEventIsDoneOnceAfterAnyResplits(t *testing.T) {
	drawLives(t)
	rapid.Check(t, func(rt *rapid.T) {
		fails := rapid.SliceOfNDistinct(rapid.Int32Range(0, 15), 1, 6, rapid.ID).Draw(rt, "fails")
		sizes := rapid.SliceOfN(rapid.Int64Range(3, 49), 3, 3).Draw(rt, "sizes")
		restarts := rapid.SliceOfN(rapid.Bool(), 3, 3).Draw(rt, "restarts")
		if !slices.ContainsFunc(fails, func(n int32) bool { return n < 6 }) {
			fails = append(fails, 0)
		}
		ok := t.Run("", func(t *testing.T) {
			inWorld(t, options{play: unluckyOnce(fails...)}, func(t *testing.T, w *world) {
				id := w.submit(alice, ranged(3))
				w.final(time.Hour, id)
				generation := 1
				for i, size := range sizes {
					got := w.resplit(alice, wire.ResplitHow{EventsPerJob: size}, id.String())
					if got.Error != nil || got.NoChange {
						continue // no local job failed, or the new parts would not be smaller
					}
					generation++
					if restarts[i] {
						w.reopen()
					}
					w.until(5*time.Hour, "over again", func() bool { return w.isOver(id) && w.status(id).Generation == generation })
					w.over(time.Hour, id)
				}
				w.checkOwners(id)
			})
		})
		if !ok {
			rt.Fatalf("see above")
		}
	})
}

// checkOwners requires that each of the 100 events of each file has one owner, and that the proof agrees with the
// states of the owners.
func (w *world) checkOwners(id jjm.GridID) {
	w.t.Helper()
	missing, covered := int64(0), int64(0)
	for _, l := range w.locals(id) {
		if l.Phase == jjm.GivenBack {
			continue
		}
		if covered += l.Part.Count; l.State != jjm.Completed {
			missing += l.Part.Count
		}
	}
	v := w.proof(id, "")
	if covered != v.Expected || v.Missing != missing || v.Overlap+v.Doubled != 0 || v.Disagree != 0 {
		w.t.Errorf("%d of the events have an owner, %d of them failed: %+v", covered, missing, v.Report)
	}
}

// resplitOf returns an action that requests to split the failed local jobs of a grid job again.
func resplitOf(key string) func(*stage) error {
	return func(s *stage) error {
		got := s.engine.Resplit(context.Background(), alice, []jjm.Ref{all(s.ids[key])}, wire.ResplitHow{})[0]
		if got.Error != nil && got.Error.Kind == jjm.Conflict { // the request was stored before the engine died
			return nil
		}
		return got.Error.Err()
	}
}

// resplitScenarios returns scenarios in which failed local jobs are split again: after the end of the grid job, and
// before its end.
func resplitScenarios() map[string]scenario {
	once := func(s *stage) { s.checkOnce(s.ids["a"]) }
	return map[string]scenario{
		"what failed is cut again": {
			sim: adaptertest.SimConfig{MaxBulk: 3, Slots: 4}, play: unluckyOnce(1, 4), chunk: 2,
			actions: []action{{0, submitAs("a", ranged(3))}, {time.Hour, resplitOf("a")}, {2 * time.Hour, nothing}},
			wants: map[string]want{"a": {status: jjm.Done, gram: jjm.GRAMDone, jobs: 10,
				states: map[int32]jjm.State{1: jjm.Failed, 4: jjm.Failed}}},
			also: once,
			only: []string{"request", "reopen"},
		},
		"what failed is cut again before the end": {
			sim: adaptertest.SimConfig{Slots: 2, Life: 20 * time.Minute}, play: unluckyOnce(0),
			actions: []action{{0, submitAs("a", ranged(3))}, {50 * time.Minute, resplitOf("a")}},
			wants: map[string]want{"a": {status: jjm.Done, gram: jjm.GRAMDone, jobs: 8,
				states: map[int32]jjm.State{0: jjm.Failed}}},
			also: once,
			only: []string{"resplit"},
		},
	}
}
