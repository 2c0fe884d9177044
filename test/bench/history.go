package main

import (
	"context"
	"errors"
	"fmt"
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

// historian is a child that fills a store with finished local jobs, with the same calls as the engine: insert,
// submit, end, complete, archive.
type historian struct{}

type historyArgs struct {
	Path string
	Jobs int
}

func (*historian) close() error { return nil }

func (h *historian) answer(ctx context.Context, do string, arg func(into any) error) (any, error) {
	var args historyArgs
	if err := arg(&args); err != nil || do != "build" {
		return nil, fmt.Errorf("a historian cannot %q: %w", do, err)
	}
	s, err := store.Open(args.Path, store.Options{Now: time.Now})
	if err != nil {
		return nil, err
	}
	for left := args.Jobs; left > 0; left -= historyGrid {
		if err := h.grid(ctx, s, min(left, historyGrid)); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return nil, s.Close()
}

// grid makes one grid job with n local jobs, finished and archived.
func (h *historian) grid(ctx context.Context, s *store.Store, n int) error {
	now := jjm.At(time.Now())
	g := &jjm.GridJob{
		Owner: jjm.Owner{UID: os.Getuid(), GID: os.Getgid(), User: owner},
		Spec:  jjm.Spec{Type: "montecarlo", Name: "old"}, Status: jjm.GridRunning, Accepted: now, Changed: now,
		Step: jjm.Step{Prepared: true, Cluster: "sim", Splitter: "events", Expected: n},
	}
	if err := s.Update(ctx, func(tx *store.Tx) error { return tx.InsertGrid(g) }); err != nil {
		return err
	}
	for from := 0; from < n; from += historyChunk {
		locals := make([]jjm.LocalJob, min(historyChunk, n-from))
		for i := range locals {
			locals[i] = oldLocal(g.ID, from+i)
		}
		if err := s.Update(ctx, func(tx *store.Tx) error { return tx.InsertLocals(locals) }); err != nil {
			return err
		}
	}
	for from := 0; from < n; from += historyBulk {
		if err := h.bulk(ctx, s, g, from, min(from+historyBulk, n)); err != nil {
			return err
		}
	}
	g.Step.Made, g.Step.Closed, g.Tar, g.Status, g.Ended = n, true, "out.tar", jjm.Done, now
	g.Counts[jjm.Completed] = n
	if err := s.Update(ctx, func(tx *store.Tx) error { return tx.SaveGrid(g) }); err != nil {
		return err
	}
	for more, err := true, error(nil); more; {
		if more, err = s.Archive(ctx, g.ID, historyChunk); err != nil {
			return err
		}
	}
	return nil
}

// oldLocal returns a running local job, because only a submitted local job can complete.
func oldLocal(g jjm.GridID, n int) jjm.LocalJob {
	return jjm.LocalJob{
		ID:   jjm.LocalID{Grid: g, N: int32(n)},
		Part: jjm.Part{Unit: jjm.UnitEvent, First: int64(n) * 250, Count: 250, Serial: int64(n) + 1}, Exit: -1,
		State: jjm.Running,
	}
}

// bulk submits local jobs and ends them with success, with the evidence of a wrapper.
func (h *historian) bulk(ctx context.Context, s *store.Store, g *jjm.GridJob, from, to int) error {
	tag, err := jjm.NewTag(s.Nonce())
	if err != nil {
		return err
	}
	now := jjm.At(time.Now())
	b := &jjm.Bulk{Tag: tag, Cluster: "sim", Owner: g.Owner, Created: now, State: jjm.BulkReleased, ID: "sim1",
		Settled: now}
	var locals []*jjm.LocalJob
	var ends []store.AttemptEnd
	for n := from; n < to; n++ {
		l := oldLocal(g.ID, n)
		l.State, l.Tag, l.Pos, l.BatchID, l.Host, l.Exit = jjm.Completed, tag, int32(n-from), "sim1_1", "simhost", 0
		l.Submitted, l.Started, l.Ended = now, now, now
		locals = append(locals, &l)
		b.Members = append(b.Members, l.AttemptID())
		ends = append(ends, store.AttemptEnd{ID: l.AttemptID(), Ended: now,
			Evidence: jjm.Evidence{Result: &jjm.Result{Version: 1, Tag: tag, Pos: l.Pos, Grid: g.ID, Local: l.ID.N,
				Started: now, Ended: now, WallMS: 1000, UserMS: 1000, RSSKB: 100 << 10,
				GLF: "2026-01-01T00:00:00Z INFO start\n2026-01-01T00:00:00Z SUCCEEDED -\n2026-01-01T00:00:00Z INFO end 0\n"}},
			Verdict: jjm.Verdict{Level: "USER", Action: jjm.Complete}})
	}
	return s.Update(ctx, func(tx *store.Tx) error {
		if err := tx.InsertBulk(b); err != nil {
			return err
		}
		b.State = jjm.BulkClosed
		return errors.Join(tx.EndAttempts(ends), tx.SaveLocals(locals), tx.SaveBulk(b),
			tx.Journal(jjm.JournalEntry{Time: now, Grid: g.ID, First: int32(from), Last: int32(to - 1), From: "running",
				To: "completed", Source: "bench"}))
	})
}

// buildHistory starts a child that fills a store with finished local jobs.
func (b *bench) buildHistory(path string, jobs int) error {
	began := time.Now()
	c, err := b.child("history")
	if err != nil {
		return err
	}
	err = c.ask("build", historyArgs{Path: path, Jobs: jobs}, nil)
	_, cerr := c.close()
	b.say("  %d finished local jobs in the store, after %.1f s", jobs, time.Since(began).Seconds())
	return errors.Join(err, cerr)
}
