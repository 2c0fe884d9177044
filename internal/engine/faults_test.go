package engine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

func TestSubmit_TroubleOfTheCommandNeitherLosesNorDoubles(t *testing.T) {
	t.Parallel()
	f := func(fs ...adaptertest.Fault) []adaptertest.Fault { return fs }
	lostReply, lostRequest, busy := adaptertest.LoseReply, adaptertest.LoseRequest, adaptertest.SayBusy
	for name, test := range map[string]struct {
		faults []adaptertest.Fault
		sim    adaptertest.SimConfig
		bulks  int // the number of bulks that the batch system receives
	}{
		"lost reply":                      {f(lostReply), adaptertest.SimConfig{Settle: time.Minute}, 1},
		"lost reply, idempotent":          {f(lostReply), adaptertest.SimConfig{Settle: time.Minute, Idempotent: true}, 1},
		"lost reply, two-phase":           {f(lostReply), adaptertest.SimConfig{Settle: time.Minute, TwoPhase: true}, 1},
		"lost request":                    {f(lostRequest), adaptertest.SimConfig{Settle: time.Minute}, 1},
		"lost request, nothing to settle": {f(lostRequest, lostRequest, lostRequest), adaptertest.SimConfig{}, 1},
		"busy":                            {f(busy, busy, busy, busy), adaptertest.SimConfig{}, 1},
		"one after the other": {f(busy, lostRequest, busy, lostReply),
			adaptertest.SimConfig{Settle: 20 * time.Second}, 1},
		"every bulk its own trouble": {f(lostReply, busy, lostRequest),
			adaptertest.SimConfig{MaxBulk: 4, Settle: time.Minute}, 3},
		"two-phase, every bulk its own one": {f(lostReply, busy, lostRequest),
			adaptertest.SimConfig{MaxBulk: 4, TwoPhase: true}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, options{sim: test.sim}, func(t *testing.T, w *world) {
				w.sim.OnSubmit(test.faults...)
				id := w.submit(alice, mc(10))
				w.final(time.Hour, id)
				w.verify(id, done(10))
				w.verifyQuiet()
				if got := w.sim.Calls().Bulks; got != test.bulks {
					t.Errorf("the batch system got %d bulks, want %d", got, test.bulks)
				}
			})
		})
	}
}

func TestSubmit_ADoubtfulBulkIsShownAsSuch(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Settle: 5 * time.Minute}}, func(t *testing.T, w *world) {
		w.sim.OnSubmit(adaptertest.LoseRequest)
		id := w.submit(alice, mc(2))
		w.pass(time.Minute)
		if l := w.locals(id)[0]; l.State != jjm.Submitting || l.Phase != jjm.Doubtful {
			t.Errorf("local job is %s/%s", l.State, l.Phase)
		}
		if l := w.lookup(id); l.GRAM != jjm.GRAMUnsubmitted {
			t.Errorf("lookup says %d", l.GRAM)
		}
		if calls := w.sim.Calls(); calls.Submits != 1 {
			t.Errorf("submitted %d times while in doubt", calls.Submits)
		}
		w.final(time.Hour, id)
		w.verify(id, done(2))
	})
}

func TestSubmit_ARefusedBulkFailsItsMembersAlone(t *testing.T) {
	t.Parallel()
	for _, fault := range []adaptertest.Fault{adaptertest.Refuse, adaptertest.Deny} {
		inWorld(t, options{sim: adaptertest.SimConfig{MaxBulk: 3}}, func(t *testing.T, w *world) {
			w.sim.OnSubmit(adaptertest.Accept, fault)
			id := w.submit(alice, mc(7))
			w.final(time.Hour, id)
			failed := 0
			for _, l := range w.locals(id) {
				if l.State == jjm.Failed {
					failed++
					if l.Phase != jjm.CreateFailed || l.Message == "" {
						t.Errorf("local job %s failed by %q: %q", l.ID, l.Phase, l.Message)
					}
				}
			}
			if failed != 3 {
				t.Errorf("%d local jobs failed, want the 3 of the refused bulk", failed)
			}
			w.verify(id, want{status: jjm.Finished, gram: jjm.GRAMDone, jobs: 7})
			w.verifyQuiet()
		})
	}
}

