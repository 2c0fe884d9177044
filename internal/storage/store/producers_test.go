package store

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

// Producers returns the local jobs that own a piece of a file, live or archived, each once. A local job that gave the
// file back is not a producer.
func TestProducers_AreThoseWhoOwnTheFileNow(t *testing.T) {
	s := fresh(t)
	g := reader(t, s, dataset(t, s, "raw", 3))
	ls := []jjm.LocalJob{rangeJob(g, 0, 0, "f000000", 0, 50), rangeJob(g, 1, 50, "f000000", 50, 50),
		fileJob(g, 2, 100, "f000001")}
	for i := range ls {
		ls[i].Part.Input.Group = int64(7 + i)
	}
	ls[0].Part.Input.Events = []jjm.EventRange{{First: 0, Count: 20}, {First: 20, Count: 30}} // two pieces of one file
	update(t, s, func(tx *Tx) error { return tx.InsertLocals(ls) })
	end := func(l *jjm.LocalJob, to jjm.State, phase jjm.Phase, back ...jjm.LocalID) {
		l.State, l.Phase = to, phase
		update(t, s, func(tx *Tx) error {
			one := []*jjm.LocalJob{l}
			if err := saveEnds(tx, one); err != nil {
				return err
			}
			if err := tx.EndInputs(one); err != nil {
				return err
			}
			return tx.GiveBack(back)
		})
	}
	end(&ls[0], jjm.Completed, "")
	end(&ls[1], jjm.Failed, jjm.GivenBack, ls[1].ID)
	again := rangeJob(g, 3, 101, "f000000", 50, 50)
	again.Origin, again.Part.Input.Group = &jjm.Successor{Local: 1, Before: 1}, 8
	update(t, s, func(tx *Tx) error { return tx.InsertLocals([]jjm.LocalJob{again}) })
	want := map[string]Produced{
		"f000000": {Producers: []Producer{{Local: 0, State: jjm.Completed, Group: 7}, {Local: 3, State: jjm.New, Group: 8}}},
		"f000001": {Number: 1, Producers: []Producer{{Local: 2, State: jjm.New, Group: 9}}},
		"f000002": {Number: 2},
	}
	check := func() {
		t.Helper()
		got, err := s.Producers(context.Background(), g.ID, []string{"f000000", "f000001", "f000002", "f000000", "none"})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	}
	check()
	end(&again, jjm.Completed, "")
	end(&ls[2], jjm.Failed, jjm.ByLimit)
	want["f000000"].Producers[1].State = jjm.Completed
	want["f000001"].Producers[0].State, want["f000001"].Producers[0].Phase = jjm.Failed, jjm.ByLimit
	check()
	g.Status, g.Tar, g.Step.Made = jjm.Finished, "x.tar", 4
	update(t, s, func(tx *Tx) error { return tx.SaveGrid(g) })
	archive(t, s, g.ID, 2)
	check()
}

func TestProducers_OfAGridJobThatReadsNothing(t *testing.T) {
	s := fresh(t)
	g := fill(t, s, 2, 2)
	got, err := s.Producers(context.Background(), g.ID, []string{"a"})
	if err != nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
}
