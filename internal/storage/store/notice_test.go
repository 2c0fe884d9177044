package store

import (
	"fmt"
	"slices"
	"testing"

	"jjm/internal/jjm"
)

// told returns a store with two ended grid jobs, one with an address to notify and one without. It returns the grid job
// with the address.
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

func TestGridChanges_ReturnsEachEndWithAddressesOnce(t *testing.T) {
	s, g := told(t)
	var all []GridChange
	last, err := s.LastEntry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for after := int64(0); after < last; {
		ends, upto, err := s.GridChanges(t.Context(), after, 2)
		if err != nil || upto <= after {
			t.Fatal(upto, err)
		}
		all, after = append(all, ends...), upto
	}
	if len(all) != 1 || all[0].Grid != g.ID || all[0].Generation != 1 || all[0].Time != 7 || all[0].To != jjm.GridFailed ||
		!slices.Equal(all[0].Notify, g.Spec.Notify) {
		t.Errorf("%+v", all)
	}
	if ends, upto, err := s.GridChanges(t.Context(), last, 2); len(ends) > 0 || upto != last || err != nil {
		t.Error(ends, upto, err)
	}
}

// For a grid job with a callback, GridChanges returns every change of its status with the generation, and no other
// journal entry.
func TestGridChanges_OfACallback(t *testing.T) {
	s, g := fresh(t), sampleGrid()
	g.Spec.Notify, g.Spec.Callback = nil, &jjm.Callback{URL: "https://h/", States: []jjm.GridStatus{jjm.GridRunning}}
	update(t, s, func(tx *Tx) error { return tx.InsertGrid(g) })
	update(t, s, func(tx *Tx) error {
		// The test removes this trigger, because it prevents generation 2 in a grid job without local jobs.
		if _, err := tx.exec("DROP TRIGGER grid_jobs_generation", nil); err != nil {
			return err
		}
		_, err := tx.exec("UPDATE grid_jobs SET generation = 2 WHERE id = ?", args{}.int(int64(g.ID)))
		return err
	})
	update(t, s, func(tx *Tx) error {
		for _, word := range [][2]string{{"", "registered"}, {"ready", "running"}, {"running", "running"},
			{"running", "failed"}, {"failed", "resubmit"}, {"failed", "running"}, {"running", "done"}} {
			e := jjm.JournalEntry{Grid: g.ID, First: -1, Last: -1, From: word[0], To: word[1], Time: 7}
			if err := tx.Journal(e); err != nil {
				return err
			}
		}
		return nil
	})
	all, _, err := s.GridChanges(t.Context(), 0, 100)
	var got []string
	for _, ch := range all {
		got = append(got, fmt.Sprint(ch.Generation, " ", ch.To))
		if ch.Callback == nil || ch.Callback.URL != "https://h/" || !ch.Callback.Wants(jjm.GridRunning) ||
			ch.Callback.Wants(jjm.Done) {
			t.Errorf("%+v", ch.Callback)
		}
	}
	want := []string{"1 running", "1 failed", "2 running", "2 done"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, want %v: %v", got, want, err)
	}
}

// DueNotices limits the notices of each account, so an account with many notices does not displace the notices of other
// accounts. Among the notices of one account, notices that were never tried come first.
func TestDueNotices_EachAccountHasItsShare(t *testing.T) {
	s, g := told(t)
	other := sampleGrid()
	other.Spec.Key, other.Owner.UID = "", g.Owner.UID+1
	update(t, s, func(tx *Tx) error { return tx.InsertGrid(other) })
	var ns []Notice
	for i := range 50 {
		ns = append(ns, Notice{Target: fmt.Sprint("call ", i+100), Change: 1, Grid: g.ID, Generation: 1, Since: 7})
	}
	tried := ns[0]
	ns = append(ns, Notice{Target: "call 5", Change: 2, Grid: other.ID, Generation: 1, Since: 7},
		Notice{Target: "command", Change: 2, Grid: other.ID, Generation: 1, Since: 7})
	update(t, s, func(tx *Tx) error { return tx.PutNotices(ns) })
	tried.Tries, tried.Next = 1, 3
	update(t, s, func(tx *Tx) error { return tx.DelayNotice(tried) })
	due, err := s.DueNotices(t.Context(), "call ", 5, 3)
	count := map[int]int{}
	for _, n := range due {
		if count[n.UID]++; n.Target == tried.Target {
			t.Errorf("a notice that was tried comes first: %+v", n)
		}
	}
	if err != nil || count[g.Owner.UID] != 3 || count[other.Owner.UID] != 1 {
		t.Errorf("%v %v", count, err)
	}
}

func TestUntold_CountsWhatIsNotDelivered(t *testing.T) {
	s, g := told(t)
	n := Notice{Target: "call 1", Change: 1, Grid: g.ID, Generation: 1, Since: 7}
	later := n
	later.Target, later.Since = "call 2", 5
	update(t, s, func(tx *Tx) error { return tx.PutNotices([]Notice{n, later}) })
	n.Tries, n.Next = 1, 9
	update(t, s, func(tx *Tx) error { return tx.DelayNotice(n) })
	given := func(text string, at jjm.Time) jjm.JournalEntry {
		return jjm.JournalEntry{Grid: g.ID, First: -1, Last: -1, To: NotNotified, Cause: text, Time: at}
	}
	update(t, s, func(tx *Tx) error { return tx.Journal(given("old", 10), given("new", 20)) })
	want := Untold{Waiting: 1, Oldest: 7, GivenUp: 1, Last: 20}
	if got, err := s.Untold(t.Context(), 15); err != nil || got != want {
		t.Errorf("%+v, want %+v: %v", got, want, err)
	}
	if got, err := s.UntoldOf(t.Context(), g.ID); err != nil || got != "new" {
		t.Errorf("%q %v", got, err)
	}
	if got, err := s.UntoldOf(t.Context(), g.ID+1); err != nil || got != "" {
		t.Errorf("%q %v", got, err)
	}
}

// The SQL of GridChanges contains a list of statuses. This list must be exactly the list of final statuses.
func TestGridChanges_KnowsTheFinalStatuses(t *testing.T) {
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
	if got := due(100); !slices.Equal(got, []string{"mail b", "mail a"}) {
		t.Error(got)
	}
	ns, err := s.NextNotices(t.Context(), "mail a", 9)
	last := notice("mail a", 4)
	first.From, first.To, first.UID = "registered", "running", g.Owner.UID
	last.From, last.To, last.UID = "running", "failed", g.Owner.UID
	if err != nil || len(ns) != 2 || ns[0] != first || ns[1] != last {
		t.Errorf("%+v %v", ns, err)
	}
	update(t, s, func(tx *Tx) error { return tx.EndNotice(first) })
	if ns, err := s.NextNotices(t.Context(), "mail a", 9); err != nil || len(ns) != 1 || ns[0].Change != 4 {
		t.Errorf("%+v %v", ns, err)
	}
}
