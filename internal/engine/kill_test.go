package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/sandbox"
)

// count waits until n returns want.
func (w *world) count(id jjm.GridID, what string, n func() int, want int) {
	w.t.Helper()
	w.until(2*time.Hour, what, func() bool { return n() == want })
}

// orders returns the paths of the files in the work areas that order wrappers to end their jobs.
func (w *world) orders() []string {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.dir, "work", "*", "bulks", "*", "end", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// If a job still runs after a cancel, the engine writes an order to end into the work area, where the job's wrapper
// finds it. A job that ends promptly gets no order.
func TestKill_OfAJobThatSurvivesACancelIsOrderedInTheWorkArea(t *testing.T) {
	t.Parallel()
	for name, deaf := range map[string]int{"it ends them": 0, "it does nothing": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Hour}}, func(t *testing.T, w *world) {
				id := w.submit(alice, mc(5))
				w.running(id, 5)
				w.sim.IgnoreCancels(deaf)
				w.kill(id.String())
				if deaf == 0 {
					w.final(2*time.Hour, id)
				} else {
					w.until(time.Hour, "five orders", func() bool { return len(w.orders()) == 5 })
				}
				if got := len(w.orders()); got != min(deaf, 5) {
					t.Errorf("%d orders to end", got)
				}
			})
		})
	}
}

// If the engine writes a file for an attempt after the grid job is over, no folder of a bulk stays behind, because
// nothing would remove it. An order to end is written this late if writing the order, or the cancel before it, takes
// long. The daemon's claim is written this late if the bulk is refused meanwhile.
func TestKill_WhatIsWrittenTooLateLeavesNoFolder(t *testing.T) {
	t.Parallel()
	survive := func(w *world, id jjm.GridID) {
		w.running(id, 1)
		w.sim.IgnoreCancels(1) // the second cancel ends the job, and the order to end follows this cancel
	}
	for name, test := range map[string]struct {
		before func(*world)
		until  func(*world, jjm.GridID)
		// hold calls its argument before the engine writes.
		hold func(*world, *heldUsers, func())
	}{
		"order after a long cancel": {until: survive, hold: func(w *world, _ *heldUsers, hold func()) {
			cancels := 0
			w.adapter.onCancel.set(func() {
				if cancels++; cancels == 2 {
					hold()
				}
			})
		}},
		"order": {until: survive, hold: func(_ *world, users *heldUsers, hold func()) {
			users.makes.set(func(name string) {
				if strings.HasSuffix(name, "/end") {
					hold()
				}
			})
		}},
		"claim": {before: func(w *world) { w.sim.OnSubmit(adaptertest.LoseRequest) },
			until: func(w *world, id jjm.GridID) { w.pass(time.Minute) },
			hold: func(_ *world, users *heldUsers, hold func()) {
				users.makes.set(func(name string) {
					if strings.Contains(name, "/claims/") {
						hold()
					}
				})
			}},
		"claim after somebody removed the folder": {
			before: func(w *world) { w.sim.OnSubmit(adaptertest.LoseRequest) },
			until:  func(w *world, id jjm.GridID) { w.pass(time.Minute) },
			hold: func(w *world, users *heldUsers, hold func()) {
				users.makes.set(func(name string) {
					if strings.Contains(name, "/claims/") {
						w.must(os.RemoveAll(filepath.Join(w.dir, "work", "bob", filepath.Dir(filepath.Dir(name)))))
					} else if strings.HasSuffix(name, "/claims") {
						hold()
					}
				})
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			users := &heldUsers{slowUsers: &slowUsers{}}
			sim := adaptertest.SimConfig{Life: 10 * time.Hour, Settle: 10 * time.Minute}
			inWorld(t, options{sim: sim, users: users}, func(t *testing.T, w *world) {
				if test.before != nil {
					test.before(w)
				}
				id := w.submit(bob, mc(1))
				test.until(w, id)
				var held, over atomic.Bool
				test.hold(w, users, func() {
					if !held.Swap(true) {
						over.Store(w.untilArchived(id, time.Hour))
					}
				})
				w.engine.Kill(t.Context(), bob, []jjm.Ref{{Grid: id}}, wire.KillHow{})
				w.final(2*time.Hour, id)
				w.pass(time.Minute)
				if !over.Load() {
					t.Error("the write was not held until the grid job was over")
				}
				w.verify(id, ends(jjm.Aborted, 1, endsOf(1, jjm.Killed)))
				w.verifyQuiet()
				if w.logs.has("removed by somebody else") {
					t.Error("the sweep is taken for somebody else's")
				}
			})
		})
	}
}

