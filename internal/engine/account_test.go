package engine_test

import (
	"context"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// The tests with this account configure the daemon to run all jobs as its own account. The batch system then sees one
// owner, and only the work areas and jjm know the owner of each job.
var service = &jjm.Owner{UID: 990, GID: 990, User: "jjmd"}

func TestAccount_RunsTheJobsOfAllOwners(t *testing.T) {
	t.Parallel()
	sim := adaptertest.SimConfig{Life: 10 * time.Minute, Settle: 5 * time.Second, Slots: 6, TwoPhase: true}
	inWorld(t, options{sim: sim, account: service, play: troubled}, func(t *testing.T, w *world) {
		w.adapter.onSubmit.set(func(b adapters.Bulk) {
			if b.Owner != *service {
				t.Errorf("a bulk of %s", b.Owner.User)
			}
		})
		w.sim.OnSubmit(adaptertest.LoseReply, adaptertest.SayBusy)
		a, b := w.submit(alice, mc(8)), w.submit(bob, mc(8))
		gone := w.submit(bob, plain(4))
		w.pass(12 * time.Minute)
		w.reopen()
		w.must(w.engine.Kill(context.Background(), bob, []jjm.Ref{{Grid: gone}}, wire.KillHow{})[0].Error.Err())
		w.final(6*time.Hour, a, b, gone)
		w.verify(a, ends(jjm.Finished, 8, troubledEnds))
		w.verify(b, ends(jjm.Finished, 8, troubledEnds))
		w.verify(gone, ends(jjm.Aborted, 4, nil))
		w.pass(time.Hour)
		w.verifyQuiet()
	})
}

func TestAccount_OfRootTakesJobsFromRootOnly(t *testing.T) {
	t.Parallel()
	root := &jjm.Owner{User: "root"}
	inWorld(t, options{account: root}, func(t *testing.T, w *world) {
		w.pass(time.Second)
		before := w.rows(t)
		_, err := w.trySubmit(bob, "k", mc(1))
		if jjm.KindOf(err) != jjm.Denied {
			t.Errorf("error %v", err)
		}
		if after := w.rows(t); after != before {
			t.Errorf("left:\n%s\nbefore:\n%s", after, before)
		}
		s, err := w.trySubmit(wire.Caller{User: "root", Admin: true}, "k", mc(1))
		w.must(err)
		w.final(time.Hour, s.ID)
		w.verify(s.ID, done(1))
	})
}

// An attempt was given up because listings did not contain its batch job. When the batch job is listed again, it is
// cancelled.
func TestStray_OfAnEndedAttemptIsCancelled(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 100 * time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		w.running(id, 2)
		old := w.locals(id)[0]
		w.sim.IgnoreCancels(1)
		w.sim.Lie(1<<30, func(job adaptertest.SimJob) bool { return job.Tag == old.Tag && job.Index == old.Pos })
		w.until(2*time.Hour, "the second attempt runs", func() bool {
			l := w.locals(id)[0]
			return l.Attempt == 1 && l.State == jjm.Running
		})
		w.sim.Lie(0, nil)
		alive := func() (n int) {
			l, err := w.sim.List(context.Background(), owner(alice), time.Time{})
			w.must(err)
			for _, r := range l.Reports {
				if r.State.Alive() {
					n++
				}
			}
			return n
		}
		if n := alive(); n != 3 {
			t.Errorf("%d live batch jobs, want 3", n)
		}
		w.pass(5 * time.Minute)
		if n := alive(); n != 3 {
			t.Errorf("%d live batch jobs after five minutes, want 3: it may end by itself", n)
		}
		w.pass(10 * time.Minute)
		if n := alive(); n != 2 {
			t.Errorf("%d live batch jobs in the end, want 2", n)
		}
		if l := w.locals(id)[0]; l.State != jjm.Running || l.Attempt != 1 {
			t.Errorf("%s, attempt %d", l.State, l.Attempt)
		}
	})
}

func TestStray_OfAnotherStoreIsLeftAlone(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Hour, TwoPhase: true}}, func(t *testing.T, w *world) {
		_, err := w.sim.Submit(context.Background(), adapters.Bulk{Tag: "jzzzzotherstore", Owner: owner(alice), N: 1,
			Argv: []string{"/bin/true"}, Dir: w.dir + "/work/alice/bulks/x"})
		w.must(err)
		id := w.submit(alice, mc(1))
		w.running(id, 1)
		w.pass(time.Hour)
		l, err := w.sim.List(context.Background(), owner(alice), time.Time{})
		w.must(err)
		for _, r := range l.Reports {
			if r.Tag == "jzzzzotherstore" && !r.State.Alive() {
				t.Errorf("the other store's job is %s", r.State)
			}
		}
	})
}
