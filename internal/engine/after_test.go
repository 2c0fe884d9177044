package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// minute returns the options of a world whose local jobs take a minute.
func minute() options { return options{sim: adaptertest.SimConfig{Life: time.Minute, Slots: 100}} }

// failingOf returns a play in which the local jobs of some grid jobs fail permanently in their first attempts.
func failingOf(grids ...jjm.GridID) func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
	return func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if slices.Contains(grids, id.Grid) && id.Attempt == 0 {
			return adaptertest.Play{Keyword: "FAILED", Data: "bad luck"}
		}
		return adaptertest.Play{}
	}
}

// cluster gives the order verb ("pause" or "resume") for the only cluster, as an administrator.
func (w *world) cluster(verb string) {
	w.t.Helper()
	w.give(wire.Order{Verb: verb, Kind: "cluster", Name: w.adapter.Name(), Reason: "a test"})
}

// waitsAfter requires that a grid job has no local jobs yet, and that its status, the list of grid jobs and its record
// name the grid jobs for whose end it waits.
func (w *world) waitsAfter(id jjm.GridID, others ...jjm.GridID) {
	w.t.Helper()
	text := fmt.Sprintf("waits for the end of grid job %s (", others[0])
	if len(others) > 1 {
		text = fmt.Sprintf("waits for the end of grid jobs %s (", others[0])
	}
	w.until(time.Hour, "waits", func() bool { return strings.Contains(w.lookup(id).Message, text) })
	st := w.status(id)
	listed, err := w.engine.List(context.Background(), alice, wire.List{})
	w.must(err)
	at := slices.IndexFunc(listed, func(s wire.Status) bool { return s.Lookup.ID == id })
	record, err := w.engine.Record(context.Background(), alice, id, "/gridjob/@after")
	w.must(err)
	if st.Lookup.Status != "pending" || st.Lookup.GRAM != jjm.GRAMUnsubmitted || st.Lookup.Counts.Total != 0 ||
		!slices.Equal(st.Awaited, others) || at < 0 || !slices.Equal(listed[at].Awaited, others) || len(record) != 1 {
		w.t.Errorf("grid job %s: %+v, record %q", id, st, record)
	}
}

// began returns the time when the first local job of a grid job was submitted.
func (w *world) began(id jjm.GridID) jjm.Time {
	var first jjm.Time
	for _, l := range w.locals(id) {
		if l.Submitted != 0 && (first == 0 || l.Submitted < first) {
			first = l.Submitted
		}
	}
	return first
}

// endOf returns the time when a grid job ended.
func (w *world) endOf(id jjm.GridID) jjm.Time { return w.status(id).Ended }

func TestAfter_BeginsOnceTheOthersAreDone(t *testing.T) {
	t.Parallel()
	inWorld(t, minute(), func(t *testing.T, w *world) {
		one, two := w.submit(alice, mc(2)), w.submit(alice, mc(3))
		id := w.submit(alice, mc(1, fmt.Sprintf("after = [%s, %s]", one, two)))
		w.waitsAfter(id, one, two)
		last := w.submit(alice, mc(1, fmt.Sprintf("after = [%s]", id), `after_end = "any"`))
		w.waitsAfter(last, id)
		w.final(time.Hour, one, two, id, last)
		w.verify(id, done(1))
		w.verify(last, done(1))
		if st := w.status(id); len(st.Awaited) > 0 || !slices.Equal(st.After, []jjm.GridID{one, two}) || st.AfterEnd != "ok" {
			t.Errorf("once it is over: %+v", st)
		}
		if w.began(id) < max(w.endOf(one), w.endOf(two)) || w.began(last) < w.endOf(id) {
			t.Errorf("%s began %v, the others ended %v and %v", id, w.began(id), w.endOf(one), w.endOf(two))
		}
		w.verifyQuiet()
	})
}

func TestAfter_OneThatEndedOtherwiseBreaksIt(t *testing.T) {
	t.Parallel()
	o := minute()
	o.play = failingOf(1)
	inWorld(t, o, func(t *testing.T, w *world) {
		failed, long := w.submit(alice, mc(1)), w.submit(alice, mc(1))
		w.cluster("pause")
		ok := w.submit(alice, mc(1, "after = [1, 2]"))
		next := w.submit(alice, mc(1, fmt.Sprintf("after = [%s]", ok)))
		any := w.submit(alice, mc(1, "after = [1]", `after_end = "any"`))
		bad := w.submit(alice, mc(1, "after = [1]", `after_end = "failed"`))
		never := w.submit(alice, mc(1, "after = [2]", `after_end = "failed"`))
		w.waitsAfter(ok, failed, long)
		w.cluster("resume")
		w.final(time.Hour, failed, long, ok, next, any, bad, never)
		for id, why := range map[jjm.GridID]string{
			ok:    `it was to begin only if grid job 1 ended as done (after_end = "ok"), but that ended as failed`,
			next:  `it was to begin only if grid job 3 ended as done (after_end = "ok"), but that ended as broken`,
			never: `it was to begin only if grid job 2 ended in any way but done (after_end = "failed"), but that ended as done`,
		} {
			w.verify(id, want{status: jjm.Broken, gram: jjm.GRAMFailed, jobs: 0})
			if l := w.lookup(id); l.Message != why {
				t.Errorf("%s: %s", id, l.Message)
			}
		}
		w.verify(any, done(1))
		w.verify(bad, done(1))
		w.verifyQuiet()
	})
}

