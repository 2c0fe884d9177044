package store

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"jjm/internal/jjm"
)

// open opens the store at path until the test ends.
func open(tb testing.TB, path string) *Store {
	tb.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

func fresh(tb testing.TB) *Store {
	tb.Helper()
	return open(tb, filepath.Join(tb.TempDir(), "jjm.db"))
}

func update(tb testing.TB, s *Store, fn func(*Tx) error) {
	tb.Helper()
	if err := s.Update(context.Background(), fn); err != nil {
		tb.Fatal(err)
	}
}

// raw runs SQL without the API, as a faulty or hostile caller might.
func raw(s *Store, text string) error {
	return s.Update(context.Background(), func(tx *Tx) error { return tx.c.script(text) })
}

func number(tb testing.TB, s *Store, query string) (n int64) {
	tb.Helper()
	err := s.view(context.Background(), func(c *conn) (err error) {
		n, err = c.number(query, nil)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func wantKind(tb testing.TB, err error, kind jjm.Kind) {
	tb.Helper()
	if err == nil || jjm.KindOf(err) != kind {
		tb.Fatalf("error %v of kind %q, want kind %q", err, jjm.KindOf(err), kind)
	}
}

func sampleGrid() *jjm.GridJob {
	return &jjm.GridJob{
		Owner:    jjm.Owner{UID: 501, GID: 500, User: "alice"},
		Spec:     jjm.Spec{Type: "montecarlo", Name: "mc", Params: map[string]any{"events": 25000.0}},
		Status:   jjm.GridRunning,
		BaseDir:  "/home/alice",
		Accepted: 1000, Changed: 1000,
		Step: jjm.Step{Prepared: true, Cluster: "local", Splitter: "events", Why: []string{"250 events per job"}},
	}
}

func sampleLocal(g jjm.GridID, i int) jjm.LocalJob {
	return jjm.LocalJob{
		ID:   jjm.LocalID{Grid: g, N: int32(i)},
		Part: jjm.Part{Unit: jjm.UnitEvent, First: int64(i) * 250, Count: 250, Serial: int64(i) + 1},
		Exit: -1,
	}
}

// fill stores a grid job with n local jobs in batches, as the engine does: parts, cover, journal and the counters of
// the grid job in one transaction per batch.
func fill(tb testing.TB, s *Store, n, batch int) *jjm.GridJob {
	tb.Helper()
	g := sampleGrid()
	update(tb, s, func(tx *Tx) error { return tx.InsertGrid(g) })
	ls := make([]jjm.LocalJob, 0, batch)
	for from := 0; from < n; from += batch {
		ls = ls[:0]
		for i := from; i < min(n, from+batch); i++ {
			ls = append(ls, sampleLocal(g.ID, i))
		}
		update(tb, s, func(tx *Tx) error {
			g.Step.Made += len(ls)
			return errors.Join(tx.InsertLocals(ls), tx.SaveGrid(g), tx.Journal(jjm.JournalEntry{
				Grid: g.ID, First: int32(from), Last: int32(from + len(ls) - 1), To: "new", Source: "generate"}))
		})
	}
	return g
}

// submit puts attempt 0 of local jobs first..last into a bulk.
func submit(tb testing.TB, s *Store, g jjm.GridID, tag jjm.Tag, first, last int) *jjm.Bulk {
	tb.Helper()
	b := &jjm.Bulk{Tag: tag, Cluster: "local", Owner: jjm.Owner{UID: 501, GID: 500, User: "alice"}, Created: 2000,
		Request: jjm.Request{Cores: 1, MemoryMB: 2000}}
	for n := first; n <= last; n++ {
		b.Members = append(b.Members, jjm.AttemptID{LocalID: jjm.LocalID{Grid: g, N: int32(n)}})
	}
	update(tb, s, func(tx *Tx) error { return tx.InsertBulk(b) })
	return b
}

func sampleEnd(id jjm.AttemptID) AttemptEnd {
	return AttemptEnd{
		ID: id, Ended: 5000,
		Evidence: jjm.Evidence{
			Batch: jjm.Report{Tag: "tag", Index: id.N, ID: "42", State: jjm.BatchEndedOK, Host: "node1"},
			Result: &jjm.Result{Version: 1, Grid: id.Grid, Local: id.N, Attempt: id.Attempt, Ended: 4900, WallMS: 1200,
				GLF: "2026-01-01T00:00:00Z SUCCEEDED -\n", Outputs: []jjm.Output{{Name: "out.root", Bytes: 12}}},
			Claim: &jjm.Claim{Holder: jjm.HolderWrapper, Nonce: "n"},
		},
		Verdict: jjm.Verdict{Level: "USER", Action: jjm.Complete},
	}
}

// finish ends every attempt of a bulk and closes it.
func finish(tb testing.TB, s *Store, b *jjm.Bulk) {
	tb.Helper()
	update(tb, s, func(tx *Tx) error {
		var ends []AttemptEnd
		for _, id := range b.Members {
			ends = append(ends, sampleEnd(id))
		}
		b.State = jjm.BulkClosed
		return errors.Join(tx.EndAttempts(ends), tx.SaveBulk(b))
	})
}

// saveEnds stores ended local jobs. It first stores them as submitting, because the store lets no local job complete
// that was never submitted.
func saveEnds(tx *Tx, ls []*jjm.LocalJob) error {
	var before []*jjm.LocalJob
	for _, l := range ls {
		submitted := *l
		submitted.State = jjm.Submitting
		before = append(before, &submitted)
	}
	return errors.Join(tx.SaveLocals(before), tx.SaveLocals(ls))
}

// complete completes every local job and then sets the grid job to done.
func complete(tb testing.TB, s *Store, g *jjm.GridJob) {
	tb.Helper()
	ls, err := s.Locals(context.Background(), g.ID, 0, -1)
	if err != nil {
		tb.Fatal(err)
	}
	var changed []*jjm.LocalJob
	for i := range ls {
		if ls[i].State == jjm.Completed {
			continue
		}
		ls[i].State, ls[i].Exit = jjm.Completed, 0
		changed = append(changed, &ls[i])
	}
	g.Step.Closed, g.Tar, g.Status = true, "out.tar", jjm.Done
	update(tb, s, func(tx *Tx) error { return errors.Join(saveEnds(tx, changed), tx.SaveGrid(g)) })
}

// archive moves the whole grid job to the history, at most chunk local jobs at a time. It returns the number of calls
// that this took.
func archive(tb testing.TB, s *Store, id jjm.GridID, chunk int) (calls int) {
	tb.Helper()
	for more := true; more; calls++ {
		var err error
		if more, err = s.Archive(context.Background(), id, chunk); err != nil {
			tb.Fatal(err)
		}
	}
	return calls
}
