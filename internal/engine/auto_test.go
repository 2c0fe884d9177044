package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// failsFirst returns a play in which the first attempts of some local jobs fail. fails holds the number of failing
// attempts of each local job; -1 stands for all attempts.
func failsFirst(fails map[int32]int32) func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
	return func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if n, some := fails[id.N]; some && (n < 0 || id.Attempt < n) {
			return adaptertest.Play{Keyword: "-", Exit: 3}
		}
		return adaptertest.Play{Life: time.Minute}
	}
}

// failsAlways is a play in which every attempt fails.
func failsAlways(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
	return adaptertest.Play{Keyword: "-", Exit: 3}
}

// attemptsOf returns how many attempts a local job had.
func (w *world) attemptsOf(id jjm.GridID, n int32) int {
	w.t.Helper()
	all, err := w.store.Attempts(w.t.Context(), jjm.LocalID{Grid: id, N: n})
	w.must(err)
	return len(all)
}

// causesOf returns the causes in the history of a local job.
func (w *world) causesOf(id jjm.GridID, n int32) string {
	w.t.Helper()
	got, err := w.engine.History(context.Background(), alice, jjm.Ref{Grid: id, Locals: true, First: n, Last: n}, 0)
	w.must(err)
	var texts []string
	for _, e := range got {
		texts = append(texts, e.Cause)
	}
	return strings.Join(texts, "\n")
}

// neverTakenBack waits until a grid job is over and archived. It fails the test if the status that gatekeepers see
// changes after the grid job was over.
func (w *world) neverTakenBack(id jjm.GridID) {
	w.t.Helper()
	heard := ""
	w.until(24*time.Hour, "over", func() bool {
		l := w.lookup(id)
		if over := w.isOver(id); over && heard == "" {
			heard = l.Status
		}
		if heard != "" && l.Status != heard {
			w.t.Fatalf("the end %s was taken back: %+v", heard, l)
		}
		return w.archived(id)
	})
}

// With auto_resubmit, failed local jobs run again automatically. There are two limits: the number of resubmissions of a
// local job (five), and the share of failed local jobs in the grid job.
func TestAutoResubmit_WithinBothBrakes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		job      string
		fails    map[int32]int32
		config   func(*engine.Config)
		status   string
		attempts map[int32]int
		history  map[int32]string
	}{
		"one twice, one always": {plain(10, "auto_resubmit = true"), map[int32]int32{1: 2, 4: -1}, nil, "finished",
			map[int32]int{0: 1, 1: 3, 4: 6},
			map[int32]string{1: "run again by itself, 2 of 5",
				4: "not run again by itself: 5 of at most 5 automatic resubmissions were made"}},
		"without the key": {plain(10), map[int32]int32{1: 2}, nil, "finished", map[int32]int{1: 1}, nil},
		"too many failed": {plain(4, "auto_resubmit = true"), map[int32]int32{0: 1}, nil, "finished",
			map[int32]int{0: 1}, map[int32]string{0: "not run again by itself: 1 of 4 ended local jobs failed, a share of 0.25"}},
		"the only one": {plain(1, "auto_resubmit = true"), map[int32]int32{0: 5}, nil, "done", map[int32]int{0: 6}, nil},
		"the site's number": {plain(1, "auto_resubmit = true"), map[int32]int32{0: 5},
			with(func(c *engine.Config) { c.MaxAutoResubmits = 2 }), "failed", map[int32]int{0: 3}, nil},
		"the site's share": {plain(4, "auto_resubmit = true"), map[int32]int32{0: 1},
			with(func(c *engine.Config) { c.AutoResubmitShare = 0.5 }), "done", map[int32]int{0: 2}, nil},
		"the retries are not begun again": {plain(1, "auto_resubmit = true", "[retry]", "max_retry_early = 2"),
			map[int32]int32{0: -1}, with(func(c *engine.Config) { c.Backoff = 0 }), "failed", map[int32]int{0: 1 + 2 + 5}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, options{play: failsFirst(test.fails), config: test.config}, func(t *testing.T, w *world) {
				id := w.submit(alice, test.job)
				w.neverTakenBack(id)
				if got := w.lookup(id).Status; got != test.status {
					t.Errorf("it ended as %s, want %s", got, test.status)
				}
				for n, want := range test.attempts {
					if got := w.attemptsOf(id, n); got != want {
						t.Errorf("local job %d had %d attempts, want %d", n, got, want)
					}
				}
				for n, want := range test.history {
					if got := w.causesOf(id, n); strings.Count(got, want) != 1 {
						t.Errorf("the history of local job %d: %s\nwant once: %s", n, got, want)
					}
				}
				w.verifyQuiet()
			})
		})
	}
}

