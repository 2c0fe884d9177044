package conformance

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"jjm/internal/jjm"
)

// Outcome is the result of one check when no test runs it.
type Outcome struct {
	Check Check
	// Failures are the faults that the check found. Skipped is the reason why the check did not apply; NotTried is the
	// reason why it could not examine its property. Notes are remarks that are useful even if nothing is wrong.
	Failures []string
	Skipped  string
	NotTried string
	Notes    []string
	// Remedy is what an admin should do about the failures on a site.
	Remedy string
	Took   time.Duration

	// hopeless is the reason why the remaining checks cannot pass, provided that no check has seen a job start. It is ""
	// if the remaining checks may pass.
	hopeless string
}

// Word returns "ok", "FAILED", "not tried" or "not applicable".
func (o Outcome) Word() string {
	switch {
	case len(o.Failures) > 0:
		return "FAILED"
	case o.NotTried != "":
		return "not tried"
	case o.Skipped != "":
		return "not applicable"
	}
	return "ok"
}

// Sum counts the checks that failed, and the checks that have no report because they were not begun or were given up.
// Why is the reason for the missing reports.
type Sum struct {
	Failed, NotTried int
	Why              string
}

// Run runs checks without package testing. open makes a new system for each check; it may end the check by t.Fatalf.
// report is called with each outcome, never concurrently. The running checks end soon if ctx ends, if the batch system
// starts no job, or if it does not say whether it accepts jobs. In these cases neither the running nor the remaining
// checks are reported, and all of them count as not tried.
func Run(ctx context.Context, checks []Check, open func(t TB) System, report func(Outcome)) (sum Sum) {
	running, giveUp := context.WithCancel(ctx)
	defer giveUp()
	var mu sync.Mutex
	Schedule(checks, func(c Check) (parallel bool) {
		o := Try(running, c, func(t TB) System {
			system := open(t)
			parallel = system.Parallel
			return system
		})
		mu.Lock()
		defer mu.Unlock()
		if sum.Why == "" && ctx.Err() != nil {
			sum.Why = "the test was interrupted"
		}
		if len(o.Failures) > 0 && sum.Why != "" {
			sum.NotTried++
			return parallel
		}
		if len(o.Failures) > 0 {
			sum.Failed++
		}
		report(o)
		if o.hopeless != "" {
			sum.Why = o.hopeless
			giveUp()
		}
		return parallel
	})
	if sum.NotTried == 0 {
		sum.Why = ""
	}
	return sum
}

// Try runs one check and returns its outcome.
func Try(ctx context.Context, c Check, open func(t TB) System) Outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &recorder{ctx: ctx, name: c.Name}
	began := time.Now()
	skipped := ""
	var site *Site
	var patience time.Duration
	p.guard(func() {
		if err := ctx.Err(); err != nil {
			p.Fatalf("not started: %v", jjm.Plainly(err))
		}
		system := open(p)
		site, patience = system.Site, system.Patience
		skipped = c.Run(p, system)
	})
	cancel() // cancelled before the clean-ups, as in package testing
	p.clean()
	o := Outcome{Check: c, Failures: p.failures, Skipped: skipped, NotTried: p.untried, Notes: p.notes,
		Took: time.Since(began)}
	if site != nil && p.Failed() {
		o.Remedy = c.remedy(site, p.cause)
		if !site.started.Load() {
			o.hopeless = hopeless(p.cause, patience)
		}
	}
	return o
}

// hopeless returns the reason why the remaining checks cannot pass, provided that no check has seen a job start. It
// returns "" if the remaining checks may pass.
func hopeless(because cause, patience time.Duration) string {
	switch because {
	case causeWaiting:
		return "no job started within " + jjm.HowLong(patience)
	case causeDoubt:
		return "it is not known whether the batch system takes jobs"
	}
	return ""
}

// recorder implements TB for one check outside package testing.
type recorder struct {
	ctx  context.Context
	name string
	// stopAtFirst ends the check at its first failure.
	stopAtFirst bool

	mu       sync.Mutex
	cause    cause
	failures []string
	untried  string // the reason why the check was not tried; "" if it was tried
	notes    []string
	cleanups []func()
}

// guard runs do in a separate goroutine, which Fatalf may end, and waits for its end. A panic counts as a failure.
func (p *recorder) guard(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				p.fail("panic: %v\n%s", []any{v, debug.Stack()})
			}
		}()
		do()
	}()
	<-done
}

// clean runs all clean-ups, the latest first.
func (p *recorder) clean() {
	for p.cleanOne() {
	}
}

// cleanOne runs the latest clean-up; it returns false if there is none.
func (p *recorder) cleanOne() bool {
	p.mu.Lock()
	n := len(p.cleanups)
	if n == 0 {
		p.mu.Unlock()
		return false
	}
	do := p.cleanups[n-1]
	p.cleanups = p.cleanups[:n-1]
	p.mu.Unlock()
	p.guard(do)
	return true
}

func (p *recorder) Name() string             { return p.name }
func (p *recorder) Helper()                  {}
func (p *recorder) Context() context.Context { return p.ctx }

func (p *recorder) Logf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

func (p *recorder) Errorf(format string, args ...any) {
	p.fail(format, args)
	if p.stopAtFirst {
		runtime.Goexit()
	}
}

func (p *recorder) fail(format string, args []any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures = append(p.failures, fmt.Sprintf(format, args...))
}

func (p *recorder) Fatalf(format string, args ...any) {
	p.fail(format, args)
	runtime.Goexit()
}

// leave ends a check as not tried. why is the reason.
func (p *recorder) leave(why string) {
	p.mu.Lock()
	p.untried = why
	p.mu.Unlock()
	runtime.Goexit()
}

func (p *recorder) Failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.failures) > 0
}

func (p *recorder) Cleanup(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cleanups = append(p.cleanups, do)
}

func (p *recorder) TempDir() string {
	dir, err := os.MkdirTemp("", "jjm-check-*")
	if err != nil {
		p.Fatalf("%v", err)
	}
	p.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