func TestSubmit_AllRefusedIsAFailedGridJobWithItsTar(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		w.sim.OnSubmit(adaptertest.Refuse)
		id := w.submit(alice, mc(3))
		w.final(time.Hour, id)
		w.verify(id, want{status: jjm.GridFailed, gram: jjm.GRAMFailed, jobs: 3, states: endsOf(3, jjm.Failed)})
		w.verifyQuiet()
		if l := w.lookup(id); l.Code != 17 || l.Exit == 0 {
			t.Errorf("%+v", l)
		}
	})
}

func TestOutage_AnHourWithoutTheBatchSystemChangesNothing(t *testing.T) {
	t.Parallel()
	sim := adaptertest.SimConfig{Life: 30 * time.Minute, MaxBulk: 4}
	t.Run("during submission", func(t *testing.T) {
		inWorld(t, options{sim: sim}, func(t *testing.T, w *world) {
			w.sim.Down(time.Hour)
			id := w.submit(alice, mc(6))
			w.pass(59 * time.Minute)
			if l := w.lookup(id); l.Status != "pending" || l.GRAM != jjm.GRAMUnsubmitted || l.Message == "" {
				t.Errorf("%+v", l)
			}
			w.final(2*time.Hour, id)
			w.verify(id, done(6))
			w.verifyQuiet()
		})
	})
	t.Run("during a kill", func(t *testing.T) {
		inWorld(t, options{sim: sim}, func(t *testing.T, w *world) {
			id := w.submit(alice, mc(6))
			w.until(time.Minute, "running", func() bool { return w.lookup(id).Counts.Running == 6 })
			w.sim.Down(20 * time.Minute)
			w.kill(id.String())
			w.pass(15 * time.Minute)
			if l := w.lookup(id); l.Status != "aborting" || l.Counts.Running != 6 {
				t.Errorf("%+v", l)
			}
			w.final(20*time.Minute, id)
			w.verify(id, want{status: jjm.Aborted, gram: jjm.GRAMDone, jobs: 6, states: endsOf(6, jjm.Killed)})
			w.verifyQuiet()
		})
	})
}

// refs returns the references to the batch jobs of local jobs, which are given by their numbers.
func (w *world) refs(id jjm.GridID, n ...int32) []adapters.Ref {
	w.t.Helper()
	locals := w.locals(id)
	var refs []adapters.Ref
	for _, i := range n {
		refs = append(refs, adapters.Ref{Tag: locals[i].Tag, Index: locals[i].Pos})
	}
	return refs
}

func (w *world) running(id jjm.GridID, n int) {
	w.t.Helper()
	w.until(10*time.Minute, "running", func() bool { return w.lookup(id).Counts.Running == n })
}

func TestOutage_StatusKeepsItsLastState(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 30 * time.Minute}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(6))
		w.running(id, 6)
		before := w.lookup(id)
		w.sim.Down(time.Hour)
		w.pass(20 * time.Minute)
		if now := w.lookup(id); !cmp.Equal(now, before) {
			t.Errorf("%+v, before the outage %+v", now, before)
		}
		if c := w.engine.Clusters(t.Context(), admin)[0]; c.Healthy || c.Cause == "" {
			t.Errorf("cluster: %+v", c)
		}
		w.final(2*time.Hour, id)
		w.pass(time.Hour)
		w.verify(id, done(6))
		w.verifyQuiet()
	})
}

