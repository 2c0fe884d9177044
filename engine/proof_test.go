package engine_test

import (
	"context"
	"testing"
	"time"

	"jjm"
	"jjm/adapters/adaptertest"
	"jjm/cover"
	"jjm/wire"
)

// proof asks for the proof of a grid job.
func (w *world) proof(id jjm.GridID, recovery string) wire.Verified {
	w.t.Helper()
	v, err := w.engine.Verify(context.Background(), alice, id, recovery)
	w.must(err)
	return v
}

func TestVerify_WhileItRunsAndOnceItIsOver(t *testing.T) {
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
		if v.Verdict != cover.Gap || v.Missing != 1 || v.Assumed != 9 || v.Expected != 10 || len(v.Findings) != 1 {
			t.Fatalf("%+v", v)
		}
		s, err := w.trySubmit(alice, "", v.Recovery)
		w.must(err)
		w.final(time.Hour, s.ID)
		// The row is the same, the serial number a new one.
		if l := w.locals(s.ID); len(l) != 1 || l[0].Part.First != 3 || l[0].Part.Serial != 11 {
			t.Errorf("the recovery made %+v", l)
		}
		if v := w.proof(s.ID, ""); v.Missing+v.Pending != 0 || v.Expected != 1 {
			t.Errorf("the recovery: %+v", v)
		}
	})
}

func TestVerify_AKilledGridJobLacksWhatWasNotDone(t *testing.T) {
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
