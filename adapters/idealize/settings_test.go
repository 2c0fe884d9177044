package idealize_test

import (
	"testing"
	"time"

	"jjm/adapters/idealize"
	"jjm/internal/jjm"
)

// The test tries each setting with two values, on a batch system that hangs or is down.
func TestSettings_EachDoesWhatItSays(t *testing.T) {
	long := func(d time.Duration) jjm.Duration { return jjm.Duration(d) }
	hangs := func() *scripted { return &scripted{play: always(time.Hour, nil)} }
	lasts := func(t *testing.T, s *scripted, c idealize.Config) time.Duration {
		a := idealize.Wrap(s, c, idealize.Deps{})
		began := time.Now()
		_ = ask(t.Context(), a, idealize.List, "")
		return time.Since(began) // figure: fake time
	}
	for _, d := range []time.Duration{7 * time.Second, 2 * time.Minute} {
		inBubble(t, func(t *testing.T) {
			c := settings(func(c *idealize.Config) { c.Command, c.RetryFor = long(d), 0 })
			if got := lasts(t, hangs(), c); got != d {
				t.Errorf("command = %v: one that hangs lasts %v", d, got)
			}
		})
		inBubble(t, func(t *testing.T) {
			c := settings(func(c *idealize.Config) { c.RetryFor, c.BreakerFailures = long(d), 0 })
			got := lasts(t, &scripted{play: always(0, errBusy)}, c)
			if got < d/2 || got > d {
				t.Errorf("retry_for = %v: tried for %v", d, got)
			}
		})
	}
	for _, n := range []int{2, 6} {
		inBubble(t, func(t *testing.T) {
			s := hangs()
			a := idealize.Wrap(s, settings(func(c *idealize.Config) { c.ParallelCommands, c.BreakerFailures = n, 0 }),
				idealize.Deps{})
			for i := range 10 { // once for each of ten accounts
				go func() { _ = ask(by(t.Context(), as(i)), a, idealize.Submit, "t") }()
			}
			time.Sleep(time.Second)
			s.mu.Lock()
			if s.running != n-1 {
				t.Errorf("parallel_commands = %d: %d submissions run at once, want one place kept", n, s.running)
			}
			s.mu.Unlock()
			time.Sleep(time.Hour)
		})
		inBubble(t, func(t *testing.T) {
			s := &scripted{play: always(0, errBusy)}
			a := idealize.Wrap(s, settings(func(c *idealize.Config) { c.BreakerFailures, c.RetryFor = n, 0 }), idealize.Deps{})
			for range 20 {
				_ = ask(t.Context(), a, idealize.List, "")
			}
			if got := len(s.ran()); got != n {
				t.Errorf("breaker_failures = %d: %d commands were sent", n, got)
			}
		})
	}
	for _, d := range []time.Duration{5 * time.Second, time.Minute} {
		inBubble(t, func(t *testing.T) {
			s := &scripted{play: always(0, errBusy)}
			a := idealize.Wrap(s, settings(func(c *idealize.Config) {
				c.BreakerWait, c.BreakerWaitMax, c.BreakerFailures, c.RetryFor = long(d), long(2*d), 1, 0
			}), idealize.Deps{})
			_ = ask(t.Context(), a, idealize.List, "")
			if got := time.Until(status(a).Breaker.NextProbe); got.Round(time.Second) != d {
				t.Errorf("breaker_wait = %v: the next probe is in %v", d, got)
			}
			for range 3 {
				time.Sleep(time.Until(status(a).Breaker.NextProbe))
				_ = ask(t.Context(), a, idealize.List, "")
			}
			if got := time.Until(status(a).Breaker.NextProbe); got.Round(time.Second) != 2*d {
				t.Errorf("breaker_wait_max = %v: the next probe is in %v", 2*d, got)
			}
		})
	}
}
