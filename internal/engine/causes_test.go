package engine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/testkit/adaptertest"
	"jjm/xmldb/head"
)

// The status of a grid job counts the causes of its failures. In this test 3 of 20 local jobs fail in the same way, on
// different hosts and after different times; 1 fails in another way; and 2 get further attempts for some time.
func TestCauses_AreCountedAndStayWithTheGridJob(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		life := time.Duration(id.N+1) * time.Second
		switch n := id.N; {
		case n < 3:
			return adaptertest.Play{Keyword: "-", Exit: 3, Life: life}
		case n == 7:
			return adaptertest.Play{Keyword: "-", Exit: 4, Life: life}
		case n > 17 && id.Attempt == 0:
			return adaptertest.Play{NoClaim: true, Exit: 1}
		}
		return adaptertest.Play{Life: 3 * time.Hour}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(20))
		w.until(time.Hour, "four failed and two are tried again", func() bool {
			s := w.status(id)
			return s.Lookup.Counts.Failed == 4 && len(s.Causes) == 3
		})
		failed := []jjm.Cause{{Text: "exit code 3", Jobs: 3, First: id.String() + ".0", Exit: 3, Host: "simhost"},
			{Text: "exit code 4", Jobs: 1, First: id.String() + ".7", Exit: 4, Host: "simhost"}}
		living := w.status(id).Causes
		if diff := cmp.Diff(failed, living[:2]); diff != "" || !living[2].Again || living[2].Jobs != 2 {
			t.Errorf("causes (-want +got):\n%s\n%+v", diff, living[2])
		}
		w.reopen()
		if diff := cmp.Diff(living, w.status(id).Causes); diff != "" {
			t.Errorf("after a restart (-before +after):\n%s", diff)
		}
		w.final(24*time.Hour, id)
		for _, way := range []string{"over", "in the history"} {
			s := w.status(id)
			if diff := cmp.Diff(failed, s.Causes); diff != "" {
				t.Errorf("%s (-want +got):\n%s", way, diff)
			}
			if want := "16 of 20 local jobs done, 4 failed: exit code 3, and 1 for other reasons"; s.Lookup.Message != want {
				t.Errorf("%s the message is %q, want %q", way, s.Lookup.Message, want)
			}
			w.until(time.Hour, "the grid job is in the history", func() bool { return w.archived(id) })
		}
		list, err := w.engine.List(t.Context(), admin, wire.List{All: true})
		if err != nil || len(list) != 1 || len(list[0].Causes) != 2 {
			t.Errorf("the list has %+v, %v", list, err)
		}
		h, err := head.Read(w.dir+"/records", id)
		if diff := cmp.Diff(failed, h.Causes); diff != "" || err != nil {
			t.Errorf("the record, %v (-want +got):\n%s", err, diff)
		}
	})
}

// verifyCauses compares the counted causes of a grid job that is over with the failures of its local jobs.
func (w *world) verifyCauses(id jjm.GridID, locals []jjm.LocalJob) {
	w.t.Helper()
	want, told := map[string]int{}, map[string]int{}
	for i := range locals {
		if l := &locals[i]; l.State == jjm.Failed && l.Phase != jjm.GivenBack {
			want[plan.Cause(l.Message)]++
		}
	}
	for _, c := range w.status(id).Causes {
		told[plan.Cause(c.Text)] += c.Jobs
		ref, err := jjm.ParseRef(c.First)
		if err != nil || int(ref.First) >= len(locals) || c.Again ||
			plan.Cause(locals[ref.First].Message) != plan.Cause(c.Text) {
			w.t.Errorf("grid job %s: %+v is told, %v", id, c, err)
		}
	}
	if diff := cmp.Diff(want, told); diff != "" && len(want) <= state.ShownCauses {
		w.t.Errorf("causes of grid job %s (-want +told):\n%s", id, diff)
	}
}
