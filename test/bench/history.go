package main

import (
	"context"
	"errors"
	"os"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// The sizes of the history: grid jobs of a hundred thousand local jobs, in bulks of a thousand.
const (
	historyGrid  = 100_000
	historyBulk  = 1000
	historyChunk = 10_000
)

// buildHistory fills a store with finished local jobs, with the same calls as the engine: insert, submit, end,
// complete, archive.
func buildHistory(path string, jobs int) {
	s := must(store.Open(path, store.Options{Now: time.Now}))
	for left := jobs; left > 0; left -= historyGrid {
		oldGrid(s, min(left, historyGrid))
	}
	check(s.Close())
}

// update changes the store.
func update(s *store.Store, do func(tx *store.Tx) error) { check(s.Update(context.Background(), do)) }

// oldGrid makes one grid job with n local jobs, finished and archived.
func oldGrid(s *store.Store, n int) {
	now := jjm.At(time.Now())
	g := &jjm.GridJob{
		Owner: jjm.Owner{UID: os.Getuid(), GID: os.Getgid(), User: owner},
		Spec:  jjm.Spec{Type: "montecarlo", Name: "old"}, Status: jjm.GridRunning, Accepted: now, Changed: now,
		Step: jjm.Step{Prepared: true, Cluster: "sim", Splitter: "events", Expected: n},
	}
	update(s, func(tx *store.Tx) error { return tx.InsertGrid(g) })
	for from := 0; from < n; from += historyChunk {
		locals := make([]jjm.LocalJob, min(historyChunk, n-from))
		for i := range locals {
			locals[i] = oldLocal(g.ID, from+i)
		}
		update(s, func(tx *store.Tx) error { return tx.InsertLocals(locals) })
	}
	for from := 0; from < n; from += historyBulk {
		oldBulk(s, g, from, min(from+historyBulk, n))
	}
	g.Step.Made, g.Step.Closed, g.Tar, g.Status, g.Ended = n, true, "out.tar", jjm.Done, now
	g.Counts[jjm.Completed] = n
	update(s, func(tx *store.Tx) error { return tx.SaveGrid(g) })
	for must(s.Archive(context.Background(), g.ID, historyChunk)) {
	}
}

// oldLocal returns a running local job, because only a submitted local job can complete.
func oldLocal(g jjm.GridID, n int) jjm.LocalJob {
	return jjm.LocalJob{ID: jjm.LocalID{Grid: g, N: int32(n)}, Exit: -1, State: jjm.Running,
		Part: jjm.Part{Unit: jjm.UnitEvent, First: int64(n) * 250, Count: 250, Serial: int64(n) + 1}}
}

// oldBulk submits local jobs and ends them with success, with the evidence of a wrapper.
func oldBulk(s *store.Store, g *jjm.GridJob, from, to int) {
	tag, now := must(jjm.NewTag(s.Nonce())), jjm.At(time.Now())
	b := &jjm.Bulk{Tag: tag, Cluster: "sim", Owner: g.Owner, Created: now, State: jjm.BulkReleased, ID: "sim1",
		Settled: now}
	var locals []*jjm.LocalJob
	var ends []store.AttemptEnd
	for n := from; n < to; n++ {
		l := oldLocal(g.ID, n)
		l.State, l.Tag, l.Pos, l.BatchID, l.Host, l.Exit = jjm.Completed, tag, int32(n-from), "sim1_1", "simhost", 0
		l.Submitted, l.Started, l.Ended = now, now, now
		locals, b.Members = append(locals, &l), append(b.Members, l.AttemptID())
		ends = append(ends, store.AttemptEnd{ID: l.AttemptID(), Ended: now,
			Evidence: jjm.Evidence{Result: &jjm.Result{Version: 1, Tag: tag, Pos: l.Pos, Grid: g.ID, Local: l.ID.N,
				Started: now, Ended: now, WallMS: 1000, UserMS: 1000, RSSKB: 100 << 10,
				GLF: "2026-01-01T00:00:00Z INFO start\n2026-01-01T00:00:00Z SUCCEEDED -\n2026-01-01T00:00:00Z INFO end 0\n"}},
			Verdict: jjm.Verdict{Level: "USER", Action: jjm.Complete}})
	}
	update(s, func(tx *store.Tx) error {
		if err := tx.InsertBulk(b); err != nil {
			return err
		}
		b.State = jjm.BulkClosed
		return errors.Join(tx.EndAttempts(ends), tx.SaveLocals(locals), tx.SaveBulk(b),
			tx.Journal(jjm.JournalEntry{Time: now, Grid: g.ID, First: int32(from), Last: int32(to - 1), From: "running",
				To: "completed", Source: "bench"}))
	})
}
