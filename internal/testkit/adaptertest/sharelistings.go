package adaptertest

import (
	"context"
	"slices"
	"sync"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// ShareListings returns an adapter that shares listings among checks that run at the same time. Without sharing, a
// dozen checks that list continuously would leave the batch system no CPU for the jobs that the checks wait for. A
// caller gets the next listing that has not started yet. This listing starts at least a second after the end of the
// previous listing. Calls for another owner, or with a context that has ended, get a separate listing.
func ShareListings(a Shareable, owner jjm.Owner) adapters.Adapter {
	return &sharedListings{Shareable: a, owner: owner, since: time.Now().Add(-time.Minute), every: time.Second}
}

// Shareable is an adapter that several checks can use at the same time, because it does nothing in the background.
type Shareable interface {
	adapters.Adapter
	adapters.Prober
	adapters.Checker
}

// sharedListings is the adapter that ShareListings returns. owner is the owner whose listings are shared, and every the
// shortest time between two listings.
type sharedListings struct {
	Shareable
	owner jjm.Owner
	since time.Time // a time before all checks
	every time.Duration

	making    sync.Mutex // held while a listing is made
	notBefore time.Time  // when the next listing may start

	mu   sync.Mutex // guards next
	next *listing
}

// listing is a listing for which callers wait.
type listing struct {
	once sync.Once
	adapters.Listing
	err error
}

// List returns the shared listing without the jobs that ended before since. Every shared listing itself covers all ends
// since a time before all checks.
func (s *sharedListings) List(ctx context.Context, owner jjm.Owner, since time.Time) (adapters.Listing, error) {
	if owner != s.owner || ctx.Err() != nil {
		return s.Shareable.List(ctx, owner, since)
	}
	mine := s.join()
	s.making.Lock()
	mine.once.Do(func() {
		time.Sleep(time.Until(s.notBefore))
		s.close()
		mine.Listing, mine.err = s.Shareable.List(context.WithoutCancel(ctx), owner, s.since)
		s.notBefore = time.Now().Add(s.every)
	})
	s.making.Unlock()
	l := mine.Listing
	l.Reports = slices.DeleteFunc(slices.Clone(l.Reports), func(r jjm.Report) bool {
		return r.State.Ended() && r.Ended != 0 && r.Ended < jjm.At(since)
	})
	return l, mine.err
}

// join returns the next listing that has not started yet.
func (s *sharedListings) join() *listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = &listing{}
	}
	return s.next
}

// close prevents callers from joining the listing that starts now; they will join the following listing.
func (s *sharedListings) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = nil
}
