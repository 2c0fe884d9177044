package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// unluckyRecoveries plays attempts: local jobs 1 and 3 of grid job 1 fail, and local job 0 of grid jobs 2 to last.
func unluckyRecoveries(last jjm.GridID) func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
	return func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Grid == 1 && (id.N == 1 || id.N == 3) || id.Grid > 1 && id.Grid <= last && id.N == 0 {
			return adaptertest.Play{Keyword: "FAILED", Data: "bad luck"}
		}
		return adaptertest.Play{}
	}
}

// recoveryFile returns the job file of a recovery of a grid job, ready to be submitted.
func (w *world) recoveryFile(id jjm.GridID) wire.Submit {
	w.t.Helper()
	return wire.Submit{Name: "a.json", Text: w.proof(id, "a.json").Recovery, BaseDir: w.dir}
}

// recovered submits a recovery of a grid job, waits for its end, and returns its id.
func (w *world) recovered(id jjm.GridID) jjm.GridID {
	w.t.Helper()
	got, err := w.engine.Submit(w.t.Context(), alice, w.recoveryFile(id))
	w.must(err)
	w.final(time.Hour, got.ID)
	return got.ID
}

// wantRefused checks that a submission was refused, and that the refusal has the texts.
func (w *world) wantRefused(err error, want ...string) {
	w.t.Helper()
	for _, text := range want {
		if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), text) {
			w.t.Errorf("error %v, want a refusal with %q", err, text)
		}
	}
}

// wantOnce checks that no event of grid job 1 and its recoveries was done twice.
func (w *world) wantOnce() {
	w.t.Helper()
	if v := w.proof(1, ""); v.Overlap+v.Doubled > 0 {
		w.t.Errorf("%+v", v)
	}
}

// Grid jobs 2, 3 and 4 are a chain of recoveries of grid job 1. Each of the four grid jobs left work undone, and each
// has a file for a recovery. If one file is submitted, all others are refused, with a remedy that works.
func TestRecovery_OfAChainOfThree(t *testing.T) {
	t.Parallel()
	for first := jjm.GridID(1); first <= 4; first++ {
		t.Run(fmt.Sprintf("grid job %s first", first), func(t *testing.T) {
			t.Parallel()
			inWorld(t, options{play: unluckyRecoveries(5)}, func(t *testing.T, w *world) {
				w.final(time.Hour, w.submit(alice, mc(4)))
				for id := jjm.GridID(1); id < 4; id++ {
					w.recovered(id)
				}
				files := map[jjm.GridID]wire.Submit{}
				for id := jjm.GridID(1); id <= 4; id++ {
					files[id] = w.recoveryFile(id)
				}
				got, err := w.engine.Submit(t.Context(), alice, files[first])
				w.must(err)
				w.final(time.Hour, got.ID)
				for id := jjm.GridID(1); id <= 4; id++ {
					if id == first {
						continue
					}
					want := []string{fmt.Sprintf("grid job %s has %d recoveries by now", id, 5-id),
						fmt.Sprintf("jjm verify %s --recovery FILE", id)}
					if id > first {
						want = []string{fmt.Sprintf("grid job 5 recovers grid job %s and is later than grid job %s: both do what "+
							"grid job 1 left undone", first, id), "jjm verify 1 --recovery FILE"}
					}
					_, err := w.engine.Submit(t.Context(), alice, files[id])
					w.wantRefused(err, want...)
				}
				w.recovered(1) // the remedy; grid job 6 is now the latest
				if _, err := w.engine.Verify(t.Context(), alice, 4, "b.json"); jjm.KindOf(err) != jjm.Conflict ||
					!strings.Contains(err.Error(), "jjm verify 1 --recovery FILE") {
					t.Errorf("a new file of grid job 4: %v", err)
				}
				w.wantOnce()
				if v := w.proof(1, ""); !v.Whole() {
					t.Errorf("%+v", v)
				}
			})
		})
	}
}