func TestListing_WithoutAJobProvesNothingAtOnce(t *testing.T) {
	t.Parallel()
	t.Run("a few listings", func(t *testing.T) {
		inWorld(t, options{sim: adaptertest.SimConfig{Life: 30 * time.Minute}}, func(t *testing.T, w *world) {
			id := w.submit(alice, mc(6))
			w.running(id, 6)
			before := w.lookup(id)
			w.sim.Lie(50, nil) // about 8 minutes of listings without jobs, too short to prove an absence
			for range 9 {
				w.pass(time.Minute)
				if now := w.lookup(id); !cmp.Equal(now, before) {
					t.Errorf("%+v, before the lies %+v", now, before)
				}
			}
			w.final(time.Hour, id)
			w.verify(id, done(6))
			w.verifyQuiet()
		})
	})
	t.Run("few listings in a long time", func(t *testing.T) {
		slow := func(c *engineConfig) { c.Poll = jjm.Duration(10 * time.Minute) }
		inWorld(t, options{sim: adaptertest.SimConfig{Life: 3 * time.Hour}, config: slow}, func(t *testing.T, w *world) {
			id := w.submit(alice, mc(2))
			w.until(30*time.Minute, "running", func() bool { return w.lookup(id).Counts.Running == 2 })
			w.sim.Lie(2, nil)
			w.pass(time.Hour)
			if l := w.lookup(id); l.Counts.Running != 2 {
				t.Errorf("%+v", l)
			}
			w.final(5*time.Hour, id)
			w.verify(id, done(2))
		})
	})
	t.Run("jobs that ended meanwhile are found by accounting", func(t *testing.T) {
		play := func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
			return adaptertest.Play{NoResult: true, Exit: 9}
		}
		inWorld(t, options{sim: adaptertest.SimConfig{Life: 5 * time.Minute}, play: play}, func(t *testing.T, w *world) {
			id := w.submit(alice, plain(2))
			w.running(id, 2)
			w.sim.Lie(1000, nil)
			w.final(20*time.Minute, id)
			l := w.locals(id)[0]
			if l.State != jjm.Failed || l.Exit != 9 {
				t.Errorf("%+v", l)
			}
		})
	})
	t.Run("a living wrapper is not given up", func(t *testing.T) {
		inWorld(t, options{sim: adaptertest.SimConfig{Life: 2 * time.Hour}}, func(t *testing.T, w *world) {
			id := w.submit(alice, mc(2))
			w.running(id, 2)
			stop := w.beat(id)
			w.sim.Lie(400, nil) // more than an hour
			w.pass(time.Hour)
			stop()
			if l := w.lookup(id); l.Counts.Running != 2 {
				t.Errorf("%+v", l)
			}
			w.final(3*time.Hour, id)
			w.verify(id, done(2))
		})
	})
}

func TestKill_WaitsForAWrapperThatStillRuns(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 2 * time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		w.running(id, 2)
		stop := w.beat(id)
		w.sim.Abort("what was not saved is over", w.refs(id, 0, 1)...)
		w.kill(id.String())
		w.pass(time.Hour)
		if l := w.lookup(id); l.Status != jjm.Aborting.String() || l.Counts.Killed != 0 {
			t.Errorf("a grid job whose wrappers go on is %s, %+v", l.Status, l.Counts)
		}
		stop()
		w.final(10*time.Minute, id)
		if l := w.lookup(id); l.Status != jjm.Aborted.String() || l.Counts.Killed != 2 {
			t.Errorf("afterwards it is %s, %+v", l.Status, l.Counts)
		}
	})
}

// The batch system forgets a job, so it does not end the job at its walltime. At that time the daemon orders the job's
// wrapper to end.
func TestWalltime_EndsAWrapperThatTheBatchSystemForgot(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Minute}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2, lasting("1h")))
		w.running(id, 2)
		stop := w.beat(id)
		w.sim.Abort("the node was down at the start", w.refs(id, 0, 1)...)
		ordered := func() (n int) {
			for _, l := range w.locals(id) {
				if w.area(owner(alice)).EndOrdered(l.Tag, l.Pos) {
					n++
				}
			}
			return n
		}
		w.pass(50 * time.Minute)
		if n, l := ordered(), w.lookup(id); n != 0 || l.Counts.Running != 2 {
			t.Errorf("within the walltime: %d ordered to end, %+v", n, l.Counts)
		}
		w.pass(20 * time.Minute)
		if n := ordered(); n != 2 {
			t.Errorf("after the walltime %d are ordered to end", n)
		}
		stop()
		w.final(3*time.Hour, id)
		w.verify(id, done(2))
	})
}

