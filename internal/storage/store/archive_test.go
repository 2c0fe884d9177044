package store

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

// Every read returns the same result while a grid job is moved to the history, and afterwards.
func TestArchive_ReadsDoNotSeeIt(t *testing.T) {
	const n = 23
	s, ctx := fresh(t), context.Background()
	before := fill(t, s, 2, 2) // other grid jobs stay live
	g := fill(t, s, n, n)
	after := fill(t, s, 2, 2)
	finish(t, s, submit(t, s, g.ID, "jone", 0, n-1))
	complete(t, s, g)
	type all struct {
		Locals  []jjm.LocalJob
		Results []*jjm.Evidence
		Tries   [][]Attempt
		Journal []jjm.JournalEntry
		Grid    jjm.GridJob
		Range   []jjm.LocalJob
		Owned   [][3]int64
	}
	read := func() (a all) {
		var errs [6]error
		errs[5] = s.Owned(ctx, g.ID, 0, func(first, last int64, local int32) error {
			a.Owned = append(a.Owned, [3]int64{first, last, int64(local)})
			return nil
		})
		a.Grid, errs[0] = s.Grid(ctx, g.ID)
		a.Locals, errs[1] = s.Locals(ctx, g.ID, 0, -1)
		a.Range, errs[2] = s.Locals(ctx, g.ID, 3, 12)
		a.Journal, errs[3] = s.History(ctx, jjm.Ref{Grid: g.ID}, 0)
		errs[4] = s.ResultsOf(ctx, g.ID, func(l jjm.LocalJob, ev *jjm.Evidence) error {
			if l.ID.N != int32(len(a.Results)) {
				t.Errorf("results of %s at place %d", l.ID, len(a.Results))
			}
			a.Results = append(a.Results, ev)
			tries, err := s.Attempts(ctx, l.ID)
			a.Tries = append(a.Tries, tries)
			return err
		})
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		return a
	}
	want := read()
	if len(want.Results) != n || want.Results[5] == nil || len(want.Tries[5]) != 1 || len(want.Range) != 10 ||
		len(want.Owned) != n {
		t.Fatalf("%d results, %d attempts, %d rows of the ledger", len(want.Results), len(want.Tries), len(want.Owned))
	}
	calls := 0
	for more := true; more; calls++ {
		var live []jjm.LocalID
		err := s.LiveLocals(ctx, func(l jjm.LocalJob) error {
			live = append(live, l.ID)
			return nil
		})
		if err != nil || len(live) != n+4 || live[0].Grid != before.ID || live[n].Grid != g.ID || live[n+3].Grid != after.ID {
			t.Fatalf("after %d chunks: live %v, %v", calls, live, err)
		}
		if l, err := s.Live(ctx); err != nil || len(l.Grids) != 3 {
			t.Fatalf("after %d chunks: %d live grid jobs, %v", calls, len(l.Grids), err)
		}
		if more, err = s.Archive(ctx, g.ID, 5); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, read()); d != "" {
			t.Fatalf("after chunk %d: %s", calls+1, d)
		}
		wantWhole(t, s, g.ID, n, 4)
	}
	if calls != 5 {
		t.Errorf("%d chunks, want 5", calls)
	}
	if l, err := s.Live(ctx); err != nil || len(l.Grids) != 2 {
		t.Errorf("%d live grid jobs, %v", len(l.Grids), err)
	}
	if more, err := s.Archive(ctx, g.ID, 5); more || err != nil {
		t.Errorf("once more: %v, %v", more, err)
	}
}

