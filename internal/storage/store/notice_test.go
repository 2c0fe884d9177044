package store

import (
	"slices"
	"testing"

	"jjm/internal/jjm"
)

// told returns a store with a grid job that has an address to notify, beside one that has none. Both ended.
func told(t *testing.T) (*Store, *jjm.GridJob) {
	t.Helper()
	s := fresh(t)
	g, silent := sampleGrid(), sampleGrid()
	g.Spec.Key, silent.Spec.Key = "", ""
	g.Spec.Notify, silent.Spec.Notify = []string{"alice@example.org"}, nil
	update(t, s, func(tx *Tx) error { return tx.InsertGrid(g) })
	update(t, s, func(tx *Tx) error { return tx.InsertGrid(silent) })
	entry := func(id jjm.GridID, first int32, from, to string) jjm.JournalEntry {
		return jjm.JournalEntry{Grid: id, First: first, Last: first, From: from, To: to, Time: 7}
	}
	update(t, s, func(tx *Tx) error {
		return tx.Journal(entry(g.ID, -1, "registered", "running"), entry(g.ID, 0, "running", "done"),
			entry(g.ID, -1, "done", "done"), entry(g.ID, -1, "running", "failed"), entry(silent.ID, -1, "running", "failed"),
			entry(0, -1, "", "removed"))
	})
	return s, g
}

func TestGridEnds_ReturnsEachEndWithAddressesOnce(t *testing.T) {
	s, g := told(t)
	var all []GridEnd
	last, err := s.LastEntry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for after := int64(0); after < last; {
		ends, upto, err := s.GridEnds(t.Context(), after, 2)
		if err != nil || upto <= after {
			t.Fatal(upto, err)
		}
		all, after = append(all, ends...), upto
	}
	if len(all) != 1 || all[0].Grid != g.ID || all[0].Generation != 1 || all[0].Time != 7 ||
		!slices.Equal(all[0].Notify, g.Spec.Notify) {
		t.Errorf("%+v", all)
	}
	if ends, upto, err := s.GridEnds(t.Context(), last, 2); len(ends) > 0 || upto != last || err != nil {
		t.Error(ends, upto, err)
	}
}

// The words in the query are those of the final statuses.
func TestGridEnds_KnowsTheFinalStatuses(t *testing.T) {
	words := "("
	for st := range jjm.GridStatus(jjm.NumGridStatuses) {
		if st.Final() {
			if words != "(" {
				words += ", "
			}
			words += "'" + st.String() + "'"
		}
	}
	if words+")" != overWords {
		t.Errorf("%s), want %s", words, overWords)
	}
}

func TestNotices_WaitInOrderUntilTheirNextTry(t *testing.T) {
	s, g := told(t)
	notice := func(target string, change int64) Notice {
		return Notice{Target: target, Change: change, Grid: g.ID, Generation: 1, Since: 7}
	}
	first := notice("mail a", 1)
	update(t, s, func(tx *Tx) error {
		return tx.PutNotices([]Notice{notice("mail a", 4), first, notice("mail b", 4), notice("command", 4)})
	})
	due := func(now jjm.Time) (targets []string) {
		ns, err := s.DueNotices(t.Context(), "mail ", now, 9)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range ns {
			targets = append(targets, n.Target)
		}
		return targets
	}
	if got := due(1); !slices.Equal(got, []string{"mail a", "mail b"}) {
		t.Error(got)
	}
	first.Tries, first.Next = 1, 100
	update(t, s, func(tx *Tx) error { return tx.DelayNotice(first) })
	if got := due(99); !slices.Equal(got, []string{"mail b"}) {
		t.Errorf("a delayed notice does not hold its successors back: %v", got)
	}
	if got := due(100); !slices.Equal(got, []string{"mail a", "mail b"}) {
		t.Error(got)
	}
	ns, err := s.NextNotices(t.Context(), "mail a", 9)
	if err != nil || len(ns) != 2 || ns[0] != first || ns[1] != notice("mail a", 4) {
		t.Errorf("%+v %v", ns, err)
	}
	update(t, s, func(tx *Tx) error { return tx.EndNotice(first) })
	if ns, err := s.NextNotices(t.Context(), "mail a", 9); err != nil || len(ns) != 1 || ns[0].Change != 4 {
		t.Errorf("%+v %v", ns, err)
	}
}
