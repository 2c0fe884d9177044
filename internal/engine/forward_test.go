package engine_test

import (
	"sync/atomic"
	"testing"
	"time"

	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// A result that a wrapper has written waits for the next listing. Such results bring this listing forward. Even if many
// jobs end, at least a quarter of the interval passes between two listings.
func TestPolling_AResultBringsTheNextListingForward(t *testing.T) {
	t.Parallel()
	var p *polled
	clusters := func(w *world) []engine.Cluster {
		p = w.add("farm")
		return []engine.Cluster{{Kind: "sim", Adapter: p}}
	}
	const jobs = 60
	var began atomic.Int64
	life := func(n int32) time.Duration { return time.Minute + time.Duration(n)*time.Second }
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		began.CompareAndSwap(0, time.Now().UnixNano())
		return adaptertest.Play{Life: life(id.N)}
	}
	look := func(c *engineConfig) { c.Harvest = jjm.Duration(time.Second) }
	inWorld(t, options{clusters: clusters, play: play, config: look}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(jobs))
		w.running(id, jobs)
		w.pass(time.Until(time.Unix(0, began.Load()).Add(life(0))))
		before, late := p.lists.Load(), 0
		for second := range jobs {
			w.pass(time.Second)
			if w.lookup(id).Counts.Completed < second-5 {
				late++
			}
		}
		if late > 0 {
			t.Errorf("at %d of %d seconds jobs that had ended 5 s before were not known to be over", late, jobs)
		}
		if n := p.lists.Load() - before; n > jobs*4/10+2 {
			t.Errorf("%d listings in %d s: want one in 2.5 s at most", n, jobs)
		}
	})
}

// Of many long jobs, a few end in every interval. Their results do not bring a listing forward, because they can wait
// some seconds: there is one listing per interval.
func TestPolling_FewResultsOfManyJobsBringNoListingForward(t *testing.T) {
	t.Parallel()
	var p *polled
	clusters := func(w *world) []engine.Cluster {
		p = w.add("farm")
		return []engine.Cluster{{Kind: "sim", Adapter: p}}
	}
	const jobs, seconds = 1200, 120
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{Life: time.Minute + time.Duration(id.N)*time.Second}
	}
	look := func(c *engineConfig) { c.Harvest = jjm.Duration(time.Second) }
	inWorld(t, options{clusters: clusters, play: play, config: look}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(jobs))
		w.running(id, jobs)
		w.pass(2 * time.Minute)
		lists, over := p.lists.Load(), w.lookup(id).Counts.Completed
		w.pass(seconds * time.Second)
		if n := p.lists.Load() - lists; n > seconds/10+1 {
			t.Errorf("%d listings in %d s: want one in 10 s", n, seconds)
		}
		if n := w.lookup(id).Counts.Completed - over; n < seconds-20 {
			t.Errorf("%d local jobs were told to be over in %d s, in which as many ended", n, seconds)
		}
	})
}
