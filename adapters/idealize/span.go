package idealize

import (
	"context"
	"sync"
	"time"
)

// span is the context of one call. It ends with the caller's, or when the time
// for its commands is up. That clock stands still while one of them waits for
// its turn, which no context of the standard library can.
type span struct {
	context.Context // the caller's
	done            chan struct{}

	mu      sync.Mutex
	err     error
	waiting int           // commands that wait; the clock stands unless it is 0
	left    time.Duration // of the clock, while it stands
	until   time.Time     // its end, while it runs; zero: it never ends
	timer   *time.Timer   // nil: it never ends
}

// newSpan begins a call. The time for its commands is without bound where limit
// is not above 0. Whoever calls it calls end.
func newSpan(ctx context.Context, limit time.Duration) (s *span, end func()) {
	s = &span{Context: ctx, done: make(chan struct{})}
	if limit > 0 {
		s.mu.Lock() // the timer may fire before it is assigned
		s.until = time.Now().Add(limit)
		s.timer = time.AfterFunc(limit, func() { s.finish(context.DeadlineExceeded) })
		s.mu.Unlock()
	}
	stop := context.AfterFunc(ctx, func() { s.finish(ctx.Err()) })
	return s, func() {
		stop()
		s.finish(context.Canceled)
	}
}

// Done is closed at the end.
func (s *span) Done() <-chan struct{} { return s.done }

// Err says why it ended.
func (s *span) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Deadline is the nearer one of the caller's and, while the clock runs, its own.
func (s *span) Deadline() (time.Time, bool) {
	end, bound := s.Context.Deadline()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until.IsZero() || bound && end.Before(s.until) {
		return end, bound
	}
	return s.until, true
}

func (s *span) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.err = err
	close(s.done)
	if s.timer != nil {
		s.timer.Stop()
	}
}

// pause stops the clock until resume has been called as often.
func (s *span) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting++; s.waiting > 1 || s.timer == nil || !s.timer.Stop() {
		return
	}
	s.left, s.until = time.Until(s.until), time.Time{}
}

func (s *span) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting--; s.waiting > 0 || s.timer == nil || s.err != nil || !s.until.IsZero() {
		return
	}
	s.until = time.Now().Add(s.left)
	s.timer.Reset(s.left)
}
