package engine_test

import (
	"fmt"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// A doubled submission: the reply to the first submission is lost, the search for the bulk does not find it, and the
// bulk is submitted again. Both bulks exist, and only one job of each attempt may run.
func TestDoubledSubmission_ExactlyOneRuns(t *testing.T) {
	t.Parallel()
	first := func(job adaptertest.SimJob) bool { return job.Bulk == "sim1" }
	second := func(job adaptertest.SimJob) bool { return job.Bulk == "sim2" }
	for name, test := range map[string]struct {
		sim    adaptertest.SimConfig
		faults []adaptertest.Fault
		hidden func(adaptertest.SimJob) bool // hides batch jobs from listings
		lies   int
		miss   int
	}{
		"both acknowledged late": {adaptertest.SimConfig{},
			[]adaptertest.Fault{adaptertest.LoseReply, adaptertest.LoseReply}, nil, 0, 1},
		"the second acknowledged": {adaptertest.SimConfig{}, []adaptertest.Fault{adaptertest.LoseReply}, nil, 0, 1},
		"three times over": {adaptertest.SimConfig{},
			[]adaptertest.Fault{adaptertest.LoseReply, adaptertest.LoseReply}, nil, 0, 2},
		"both wait a long time": {adaptertest.SimConfig{Wait: 20 * time.Minute},
			[]adaptertest.Fault{adaptertest.LoseReply}, nil, 0, 1},
		"few slots": {adaptertest.SimConfig{Slots: 2}, []adaptertest.Fault{adaptertest.LoseReply}, nil, 0, 1},
		"the first shows late": {adaptertest.SimConfig{Slots: 3}, []adaptertest.Fault{adaptertest.LoseReply}, first, 40,
			1},
		"the first never shows": {adaptertest.SimConfig{Slots: 3}, []adaptertest.Fault{adaptertest.LoseReply}, first,
			1 << 30, 1},
		"the second shows late": {adaptertest.SimConfig{Slots: 3}, []adaptertest.Fault{adaptertest.LoseReply}, second, 40,
			1},
		"two-phase": {adaptertest.SimConfig{TwoPhase: true}, []adaptertest.Fault{adaptertest.LoseReply}, nil,
			0, 1},
		"two-phase, waits, few run": {adaptertest.SimConfig{TwoPhase: true, Wait: time.Minute, Slots: 2},
			[]adaptertest.Fault{adaptertest.LoseReply, adaptertest.LoseReply}, nil, 0, 1},
	} {
		for _, job := range []string{mc(6), plain(6)} {
			t.Run(name+" "+job[8:13], func(t *testing.T) {
				t.Parallel()
				test.sim.Life = 5 * time.Minute
				test.sim.Wait += 30 * time.Second // the jobs wait long enough for the second submission
				inWorld(t, options{sim: test.sim}, func(t *testing.T, w *world) {
					w.sim.OnSubmit(test.faults...)
					w.sim.Lie(test.lies, test.hidden)
					w.adapter.miss.set(test.miss)
					id := w.submit(alice, job)
					w.pass(90 * time.Minute)
					w.final(time.Minute, id)
					w.verify(id, done(6))
					if got := w.sim.Calls().Bulks; got != test.miss+1 {
						t.Errorf("submitted %d times over, want %d", got, test.miss+1)
					}
					for _, l := range w.locals(id) {
						if l.Attempt != 0 {
							t.Errorf("local job %s needed attempt %d", l.ID, l.Attempt)
						}
					}
					w.sim.Lie(0, nil)
					w.verifyQuiet()
				})
			})
		}
	}
}

// Two batch jobs of one attempt exist. The batch job that holds the claim ends without a result. The engine must notice
// this end, although the other batch job, which lost the claim, is listed as well.
func TestDoubledSubmission_TheEndOfTheHolderIsSeenBesideItsDouble(t *testing.T) {
	t.Parallel()
	play := func(_ jjm.AttemptID, job adaptertest.SimJob) adaptertest.Play {
		if job.Bulk == "sim1" || job.Bulk == "sim2" {
			return adaptertest.Play{NoResult: true, Exit: 5}
		}
		return adaptertest.Play{}
	}
	for name, hidden := range map[string]string{"first": "sim1", "second": "sim2"} {
		t.Run(name+" shows late", func(t *testing.T) {
			sim := adaptertest.SimConfig{Slots: 2, Life: 5 * time.Minute, Wait: 30 * time.Second}
			inWorld(t, options{sim: sim, play: play}, func(t *testing.T, w *world) {
				w.sim.OnSubmit(adaptertest.LoseReply)
				w.adapter.miss.set(1)
				w.sim.Lie(100, func(job adaptertest.SimJob) bool { return job.Bulk == hidden })
				id := w.submit(alice, mc(2))
				w.final(2*time.Hour, id)
				w.verify(id, done(2))
				w.verifyQuiet()
			})
		})
	}
}

// To prove that a missing batch job does not exist, jjm cancels it. The engine must not mistake this cancel for an
// operator's cancel: the attempt is lost and the local job gets another attempt; it is not held.
func TestProofOfAbsence_IsNotTakenForAnOperatorsCancel(t *testing.T) {
	t.Parallel()
	for name, lies := range map[string]int{"the job shows again": 75, "it never shows again": 1 << 30} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, options{sim: adaptertest.SimConfig{Life: 2 * time.Hour}}, func(t *testing.T, w *world) {
				id := w.submit(alice, mc(2))
				w.running(id, 2)
				tag := w.locals(id)[0].Tag
				w.sim.Lie(lies, func(job adaptertest.SimJob) bool { return job.Tag == tag && job.Index == 0 })
				w.final(6*time.Hour, id)
				w.verify(id, done(2))
				if l := w.locals(id)[0]; l.Attempt != 1 {
					t.Errorf("completed with attempt %d, want 1", l.Attempt)
				}
				w.verifyQuiet()
			})
		})
	}
}

