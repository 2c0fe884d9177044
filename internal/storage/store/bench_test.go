package store

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"jjm/internal/jjm"
)

func BenchmarkInsertLocals100k(b *testing.B) {
	for b.Loop() {
		s := open(b, filepath.Join(b.TempDir(), "jjm.db"))
		fill(b, s, 100_000, 5_000)
		s.Close()
	}
}

// busy fills a store with 100 000 live local jobs, in bulks of 1 000.
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

// million makes a store with 1 000 000 archived local jobs.
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

// filled returns a grid job that reads a closed dataset of n files, which were added in batches of 10 000.
func filled(b *testing.B, s *Store, name string, n int) *jjm.GridJob {
	b.Helper()
	id := dataset(b, s, name, 0)
	for from := 0; from < n; from += 10_000 {
		update(b, s, func(tx *Tx) error { _, err := tx.AddFiles(id, sampleFiles(from, min(10_000, n-from))); return err })
	}
	update(b, s, func(tx *Tx) error { _, err := tx.CloseDataset(id); return err })
	g := sampleGrid()
	update(b, s, func(tx *Tx) error {
		return errors.Join(tx.InsertGrid(g), tx.OpenInputs(g.ID, 0, []Reads{{Dataset: id, Master: true}}))
	})
	return g
}

// cutAll takes the files into a grid job, 20 000 at a time, and assigns them to local jobs of 10 files, 5 000 local
// jobs per transaction.
func cutAll(b *testing.B, s *Store, g *jjm.GridJob, n int) {
	b.Helper()
	for done := false; !done; {
		update(b, s, func(tx *Tx) (err error) { _, done, err = tx.NoticeFiles(g.ID, 0, 20_000); return err })
	}
	files := sampleFiles(0, n)
	for from := 0; from < n; from += 50_000 {
		var ls []jjm.LocalJob
		for at := from; at < min(n, from+50_000); at += 10 {
			var lfns []string
			for _, f := range files[at:min(at+10, n)] {
				lfns = append(lfns, f.LFN)
			}
			ls = append(ls, fileJob(g, at/10, int64(at), lfns...))
		}
		update(b, s, func(tx *Tx) error { return tx.InsertLocals(ls) })
	}
}

// endAll completes every local job, 1 000 per transaction.
func endAll(b *testing.B, s *Store, g *jjm.GridJob) {
	b.Helper()
	ls, err := s.Locals(context.Background(), g.ID, 0, -1)
	if err != nil {
		b.Fatal(err)
	}
	for from := 0; from < len(ls); from += 1000 {
		var changed []*jjm.LocalJob
		for i := from; i < min(from+1000, len(ls)); i++ {
			ls[i].State = jjm.Completed
			changed = append(changed, &ls[i])
		}
		update(b, s, func(tx *Tx) error { return errors.Join(saveEnds(tx, changed), tx.EndInputs(changed)) })
	}
}

// BenchmarkInputs measures the cost of a file from its arrival in a dataset to the end of its local job. It must not
// depend on the number of files.
func BenchmarkInputs(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				s := open(b, filepath.Join(b.TempDir(), "jjm.db"))
				began := time.Now()
				lap := func(what string) {
					b.ReportMetric(float64(time.Since(began).Nanoseconds())/float64(n), what+"-ns/file")
					began = time.Now()
				}
				g := filled(b, s, "raw", n)
				lap("add")
				cutAll(b, s, g, n)
				lap("cut")
				endAll(b, s, g)
				lap("end")
				s.Close()
			}
		})
	}
}
