package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// takesOne returns options with a cluster to which local jobs are submitted one by one.
func takesOne() options { return options{sim: adaptertest.SimConfig{MaxBulk: 1}} }

// words returns the states and phases of the local jobs of a grid job, in their order.
func (w *world) words(id jjm.GridID) string {
	w.t.Helper()
	var all []string
	for _, l := range w.locals(id) {
		all = append(all, jjm.StateWord(l.State, l.Phase))
	}
	return strings.Join(all, " ")
}

// resubmitAll resubmits a grid job, as a person does who names only the id of the grid job.
func (w *world) resubmitAll(id jjm.GridID) wire.Resubmitted {
	w.t.Helper()
	got := w.engine.Resubmit(context.Background(), alice, []jjm.Ref{{Grid: id}}, wire.ResubmitHow{})[0]
	w.must(got.Error.Err())
	return got
}

// If a cluster refuses one of several local jobs that are submitted one by one, the local jobs after it are not
// submitted, unless keep_going is true. Local jobs that were not submitted stay new, also after a restart, until a
// person resubmits them.
func TestKeepGoing_OneByOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		job    string
		faults []adaptertest.Fault
		want   string
		runs   int // number of local jobs that run after a resubmission
		told   string
	}{
		"stops": {plain(5), []adaptertest.Fault{adaptertest.Accept, adaptertest.Refuse},
			"completed new/unsubmitted new/unsubmitted new/unsubmitted new/unsubmitted", 4,
			"submission stopped at local job 1.1, refused by sim"},
		"keeps going": {plain(5, "keep_going = true"), []adaptertest.Fault{adaptertest.Accept, adaptertest.Refuse,
			adaptertest.Accept, adaptertest.Deny}, "completed new/unsubmitted completed new/unsubmitted completed", 2,
			"refused by sim"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, takesOne(), func(t *testing.T, w *world) {
				w.sim.OnSubmit(c.faults...)
				id := w.submit(alice, c.job)
				w.final(time.Hour, id)
				w.reopen()
				if got := w.words(id); got != c.want {
					t.Errorf("local jobs are %s, want %s", got, c.want)
				}
				if l := w.lookup(id); l.Status != "finished" || l.Master != "completed" || !strings.Contains(l.Message, c.told) {
					t.Errorf("the grid job is %s, master %s: %s", l.Status, l.Master, l.Message)
				}
				if got := w.resubmitAll(id); got.Jobs != c.runs {
					t.Errorf("%d local jobs run again, want %d: %+v", got.Jobs, c.runs, got)
				}
				w.until(time.Hour, "it is done", func() bool { return w.status(id).Lookup.Status == "done" })
				w.verifyQuiet()
			})
		})
	}
}

// If a cluster refuses all local jobs of a grid job one by one, the grid job ends as broken, in the same way as a grid
// job that could not be prepared.
func TestKeepGoing_AllRefused(t *testing.T) {
	t.Parallel()
	for key, refusals := range map[string]int{"keep_going = false": 1, "keep_going = true": 3} {
		inWorld(t, takesOne(), func(t *testing.T, w *world) {
			w.sim.OnSubmit(slices.Repeat([]adaptertest.Fault{adaptertest.Refuse}, refusals)...)
			id := w.submit(alice, plain(3, key))
			w.final(time.Hour, id)
			if got, want := w.words(id), "new/unsubmitted new/unsubmitted new/unsubmitted"; got != want {
				t.Errorf("%s: local jobs are %s, want %s", key, got, want)
			}
			l := w.lookup(id)
			if l.Status != "broken" || l.GRAM != jjm.GRAMFailed || l.Master != "new" || l.Tar == "" ||
				!strings.Contains(l.Message, "no local job was submitted; ") {
				t.Errorf("%s: %+v", key, l)
			}
			w.resubmitAll(id)
			w.until(time.Hour, "it is done", func() bool { return w.status(id).Lookup.Status == "done" })
		})
	}
}

// If a cluster is busy, or its answer is in doubt, this does not count as a refusal of local jobs.
func TestKeepGoing_ABusyClusterStopsNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, takesOne(), func(t *testing.T, w *world) {
		w.sim.OnSubmit(adaptertest.Accept, adaptertest.SayBusy, adaptertest.LoseRequest, adaptertest.LoseReply)
		id := w.submit(alice, plain(5))
		w.final(4*time.Hour, id)
		w.verify(id, done(5))
	})
}

