package engine_test

import (
	"context"
	"os"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// The engine's clock jumps back by a day or forward by a week; the clocks of the batch system and of the file server do
// not jump. No local job is lost, and none hangs.
func TestClock_AJumpLosesNothingAndNothingHangs(t *testing.T) {
	t.Parallel()
	failing := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Attempt == 0 {
			return adaptertest.Play{Keyword: "-", Exit: 1, Life: 10 * time.Minute}
		}
		return adaptertest.Play{}
	}
	silent := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{NoResult: id.Attempt == 0}
	}
	type setup struct {
		sim   adaptertest.SimConfig
		play  func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play
		until func(w *world, id jjm.GridID)
		tries int32
		fault adaptertest.Fault
	}
	for when, s := range map[string]setup{
		"at once": {until: func(*world, jjm.GridID) {}},
		"queued": {sim: adaptertest.SimConfig{Wait: 20 * time.Minute},
			until: func(w *world, id jjm.GridID) { w.pass(time.Minute) }},
		"running": {sim: adaptertest.SimConfig{Life: 20 * time.Minute},
			until: func(w *world, id jjm.GridID) { w.running(id, 4) }},
		"missing from two listings": {sim: adaptertest.SimConfig{Life: 20 * time.Minute},
			until: func(w *world, id jjm.GridID) {
				w.running(id, 4)
				w.sim.Lie(2, nil)
				w.pass(12 * time.Second)
			}},
		"doubtful": {fault: adaptertest.LoseReply, sim: adaptertest.SimConfig{Life: 20 * time.Minute, Settle: time.Minute},
			until: func(w *world, id jjm.GridID) { w.pass(10 * time.Second) }},
		"doubtful, the request lost": {fault: adaptertest.LoseRequest,
			sim:   adaptertest.SimConfig{Life: 20 * time.Minute, Settle: time.Minute},
			until: func(w *world, id jjm.GridID) { w.pass(10 * time.Second) }},
		"its result is awaited": {play: silent, tries: 1,
			until: func(w *world, id jjm.GridID) {
				w.running(id, 4)
				w.pass(65 * time.Second)
			}},
		"waiting for the next attempt": {play: failing, tries: 1,
			until: func(w *world, id jjm.GridID) {
				w.until(time.Hour, "retry-wait", func() bool { return w.phase(id, jjm.RetryWait) == 4 })
			}},
		"being killed": {sim: adaptertest.SimConfig{Life: 20 * time.Minute},
			until: func(w *world, id jjm.GridID) {
				w.running(id, 4)
				w.sim.IgnoreCancels(4)
				w.kill(id.String())
				w.pass(time.Second)
			}},
	} {
		for jump, by := range map[string]time.Duration{"back by a day": -24 * time.Hour,
			"forward by a week": 7 * 24 * time.Hour} {
			t.Run(when+", "+jump, func(t *testing.T) {
				t.Parallel()
				inWorld(t, options{sim: s.sim, play: s.play}, func(t *testing.T, w *world) {
					w.sim.OnSubmit(s.fault)
					id := w.submit(alice, mc(4))
					s.until(w, id)
					w.setSkew(by)
					start := time.Now()
					w.final(26*time.Hour, id)
					took := time.Since(start)
					want := done(4)
					if when == "being killed" {
						want = ends(jjm.Aborted, 4, endsOf(4, jjm.Killed))
					}
					w.verify(id, want)
					for _, l := range w.locals(id) {
						if l.Attempt != s.tries {
							t.Errorf("local job %s came to attempt %d, want %d\n%s", l.ID, l.Attempt, s.tries, w.describe(id))
						}
					}
					w.verifyQuiet()
					if s.tries == 0 && took > time.Hour {
						t.Errorf("over only after %v", took)
					}
				})
			})
		}
	}
}

// The file server's clock is behind, and it counts in large steps. Several results arrive within one step, so the time
// stamp of their folder does not change. The engine finds all of them nevertheless.
func TestClock_AFileServerBehindHidesNoResult(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Minute, Jitter: 5 * time.Minute}},
		func(t *testing.T, w *world) {
			id := w.submit(alice, mc(8))
			w.running(id, 8)
			dir := w.doneFolder(w.locals(id)[0])
			tick := time.Now().Add(-time.Hour)
			ctx, stop := context.WithCancel(t.Context())
			go func() {
				for ctx.Err() == nil {
					os.Chtimes(dir, tick, tick)
					wait(ctx, 100*time.Millisecond)
				}
			}()
			w.final(time.Hour, id)
			stop()
			w.verify(id, done(8))
			for _, l := range w.locals(id) {
				if l.Attempt != 0 {
					t.Errorf("local job %s needed attempt %d: its result was not seen", l.ID, l.Attempt)
				}
			}
			w.verifyQuiet()
		})
}
