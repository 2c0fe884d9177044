package conformance

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// Outcome is what became of one check.
type Outcome struct {
	Check Check
	// Failures are what was wrong; Skipped says why the check did not apply;
	// Notes are worth telling all the same.
	Failures []string
	Skipped  string
	Notes    []string
	Took     time.Duration
}

// Word is "ok", "FAILED" or "skipped".
func (o Outcome) Word() string {
	switch {
	case len(o.Failures) > 0:
		return "FAILED"
	case o.Skipped != "":
		return "skipped"
	}
	return "ok"
}

// Run runs checks without package testing. open makes the system anew for each;
// it may end the check by t.Fatalf. report is called with each
// outcome, one at a time. Run gives the number of checks that failed. When ctx
// ends, the checks that run end soon and the others fail.
func Run(ctx context.Context, checks []Check, open func(t TB) System, report func(Outcome)) (failed int) {
	var mu sync.Mutex
	Schedule(checks, func(c Check) (parallel bool) {
		o := Try(ctx, c, func(t TB) System {
			system := open(t)
			parallel = system.Parallel
			return system
		})
		mu.Lock()
		defer mu.Unlock()
		if len(o.Failures) > 0 {
			failed++
		}
		report(o)
		return parallel
	})
	return failed
}

// Try runs one check.
func Try(ctx context.Context, c Check, open func(t TB) System) Outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &probation{ctx: ctx, name: c.Name}
	began := time.Now()
	skipped := ""
	p.guard(func() {
		if err := ctx.Err(); err != nil {
			p.Fatalf("not begun: %v", err)
		}
		skipped = c.Run(p, open(p))
	})
	cancel() // as testing does, before the clean-ups
	p.clean()
	return Outcome{Check: c, Failures: p.failures, Skipped: skipped, Notes: p.notes, Took: time.Since(began)}
}

// probation is the TB of one check.
type probation struct {
	ctx  context.Context
	name string
	// hasty probations end at the first failure.
	hasty bool

	mu       sync.Mutex
	failures []string
	notes    []string
	cleanups []func()
}

// guard runs do on a goroutine of its own, which Fatalf ends, and waits
// for it. A panic is a failure.
func (p *probation) guard(do func()) {
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

// clean runs all clean-ups, the last one first.
func (p *probation) clean() {
	for p.cleanOne() {
	}
}

// cleanOne runs the last clean-up; false if there is none.
func (p *probation) cleanOne() bool {
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

func (p *probation) Name() string             { return p.name }
func (p *probation) Helper()                  {}
func (p *probation) Context() context.Context { return p.ctx }

func (p *probation) Logf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

func (p *probation) Errorf(format string, args ...any) {
	p.fail(format, args)
	if p.hasty {
		runtime.Goexit()
	}
}

func (p *probation) fail(format string, args []any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures = append(p.failures, fmt.Sprintf(format, args...))
}

func (p *probation) Fatalf(format string, args ...any) {
	p.fail(format, args)
	runtime.Goexit()
}

func (p *probation) Failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.failures) > 0
}

func (p *probation) Cleanup(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cleanups = append(p.cleanups, do)
}

func (p *probation) TempDir() string {
	dir, err := os.MkdirTemp("", "jjm-check-*")
	if err != nil {
		p.Fatalf("%v", err)
	}
	p.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
