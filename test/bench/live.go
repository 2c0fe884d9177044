package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// cycle is the time to which the CPU time of live jobs refers: the default of engine.poll.
const cycle = 10 * time.Second

// The targets of a site with 100 000 live local jobs.
const (
	cycleCPU   = 20  // times the CPU of reading a plain listing
	peakMemory = 400 // MB
	restartMS  = 3000
)

// filled holds the grid job of a filled site, and how long it took to start its local jobs.
type filled struct {
	Grid    jjm.GridID
	Seconds float64
}

// fill submits Live local jobs, which all run, and a fifth more, each of which waits until a running local job ends. It
// returns when all records are written.
func (s *site) fill(ctx context.Context) (filled, error) {
	began := time.Now()
	grid, err := s.submit(ctx, s.args.Live)
	if err != nil {
		return filled{}, err
	}
	s.grid = grid
	queue, err := s.submit(ctx, max(s.args.Live/5, 10))
	if err != nil {
		return filled{}, err
	}
	err = until(ctx, "all local jobs run", 5*time.Minute, func() (bool, error) {
		a, err := s.counts(ctx, grid)
		b, berr := s.counts(ctx, queue)
		if err != nil || berr != nil {
			return false, fmt.Errorf("%w %w", err, berr)
		}
		started := 0
		for _, n := range []wire.Counts{a, b} {
			started += n.Running + n.Completing + n.Completed
		}
		return started >= s.args.Live, nil
	})
	if err != nil {
		return filled{}, err
	}
	took := time.Since(began)
	// The records of the start are published meanwhile. Afterwards only the ordinary work of the cycles remains.
	time.Sleep(s.args.Quiet)
	return filled{grid, took.Seconds()}, nil
}

// cycles holds what the live jobs cost during one measurement.
type cycles struct {
	Seconds float64
	// CPU is the CPU time of the engine with everything that it uses, including the listings. Listing is the part of CPU
	// that the simulation used for listings. Playing is the CPU time of the simulated jobs and wrappers, which is not
	// included in CPU. All are in milliseconds.
	CPU, Listing, Playing float64
	Listings              int
	// Plain is the CPU time that a plain program needs to read one listing of the same number of jobs.
	Plain  float64
	Ended  int // local jobs that completed meanwhile
	PeakMB float64
}

// per converts a total to a figure per cycle.
func (c cycles) per(total float64) float64 { return total / c.Seconds * cycle.Seconds() }

// cycles measures the cost of the live jobs during the time while.
func (s *site) cycles(ctx context.Context, while time.Duration) (c cycles, err error) {
	completed, err := s.completed(ctx)
	if err != nil {
		return c, err
	}
	calls := s.player.sim.Calls()
	began, cpu := time.Now(), processCPU()
	playing, listing := s.player.spent(), s.cluster.listing.Load()
	err = profiled(fmt.Sprintf("cycles-%d", s.args.Live), func() error {
		time.Sleep(while)
		return nil
	})
	if err != nil {
		return c, err
	}
	played := s.player.spent() - playing
	c.Seconds, c.CPU, c.Playing = time.Since(began).Seconds(), ms(processCPU()-cpu-played), ms(played)
	c.Listing = ms(time.Duration(s.cluster.listing.Load() - listing))
	c.Listings = s.player.sim.Calls().Lists - calls.Lists
	now, err := s.completed(ctx)
	if err != nil {
		return c, err
	}
	c.Ended = now - completed
	c.PeakMB, err = peakMB("self") // measured before the plain listing, which takes much memory
	c.Plain = ms(plainListing(s.args.Live))
	return c, err
}

// completed returns the number of completed local jobs of all grid jobs.
func (s *site) completed(ctx context.Context) (int, error) {
	states, err := serve.Ask(ctx, s.engine.Verbs(), wire.VerbList(), s.caller, wire.ListRequest{})
	n := 0
	for _, st := range states.Status {
		n += st.Lookup.Counts.Completed
	}
	return n, err
}

// restarted holds how long a new daemon takes until it answers.
type restarted struct{ WallMS, CPUMS float64 }

// restart opens the store and everything that uses it, and sends one lookup through the server.
func (s *site) restart(ctx context.Context) (r restarted, err error) {
	runtime.GC() // garbage of the previous daemon must not count
	began, cpu, playing := time.Now(), processCPU(), s.player.spent()
	err = profiled(fmt.Sprintf("restart-%d", s.args.Live), func() error {
		if s.daemon, err = s.open(ctx, s.args.Dir); err != nil {
			return err
		}
		c := client.Client{Socket: filepath.Join(s.args.Dir, "jjm.sock")}
		a, err := client.Call(ctx, &c, wire.VerbLookup(), wire.LookupRequest{Many: wire.Refs(s.grid.String())})
		if err != nil {
			return err
		}
		if len(a.Lookup) == 1 {
			return a.Lookup[0].Error.Err()
		}
		return nil
	})
	return restarted{ms(time.Since(began)), ms(processCPU() - cpu - (s.player.spent() - playing))}, err
}