// untilArchived waits until a grid job is in the history, in a goroutine of the engine. It returns false if this takes
// longer than limit.
func (w *world) untilArchived(id jjm.GridID, limit time.Duration) bool {
	for start := time.Now(); time.Since(start) < limit; time.Sleep(time.Second) {
		if w.archived(id) {
			return true
		}
	}
	return false
}

// heldUsers calls the function makes, if it is set, before the engine makes a folder or a file in a work area.
type heldUsers struct {
	*slowUsers
	makes fault[func(name string)]
}

func (u *heldUsers) Area(o jjm.Owner, root string) (sandbox.FS, error) {
	f, err := u.slowUsers.Area(o, root)
	if err != nil {
		return nil, err
	}
	return &heldFS{f, u}, nil
}

type heldFS struct {
	sandbox.FS
	of *heldUsers
}

func (f *heldFS) MkdirAll(name string, perm os.FileMode) error {
	f.of.before(name)
	return f.FS.MkdirAll(name, perm)
}

func (f *heldFS) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	if flag&os.O_CREATE != 0 {
		f.of.before(name)
	}
	return f.FS.OpenFile(name, flag, perm)
}

func (u *heldUsers) before(name string) {
	if makes := u.makes.get(); makes != nil {
		makes(name)
	}
}

func TestKill_InEveryPhaseOfTheLocalJobs(t *testing.T) {
	t.Parallel()
	held := func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{Keyword: "HOLD", Data: "look at me"}
	}
	failing := func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{Keyword: "-", Exit: 1}
	}
	long := adaptertest.SimConfig{Life: 10 * time.Hour}
	for name, test := range map[string]struct {
		sim    adaptertest.SimConfig
		play   func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play
		before func(w *world)
		until  func(w *world, id jjm.GridID)
	}{
		"at once": {sim: long, until: func(*world, jjm.GridID) {}},
		"spooled, the system being down": {sim: long, before: func(w *world) { w.sim.Down(time.Hour) },
			until: func(w *world, id jjm.GridID) { w.pass(time.Minute) }},
		"spooled, the system being busy": {sim: long,
			before: func(w *world) {
				w.sim.OnSubmit(adaptertest.SayBusy, adaptertest.SayBusy, adaptertest.SayBusy, adaptertest.SayBusy,
					adaptertest.SayBusy)
			},
			until: func(w *world, id jjm.GridID) { w.pass(10 * time.Second) }},
		"doubtful, the reply lost": {sim: adaptertest.SimConfig{Life: 10 * time.Hour, Settle: 10 * time.Minute},
			before: func(w *world) { w.sim.OnSubmit(adaptertest.LoseReply) },
			until:  func(w *world, id jjm.GridID) { w.pass(time.Minute) }},
		"doubtful, the request lost": {sim: adaptertest.SimConfig{Life: 10 * time.Hour, Settle: 10 * time.Minute},
			before: func(w *world) { w.sim.OnSubmit(adaptertest.LoseRequest) },
			until:  func(w *world, id jjm.GridID) { w.pass(time.Minute) }},
		"doubtful, two-phase": {sim: adaptertest.SimConfig{Life: 10 * time.Hour, Settle: 10 * time.Minute, TwoPhase: true},
			before: func(w *world) { w.sim.OnSubmit(adaptertest.LoseReply) },
			until:  func(w *world, id jjm.GridID) { w.pass(time.Minute) }},
		"queued": {sim: adaptertest.SimConfig{Wait: 10 * time.Hour},
			until: func(w *world, id jjm.GridID) {
				w.count(id, "submitted", func() int { return w.lookup(id).Counts.Submitted }, 5)
			}},
		"running": {sim: long, until: func(w *world, id jjm.GridID) { w.running(id, 5) }},
		"running, cancels without effect": {sim: long, before: func(w *world) { w.sim.IgnoreCancels(12) },
			until: func(w *world, id jjm.GridID) { w.running(id, 5) }},
		"running, not listed": {sim: long,
			until: func(w *world, id jjm.GridID) {
				w.running(id, 5)
				w.sim.Lie(30, nil)
			}},
		"some queued, some running": {sim: adaptertest.SimConfig{Life: 10 * time.Hour, Slots: 2, MaxBulk: 2},
			until: func(w *world, id jjm.GridID) { w.running(id, 2) }},
		"waiting for the next attempt": {sim: adaptertest.SimConfig{Life: 10 * time.Second}, play: failing,
			until: func(w *world, id jjm.GridID) {
				w.count(id, "retry-wait", func() int { return w.phase(id, jjm.RetryWait) }, 5)
			}},
		"waiting for the next attempt at once, the system being down": {sim: adaptertest.SimConfig{Life: time.Minute},
			play: func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
				return adaptertest.Play{Keyword: "RETRY", Data: "x"}
			},
			until: func(w *world, id jjm.GridID) {
				w.running(id, 5)
				w.pass(50 * time.Second)
				w.sim.Down(30 * time.Minute)
				w.pass(time.Minute)
			}},
		"held": {sim: adaptertest.SimConfig{Life: time.Minute}, play: held,
			until: func(w *world, id jjm.GridID) {
				w.count(id, "held", func() int { return w.lookup(id).Counts.Held }, 5)
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, options{sim: test.sim, play: test.play}, func(t *testing.T, w *world) {
				if test.before != nil {
					test.before(w)
				}
				id := w.submit(alice, mc(5))
				test.until(w, id)
				if k := w.kill(id.String()); k.Error != nil || k.NoChange {
					t.Errorf("kill: %+v", k)
				}
				if k := w.kill(id.String()); k.Error != nil || !k.NoChange {
					t.Errorf("second kill: %+v", k)
				}
				w.final(2*time.Hour, id)
				w.verify(id, ends(jjm.Aborted, w.lookup(id).Counts.Total, endsOf(5, jjm.Killed)))
				w.pass(time.Hour)
				w.verifyQuiet()
				for _, l := range w.locals(id) {
					if l.Phase != jjm.ByPerson {
						t.Errorf("local job %s is killed/%s", l.ID, l.Phase)
					}
				}
			})
		})
	}
}