func TestVanishedJob_IsLostAndRetried(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 30 * time.Minute}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(4))
		w.running(id, 4)
		w.sim.Vanish(w.refs(id, 1, 2)...)
		w.pass(9 * time.Minute)
		if l := w.locals(id)[1]; l.State != jjm.Running || l.Attempt != 0 {
			t.Errorf("after 9 minutes: %s, attempt %d", l.State, l.Attempt)
		}
		w.final(3*time.Hour, id)
		locals := w.locals(id)
		if locals[1].Attempt != 1 || locals[2].Attempt != 1 || locals[0].Attempt != 0 {
			t.Errorf("attempts: %d %d %d, want 0 1 1", locals[0].Attempt, locals[1].Attempt, locals[2].Attempt)
		}
		w.verify(id, done(4))
		w.verifyQuiet()
	})
}

func TestVanishedJob_WithinNoLimitIsFailedAsLost(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 30 * time.Minute}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2, "[retry]", "max_retry_late_unhandled = 0"))
		w.running(id, 2)
		w.sim.Vanish(w.refs(id, 0)...)
		w.final(3*time.Hour, id)
		l := w.locals(id)[0]
		if l.State != jjm.Failed || l.Message == "" {
			t.Errorf("%+v", l)
		}
		w.verify(id, want{status: jjm.Finished, gram: jjm.GRAMDone, jobs: 2,
			states: map[int32]jjm.State{0: jjm.Failed, 1: jjm.Completed}})
		w.verifyQuiet()
	})
}

func TestBatchSystem_EndsJobsByItself(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		job   string
		do    func(w *world, refs []adapters.Ref)
		state jjm.State
		phase jjm.Phase
		tries int32
	}{
		"aborted under glf": {mc(2), func(w *world, r []adapters.Ref) {
			w.sim.Abort("node failure", r...)
		}, jjm.Completed, "", 1},
		"aborted under exit": {plain(2), func(w *world, r []adapters.Ref) {
			w.sim.Abort("node failure", r...)
		}, jjm.Failed, jjm.ByLoss, 0},
		"cancelled under glf": {mc(2), func(w *world, r []adapters.Ref) {
			w.sim.CancelInBatch(r...)
		}, jjm.Held, jjm.HeldByBatch, 0},
		"cancelled under exit": {plain(2), func(w *world, r []adapters.Ref) { w.sim.CancelInBatch(r...) },
			jjm.Failed, jjm.ByLoss, 0},
		"started anew under glf": {mc(2), func(w *world, r []adapters.Ref) { w.sim.Requeue(r...) }, jjm.Completed, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, options{sim: adaptertest.SimConfig{Life: 20 * time.Minute}}, func(t *testing.T, w *world) {
				id := w.submit(alice, test.job)
				w.running(id, 2)
				test.do(w, w.refs(id, 0))
				w.pass(2 * time.Hour)
				l := w.locals(id)[0]
				if l.State != test.state || l.Phase != test.phase || l.Attempt != test.tries {
					t.Errorf("%s/%s, attempt %d, %q; want %s/%s, attempt %d\n%s", l.State, l.Phase, l.Attempt, l.Message,
						test.state, test.phase, test.tries, w.describe(id))
				}
				if test.state == jjm.Held {
					if l := w.lookup(id); l.GRAM != jjm.GRAMSuspended || l.Status != "running" {
						t.Errorf("with a held local job: %+v", l)
					}
					w.kill(id.String())
				}
				w.final(time.Hour, id)
				w.verifyQuiet()
			})
		})
	}
}

func TestBatchSystem_AHoldIsShown(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Wait: 5 * time.Minute}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		w.until(time.Minute, "submitted", func() bool { return w.lookup(id).Counts.Submitted == 2 })
		ref := w.refs(id, 1)
		w.sim.HoldInBatch("quota", ref...)
		w.pass(time.Hour)
		if l := w.locals(id)[1]; l.State != jjm.Submitted || l.Phase != jjm.BatchHeld {
			t.Errorf("%s/%s", l.State, l.Phase)
		}
		_, err := w.sim.Control(t.Context(), owner(alice), adapters.Release, ref)
		w.must(err)
		w.final(time.Hour, id)
		w.verify(id, done(2))
		w.verifyQuiet()
	})
}
