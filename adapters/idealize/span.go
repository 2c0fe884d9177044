package idealize

import (
	"context"
	"sync"
	"time"
)

// span is the context of one call. It ends with the caller's context, or when the time for the call's commands is used
// up. The clock for that time can be paused while a command waits for its turn, which contexts of the standard library
// do not offer.
type span struct {
	context.Context // the caller's context
	done            chan struct{}

	mu      sync.Mutex
	err     error
	waiting int           // number of commands that wait for a turn; the clock is paused if it is above 0
	left    time.Duration // remaining time while the clock is paused
	until   time.Time     // end of the time while the clock runs; zero for no limit
	timer   *time.Timer   // nil for no limit
}

// newSpan starts the context of a call. A limit of 0 or less means no limit. The caller must call end.
func newSpan(ctx context.Context, limit time.Duration) (s *span, end func()) {
	s = &span{Context: ctx, done: make(chan struct{})}
	if limit > 0 {
		s.mu.Lock() // the timer may fire before s.timer is assigned
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

// Done returns a channel that is closed when the call ends.
func (s *span) Done() <-chan struct{} { return s.done }

// Err returns the reason why the call ended, nil before its end.
func (s *span) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Deadline returns the nearer of the caller's deadline and the end of the running clock.
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

// pause stops the clock until resume has been called as often as pause.
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