func TestKill_WhilePreparingStaysAborting(t *testing.T) {
	t.Parallel()
	c := &crasher{}
	inWorld(t, options{crash: c}, func(t *testing.T, w *world) {
		var once sync.Once
		c.mu.Lock()
		c.on = func(point string) {
			if point == "prepare.packed" {
				once.Do(func() { w.kill("1") })
			}
		}
		c.mu.Unlock()
		id := w.submit(alice, mc(5))
		w.final(time.Hour, id)
		entries, err := w.engine.History(t.Context(), alice, jjm.Ref{Grid: id}, -1)
		w.must(err)
		var story []string
		for _, e := range entries {
			if e.First < 0 {
				story = append(story, e.To)
			}
		}
		if got := strings.Join(story, " "); got != "registered aborting aborted" {
			t.Errorf("the grid job went %s", got)
		}
	})
}

// phase counts the local jobs in a phase.
func (w *world) phase(id jjm.GridID, p jjm.Phase) int {
	n := 0
	for _, l := range w.locals(id) {
		if l.Phase == p {
			n++
		}
	}
	return n
}

func TestKill_CompletedLocalJobsStayCompleted(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{Life: time.Duration(1+id.N%2*600) * time.Minute}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(6))
		w.count(id, "completed", func() int { return w.lookup(id).Counts.Completed }, 3)
		w.kill(id.String())
		w.final(10*time.Minute, id)
		w.verify(id, ends(jjm.Aborted, 6, map[int32]jjm.State{0: jjm.Completed, 1: jjm.Killed, 2: jjm.Completed,
			3: jjm.Killed, 4: jjm.Completed, 5: jjm.Killed}))
		w.verifyQuiet()
		if k := w.kill(id.String()); k.Error != nil || !k.NoChange {
			t.Errorf("kill after the end: %+v", k)
		}
		w.verifyAfterReopening(id)
	})
}

func TestKill_OfARangeLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Minute, MaxBulk: 4, Slots: 5}},
		func(t *testing.T, w *world) {
			id := w.submit(alice, mc(10))
			w.running(id, 5)
			if k := w.kill(id.String() + ".3-7"); k.Error != nil || k.NoChange {
				t.Errorf("kill: %+v", k)
			}
			if k := w.kill(id.String() + ".10-12"); k.Error == nil || k.Error.Kind != jjm.Gone {
				t.Errorf("kill of what is not there: %+v", k)
			}
			w.final(time.Hour, id)
			w.verify(id, ends(jjm.Finished, 10, map[int32]jjm.State{2: jjm.Completed, 3: jjm.Killed, 4: jjm.Killed,
				5: jjm.Killed, 6: jjm.Killed, 7: jjm.Killed, 8: jjm.Completed}))
			w.verifyQuiet()
			if k := w.kill(id.String() + ".1"); k.Error != nil || !k.NoChange {
				t.Errorf("kill after the end: %+v", k)
			}
		})
}