func TestArchive_Refuses(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	g := fill(t, s, 3, 3)
	_, err := s.Archive(ctx, g.ID, 0)
	wantKind(t, err, jjm.Invalid)
	_, err = s.Archive(ctx, g.ID, 10)
	wantKind(t, err, jjm.Conflict)
	if !strings.Contains(err.Error(), "it is running") {
		t.Error(err)
	}
	submit(t, s, g.ID, "jone", 1, 1)
	complete(t, s, g)
	if more, err := s.Archive(ctx, g.ID, 1); !more || err != nil {
		t.Error("the part before the open attempt stays", err)
	}
	_, err = s.Archive(ctx, g.ID, 1)
	wantKind(t, err, jjm.Conflict)
	if !strings.Contains(err.Error(), "attempt 1.1 #0 of bulk jone is open") {
		t.Error(err)
	}
	_, err = s.Archive(ctx, 99, 1)
	wantKind(t, err, jjm.Gone)
	r, err := Open(s.path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = r.Archive(ctx, g.ID, 1)
	wantKind(t, err, jjm.Conflict)
}

func TestArchive_GridJobWithoutLocalJobs(t *testing.T) {
	s := fresh(t)
	g := fill(t, s, 0, 1)
	g.Status = jjm.Broken
	update(t, s, func(tx *Tx) error { return tx.SaveGrid(g) })
	if calls := archive(t, s, g.ID, 10); calls != 1 {
		t.Errorf("%d calls", calls)
	}
	if live, err := s.Live(context.Background()); len(live.Grids) != 0 || err != nil {
		t.Error(live, err)
	}
}

// A bulk with attempts of two grid jobs is returned with all its members after one of the grid jobs was archived.
func TestLive_MembersOfABulkMayBeArchived(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	one, two := fill(t, s, 2, 2), fill(t, s, 2, 2)
	b := &jjm.Bulk{Tag: "jmix", Cluster: "local", Owner: one.Owner, Created: 1, Members: []jjm.AttemptID{
		{LocalID: jjm.LocalID{Grid: two.ID}}, {LocalID: jjm.LocalID{Grid: one.ID}},
		{LocalID: jjm.LocalID{Grid: two.ID, N: 1}}}}
	update(t, s, func(tx *Tx) error {
		return errors.Join(tx.InsertBulk(b), tx.EndAttempts([]AttemptEnd{sampleEnd(b.Members[0]), sampleEnd(b.Members[2])}))
	})
	complete(t, s, two)
	archive(t, s, two.ID, 1)
	live, err := s.Live(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]jjm.Bulk{*b}, live.Bulks); d != "" {
		t.Error(d)
	}
}

func TestLive_HasBulksUntilTheyEnd(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	g := fill(t, s, 5, 5)
	var bulks []*jjm.Bulk
	for i, tag := range []jjm.Tag{"ja", "jb", "jc", "jd", "je"} {
		b := submit(t, s, g.ID, tag, i, i)
		b.State, b.ID, b.Settled, b.Tries, b.Error = jjm.BulkState(i), "42", 9, 2, "e\x00"
		bulks = append(bulks, b)
	}
	update(t, s, func(tx *Tx) (err error) {
		for _, b := range bulks {
			err = errors.Join(err, tx.SaveBulk(b))
		}
		return err
	})
	live, err := s.Live(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]jjm.Bulk{*bulks[0], *bulks[1], *bulks[2]}, live.Bulks); d != "" {
		t.Error(d)
	}
}

func TestResultsOf_LastEndedAttemptAndPaging(t *testing.T) {
	const n = resultsPage + 3
	s, ctx := fresh(t), context.Background()
	g := fill(t, s, n, n)
	finish(t, s, submit(t, s, g.ID, "ja", 0, n-2))
	id := jjm.AttemptID{LocalID: jjm.LocalID{Grid: g.ID, N: 7}, Attempt: 1}
	update(t, s, func(tx *Tx) error {
		end := sampleEnd(id)
		end.Evidence.Result.Exit = 77
		third := id
		third.Attempt = 2
		return errors.Join(tx.InsertBulk(&jjm.Bulk{Tag: "jb", Members: []jjm.AttemptID{id, third}}),
			tx.EndAttempts([]AttemptEnd{end}))
	})
	next := int32(0)
	err := s.ResultsOf(ctx, g.ID, func(l jjm.LocalJob, ev *jjm.Evidence) error {
		if l.ID.N != next || (ev == nil) != (next == n-1) || ev != nil && (ev.Result.Exit == 77) != (next == 7) {
			t.Errorf("results of %s at place %d: %+v", l.ID, next, ev)
		}
		next++
		return nil
	})
	if err != nil || next != n {
		t.Errorf("%d results, %v", next, err)
	}
	stop := errors.New("stop")
	if err := s.ResultsOf(ctx, g.ID, func(jjm.LocalJob, *jjm.Evidence) error { return stop }); err != stop {
		t.Error(err)
	}
	if err := s.LiveLocals(ctx, func(jjm.LocalJob) error { return stop }); err != stop {
		t.Error(err)
	}
}