// A resubmission can be refused again: local jobs that ran before fail, and local jobs that never ran stay new.
func TestKeepGoing_ARefusedResubmission(t *testing.T) {
	t.Parallel()
	o := takesOne()
	o.play = failsFirst(map[int32]int32{0: 1})
	inWorld(t, o, func(t *testing.T, w *world) {
		w.sim.OnSubmit(adaptertest.Accept, adaptertest.Refuse)
		id := w.submit(alice, plain(3))
		w.final(time.Hour, id)
		if got, want := w.words(id), "failed/application new/unsubmitted new/unsubmitted"; got != want {
			t.Errorf("local jobs are %s, want %s", got, want)
		}
		w.sim.OnSubmit(adaptertest.Refuse, adaptertest.Refuse, adaptertest.Refuse)
		w.resubmitAll(id)
		w.until(time.Hour, "its second end", func() bool {
			return w.status(id).Generation == 2 && w.allFinal([]jjm.GridID{id})
		})
		if got, want := w.words(id), "failed/createfailed new/unsubmitted new/unsubmitted"; got != want {
			t.Errorf("local jobs are %s, want %s", got, want)
		}
	})
}

// isRefused waits until a grid job is kept because a cluster refused its local jobs one by one.
func (w *world) isRefused(id jjm.GridID) {
	w.t.Helper()
	w.until(time.Hour, "the grid job is kept", func() bool {
		l := w.lookup(id)
		return l.Status == "registered" && l.Master == "new" && strings.Contains(l.Message, "no local job was submitted; ")
	})
	if got, want := w.words(id), "new/unsubmitted new/unsubmitted new/unsubmitted"; got != want {
		w.t.Errorf("local jobs are %s, want %s", got, want)
	}
	l := w.lookup(id)
	if l.GRAM != jjm.GRAMUnsubmitted { // decision R11
		w.t.Errorf("the gatekeeper is told %s", l.GRAM)
	}
	if strings.Count(l.Message, "submission stopped") != 1 {
		w.t.Errorf("the message does not name the refusal once: %s", l.Message)
	}
}

// A grid job was submitted with the rollback "keep", and its cluster refused all local jobs. The grid job is registered
// again and waits, also after a restart, until its owner submits it again, resubmits it, removes it or kills it.
func TestKeepGoing_AllRefusedAndKept(t *testing.T) {
	t.Parallel()
	inWorld(t, takesOne(), func(t *testing.T, w *world) {
		s := &stage{world: w, ids: map[string]jjm.GridID{}}
		for _, key := range []string{"again", "resubmitted", "removed", "killed"} {
			w.sim.OnSubmit(adaptertest.Refuse)
			w.must(submitBack(key, plain(3), jjm.RollbackKeep)(s))
			w.isRefused(s.ids[key])
		}
		w.reopen()
		w.pass(time.Hour)
		// two refusals: of the next attempt of local job 0, and of the first attempt of local job 1
		w.sim.OnSubmit(adaptertest.Refuse, adaptertest.Refuse)
		w.must(submitKept("again")(s))
		w.pass(time.Minute)
		w.isRefused(s.ids["again"])
		w.must(submitKept("again")(s))
		w.final(time.Hour, s.ids["again"])
		w.verify(s.ids["again"], done(3))

		w.resubmitAll(s.ids["resubmitted"])
		w.until(time.Hour, "it is done", func() bool { return w.lookup(s.ids["resubmitted"]).Status == "done" })

		w.must(w.remove(alice, false, s.ids["removed"])[0].Error.Err())
		w.until(time.Hour, "it is removed", func() bool { return w.removed(s.ids["removed"]) })

		w.must(killOf("killed", "")(s))
		w.final(time.Hour, s.ids["killed"])
		if got := w.words(s.ids["killed"]); got != "killed/cancelled killed/cancelled killed/cancelled" {
			t.Errorf("local jobs are %s", got)
		}
		w.verifyQuiet()
	})
}

// A kill of a local job that was not submitted takes effect immediately (decision R13). A local job that a person
// killed does not run when its grid job is resubmitted.
func TestKeepGoing_AKilledLocalJob(t *testing.T) {
	t.Parallel()
	o := takesOne()
	o.sim.Life = time.Hour
	inWorld(t, o, func(t *testing.T, w *world) {
		w.sim.OnSubmit(adaptertest.Accept, adaptertest.Refuse)
		id := w.submit(alice, plain(4))
		w.until(30*time.Minute, "the stop", func() bool { return strings.Count(w.words(id), "new/unsubmitted") == 3 })
		got := w.engine.Kill(t.Context(), alice, []jjm.Ref{{Grid: id, Locals: true, First: 2, Last: 2}}, wire.KillHow{})[0]
		if got.Error != nil || got.NoChange {
			t.Errorf("the kill: %+v", got)
		}
		w.final(3*time.Hour, id)
		if got, want := w.words(id), "completed new/unsubmitted killed/cancelled new/unsubmitted"; got != want {
			t.Errorf("local jobs are %s, want %s", got, want)
		}
		if got := w.resubmitAll(id); got.Jobs != 2 {
			t.Errorf("%d local jobs run again, want 2", got.Jobs)
		}
		w.until(3*time.Hour, "its second end", func() bool {
			return w.words(id) == "completed completed killed/cancelled completed"
		})
	})
}
