package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

func TestUpdate_AnErrorUndoesEverything(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	mine := errors.New("mine")
	err := s.Update(ctx, func(tx *Tx) error {
		return errors.Join(tx.SetMeta("k", "v"), mine)
	})
	if !errors.Is(err, mine) {
		t.Errorf("error %v, want mine", err)
	}
	if _, found, err := s.Meta(ctx, "k"); found || err != nil {
		t.Error("the value is stored", err)
	}
}

func TestUpdate_APanicUndoesEverythingAndReleasesTheLock(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		s.Update(ctx, func(tx *Tx) error {
			tx.SetMeta("k", "v")
			panic("oh")
		})
	}()
	if _, found, _ := s.Meta(ctx, "k"); found {
		t.Error("the value is stored")
	}
	if err := s.SetMeta(ctx, "k", "v"); err != nil {
		t.Error(err)
	}
}

func TestUpdate_AFailureCannotBeIgnored(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	err := s.Update(ctx, func(tx *Tx) error {
		tx.SaveBulk(&jjm.Bulk{Tag: "jnone"})
		return tx.SetMeta("k", "v")
	})
	wantKind(t, err, jjm.Internal)
	if _, found, _ := s.Meta(ctx, "k"); found {
		t.Error("the value is stored")
	}
}

func TestTx_EndsWithUpdate(t *testing.T) {
	s := fresh(t)
	var kept *Tx
	update(t, s, func(tx *Tx) error { kept = tx; return nil })
	for name, err := range map[string]error{
		"SetMeta":      kept.SetMeta("k", "v"),
		"InsertGrid":   kept.InsertGrid(sampleGrid()),
		"InsertLocals": kept.InsertLocals([]jjm.LocalJob{sampleLocal(1, 0)}),
		"EndAttempts":  kept.EndAttempts([]AttemptEnd{sampleEnd(jjm.AttemptID{})}),
	} {
		if err == nil {
			t.Errorf("%s worked after the end", name)
		}
	}
	_, _, err := kept.FindKey(1, "k")
	wantKind(t, err, jjm.Internal)
}

func TestUpdate_ContextEndsTheWaitAndTheWork(t *testing.T) {
	s := fresh(t)
	ctx, cancel := context.WithCancel(context.Background())
	update(t, s, func(*Tx) error { // this transaction has the turn to write
		go cancel()
		err := s.Update(ctx, func(*Tx) error { t.Error("two writers"); return nil })
		wantKind(t, err, jjm.Busy)
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		return nil
	})
	ctx, cancel = context.WithCancel(context.Background())
	err := s.Update(ctx, func(tx *Tx) error {
		cancel()
		return tx.SetMeta("k", "v")
	})
	wantKind(t, err, jjm.Busy)
	_, err = s.Live(ctx)
	wantKind(t, err, jjm.Busy)
	update(t, s, func(tx *Tx) error { return tx.SetMeta("k", "w") })
}

