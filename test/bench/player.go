package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/sandbox"
)

// meanLife is the mean lifetime of a job. With this value one job in a hundred ends in each cycle of ten seconds. The
// lifetimes have an exponential distribution, so that the rate of ends does not depend on the age of the jobs.
const meanLife = 1000 * time.Second

// player moves the clock of the simulation. The clock moves only in calls of the player, so the player's thread does
// all work of starting and ending jobs and of simulating their wrappers. The CPU time of this thread can therefore be
// separated from the engine's CPU time (getrusage(2), RUSAGE_THREAD).
type player struct {
	sim  *adaptertest.Sim
	area *sandbox.Area
	now  atomic.Int64 // the simulation's clock, in nanoseconds
	cpu  atomic.Int64 // CPU time of the player's thread, in nanoseconds
	rand *rand.Rand   // guarded by the simulation's lock
	over chan struct{}
}

// newPlayer returns a simulation with slots for running jobs, whose wrappers write below work. If idle is set, no job
// ever starts.
func newPlayer(work string, slots int, idle bool) *player {
	area := must(sandbox.OpenArea(work))
	p := &player{area: area, rand: rand.New(rand.NewPCG(1, 2)), over: make(chan struct{})}
	p.now.Store(time.Now().UnixNano())
	wrapper := adaptertest.InArea(area)
	wrapper.Bare = true // writes results and claims, but no outputs
	wait := 100 * time.Millisecond
	if idle {
		wait = 1000 * time.Hour
	}
	p.sim = adaptertest.NewSim(adaptertest.SimConfig{
		Now: func() time.Time { return time.Unix(0, p.now.Load()) }, Slots: slots, Wait: wait, Wrapper: wrapper,
		Play: func(adaptertest.SimJob) adaptertest.Play {
			return adaptertest.Play{Data: "-", Life: time.Duration(p.rand.ExpFloat64() * float64(meanLife))}
		},
	})
	return p
}

// play moves the simulation ten times a second until ctx ends.
func (p *player) play(ctx context.Context) {
	defer close(p.over)
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			p.now.Store(now.UnixNano())
			p.sim.Step()
			p.cpu.Store(int64(threadCPU()))
		}
	}
}

func (p *player) spent() time.Duration { return time.Duration(p.cpu.Load()) }

// metered is the simulation as the engine sees it. It counts the CPU time of its listings. It offers no hints, like a
// batch system that is used by commands.
type metered struct {
	adapters.Adapter
	listing atomic.Int64 // nanoseconds
}

// List makes the listing on a separate thread, to measure its CPU time.
func (m *metered) List(ctx context.Context, owner jjm.Owner, since time.Time) (adapters.Listing, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadCPU()
	defer func() { m.listing.Add(int64(threadCPU() - before)) }()
	return m.Adapter.List(ctx, owner, since)
}