// A grid job that waits for another grid job can be killed and paused like any other grid job. After a restart of the
// daemon it still waits.
func TestAfter_KillPauseAndRestart(t *testing.T) {
	t.Parallel()
	inWorld(t, minute(), func(t *testing.T, w *world) {
		w.cluster("pause")
		one := w.submit(alice, mc(1))
		killed := w.submit(alice, mc(1, "after = [1]"))
		id := w.submit(alice, mc(1, "after = [1]"))
		w.waitsAfter(killed, one)
		w.waitsAfter(id, one)
		w.kill(killed.String())
		w.final(time.Hour, killed)
		w.verify(killed, want{status: jjm.Aborted, gram: jjm.GRAMDone, jobs: 0})
		w.reopen()
		w.waitsAfter(id, one)
		pause := wire.Order{Verb: "pause", Kind: "job", Name: id.String()}
		if _, err := w.order(alice, pause); err != nil {
			t.Fatal(err)
		}
		w.cluster("resume")
		w.final(time.Hour, one)
		w.pass(time.Hour)
		if l := w.lookup(id); l.Status != "paused" || l.Counts.Total != 0 {
			t.Errorf("while paused: %+v", l)
		}
		w.reopen()
		if _, err := w.order(alice, wire.Order{Verb: "resume", Kind: "job", Name: id.String()}); err != nil {
			t.Fatal(err)
		}
		w.final(time.Hour, id)
		w.verify(id, done(1))
		w.verifyQuiet()
	})
}

// A grid job waits for the current generation of another grid job: if the other grid job is reopened, it waits for the
// new end, even while the reopening is only requested. A grid job that has begun is not affected.
func TestAfter_WaitsForOneThatIsReopened(t *testing.T) {
	t.Parallel()
	o := minute()
	o.play = failingOf(1)
	inWorld(t, o, func(t *testing.T, w *world) {
		one := w.submit(alice, mc(1))
		w.over(time.Hour, one)
		begun := w.submit(alice, mc(1, "after = [1]", `after_end = "failed"`))
		w.final(time.Hour, begun)
		w.cluster("pause")
		two := w.submit(alice, mc(1))
		id := w.submit(alice, mc(1, "after = [1, 3]", `after_end = "any"`))
		w.waitsAfter(id, two)
		if got := w.resubmit(false, one.String()); got.Error != nil || got.Generation != 2 {
			t.Fatalf("%+v", got)
		}
		w.waitsAfter(id, one, two)
		w.until(time.Hour, "reopened", func() bool { return w.status(one).Lookup.Status == "running" })
		w.waitsAfter(id, one, two)
		w.reopen()
		w.waitsAfter(id, one, two)
		w.cluster("resume")
		w.final(time.Hour, id)
		if st := w.over(time.Hour, one); st.Lookup.Status != "done" || w.began(id) < st.Ended {
			t.Errorf("%s began %v, %+v", id, w.began(id), st)
		}
		w.verify(id, done(1))
		w.verify(begun, done(1))
	})
}

// The end of a grid job still counts after the grid job was removed.
func TestAfter_OneThatWasRemoved(t *testing.T) {
	t.Parallel()
	inWorld(t, minute(), func(t *testing.T, w *world) {
		one := w.submit(alice, mc(1))
		w.cluster("pause")
		two := w.submit(alice, mc(1))
		id := w.submit(alice, mc(1, "after = [1, 2]"))
		w.cluster("resume")
		w.until(time.Hour, "over", func() bool { return w.isOver(one) && w.archived(one) })
		w.pass(time.Minute)
		if e := w.remove(alice, false, one)[0].Error; e != nil {
			t.Fatal(e)
		}
		w.until(time.Hour, "removed", func() bool { return w.removed(one) })
		w.reopen()
		late := w.submit(alice, mc(1, "after = [1]"))
		w.final(time.Hour, two, id, late)
		w.verify(id, done(1))
		w.verify(late, done(1))
	})
}

