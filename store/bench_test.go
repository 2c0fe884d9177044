package store

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"jjm"
)

func BenchmarkInsertLocals100k(b *testing.B) {
	for b.Loop() {
		s := open(b, filepath.Join(b.TempDir(), "jjm.db"))
		fill(b, s, 100_000, 5_000)
		s.Close()
	}
}

// busy fills a store with 100 000 live local jobs in bulks of 1 000.
func busy(b *testing.B, s *Store) *jjm.GridJob {
	b.Helper()
	g := fill(b, s, 100_000, 5_000)
	for i := range 100 {
		submit(b, s, g.ID, jjm.Tag("jaaaa"+string(rune('a'+i/10))+string(rune('a'+i%10))), i*1000, i*1000+999)
	}
	return g
}

func BenchmarkSaveLocals1000of100k(b *testing.B) { benchSave(b, fresh(b)) }

func benchSave(b *testing.B, s *Store) {
	g := busy(b, s)
	ls := make([]jjm.LocalJob, 1000)
	changed := make([]*jjm.LocalJob, len(ls))
	round := 0
	for b.Loop() {
		round++
		for i := range ls {
			ls[i] = sampleLocal(g.ID, (i*97+round)%100_000)
			ls[i].State, ls[i].Phase, ls[i].Tag, ls[i].BatchID = jjm.Submitted, jjm.Queued, "jaaaabbbbbbbbbb", "4711_12"
			ls[i].Host, ls[i].Submitted = "node17.example.org", jjm.Time(round)
			changed[i] = &ls[i]
		}
		update(b, s, func(tx *Tx) error {
			return errors.Join(tx.SaveLocals(changed), tx.Journal(jjm.JournalEntry{Grid: g.ID, Last: 999, To: "submitted"}))
		})
	}
}

func BenchmarkEndAttempts1000(b *testing.B) {
	s := fresh(b)
	g := busy(b, s)
	ends, next := make([]AttemptEnd, 1000), 0
	for b.Loop() {
		if next == 100_000 {
			b.Fatal("no attempts left: use -benchtime 50x")
		}
		for i := range ends {
			ends[i] = sampleEnd(jjm.AttemptID{LocalID: jjm.LocalID{Grid: g.ID, N: int32(next)}})
			next++
		}
		update(b, s, func(tx *Tx) error { return tx.EndAttempts(ends) })
	}
}

func BenchmarkStart100kLive(b *testing.B) {
	path := filepath.Join(b.TempDir(), "jjm.db")
	s := open(b, path)
	busy(b, s)
	s.Close()
	benchStart(b, path)
}

func benchStart(b *testing.B, path string) {
	for b.Loop() {
		s := open(b, path)
		live, err := s.Live(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		ls := make([]jjm.LocalJob, 0, 100_000)
		err = s.LiveLocals(context.Background(), func(l jjm.LocalJob) error {
			ls = append(ls, l)
			return nil
		})
		if err != nil || len(live.Bulks) != 100 || len(ls) != 100_000 {
			b.Fatal(len(live.Bulks), len(ls), err)
		}
		s.Close()
	}
}

// million makes a store with 1 000 000 archived local jobs beside the live
// ones.
func million(b *testing.B) string {
	path := filepath.Join(b.TempDir(), "jjm.db")
	s := open(b, path)
	for i := range 10 {
		g := fill(b, s, 100_000, 10_000)
		finish(b, s, submit(b, s, g.ID, jjm.Tag("jzzzz"+string(rune('a'+i))), 0, 99_999))
		complete(b, s, g)
		archive(b, s, g.ID, 10_000)
	}
	s.Close()
	return path
}

func Benchmark1MArchived(b *testing.B) {
	path := million(b)
	s := open(b, path)
	b.Run("SaveLocals1000of100k", func(b *testing.B) { benchSave(b, s) })
	s.Close()
	b.Run("Start100kLive", func(b *testing.B) { benchStart(b, path) })
	s = open(b, path)
	z, err := s.Size(context.Background())
	b.Log(z, err)
	b.Run("Archive5000", func(b *testing.B) {
		g := fill(b, s, 100_000, 5_000)
		finish(b, s, submit(b, s, g.ID, "jyyyy", 0, 99_999))
		complete(b, s, g)
		for b.Loop() {
			if more, err := s.Archive(context.Background(), g.ID, 5_000); err != nil || !more {
				b.Fatal("use -benchtime 10x", more, err)
			}
		}
	})
}