func TestReads_DoNotWaitForAWriterAndSeeWholeTransactions(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	g := fill(t, s, 500, 500)
	inside, done := make(chan struct{}), make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		err := s.Update(ctx, func(tx *Tx) error {
			ls := make([]jjm.LocalJob, 500)
			for i := range ls {
				ls[i] = sampleLocal(g.ID, 500+i)
			}
			if err := tx.InsertLocals(ls); err != nil {
				return err
			}
			close(inside)
			<-done // the transaction lasts until the readers are done
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-inside
	var readers sync.WaitGroup
	for range 8 { // more readers than idle connections are kept
		readers.Go(func() {
			for range 5 {
				ls, err := s.Locals(ctx, g.ID, 0, -1)
				if err != nil || len(ls) != 500 {
					t.Errorf("%d local jobs during the transaction, %v", len(ls), err)
				}
				if _, err := s.Live(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	readers.Wait()
	close(done)
	writer.Wait()
	if ls, err := s.Locals(ctx, g.ID, 0, -1); err != nil || len(ls) != 1000 {
		t.Errorf("%d local jobs after it, %v", len(ls), err)
	}
	if len(s.idle) > maxIdle {
		t.Errorf("%d idle connections", len(s.idle))
	}
}

func TestReads_MayNest(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	g := fill(t, s, 10, 10)
	n := 0
	err := s.LiveLocals(ctx, func(l jjm.LocalJob) error {
		n++
		return s.LiveLocals(ctx, func(jjm.LocalJob) error {
			_, err := s.Grid(ctx, g.ID)
			return err
		})
	})
	if err != nil || n != 10 {
		t.Error(n, err)
	}
}

func TestKeys_OneGridJobPerOwnerAndKey(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	insert := func(uid int, key string) (jjm.GridID, error) {
		g := sampleGrid()
		g.Owner.UID, g.Spec.Key = uid, key
		err := s.Update(ctx, func(tx *Tx) error { return tx.InsertGrid(g) })
		return g.ID, err
	}
	find := func(uid int, key string) (id jjm.GridID, found bool) {
		update(t, s, func(tx *Tx) (err error) { id, found, err = tx.FindKey(uid, key); return err })
		return id, found
	}
	first, err := insert(1, "k")
	if err != nil {
		t.Fatal(err)
	}
	_, err = insert(1, "k")
	wantKind(t, err, jjm.Conflict)
	for _, other := range []struct {
		uid int
		key string
	}{{2, "k"}, {1, "K"}, {1, ""}, {1, ""}} {
		if _, err := insert(other.uid, other.key); err != nil {
			t.Error(other, err)
		}
	}
	if id, found := find(1, "k"); id != first || !found {
		t.Errorf("found %d, %v; want %d", id, found, first)
	}
	if _, found := find(1, ""); found {
		t.Error("somebody holds the empty key")
	}
	update(t, s, func(tx *Tx) error { return errors.Join(tx.ReleaseKey(first), tx.ReleaseKey(first)) })
	if _, found := find(1, "k"); found {
		t.Error("a released key is held")
	}
	second, err := insert(1, "k")
	if err != nil || second <= first {
		t.Error(second, err)
	}
	if id, _ := find(1, "k"); id != second {
		t.Errorf("found %d, want %d", id, second)
	}
}

func TestGrids_Filter(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	for i := range 6 { // 1 to 6: 2, 4, 6 of bob; 3, 6 failed; 5, 6 of type script
		g := sampleGrid()
		if i%2 == 1 {
			g.Owner.User = "bob"
		}
		if i%3 == 2 {
			g.Status = jjm.GridFailed
		}
		if i > 3 {
			g.Spec.Type = "script"
		}
		update(t, s, func(tx *Tx) error { return tx.InsertGrid(g) })
	}
	archive(t, s, 3, 1)
	for _, tt := range []struct {
		f    Filter
		want []jjm.GridID
	}{
		{Filter{}, []jjm.GridID{5, 4, 2, 1}},
		{Filter{All: true}, []jjm.GridID{6, 5, 4, 3, 2, 1}},
		{Filter{All: true, Limit: 2, Before: 5}, []jjm.GridID{4, 3}},
		{Filter{Statuses: []jjm.GridStatus{jjm.GridFailed}}, []jjm.GridID{6, 3}},
		{Filter{Statuses: []jjm.GridStatus{jjm.GridFailed, jjm.GridFailed}, Limit: 1}, []jjm.GridID{6}},
		{Filter{Owner: "bob"}, []jjm.GridID{4, 2}},
		{Filter{Owner: "bob", Type: "script", All: true}, []jjm.GridID{6}},
		{Filter{Owner: "' OR 1 --", All: true}, nil},
	} {
		gs, err := s.Grids(ctx, tt.f)
		if err != nil {
			t.Fatal(err)
		}
		var got []jjm.GridID
		for _, g := range gs {
			got = append(got, g.ID)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%+v: %s", tt.f, d)
		}
	}
}

func TestReads_OfMissingRows(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	_, err := s.Grid(ctx, 9)
	wantKind(t, err, jjm.Gone)
	_, err = s.Locals(ctx, 9, 0, -1)
	wantKind(t, err, jjm.Gone)
	wantKind(t, s.ResultsOf(ctx, 9, nil), jjm.Gone)
	_, err = s.Archive(ctx, 9, 1)
	wantKind(t, err, jjm.Gone)
	if as, err := s.Attempts(ctx, jjm.LocalID{Grid: 9}); as != nil || err != nil {
		t.Error(as, err)
	}
	if es, err := s.History(ctx, jjm.Ref{Grid: 9}, 0); es != nil || err != nil {
		t.Error(es, err)
	}
	if live, err := s.Live(ctx); live.Grids != nil || live.Bulks != nil || err != nil {
		t.Error(live, err)
	}
	g := fill(t, s, 3, 3)
	for _, r := range [][2]int32{{3, -1}, {2, 1}, {7, 9}} {
		if ls, err := s.Locals(ctx, g.ID, r[0], r[1]); len(ls) != 0 || err != nil {
			t.Error(r, ls, err)
		}
	}
	if ls, err := s.Locals(ctx, g.ID, 1, 1); len(ls) != 1 || ls[0].ID.N != 1 || err != nil {
		t.Error(ls, err)
	}
}

func TestHistory_ByReference(t *testing.T) {
	s, err := Open(t.TempDir()+"/jjm.db", Options{Now: func() time.Time { return time.UnixMilli(7777) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	entries := []jjm.JournalEntry{
		{Grid: 1, First: -1, Last: -1, To: "registered", Actor: "alice"},
		{Grid: 1, First: 0, Last: 9, From: "new", To: "submitted", Cause: "c", Source: "submit", Time: 5},
		{Grid: 2, First: -1, Last: -1, To: "registered"},
		{Grid: 1, First: 3, Last: 3, To: "running"},
		{Grid: 1, First: -1, Last: -1, To: "done"},
	}
	update(t, s, func(tx *Tx) error { return errors.Join(tx.Journal(), tx.Journal(entries...)) })
	for i := range entries {
		entries[i].Seq = int64(i) + 1
		if entries[i].Time == 0 {
			entries[i].Time = 7777
		}
	}
	for _, tt := range []struct {
		ref   string
		limit int
		want  []int
	}{
		{"1", 0, []int{0, 1, 3, 4}},
		{"1", -1, []int{0, 1, 3, 4}},
		{"1", 2, []int{3, 4}},
		{"1.*", 0, []int{1, 3}},
		{"1.3", 0, []int{1, 3}},
		{"1.4", 0, []int{1}},
		{"1.9-12", 0, []int{1}},
		{"1.10", 0, nil},
		{"2", 0, []int{2}},
	} {
		ref, err := jjm.ParseRef(tt.ref)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.History(ctx, ref, tt.limit)
		if err != nil {
			t.Fatal(err)
		}
		var want []jjm.JournalEntry
		for _, i := range tt.want {
			want = append(want, entries[i])
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("history of %s: %s", tt.ref, d)
		}
	}
	some := []jjm.Ref{{Grid: 1, Locals: true, First: 3, Last: 3}, {Grid: 1, Locals: true, First: 9, Last: 12}}
	got, err := s.HistoryOf(ctx, some, 0)
	if d := cmp.Diff([]jjm.JournalEntry{entries[1], entries[3]}, got); err != nil || d != "" {
		t.Errorf("history of %v: %v, %s", some, err, d)
	}
	if got, err = s.HistoryOf(ctx, nil, 0); got != nil || err != nil {
		t.Errorf("history of no local jobs: %v, %v", got, err)
	}
}

func TestMeta_SetReplaceRemove(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	for _, key := range []string{"k", "", "nonce", "a\x00b"} {
		for _, value := range []string{"one", "two\x00three", ""} {
			if err := s.SetMeta(ctx, key, value); err != nil {
				t.Fatal(err)
			}
			got, found, err := s.Meta(ctx, key)
			if got != value || found != (value != "") || err != nil {
				t.Errorf("%q: got %q, %v, %v; want %q", key, got, found, err, value)
			}
		}
	}
}

func TestTotalsAndSize(t *testing.T) {
	s, ctx := worked(t), context.Background()
	got, err := s.Totals(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := Totals{Archived: 2, Bulks: 1, Journal: 3}
	want.Grids[jjm.GridRunning], want.Grids[jjm.Done] = 1, 2
	want.Live[jjm.New], want.Live[jjm.Completed] = 3, 3
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	z, err := s.Size(ctx)
	if err != nil || z.File+z.WAL == 0 {
		t.Error(z, err)
	}
}

func TestUpdate_IsObserved(t *testing.T) {
	seen := 0
	s, err := Open(t.TempDir()+"/jjm.db", Options{Observe: func(time.Duration) { seen++ }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	update(t, s, func(*Tx) error { return nil })
	if err := s.Update(t.Context(), func(*Tx) error { return errors.New("no") }); err == nil || seen != 2 {
		t.Errorf("%v; %d transactions were observed, want 2", err, seen)
	}
}