func TestKill_OfAllLocalJobsByRangeEndsTheGridJob(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(4))
		w.running(id, 4)
		w.kill(id.String() + ".*")
		w.final(time.Hour, id)
		w.verify(id, ends(jjm.Aborted, 4, endsOf(4, jjm.Killed)))
		w.verifyQuiet()
	})
}

func TestKill_DuringThePreparation(t *testing.T) {
	t.Parallel()
	var w *world
	var once sync.Once
	c := &crasher{}
	c.on = func(point string) {
		if point == "prepare.packed" {
			once.Do(func() { w.kill("1") })
		}
	}
	inWorld(t, options{crash: c}, func(t *testing.T, inner *world) {
		w = inner
		id := w.submit(alice, mc(4))
		w.final(time.Hour, id)
		w.verify(id, ends(jjm.Aborted, -1, nil))
		w.verifyQuiet()
		if n := w.sim.Calls().Submits; n != 0 {
			t.Errorf("%d submissions", n)
		}
	})
}

func TestKill_DuringTheCutting(t *testing.T) {
	t.Parallel()
	var w *world
	var once sync.Once
	c := &crasher{}
	c.on = func(point string) {
		if point == "generate.after-commit" {
			once.Do(func() { go w.kill("1") }) // the kill is stored as soon as this transaction is over
		}
	}
	sim := adaptertest.SimConfig{Life: time.Hour, Slots: 100}
	inWorld(t, options{crash: c, sim: sim, bare: true, chunk: 200}, func(t *testing.T, inner *world) {
		w = inner
		id := w.submit(alice, mc(4000))
		w.final(time.Hour, id)
		l := w.lookup(id)
		if l.Status != "aborted" || l.GRAM != jjm.GRAMDone || l.Tar == "" || l.Counts.Killed != l.Counts.Total ||
			l.Counts.Total >= 4000 {
			t.Errorf("%+v", l)
		}
		w.verifyQuiet()
	})
}

func TestKill_WhileTheOutputsAreCollected(t *testing.T) {
	t.Parallel()
	var w *world
	var once sync.Once
	c := &crasher{}
	c.on = func(point string) {
		if point == "collect.tarred" {
			once.Do(func() {
				if k := w.kill("1"); k.Error != nil || k.NoChange {
					t.Errorf("kill: %+v", k)
				}
			})
		}
	}
	inWorld(t, options{crash: c}, func(t *testing.T, inner *world) {
		w = inner
		id := w.submit(alice, mc(4))
		w.final(time.Hour, id)
		w.verify(id, ends(jjm.Aborted, 4, endsOf(4, jjm.Completed)))
		w.verifyQuiet()
	})
}

// Some local jobs of a killed grid job wait for their next attempt, and one continues to run
// because its cancel has no effect. The submission must not become busy.
func TestKill_WaitingLocalJobsDoNotKeepTheSubmissionBusy(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.N == 0 {
			return adaptertest.Play{Life: 10 * time.Hour}
		}
		return adaptertest.Play{NoClaim: true, Exit: 1, Life: time.Minute}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(4))
		w.until(time.Hour, "three wait", func() bool { return w.phase(id, jjm.RetryWait) == 3 })
		w.sim.IgnoreCancels(20)
		w.kill(id.String())
		w.final(time.Hour, id) // a loop that never waits would stop the bubble's time, and the test would hang
		w.verify(id, ends(jjm.Aborted, 4, endsOf(4, jjm.Killed)))
		w.verifyQuiet()
	})
}