// Grid jobs that do not exist, that belong to another account, or that already ended in the wrong way are refused, and
// the error names the line. A repeated submission nevertheless returns its grid job.
func TestAfter_WhatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	o := minute()
	o.play = failingOf(1)
	inWorld(t, o, func(t *testing.T, w *world) {
		one, others := w.submit(alice, mc(1)), w.submit(bob, mc(1))
		keyed := mc(1, `key = "k"`, "after = [1]")
		waiting := w.submit(alice, keyed)
		for text, want := range map[string]string{
			"after = [99]":                      "job.toml:3: after[0]: no grid job 99",
			"after = [1, 4]":                    "job.toml:3: after[1]: no grid job 4", // the grid job's own id
			"after = [2]":                       "job.toml:3: after[0]: grid job 2 belongs to bob",
			"after = [0]":                       "after[0]: 0 is not a grid job: want its number, such as 17",
			"after = [1, 1]":                    "after[1]: 1 is given twice: first as after[0]",
			"after = [1]\nafter_end = \"done\"": `after_end: "done": want ok, any or failed`,
			"after_end = \"ok\"":                "after_end: has no effect without after",
			"after = [" + strings.Repeat("1,", 101) + "]": "after: 101 grid jobs are too many: at most 100",
		} {
			_, err := w.trySubmit(alice, "", mc(1, text))
			var ps jjm.Problems
			if !errors.As(err, &ps) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
		}
		if id := w.submit(admin, mc(1, "after = [2]")); id == 0 {
			t.Error("an administrator sees all")
		}
		w.final(time.Hour, one, others, waiting)
		if again := w.submit(alice, keyed); again != waiting {
			t.Errorf("the same key is grid job %s, and was %s", again, waiting)
		}
		for _, dry := range []bool{false, true} {
			_, err := w.engine.Submit(context.Background(), alice, wire.Submit{Name: "job.toml", Text: mc(1, "after = [1]"),
				BaseDir: w.dir, DryRun: dry})
			if err == nil || !strings.Contains(err.Error(), "after: it was to begin only if grid job 1 ended as done") {
				t.Errorf("dry run %v: %v", dry, err)
			}
		}
		s, err := w.engine.Submit(context.Background(), alice, wire.Submit{Name: "job.toml", Text: mc(1, "after = [1]"),
			BaseDir: w.dir, DryRun: true, After: []jjm.GridID{waiting}, AfterEnd: "failed"})
		if err != nil || s.Plan.After != "" {
			t.Errorf("what the request says replaces the file's: %+v, %v", s, err)
		}
	})
}

// Grid jobs are submitted that wait for the ends of others (key "after"). Whatever the order of events, and whenever
// the daemon dies, no grid job begins before the grid jobs that it waits for have ended, and all grid jobs end.
func TestAfter_AnyGraphIsFollowed(t *testing.T) {
	drawLives(t)
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(rt, "grid jobs")
		after, ends, texts := map[jjm.GridID][]jjm.GridID{}, map[jjm.GridID]string{}, []string{}
		var fails []jjm.GridID
		for i := range n {
			id := jjm.GridID(i + 1)
			if rapid.IntRange(0, 3).Draw(rt, "fails") == 0 {
				fails = append(fails, id)
			}
			var lines []string
			for p := jjm.GridID(1); p < id; p++ {
				if rapid.Bool().Draw(rt, "follows") {
					after[id] = append(after[id], p)
				}
			}
			if len(after[id]) > 0 {
				ends[id] = rapid.SampledFrom(jjm.AfterEnds()).Draw(rt, "end")
				lines = append(lines, "after = "+strings.ReplaceAll(fmt.Sprint(after[id]), " ", ", "),
					fmt.Sprintf("after_end = %q", ends[id]))
			}
			texts = append(texts, mc(1, lines...))
		}
		restarts := rapid.SliceOfN(rapid.IntRange(1, 200), 0, 3).Draw(rt, "restarts")
		o := minute()
		o.play = failingOf(fails...)
		inWorld(t, o, func(t *testing.T, w *world) {
			w.cluster("pause") // so that no grid job ends before all of them are submitted
			var ids []jjm.GridID
			for _, text := range texts {
				ids = append(ids, w.submit(alice, text))
			}
			w.cluster("resume")
			for _, seconds := range restarts {
				w.pass(time.Duration(seconds) * time.Second)
				w.reopen()
			}
			w.final(2*time.Hour, ids...)
			for _, id := range ids {
				broken := w.lookup(id).Status == "broken"
				wrong := false
				for _, p := range after[id] {
					done := w.lookup(p).Status == "done"
					wrong = wrong || ends[id] == "ok" && !done || ends[id] == "failed" && done
					if !broken && w.began(id) < w.endOf(p) {
						rt.Errorf("%s began %v, and %s ended %v", id, w.began(id), p, w.endOf(p))
					}
				}
				if broken != wrong {
					rt.Errorf("%s is %+v, %v %s", id, w.lookup(id), after[id], ends[id])
				}
			}
		})
	})
}