// live measures what the live local jobs of sites cost, for sites of all sizes.
func (b *bench) live() error {
	large, err := b.measureSite(b.size.live, 0)
	if err != nil {
		return err
	}
	b.tellLarge(large)
	all := []measured{}
	for _, n := range b.size.linear {
		m, err := b.measureSite(n, 0)
		if err != nil {
			return err
		}
		all = append(all, m)
	}
	b.tellLinear(append(all, large))
	old, err := b.measureSite(b.size.live, b.size.history)
	if err != nil {
		return err
	}
	b.tellHistory(large, old)
	return nil
}

// measured holds all figures about one site.
type measured struct {
	live     int
	cycles   cycles
	restarts []restarted
	lookups  []float64 // ms
}

func (b *bench) measureSite(live, history int) (m measured, err error) {
	defer b.closeSites()
	m.live = live
	s, err := b.site(live, history)
	if err != nil {
		return m, err
	}
	if err := s.ask("cycles", b.size.watch, &m.cycles); err != nil {
		return m, err
	}
	if live < b.size.live {
		return m, nil
	}
	if m.lookups, err = b.timeLookups(s); err != nil {
		return m, err
	}
	for range b.size.rounds {
		var r restarted
		if err := s.ask("stop", nil, nil); err != nil {
			return m, err
		}
		if err := s.ask("start", nil, &r); err != nil {
			return m, err
		}
		m.restarts = append(m.restarts, r)
	}
	return m, nil
}

func (m measured) restart() (wall, cpu float64) {
	var walls, cpus []float64
	for _, r := range m.restarts {
		walls, cpus = append(walls, r.WallMS), append(cpus, r.CPUMS)
	}
	return median(walls), median(cpus)
}

func (b *bench) tellLarge(m measured) {
	c := m.cycles
	name := fmt.Sprintf("%d live: ", m.live)
	b.beside("live", name+"CPU per cycle of 10 s", c.per(c.CPU), "ms", "a plain listing", c.Plain, cycleCPU)
	b.tell("live", name+"of it, the simulation's listing", c.per(c.Listing), "ms")
	b.tell("live", name+"not in it: jobs and wrappers", c.per(c.Playing), "ms")
	b.beside("live", name+"local jobs ended per cycle", c.per(float64(c.Ended)), "", "1 %", float64(m.live)/100, 0)
	b.target("live", name+"listings per cycle", c.per(float64(c.Listings)), "", 1)
	b.target("live", name+"peak memory, simulation included", c.PeakMB, "MB", peakMemory)
	wall, cpu := m.restart()
	b.target("live", name+"restart until the first answer", wall, "ms", restartMS)
	b.tell("live", name+"restart, CPU", cpu, "ms")
}

// tellLinear reports the CPU time per local job of each site, compared with the smallest site.
func (b *bench) tellLinear(all []measured) {
	for _, m := range all {
		per := func(m measured) float64 { return m.cycles.per(m.cycles.CPU) / float64(m.live) * 1000 }
		name := fmt.Sprintf("%d live: CPU per cycle and 1000 live", m.live)
		b.beside("live", name, per(m), "ms", fmt.Sprintf("%d live", all[0].live), per(all[0]), 1.5)
	}
}

// tellHistory compares the times of a site with finished jobs with the times of a site without finished jobs.
func (b *bench) tellHistory(without, with measured) {
	name := fmt.Sprintf("%d live, %d finished: ", with.live, b.size.history)
	compare := func(what string, figure, other float64) {
		b.beside("live", name+what, figure, "ms", "no history", other, sameLimit)
	}
	compare("CPU per cycle of 10 s", with.cycles.per(with.cycles.CPU), without.cycles.per(without.cycles.CPU))
	w0, c0 := without.restart()
	w1, c1 := with.restart()
	compare("restart until the first answer", w1, w0)
	compare("restart, CPU", c1, c0)
	compare("lookup, median", median(with.lookups), median(without.lookups))
	b.target("live", name+"lookup, 99 %", quantile(with.lookups, 0.99), "ms", lookupP99)
}

// sameLimit is the largest ratio of two figures that count as equal. Two runs of the same program may differ by this
// ratio.
const sameLimit = 1.3
