package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
)

// cycle is the time to which the CPU time of live jobs refers: the default of engine.poll.
const cycle = 10 * time.Second

// The targets of a site with 100 000 live local jobs. linearMost limits the CPU time per local job, as a multiple of
// the smallest site's. sameMost is the largest ratio of two figures that count as equal: two runs of the same program
// may differ by it.
const (
	cycleCPU   = 20  // times the CPU of reading a plain listing
	peakMemory = 400 // MB
	restartMS  = 3000
	linearMost = 1.5
	sameMost   = 1.3
)

// Cycles holds what the live jobs cost per cycle. CPU is the CPU time of the engine with everything that it uses,
// including the listings. Listing is the part of CPU that the simulation used for listings. Playing is the CPU time of
// the simulated jobs and wrappers, which is not included in CPU. Plain is the CPU time that a plain program needs to
// read one listing of the same number of jobs. All are in milliseconds.
type Cycles struct {
	CPU, Listing, Playing, Plain float64
	Listings                     float64
	Ended                        float64 // local jobs that completed meanwhile
	PeakMB                       float64
}

// Cycles measures the cost of the live jobs during the time while.
func (s *Site) Cycles(while time.Duration, c *Cycles) error {
	return try(func() {
		_, completed := s.started()
		calls, began, cpu := s.player.sim.Calls(), time.Now(), processCPU()
		playing, listing := s.player.spent(), s.cluster.listing.Load()
		time.Sleep(while)
		played := s.player.spent() - playing
		per := cycle.Seconds() / time.Since(began).Seconds()
		c.CPU, c.Playing = ms(processCPU()-cpu-played)*per, ms(played)*per
		c.Listing = ms(time.Duration(s.cluster.listing.Load()-listing)) * per
		c.Listings = float64(s.player.sim.Calls().Lists-calls.Lists) * per
		_, now := s.started()
		c.Ended = float64(now-completed) * per
		c.PeakMB = peakMB("self") // before the plain listing, which is large
		c.Plain = ms(plainListing(s.args.Live))
	})
}

// plainListing returns the CPU time of reading a listing of n jobs as text, and of comparing each row with the previous
// row of the same job. Every program that watches so many jobs must do this work. The time is the mean of some rounds.
func plainListing(n int) time.Duration {
	type plainRow struct {
		state, host string
		seen        int
	}
	const rounds = 10
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "%d_%d|RUNNING|node%03d|2026-11-24T02:51:06|None|0:0\n", 4711+i/1000, i%1000, i%500)
	}
	known, listing := make(map[string]plainRow, n), text.String()
	before := processCPU()
	for round := range rounds {
		for line := range strings.Lines(listing) {
			fields := strings.Split(line, "|")
			row := known[fields[0]]
			if row.state != fields[1] || row.host != fields[2] {
				row.state, row.host = fields[1], fields[2]
			}
			row.seen = round
			known[fields[0]] = row
		}
	}
	return (processCPU() - before) / rounds
}

// Restarted holds how long a new daemon takes until it answers.
type Restarted struct{ WallMS, CPUMS float64 }

// Start opens the store and everything that uses it, and sends one lookup through the server.
func (s *Site) Start(_ int, r *Restarted) error {
	return try(func() {
		runtime.GC() // garbage of the previous daemon must not count
		began, cpu, playing := time.Now(), processCPU(), s.player.spent()
		s.open()
		c := client.Client{Socket: s.socket()}
		a := must(client.Call(context.Background(), &c, wire.VerbLookup(),
			wire.LookupRequest{Many: wire.Refs(s.grid.String())}))
		check(a.Lookup[0].Error.Err())
		*r = Restarted{ms(time.Since(began)), ms(processCPU() - cpu - (s.player.spent() - playing))}
	})
}

// measured holds all figures about one site: the medians of restarts, and the lookups.
type measured struct {
	Cycles
	restart Restarted
	lookups series
}

// live measures the cost of the sites of all sizes.
func live(b *bench) {
	large := b.measureSite(b.size.live, 0)
	b.tellLarge(large)
	all := map[int]Cycles{b.size.live: large.Cycles}
	for _, n := range b.size.linear {
		b.onFilledSite(n, 0, func(on site) { all[n] = ask[Cycles](on.Client, "Site.Cycles", b.size.watch) })
	}
	least := b.size.linear[0]
	for _, n := range append(b.size.linear, b.size.live) {
		per := func(n int) float64 { return all[n].CPU / float64(n) * 1000 }
		b.beside(fmt.Sprintf("%d live: CPU per cycle and 1000 live", n), per(n), "ms", fmt.Sprintf("%d live", least),
			per(least), linearMost)
	}
	b.tellHistory(large, b.measureSite(b.size.live, b.size.history))
}

// measureSite measures cycles, lookups and restarts of one site.
func (b *bench) measureSite(live, history int) (m measured) {
	m.lookups = series{}
	b.onFilledSite(live, history, func(on site) {
		m.Cycles = ask[Cycles](on.Client, "Site.Cycles", b.size.watch)
		for range b.size.execs {
			m.lookups.add("", b.lookUp(on).wall)
		}
		s := series{}
		for range b.size.rounds {
			ask[int](on.Client, "Site.Stop", 0)
			r := ask[Restarted](on.Client, "Site.Start", 0)
			s.add("wall", r.WallMS)
			s.add("cpu", r.CPUMS)
		}
		m.restart = Restarted{s.median("wall"), s.median("cpu")}
	})
	return m
}

func (b *bench) tellLarge(m measured) {
	name := fmt.Sprintf("%d live: ", b.size.live)
	b.beside(name+"CPU per cycle of 10 s", m.CPU, "ms", "a plain listing", m.Plain, cycleCPU)
	b.tell(name+"of it, the simulation's listing", m.Listing, "ms")
	b.tell(name+"not in it: jobs and wrappers", m.Playing, "ms")
	b.beside(name+"local jobs ended per cycle", m.Ended, "", "1 %", float64(b.size.live)/100, 0)
	b.target(name+"listings per cycle", m.Listings, "", 1)
	b.target(name+"peak memory, simulation included", m.PeakMB, "MB", peakMemory)
	b.target(name+"restart until the first answer", m.restart.WallMS, "ms", restartMS)
	b.tell(name+"restart, CPU", m.restart.CPUMS, "ms")
}

// tellHistory compares the times of a site with finished jobs with the times of a site without finished jobs.
func (b *bench) tellHistory(without, with measured) {
	name := fmt.Sprintf("%d live, %d finished: ", b.size.live, b.size.history)
	compare := func(what string, figure, other float64) {
		b.beside(name+what, figure, "ms", "no history", other, sameMost)
	}
	compare("CPU per cycle of 10 s", with.CPU, without.CPU)
	compare("restart until the first answer", with.restart.WallMS, without.restart.WallMS)
	compare("restart, CPU", with.restart.CPUMS, without.restart.CPUMS)
	compare("lookup, median", with.lookups.median(""), without.lookups.median(""))
	b.target(name+"lookup, 99 %", with.lookups.quantile("", 0.99), "ms", lookupP99)
}
