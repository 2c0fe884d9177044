package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/testkit/needs"
	"jjm/internal/work/cover"
)

// proof verifies a grid job as alice. If recovery is not empty, the answer has a job file of this name for a recovery.
func (w *world) proof(id jjm.GridID, recovery string) wire.Verified {
	w.t.Helper()
	v, err := w.engine.Verify(context.Background(), alice, id, recovery)
	w.must(err)
	return v
}

func TestVerify_WhileItRunsAndAfterItsEnd(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.N == 3 {
			return adaptertest.Play{Exit: 1, Keyword: "-"}
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(10))
		if v := w.proof(id, ""); v.Verdict != cover.Undecidable || v.Pending != 10 || v.Expected != 10 {
			t.Errorf("before anything was made: %+v", v)
		}
		if _, err := w.engine.Verify(context.Background(), alice, id, "r.json"); jjm.KindOf(err) != jjm.Conflict {
			t.Errorf("a recovery of what is not over: %v", err)
		}
		if _, err := w.engine.Verify(context.Background(), bob, id, ""); jjm.KindOf(err) != jjm.Denied {
			t.Errorf("another's grid job: %v", err)
		}
		w.final(time.Hour, id)
		v := w.proof(id, "r.json")
		if v.Verdict != cover.Gap || v.Missing != 1 || v.Proven != 9 || v.ByExit != 9 || v.Expected != 10 ||
			len(v.Findings) != 1 {
			t.Fatalf("%+v", v)
		}
		s, err := w.trySubmit(alice, "", v.Recovery)
		w.must(err)
		w.final(time.Hour, s.ID)
		// The local job of the recovery has the same row and a new serial number.
		if l := w.locals(s.ID); len(l) != 1 || l[0].Part.First != 3 || l[0].Part.Serial != 11 {
			t.Errorf("the recovery made %+v", l)
		}
		if v := w.proof(s.ID, ""); v.Missing+v.Pending != 0 || v.Expected != 1 {
			t.Errorf("the recovery: %+v", v)
		}
		if v := w.proof(id, "again.json"); v.Verdict != cover.Proven || v.ByExit != 10 || v.Recovery != "" ||
			len(v.Recoveries) != 1 ||
			v.Recoveries[0].Units != 1 || !strings.Contains(v.Why, "of these grid job 2 did 1") {
			t.Errorf("with its recovery: %+v", v)
		}
	})
}

// A recovery may itself fail in part. The work that is still missing is known, and the next recovery is a new grid job
// with other seeds. Work that two recoveries did is an overlap, whatever their ledgers contain.
func TestVerify_WithSeveralRecoveries(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Grid == 1 && (id.N == 3 || id.N == 7) || id.Grid == 2 && id.N == 1 {
			return adaptertest.Play{Exit: 1, Keyword: "-"}
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(10))
		if _, err := w.trySubmit(alice, "", plain(1, "recovers = 1")); jjm.KindOf(err) != jjm.Invalid ||
			!strings.Contains(err.Error(), "known once it has ended") {
			t.Errorf("what is not over is recovered: %v", err)
		}
		w.final(time.Hour, id)
		if _, err := w.trySubmit(bob, "", plain(1, "recovers = 1")); jjm.KindOf(err) != jjm.Invalid ||
			!strings.Contains(err.Error(), "belongs to alice") {
			t.Errorf("bob recovers what is alice's: %v", err)
		}
		for i, missing := range []int64{2, 1} {
			v := w.proof(id, "r.json")
			if v.Missing != missing || v.Verdict != cover.Gap {
				t.Fatalf("before recovery %d: %+v", i+1, v)
			}
			s, err := w.trySubmit(alice, "", v.Recovery)
			w.must(err)
			if again, err := w.trySubmit(alice, "", v.Recovery); err != nil || again.ID != s.ID {
				t.Errorf("a recovery that is submitted twice is two grid jobs: %+v %v", again, err)
			}
			if running := w.proof(id, ""); running.Missing != missing && running.Pending != missing {
				t.Errorf("while recovery %d runs: %+v", i+1, running)
			}
			w.final(time.Hour, s.ID)
		}
		v := w.proof(id, "r.json")
		if v.Verdict != cover.Proven || v.ByExit != 10 || len(v.Recoveries) != 2 || v.Recoveries[0].Units != 1 ||
			v.Recoveries[1].Units != 1 {
			t.Errorf("%+v", v)
		}
		serials := map[int64]bool{}
		for g := jjm.GridID(1); g <= 3; g++ {
			for _, l := range w.locals(g) {
				if serials[l.Part.Serial] {
					t.Errorf("local job %s has a serial number that another has", l.ID)
				}
				serials[l.Part.Serial] = true
			}
		}
		twice := w.submit(alice, plain(10, "recovers = 1", "recovers_number = 3", "only = [{first = 2, count = 2}]"))
		w.final(time.Hour, twice)
		if v := w.proof(id, ""); v.Verdict != cover.Overlapping || v.Overlap != 2 || v.Doubled != 2 || len(v.Findings) != 4 ||
			!slices.Contains(v.Findings[0].Others, "4.0") {
			t.Errorf("%+v", v)
		}
		w.reopen()
		if v := w.proof(id, ""); v.Doubled != 2 {
			t.Errorf("after a restart: %+v", v)
		}
	})
}

// If the missing ranges are too many for a job file, the job file of the recovery names a file with the ranges.
func TestVerify_ARecoveryOfVeryManyRanges(t *testing.T) {
	needs.Campaign(t, needs.Faults)
	t.Parallel()
	const n = 4004 // a job file names at most 2000 ranges
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Grid == 1 && id.N%2 == 0 {
			return adaptertest.Play{Exit: 1, Keyword: "-"}
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{play: play, bare: true}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(n))
		w.final(6*time.Hour, id)
		v := w.proof(id, "r.json")
		if v.Missing != n/2 || v.RecoveryRanges == "" {
			t.Fatalf("missing %d, %d bytes of ranges", v.Missing, len(v.RecoveryRanges))
		}
		w.must(os.WriteFile(filepath.Join(w.dir, "r.json.ranges"), []byte(v.RecoveryRanges), 0o644))
		s, err := w.trySubmit(alice, "", v.Recovery)
		w.must(err)
		w.until(time.Hour, "it is prepared", func() bool { return w.lookup(s.ID).Counts.Total > 0 })
		w.must(os.Remove(filepath.Join(w.dir, "r.json.ranges"))) // the file is no longer needed, because it was packed
		w.reopen()
		w.final(6*time.Hour, s.ID)
		if v := w.proof(id, "r.json"); v.Verdict != cover.Proven || v.ByExit != n || v.Recoveries[0].Units != n/2 {
			t.Errorf("%s: %s", v.Verdict, v.Why)
		}
	})
}

func TestVerify_AKilledGridJobHasAGap(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(6))
		w.until(time.Hour, "something runs", func() bool { return w.lookup(id).Counts.Running > 0 })
		w.kill(id.String())
		w.final(time.Hour, id)
		v := w.proof(id, "r.json")
		if v.Expected != 60 || v.Missing == 0 || v.Missing+v.Assumed+v.Proven != 60 || v.Verdict != cover.Gap {
			t.Fatalf("%+v", v)
		}
		s, err := w.trySubmit(alice, "", v.Recovery)
		w.must(err)
		w.final(time.Hour, s.ID)
		if again := w.proof(s.ID, ""); again.Expected != v.Missing || again.Missing != 0 {
			t.Errorf("%d events were missing, the recovery: %+v", v.Missing, again)
		}
	})
}