// The batch job of this test ended before its wrapper made a claim, so there is no result. The engine must not mistake
// its own cancel, which proves that the missing job does not exist, for an operator's cancel.
func TestProofOfAbsence_OfAnUnclaimedJobIsNotTakenForAnOperatorsCancel(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{NoClaim: id.Attempt == 0 && id.N == 0}
	}
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 2 * time.Hour}, play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		w.running(id, 2)
		w.sim.Lie(1<<30, func(job adaptertest.SimJob) bool { return job.Index == 0 })
		w.adapter.onCancel.set(func() { w.sim.Lie(0, nil) }) // from then on the listings show the job as cancelled
		w.pass(6 * time.Hour)
		if l := w.locals(id)[0]; l.State != jjm.Completed || l.Attempt != 1 {
			t.Errorf("%s/%s, attempt %d, %q\n%s", l.State, l.Phase, l.Attempt, l.Message, w.describe(id))
		}
	})
}

// Two batch jobs exist for each attempt. A kill must reach the one that runs, whichever it is.
func TestDoubledSubmission_AKillReachesTheOneThatRuns(t *testing.T) {
	t.Parallel()
	for name, hidden := range map[string]string{"first": "sim1", "second": "sim2", "none": ""} {
		for _, twoPhase := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s hidden, two-phase %v", name, twoPhase), func(t *testing.T) {
				sim := adaptertest.SimConfig{Life: 10 * time.Hour, Wait: 30 * time.Second, TwoPhase: twoPhase}
				inWorld(t, options{sim: sim}, func(t *testing.T, w *world) {
					w.sim.OnSubmit(adaptertest.LoseReply)
					w.adapter.miss.set(1)
					w.sim.Lie(20, func(job adaptertest.SimJob) bool { return job.Bulk == hidden })
					id := w.submit(alice, mc(4))
					w.pass(5 * time.Minute)
					w.kill(id.String())
					w.final(10*time.Minute, id)
					w.pass(time.Minute)
					w.verify(id, ends(jjm.Aborted, 4, endsOf(4, jjm.Killed)))
					w.verifyQuiet()
				})
			})
		}
	}
}

// The engine suspects that a batch job is a double while it stores that the attempt belongs to this batch job. The
// batch job must not be cancelled then.
func TestDoubledSubmission_TheHolderIsNeverCancelled(t *testing.T) {
	t.Parallel()
	for i := range 10 {
		sim := adaptertest.SimConfig{Wait: 10 * time.Second, Life: 10 * time.Minute}
		c := &crasher{point: "acknowledge.after-commit", nth: 1, downtime: time.Duration(15+2*i) * time.Second}
		inWorld(t, options{sim: sim, crash: c}, func(t *testing.T, w *world) {
			sc := scenario{faults: []adaptertest.Fault{adaptertest.LoseReply}, miss: 1,
				actions: []action{{0, submitAs("a", mc(4))}}}
			s := sc.begin(w)
			s.run(sc)
			w.verify(s.ids["a"], done(4))
			for _, l := range w.locals(s.ids["a"]) {
				if l.Attempt != 0 {
					t.Errorf("local job %s needed attempt %d", l.ID, l.Attempt)
				}
			}
			w.verifyQuiet()
		})
	}
}

// Two batch jobs exist for an attempt, and the engine has cancelled one of them. The daemon stops just before or after
// it stores that the attempt belongs to the other batch job. The end of the cancelled batch job must not count as the
// end of the attempt.
func TestDoubledSubmission_TheEndOfTheDoubleDoesNotOutrankTheResult(t *testing.T) {
	t.Parallel()
	sim := adaptertest.SimConfig{Wait: 30 * time.Second, Life: 2 * time.Minute, Slots: 4}
	for i := range 10 { // ten times, because either the cancel or the stop may come first
		point := []string{"repoint.before-commit", "repoint.after-commit"}[i%2]
		c := &crasher{point: point, nth: 1, downtime: 10 * time.Minute}
		inWorld(t, options{sim: sim, crash: c}, func(t *testing.T, w *world) {
			sc := scenario{faults: []adaptertest.Fault{adaptertest.LoseReply}, miss: 1,
				actions: []action{{0, submitAs("a", mc(4))}}}
			s := sc.begin(w)
			// hide the first bulk, so that the attempts are assigned to the second bulk
			w.sim.Lie(4, func(job adaptertest.SimJob) bool { return job.Bulk == "sim1" })
			s.run(sc)
			if !c.fired {
				t.Error("no attempt was pointed to its other job")
			}
			w.verify(s.ids["a"], done(4))
			w.verifyQuiet()
		})
	}
}
