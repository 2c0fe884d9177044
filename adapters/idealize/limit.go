package idealize

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"jjm/adapters"
	"jjm/internal/sys/run"
)

// limit is the innermost layer. It decides whether and when a call is sent, and how long the call may take.
type limit struct {
	command time.Duration
	prober  adapters.Prober // nil if the adapter is no Prober
	turns   *turns
	observe func(Verb, time.Duration, error) // nil for no observer

	mu sync.Mutex
	// breakers are the breakers of the batch system and of its accounting, which may be down although the batch system
	// answers. witnesses decide whether failures in single accounts open these breakers.
	breakers  breakerPair
	witnesses [2]witnesses
	// accounts holds the breakers of accounts that recently received no answer.
	accounts map[int]*breakerPair
	lastTook [numVerbs]time.Duration // by verb: duration of the latest answered call
}

// Status is the state of an idealizer: its turns, its circuit breakers, and the duration of listings.
type Status struct {
	// Running is the number of calls that have a place; Waiting is the number of commands that wait for their turn.
	Running, Waiting int
	// Used is the number of commands started within the last minute; Ceiling is the largest number allowed, 0 for no
	// limit.
	Used, Ceiling int
	// Breaker and Accounting are the circuit breakers of the batch system and
	// of its accounting.
	Breaker, Accounting BreakerStatus
	// Listing is the duration of the latest successful listing.
	Listing time.Duration
}

// BreakerStatus describes a circuit breaker. Failures is the number of consecutive failures, Since the time of the
// first failure, Cause the text of the latest failure; NextProbe is zero if the breaker is closed.
type BreakerStatus struct {
	State     State
	Failures  int
	Since     time.Time
	NextProbe time.Time
	Cause     string
}

func newLimit(c Config, prober adapters.Prober) *limit {
	l := &limit{
		command: c.Command.D(), prober: prober,
		turns: &turns{places: max(c.ParallelCommands, 1), ceiling: max(c.CommandsPerMinute, 0)},
	}
	l.accounts = map[int]*breakerPair{}
	for i := range l.breakers {
		l.witnesses[i] = witnesses{}
		l.breakers[i] = breaker{limit: c.BreakerFailures, first: c.BreakerWait.D(), max: c.BreakerWaitMax.D()}
	}
	l.breakers[0].cheap = prober != nil
	return l
}

// call sends one call. If the call was not sent, the error is the reason. After trouble the Prober runs in the first
// turn, and the call itself in the next turn.
func (l *limit) call(ctx context.Context, verb Verb, do func(context.Context) error) error {
	for {
		probed, err := l.turn(ctx, verb, do)
		if !probed || err != nil {
			return err
		}
	}
}

// turn waits for one turn, and uses it for the call or for the probe before the call; probed is true for the probe. It
// checks the breaker before the wait, because a call that the breaker refuses should not wait, and again after the
// wait, because the breaker may have opened meanwhile. An error before the call's own command is marked with
// adapters.NotStarted.
func (l *limit) turn(ctx context.Context, verb Verb, do func(context.Context) error) (probed bool, err error) {
	account := accountOf(ctx)
	if err := l.refused(verb, account); err != nil {
		return false, adapters.NotStarted(err)
	}
	if err := l.turns.acquire(ctx, verb); err != nil {
		return false, adapters.NotStarted(err)
	}
	defer l.turns.release(account)
	n, err := l.admit(verb, account)
	if err != nil {
		return false, adapters.NotStarted(err)
	}
	if n.shared == 0 || !l.probesFirst(verb) {
		return false, l.run(ctx, verb, n, do)
	}
	if err := l.run(run.WithRunner(ctx, nil), Probe, n, l.prober.Probe); err != nil { // runs in the daemon's account
		return true, adapters.NotStarted(&openError{cause: err.Error(), asked: true})
	}
	return true, nil
}

// run runs one call within its deadline and passes its outcome to the breakers.
func (l *limit) run(ctx context.Context, verb Verb, n probes, do func(context.Context) error) error {
	seen := healthUnknown // remains if do panics
	var err error
	began := time.Now()
	defer func() {
		took := time.Since(began)
		if l.observe != nil {
			l.observe(verb, took, err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.note(began, verb, accountOf(ctx), n, seen, err)
		if seen == responded {
			l.lastTook[verb] = took
		}
	}()
	s, end := newSpan(ctx, l.command)
	defer end()
	err = do(adapters.WithTurns(s, l.nextTurn(s, verb == Control)))
	seen = healthOf(ctx, verb, err)
	return err
}

// nextTurn returns the wait function for the commands of one call. The first command uses the turn that the call
// already has. Every later command waits for its own turn; the call's deadline is paused meanwhile.
func (l *limit) nextTurn(s *span, urgent bool) func(context.Context) error {
	var hadFirst atomic.Bool
	return func(ctx context.Context) error {
		if !hadFirst.Swap(true) {
			return nil
		}
		s.pause()
		defer s.resume()
		return l.turns.acquireNext(ctx, urgent)
	}
}

func (l *limit) status() Status {
	s := l.turns.status()
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Breaker, s.Accounting = l.breakers[0].status(), l.breakers[1].status()
	s.Listing = l.lastTook[List]
	return s
}

func (b *breaker) status() BreakerStatus {
	return BreakerStatus{State: b.state, Failures: b.failures, Since: b.since, NextProbe: b.next, Cause: b.cause}
}

func (l *limit) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.breakers {
		l.breakers[i].reset()
		clear(l.witnesses[i])
	}
	clear(l.accounts)
}
