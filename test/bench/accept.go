package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"jjm/xmldb/head"
)

// The targets for the acceptance of grid jobs.
const (
	acceptMS = 50
	madeMS   = 6000
)

// accepted holds the cost of accepting one grid job.
type accepted struct {
	// SubmitMS is the time until the caller has the id. MadeMS is the time from then until all local jobs are made,
	// stored, and in the record on the disk.
	SubmitMS, MadeMS float64
	CPUMS            float64 // CPU time of the submission and of making the local jobs
	PeakMB           float64
}

// acceptOne submits a grid job of n local jobs and waits until the record has all of them. Meanwhile the engine also
// submits local jobs to the batch system.
func (s *site) acceptOne(ctx context.Context, n int) (a accepted, err error) {
	err = profiled("accept", func() error {
		began, cpu, playing := time.Now(), processCPU(), s.player.spent()
		id, err := s.submit(ctx, n)
		if err != nil {
			return err
		}
		a.SubmitMS = ms(time.Since(began))
		began = time.Now()
		dir := filepath.Join(s.args.Dir, "records")
		var seen time.Time
		err = until(ctx, "the whole record", 5*time.Minute, func() (bool, error) {
			info, err := os.Stat(head.Path(dir, id))
			if err != nil || info.ModTime().Equal(seen) {
				return false, err
			}
			seen = info.ModTime()
			h, err := head.Read(dir, id)
			// The head is written after the shards that it counts.
			return h.Jobs == n && h.Grid.Step.Closed && shards(filepath.Join(dir, id.String())) == (n+999)/1000, err
		})
		a.MadeMS, a.CPUMS = ms(time.Since(began)), ms(processCPU()-cpu-(s.player.spent()-playing))
		return err
	})
	if err == nil {
		a.PeakMB, err = peakMB("self")
	}
	return a, err
}

// shards returns the number of shards of a record.
func shards(dir string) int {
	names, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	n := 0
	for _, name := range names {
		if strings.HasPrefix(name.Name(), "jobs-") && strings.HasSuffix(name.Name(), ".xml") {
			n++
		}
	}
	return n
}

// accept measures the acceptance of small and of large grid jobs.
func (b *bench) accept() error {
	var small, large, made, cpu, peak []float64
	for range b.size.rounds {
		s, err := b.newSite(siteArgs{Idle: true})
		if err != nil {
			return err
		}
		for range 5 {
			var a accepted
			if err := s.ask("accept", 10, &a); err != nil {
				return errors.Join(err, s.close())
			}
			small = append(small, a.SubmitMS)
		}
		var a accepted
		if err := s.ask("accept", b.size.live, &a); err != nil {
			return errors.Join(err, s.close())
		}
		large, made = append(large, a.SubmitMS), append(made, a.MadeMS)
		cpu, peak = append(cpu, a.CPUMS), append(peak, a.PeakMB)
		if err := s.close(); err != nil {
			return err
		}
	}
	b.target("accept", "10 local jobs, until the id", median(small), "ms", acceptMS)
	jobs := quantity(float64(b.size.live), "local jobs, ")
	b.target("accept", jobs+"until the id", median(large), "ms", acceptMS)
	b.target("accept", jobs+"then until all are cut, stored and published", median(made), "ms", madeMS)
	b.tell("accept", jobs+"CPU of both and of their submission", median(cpu), "ms")
	b.tell("accept", jobs+"peak memory", median(peak), "MB")
	return nil
}