// Two recoveries that do the same work are submitted at the same moment. One of them is stored after the other one has
// been checked, and before the other one is stored. The other one is refused.
func TestRecovery_TwoAtTheSameMoment(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		stored, late jjm.GridID // the grid jobs that the two recover
		want         string
	}{
		"of the grid job twice":            {1, 1, "grid job 1 has 2 recoveries by now"},
		"of the grid job, of its recovery": {1, 2, "grid job 3 recovers grid job 1 and is later than grid job 2"},
		"of its recovery, of the grid job": {2, 1, "grid job 1 has 2 recoveries by now"},
		"of the recovery twice":            {2, 2, "grid job 2 has 1 recovery by now"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ids := &lateIDs{}
			o := options{play: unluckyRecoveries(2), ids: func(known base.IDs) base.IDs { ids.IDs = known; return ids }}
			inWorld(t, o, func(t *testing.T, w *world) {
				w.final(time.Hour, w.submit(alice, mc(4)))
				w.recovered(1)
				stored, late := w.recoveryFile(tt.stored), w.recoveryFile(tt.late)
				stored.Key = "another" // two files of one grid job have the same request key
				ids.wait = func() {
					got, err := w.engine.Submit(t.Context(), alice, stored)
					if err != nil || got.ID != 3 {
						t.Errorf("the first one: %+v, %v", got, err)
					}
				}
				_, err := w.engine.Submit(t.Context(), alice, late)
				w.wantRefused(err, tt.want)
				w.final(time.Hour, 3)
				w.wantOnce()
			})
		})
	}
}

// A job file that says recovers and no recovers_number is that of the first recovery. It is refused if the grid job has
// a recovery, and the refusal says which number it needs.
func TestRecovery_WithoutANumberIsTheFirst(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyRecoveries(2)}, func(t *testing.T, w *world) {
		w.final(time.Hour, w.submit(alice, mc(4)))
		file := func(first int, more ...string) string {
			return mc(4, append(more, "recovers = 1", fmt.Sprintf("only = [{first = %d, count = 1}]", first))...)
		}
		left := w.proof(1, "a.json").Findings
		if len(left) != 2 {
			t.Fatalf("%+v", left)
		}
		_, err := w.trySubmit(alice, "", file(int(left[0].First), "recovers_number = 2"))
		w.wantRefused(err, "grid job 1 has only 0 recoveries: the next one is recovery 1")
		first, err := w.trySubmit(alice, "", file(int(left[0].First)))
		w.must(err)
		w.final(time.Hour, first.ID)
		_, err = w.trySubmit(alice, "", file(int(left[1].First)))
		w.wantRefused(err, "recovers_number: ", "grid job 1 has 1 recovery by now", "jjm verify 1 --recovery FILE",
			"recovers_number = 2")
		second, err := w.trySubmit(alice, "", file(int(left[1].First), "recovers_number = 2"))
		w.must(err)
		w.final(time.Hour, second.ID)
		w.wantOnce()
	})
}

// Grid jobs 2 and 3 recover grid job 1, which was removed since. A recovery of grid job 2 would do the work of grid job
// 3 again, and is refused.
func TestRecovery_OfARemovedGridJobIsStillLater(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyRecoveries(3)}, func(t *testing.T, w *world) {
		w.final(time.Hour, w.submit(alice, mc(4)))
		w.recovered(1)
		file := w.recoveryFile(2)
		w.recovered(1)
		for _, r := range w.remove(alice, true, 1) {
			if r.Error != nil {
				t.Fatalf("%+v", r)
			}
		}
		_, err := w.engine.Submit(t.Context(), alice, file)
		w.wantRefused(err, "grid job 3 recovers grid job 1 and is later than grid job 2", "jjm verify 3 --recovery FILE")
		if w.recovered(3) != 4 {
			t.Error("the remedy made no recovery")
		}
	})
}

// jjm retract --recovery makes no file of a recovery that has a later one, as jjm verify --recovery makes none, and
// retracts nothing. Without a recovery the outputs are retracted, and a recovery of the first grid job makes them
// again.
func TestRetract_OfARecoveryThatHasALaterOne(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyRecoveries(2)}, func(t *testing.T, w *world) {
		w.final(time.Hour, w.submit(alice, mc(4)))
		w.recovered(1)
		w.recovered(1)
		const lost = "mc.2.1.out.dat" // of the local job that completed
		_, refusal := w.engine.Verify(t.Context(), alice, 2, "b.json")
		for _, dry := range []bool{true, false} {
			_, err := w.retract(alice, 2, dry, "b.json", lost)
			if jjm.KindOf(err) != jjm.Conflict || !strings.Contains(err.Error(), refusal.Error()) {
				t.Errorf("dry run %t: error %v, want %v", dry, err, refusal)
			}
		}
		if v := w.proof(1, ""); !v.Whole() {
			t.Errorf("retracted all the same: %+v", v)
		}
		_, err := w.retract(alice, 2, false, "", lost)
		w.must(err)
		if v := w.proof(1, ""); v.Missing == 0 {
			t.Errorf("not retracted: %+v", v)
		}
		w.recovered(1)
		w.wantOnce()
		if v := w.proof(1, ""); !v.Whole() {
			t.Errorf("%+v", v)
		}
	})
}