// A kill ends the automatic resubmissions of a grid job, and a pause delays them until the grid job is resumed.
func TestAutoResubmit_RespectsKillsAndPauses(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: failsFirst(map[int32]int32{0: -1})}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(1, "auto_resubmit = true"))
		w.until(time.Hour, "run again", func() bool { return w.attemptsOf(id, 0) > 1 })
		w.give(wire.Order{Verb: "pause", Kind: "job", Name: id.String(), Reason: "a test"})
		w.pass(time.Hour)
		before := w.attemptsOf(id, 0)
		w.pass(time.Hour)
		if after := w.attemptsOf(id, 0); after != before || w.isOver(id) {
			t.Errorf("%d attempts, then %d while paused: %+v", before, after, w.lookup(id))
		}
		w.kill(id.String())
		w.final(time.Hour, id)
		if got := w.attemptsOf(id, 0); got != before {
			t.Errorf("%d attempts after the kill, %d before it", got, before)
		}
		if got := w.lookup(id).Status; got != "aborted" {
			t.Errorf("it ended as %s", got)
		}
		w.verifyQuiet()
	})
}

// A local job has used up its automatic resubmissions. When a person resubmits it, jjm counts them from 0 again.
func TestAutoResubmit_CountsFromAPersonsResubmission(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: failsFirst(map[int32]int32{0: 8})}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(1, "auto_resubmit = true"))
		w.final(24*time.Hour, id)
		if l := w.locals(id)[0]; l.State != jjm.Failed || l.Again.Times != 5 || l.Again.Stopped == "" {
			t.Fatalf("%+v", l)
		}
		w.resubmit(false, id.String())
		if st := w.over(24*time.Hour, id); st.Lookup.Status != "done" {
			t.Errorf("%+v", st.Lookup)
		}
		if l := w.locals(id)[0]; l.Again != (jjm.Again{Times: 2}) {
			t.Errorf("%+v", l.Again)
		}
	})
}

// A grid job of which many local jobs failed and none completed is killed, if the job file or the site says so.
func TestAutoKill_WhenManyFailedAndNoneCompleted(t *testing.T) {
	t.Parallel()
	site := with(func(c *engine.Config) { c.AutoKill = 3 })
	for name, test := range map[string]struct {
		job    string
		config func(*engine.Config)
		killed bool
	}{
		"by default never":             {plain(12), nil, false},
		"by the job file":              {plain(12, "auto_kill = 3"), nil, true},
		"by the site":                  {plain(12), site, true},
		"not by the job file":          {plain(12, "auto_kill = -1"), site, false},
		"with automatic resubmissions": {plain(12, "auto_resubmit = true", "auto_kill = 3"), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options{sim: adaptertest.SimConfig{Slots: 2}, play: failsAlways, config: test.config}
			inWorld(t, o, func(t *testing.T, w *world) {
				id := w.submit(alice, test.job)
				w.neverTakenBack(id)
				st := w.status(id)
				if killed := st.Lookup.Status == "aborted"; killed != test.killed {
					t.Errorf("%+v", st.Lookup)
				}
				if test.killed && (!strings.Contains(st.Lookup.Message, "auto_kill = 3: ") ||
					w.lookup(id).Counts.Killed == 0 || len(w.tarBytes(id)) == 0) {
					t.Errorf("%+v", st)
				}
				w.verifyQuiet()
			})
		})
	}
}

// After each failure, the time before the next attempt is longer.
func TestAutoResubmit_WaitsLongerEachTime(t *testing.T) {
	t.Parallel()
	o := options{play: failsAlways, config: with(func(c *engine.Config) { c.Backoff = jjm.Duration(time.Minute) })}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(1, "auto_resubmit = true"))
		for k := 1; k <= 5; k++ {
			var waits time.Duration
			w.until(2*time.Hour, "resubmitted", func() bool {
				l := w.locals(id)[0]
				waits = l.NotBefore.Sub(jjm.At(w.now()))
				return l.Again.Times == k && l.Phase == jjm.RetryWait
			})
			if most := time.Minute << k; waits <= most/2 || waits > most {
				t.Errorf("resubmission %d waits %v, want about %v", k, waits, most)
			}
		}
		w.final(2*time.Hour, id)
	})
}

// A local job whose file is lost meanwhile does not run again, and its grid job ends.
func TestAutoResubmit_NotWithoutItsFiles(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.N == 1 {
			return adaptertest.Play{Keyword: "FAILED", Data: "bad luck"}
		}
		return adaptertest.Play{Life: time.Hour}
	}
	o := options{play: play, config: with(func(c *engine.Config) { c.AutoResubmitShare = 1 })}
	inWorld(t, o, func(t *testing.T, w *world) {
		w.must(w.put("raw", "", 0, 6))
		_, err := w.engine.Dataset(context.Background(), alice, wire.Dataset{Do: wire.DatasetClose, Name: "raw"})
		w.must(err)
		id := w.submit(alice, fileJob("result = \"glf\"\nauto_resubmit = true\n", "name = \"raw\"\n"))
		w.until(30*time.Minute, "failed, waits for the others", func() bool { return w.lookup(id).Counts.Failed == 1 })
		_, err = w.engine.Dataset(context.Background(), alice,
			wire.Dataset{Do: wire.DatasetMark, Name: "raw", LFNs: []string{lfn(2)}, State: "lost", Reason: "the disk is gone"})
		w.must(err)
		w.neverTakenBack(id)
		l := w.locals(id)[1]
		if l.Again.Times != 0 || !strings.Contains(l.Again.Stopped, "is lost") || w.attemptsOf(id, 1) != 1 {
			t.Errorf("%+v", l)
		}
		if got := w.lookup(id).Status; got != "finished" {
			t.Errorf("it ended as %s", got)
		}
	})
}
