package pbs

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// line is the queue of callers for the same listing. While a listing runs, all new callers wait for the next listing
// and share its answer, because the running listing may lack a job that was submitted before they called.
type line struct {
	running, next *round
	began         time.Time // time at which the latest listing began
}

// round is one listing and its result.
type round struct {
	over   chan struct{} // closed when the listing ends
	shared int           // number of other callers that wait for the listing
	// void is set if the sharing callers must not use the listing: its own caller gave up, or the account that ran it
	// has trouble.
	void bool
	raws []raw
	err  error
}

// shareListing calls list to list everything, or waits for a listing that begins after the call. Listings that confirm
// a cancel are shared only among cancels, because they may use more ports.
//
// A listing that accounts share runs in the daemon's own account. An account can change the output of its own
// processes, and would otherwise change the listings of the other accounts.
func (a *Adapter) shareListing(ctx context.Context, why purpose, argv []string,
	list func(context.Context) ([]raw, error)) ([]raw, error) {
	if a.accountsShare() {
		ctx = byDaemon(ctx)
	}
	l := a.lineFor(ctx, why, argv)
	for {
		a.mu.Lock()
		r := l.next
		leads := r == nil
		if leads {
			r = &round{over: make(chan struct{})}
			l.next = r
		} else {
			r.shared++
		}
		a.mu.Unlock()
		if leads {
			a.lead(ctx, l, r, why, argv, list)
			return r.raws, r.err
		}
		select {
		case <-r.over:
		case <-ctx.Done():
			return nil, notSent("wait for a listing that others asked for too: %w", jjm.Plainly(context.Cause(ctx)))
		}
		if !r.void {
			return r.raws, r.err
		}
	}
}

// accountsShare reports whether the server shows all jobs to all accounts.
func (a *Adapter) accountsShare() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.limits.everybody
}

// byDaemon returns ctx for a command of the daemon's own account.
func byDaemon(ctx context.Context) context.Context {
	if run.UID(ctx) == os.Geteuid() {
		return ctx
	}
	return run.WithRunner(ctx, nil)
}

// lineFor returns the queue for a command of the account in ctx.
func (a *Adapter) lineFor(ctx context.Context, why purpose, argv []string) *line {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := fmt.Sprint(why, " ", strings.Join(argv, " "), " as ", run.UID(ctx))
	if a.lines[key] == nil {
		a.lines[key] = &line{}
	}
	return a.lines[key]
}

// lead runs the listing of a round.
func (a *Adapter) lead(ctx context.Context, l *line, r *round, why purpose, argv []string,
	list func(context.Context) ([]raw, error)) {
	r.void = true // remains set if list panics
	begun := false
	defer func() {
		a.mu.Lock()
		if begun {
			l.running = nil
		} else {
			l.next = nil
		}
		a.mu.Unlock()
		close(r.over)
	}()
	if r.err = a.listingTurn(ctx, l, why, argv); r.err != nil {
		r.void = ctx.Err() != nil
		return
	}
	a.mu.Lock()
	l.running, l.next, l.began, begun = r, nil, a.pace.now(), true
	a.mu.Unlock()
	r.raws, r.err = list(ctx)
	r.void = r.err != nil && (ctx.Err() != nil || run.IsRunnerError(r.err))
}

// listingTurn waits until the next listing of a queue may begin: the previous listing has ended, the listings are
// listingPause apart if many ports are in use, and the budget of ports has room.
func (a *Adapter) listingTurn(ctx context.Context, l *line, why purpose, argv []string) error {
	for {
		now := a.pace.now()
		a.mu.Lock()
		before, wait := l.running, time.Duration(0)
		if why == ordinary && a.ports.inUse(now, why) >= fewPorts && !l.began.After(now) {
			wait = listingPause - now.Sub(l.began)
		}
		a.mu.Unlock()
		switch {
		case before != nil:
			select {
			case <-before.over:
			case <-ctx.Done():
				return notSent("wait for the listing before: %w", jjm.Plainly(context.Cause(ctx)))
			}
		case wait > 0:
			if err := a.pace.pause(ctx, wait); err != nil {
				return notSent("%s: %w", argv[0], err)
			}
		default:
			return a.admit(ctx, why, argv)
		}
	}
}
