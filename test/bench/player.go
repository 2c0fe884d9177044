package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/adapters/adaptertest"
	"jjm/sandbox"
)

// meanLife makes one job in a hundred end per cycle of ten seconds: lives are
// drawn from an exponential distribution, whose rate of ends is the same at any
// age.
const meanLife = 1000 * time.Second

// player lets the simulation live. The simulation's clock stands still but
// while the player moves it, so that all the work of starting and ending jobs,
// and of playing their wrappers, is done on the player's own thread, whose CPU
// time can be told from the engine's (getrusage(2), RUSAGE_THREAD).
type player struct {
	sim  *adaptertest.Sim
	area *sandbox.Area
	now  atomic.Int64 // the simulation's clock, in nanoseconds
	cpu  atomic.Int64 // of the player's thread, in nanoseconds
	rand *rand.Rand   // used by the simulation, under its lock
	over chan struct{}
}

// newPlayer makes a simulation of slots jobs at once, whose wrappers write
// below work; with idle set no job ever starts.
func newPlayer(work string, slots int, idle bool) (*player, error) {
	area, err := sandbox.OpenArea(work)
	if err != nil {
		return nil, err
	}
	p := &player{area: area, rand: rand.New(rand.NewPCG(1, 2)), over: make(chan struct{})}
	p.now.Store(time.Now().UnixNano())
	wrapper := adaptertest.InArea(area)
	wrapper.Bare = true // results and claims, no outputs
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
	return p, nil
}

// play moves the simulation ten times a second until ctx ends.
func (p *player) play(ctx context.Context) {
	defer close(p.over)
	runtime.LockOSThread() // for good: the thread ends with the goroutine
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

// metered is the simulation as the engine sees it: without hints, as a batch
// system that is asked by commands has none, and with a count of the CPU that
// its listings take.
type metered struct {
	adapters.Adapter
	listing atomic.Int64 // nanoseconds
}

// List lists on a thread of its own.
func (m *metered) List(ctx context.Context, owner jjm.Owner, since time.Time) (adapters.Listing, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadCPU()
	defer func() { m.listing.Add(int64(threadCPU() - before)) }()
	return m.Adapter.List(ctx, owner, since)
}