// A kill of local jobs that do not exist yet is refused as Busy. If it were accepted, or answered with "no such job",
// the kill would be lost.
func TestKill_OfLocalJobsStillToBeMadeIsRefusedAsBusy(t *testing.T) {
	t.Parallel()
	c := &crasher{point: "generate.after-commit", nth: 1}
	inWorld(t, options{crash: c, sim: adaptertest.SimConfig{Life: time.Hour, Slots: 1}, bare: true, chunk: 50},
		func(t *testing.T, w *world) {
			id := w.submit(alice, mc(52))
			w.until(time.Minute, "50 are made", c.isDead)
			job := filepath.Join(w.area(owner(alice)).Root(), "jobs", id.String(), "job.json")
			w.must(os.Rename(job, job+".away")) // without this file the grid job cannot be cut further
			w.reopen()
			w.pass(time.Minute)
			if n := w.lookup(id).Counts.Total; n != 50 {
				t.Fatalf("%d are made", n)
			}
			for ref, want := range map[string]jjm.Kind{".*": jjm.Busy, ".48-51": jjm.Busy, ".51": jjm.Busy, ".51-99": jjm.Busy,
				".52": jjm.Gone, ".3": jjm.Unclassified, ".49": jjm.Unclassified} {
				k := w.kill(id.String() + ref)
				if kind := jjm.KindOf(k.Error.Err()); kind != want {
					t.Errorf("kill of %s: %v, want %s", ref, k.Error, want)
				}
				said := "grid job 1 has made 50 of its 52 local jobs so far, so nothing was done: try again when all are made, or name the whole grid job: 1"
				if want == jjm.Busy && k.Error != nil && !strings.HasSuffix(k.Error.Text, said) {
					t.Errorf("kill of %s: %s", ref, k.Error.Text)
				}
			}
			w.until(10*time.Minute, "killed", func() bool { return w.lookup(id).Counts.Killed >= 2 })
			if n := w.lookup(id).Counts.Killed; n != 2 {
				t.Errorf("%d are killed, want the two that were there", n)
			}
			w.must(os.Rename(job+".away", job))
			w.until(time.Minute, "all are made", func() bool { return w.lookup(id).Counts.Total == 52 })
			if k := w.kill(id.String() + ".51"); k.Error != nil || k.NoChange {
				t.Errorf("kill of what is made now: %+v", k)
			}
			w.kill(id.String())
			w.final(time.Hour, id)
			w.verifyQuiet()
		})
}

// A kill that was accepted is carried out even if the daemon dies while it makes the local jobs. The test repeats a
// kill that was not answered.
func TestKill_IsNotLostWhenTheDaemonDiesAroundTheCutting(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		jobs     int
		at, dies string // the failpoints at which the kill is requested, and at which the daemon dies afterwards
	}{
		{20, "prepare.packed", "kill.before-commit"},
		{20, "prepare.packed", "kill.after-commit"},
		{20, "prepare.packed", "prepare.before-commit"},
		{20, "prepare.packed", "prepare.after-commit"},
		{20, "prepare.after-commit", "kill.after-commit"},
		{20, "generate.before-commit", "generate.before-commit"},
		{20, "generate.before-commit", "generate.after-commit"},
		{20, "generate.after-commit", "submit.before-commit"},
		{52, "generate.after-commit", "kill.before-commit"},
		{52, "generate.after-commit", "kill.after-commit"},
		{52, "generate.after-commit", "kill-locals.before-commit"},
		{52, "generate.after-commit", "kill-locals.after-commit"},
	} {
		t.Run(fmt.Sprintf("%d, %s, dies at %s", test.jobs, test.at, test.dies), func(t *testing.T) {
			t.Parallel()
			c, killed := &crasher{}, make(chan wire.Killed, 1)
			inWorld(t, options{crash: c, sim: adaptertest.SimConfig{Life: time.Hour, Slots: 2, TwoPhase: true}, bare: true,
				chunk: 50}, func(t *testing.T, w *world) {
				var once sync.Once
				c.mu.Lock()
				c.on = func(point string) {
					if point == test.at {
						once.Do(func() {
							c.arm(test.dies)
							go func() { killed <- w.kill("1") }()
						})
					}
				}
				c.mu.Unlock()
				const id = jjm.GridID(1)
				// The daemon may die before the submission is answered. The grid job is accepted nevertheless.
				if _, err := w.trySubmit(alice, "", mc(test.jobs)); err != nil && !c.isDead() {
					t.Fatal(err)
				}
				k := <-killed
				w.pass(time.Minute)
				w.reopen()
				if k.Error != nil {
					k = w.kill("1")
				}
				if k.Error != nil {
					t.Errorf("kill: %+v", k)
				}
				w.final(time.Hour, id)
				if l := w.lookup(id); l.Status != "aborted" || l.Counts.Killed != l.Counts.Total {
					t.Errorf("%+v", l)
				}
				w.pass(time.Hour)
				w.verifyQuiet()
			})
		})
	}
}
