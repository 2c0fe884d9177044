package idealize

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"jjm/adapters"
	"jjm/run"
)

// limit is the innermost part: it decides whether and when a command is run,
// and for how long.
type limit struct {
	command time.Duration
	prober  adapters.Prober // nil if there is none
	turns   *turns

	mu sync.Mutex
	// breakers: the batch system's own, and accounting's, which may be down
	// alone; and what opens them.
	breakers  pair
	witnesses [2]witnesses
	// accounts are the breakers of accounts that got no answer lately.
	accounts map[int]*pair
	last     [numVerbs]time.Duration // how long the last command took
}

// Status tells how an idealizer sees its batch system. Times are zero where
// nothing of the kind is so.
type Status struct {
	// Running is how many calls are at it, Waiting how many commands wait for
	// their turn.
	Running, Waiting int
	// Used is how many commands were begun within the last minute; Ceiling the
	// most there may be, 0 = no ceiling.
	Used, Ceiling int
	// Breaker and Accounting are the circuit breakers of the batch system and
	// of its accounting.
	Breaker, Accounting BreakerStatus
	// Listing is how long the last listing took that was answered.
	Listing time.Duration
}

// BreakerStatus tells of a circuit breaker: the failures in a row, since when,
// and why the last one failed. NextProbe is set unless it is closed.
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
	l.accounts = map[int]*pair{}
	for i := range l.breakers {
		l.witnesses[i] = witnesses{}
		l.breakers[i] = breaker{limit: c.BreakerFailures, first: c.BreakerWait.D(), max: c.BreakerWaitMax.D()}
	}
	l.breakers[0].cheap = prober != nil
	return l
}

// call runs one command, or says why not. After trouble a probe takes the first
// turn, where there is one, and the command another.
func (l *limit) call(ctx context.Context, verb Verb, do func(context.Context) error) error {
	for {
		probed, err := l.turn(ctx, verb, do)
		if !probed || err != nil {
			return err
		}
	}
}

// turn takes one turn, for the command or for a probe that comes before it. The
// breaker is asked before the wait for the turn, so that nobody waits for
// nothing, and after it, since it may have opened meanwhile.
func (l *limit) turn(ctx context.Context, verb Verb, do func(context.Context) error) (probed bool, err error) {
	account := accountOf(ctx)
	if err := l.refused(verb, account); err != nil {
		return false, err
	}
	if err := l.turns.take(ctx, verb == Control); err != nil {
		return false, err
	}
	defer l.turns.give(account)
	n, err := l.admit(verb, account)
	if err != nil {
		return false, err
	}
	if n.shared == 0 || !l.asksFirst(verb) {
		return false, l.run(ctx, verb, n, do)
	}
	if err := l.run(run.Through(ctx, nil), Probe, n, l.prober.Probe); err != nil { // as the daemon, whoever calls
		return true, &openError{cause: err.Error(), asked: true}
	}
	return true, nil
}

// run runs one command within its deadline and notes what it tells.
func (l *limit) run(ctx context.Context, verb Verb, n probes, do func(context.Context) error) error {
	told := unsaid // of a panic
	var err error
	began := time.Now()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.note(verb, accountOf(ctx), n, told, err)
		if told == answer {
			l.last[verb] = time.Since(began)
		}
	}()
	s, end := newSpan(ctx, l.command)
	defer end()
	err = do(adapters.WithTurns(s, l.further(s, verb == Control)))
	told = hear(ctx, verb, err)
	return err
}

// further lets the commands of one call after the first, which had its turn,
// wait for theirs. That is none of the call's time.
func (l *limit) further(s *span, urgent bool) func(context.Context) error {
	var begun atomic.Bool
	return func(ctx context.Context) error {
		if !begun.Swap(true) {
			return nil
		}
		s.pause()
		defer s.resume()
		return l.turns.more(ctx, urgent)
	}
}

func (l *limit) status() Status {
	s := l.turns.state()
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Breaker, s.Accounting = l.breakers[0].status(), l.breakers[1].status()
	s.Listing = l.last[List]
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
