package adaptertest

import (
	"context"
	"slices"
	"sync"
	"time"

	"jjm"
	"jjm/adapters"
)

// Together makes an adapter whose listings are shared by the checks that run at
// the same time: a dozen that poll with all their might would leave a batch system
// no CPU to run the jobs they wait for. A listing is shared only by those who
// asked before it began, and there is a second between two. Other owners than the
// one given, and who comes with a context that has ended, get listings of their own.
func Together(a Shareable, owner jjm.Owner) adapters.Adapter {
	return &together{Shareable: a, owner: owner, since: time.Now().Add(-time.Minute), every: time.Second}
}

// Shareable is an adapter that serves several checks: it runs nothing of its own.
type Shareable interface {
	adapters.Adapter
	adapters.Prober
	adapters.Checker
}

type together struct {
	Shareable
	owner jjm.Owner
	since time.Time // before all checks
	every time.Duration

	making sync.Mutex // held while a listing is made
	rest   time.Time  // until when none is made

	mu   sync.Mutex // guards next
	next *listing
}

// listing is one that somebody waits for.
type listing struct {
	once sync.Once
	adapters.Listing
	err error
}

// List lists from a time before all checks, and leaves out what the caller did
// not ask for.
func (s *together) List(ctx context.Context, owner jjm.Owner, since time.Time) (adapters.Listing, error) {
	if owner != s.owner || ctx.Err() != nil {
		return s.Shareable.List(ctx, owner, since)
	}
	mine := s.join()
	s.making.Lock()
	mine.once.Do(func() {
		time.Sleep(time.Until(s.rest))
		s.leave()
		mine.Listing, mine.err = s.Shareable.List(context.WithoutCancel(ctx), owner, s.since)
		s.rest = time.Now().Add(s.every)
	})
	s.making.Unlock()
	l := mine.Listing
	l.Reports = slices.DeleteFunc(slices.Clone(l.Reports), func(r jjm.Report) bool {
		return r.State.Ended() && r.Ended != 0 && r.Ended < jjm.At(since)
	})
	return l, mine.err
}

// join returns the listing that is to begin next.
func (s *together) join() *listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = &listing{}
	}
	return s.next
}

// leave closes it: who comes now gets the one after it.
func (s *together) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = nil
}
