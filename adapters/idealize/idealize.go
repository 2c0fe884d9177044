// Package idealize is a layer between the engine and the adapter of a batch system that may be slow, busy, frozen or
// down. To the engine the batch system then looks ideal: its calls end in time, failures of a few seconds are hidden,
// and a system in trouble receives no commands except probes until it answers again.
//
// The package consists of the layers Retry(Log(Limit(adapter))). Each layer treats all verbs alike:
//
//	Limit   places, a ceiling on commands per minute, a deadline for each call,
//	        and a circuit breaker; the innermost layer, because a call that backs off
//	        must not occupy a place
//	Log     logs each call at debug level, and trouble once when it starts and once when it
//	        ends
//	Retry   repeats, for seconds only, calls that may be done twice or certainly did
//	        nothing: a submission with an unknown outcome is never repeated
//
// Package plan decides what a missing job means, and what to do about a submission with an unknown outcome.
package idealize

import (
	"context"
	"io"
	"log/slog"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Verb is a kind of call to the batch system.
type Verb uint8

// The verbs, one for each method that sends a request to the batch system.
const (
	Submit Verb = iota
	List
	Find
	Account
	Control
	Probe
	numVerbs
)

// Verbs returns all verbs.
func Verbs() []Verb { return []Verb{Submit, List, Find, Account, Control, Probe} }

func (v Verb) String() string {
	return [numVerbs]string{"submit", "list", "find", "account", "control", "probe"}[v]
}

// call carries out one call of a verb. do runs the adapter's method; call may run do several times, or not at all.
type call func(ctx context.Context, verb Verb, do func(context.Context) error) error

// Deps are the dependencies of an idealizer.
type Deps struct {
	// Log receives trouble and, at debug, each call; nil discards both.
	Log *slog.Logger
	// Observe is called after each call that was sent, with its duration and error; nil means no observer. If a call is
	// retried, Observe is called each time. Observe must not block.
	Observe func(verb Verb, took time.Duration, err error)
}

// Adapter is an idealized adapter. It has the optional interfaces of the inner adapter. If the inner adapter lacks an
// interface, Run only waits for the end of its context, Changed returns a nil channel, Check is adapters.PlainOnly,
// UnknownHosts returns no hosts, MaxBulkOf returns 0, Diagnosis returns "", and Close does nothing. It is an
// [adapters.Prober] only if the inner adapter is one.
type Adapter struct {
	inner adapters.Adapter
	limit *limit
	call  call
}

var (
	_ adapters.Adapter     = (*Adapter)(nil)
	_ adapters.Runner      = (*Adapter)(nil)
	_ adapters.Watcher     = (*Adapter)(nil)
	_ adapters.Checker     = (*Adapter)(nil)
	_ adapters.HostChecker = (*Adapter)(nil)
	_ adapters.BulkLimiter = (*Adapter)(nil)
	_ adapters.Diagnoser   = (*Adapter)(nil)
	_ io.Closer            = (*Adapter)(nil)
	_ adapters.Prober      = probing{}
)

// probing is an Adapter whose inner adapter is a Prober.
type probing struct{ *Adapter }

// Wrap idealizes an adapter. It starts nothing. The result is an *Adapter, or embeds one.
func Wrap(inner adapters.Adapter, c Config, deps Deps) adapters.Adapter {
	log := deps.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	prober, probes := inner.(adapters.Prober)
	l := newLimit(c, prober)
	l.observe = deps.Observe
	a := &Adapter{inner: inner, limit: l}
	a.call = withRetry(c.RetryFor.D(), withLog(log, l.call))
	if probes {
		return probing{a}
	}
	return a
}

// Name returns the cluster's name.
func (a *Adapter) Name() string { return a.inner.Name() }

// Capabilities returns the capabilities of the inner adapter.
func (a *Adapter) Capabilities() adapters.Capabilities { return a.inner.Capabilities() }

// Submit submits one bulk.
func (a *Adapter) Submit(ctx context.Context, bulk adapters.Bulk) (r adapters.Receipt, err error) {
	err = a.call(ctx, Submit, func(ctx context.Context) (err error) {
		r, err = a.inner.Submit(ctx, bulk)
		return err
	})
	return r, err
}

// List returns a listing of an owner's jobs.
func (a *Adapter) List(ctx context.Context, owner jjm.Owner, since time.Time) (l adapters.Listing, err error) {
	err = a.call(ctx, List, func(ctx context.Context) (err error) {
		l, err = a.inner.List(ctx, owner, since)
		return err
	})
	return l, err
}

// Find returns, for each tag, whether the batch system has its bulk.
func (a *Adapter) Find(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) (f []adapters.Found, err error) {
	err = a.call(ctx, Find, func(ctx context.Context) (err error) {
		f, err = a.inner.Find(ctx, owner, tags)
		return err
	})
	return f, err
}

// Account returns the final facts of ended jobs.
func (a *Adapter) Account(ctx context.Context, owner jjm.Owner, jobs []adapters.Ref) (rs []jjm.Report, err error) {
	err = a.call(ctx, Account, func(ctx context.Context) (err error) {
		rs, err = a.inner.Account(ctx, owner, jobs)
		return err
	})
	return rs, err
}

// Control applies an operation to jobs. If all results are of kind Busy, the call is repeated in the same way as a
// failed call.
func (a *Adapter) Control(ctx context.Context, owner jjm.Owner, op adapters.Op, jobs []adapters.Ref) (results []error,
	err error) {
	err = a.call(ctx, Control, func(ctx context.Context) (err error) {
		results, err = a.inner.Control(ctx, owner, op, jobs)
		if err != nil {
			results = nil
			return err
		}
		return allBusy(results)
	})
	if results != nil {
		return results, nil
	}
	return nil, err
}

// allBusy returns the first result if all results are of kind Busy, otherwise nil.
func allBusy(results []error) error {
	for _, err := range results {
		if err == nil || jjm.KindOf(err) != jjm.Busy {
			return nil
		}
	}
	if len(results) == 0 {
		return nil
	}
	return results[0]
}

// Probe checks whether the batch system answers.
func (p probing) Probe(ctx context.Context) error {
	return p.call(ctx, Probe, p.limit.prober.Probe)
}

// UnknownHosts returns those of the hosts that the batch system does not know. The question is treated as a probe.
func (a *Adapter) UnknownHosts(ctx context.Context, hosts []string) (unknown []string, err error) {
	c, checks := a.inner.(adapters.HostChecker)
	if !checks {
		return nil, nil
	}
	err = a.call(ctx, Probe, func(ctx context.Context) (err error) {
		unknown, err = c.UnknownHosts(ctx, hosts)
		return err
	})
	return unknown, err
}

// MaxBulkOf returns the inner adapter's limit, 0 if the inner adapter has none.
func (a *Adapter) MaxBulkOf(r jjm.Request) int {
	if l, ok := a.inner.(adapters.BulkLimiter); ok {
		return l.MaxBulkOf(r)
	}
	return 0
}

// Diagnosis returns the inner adapter's command, "" if the inner adapter has none.
func (a *Adapter) Diagnosis() string {
	if d, ok := a.inner.(adapters.Diagnoser); ok {
		return d.Diagnosis()
	}
	return ""
}

// Run calls the inner adapter's Run. If the adapter has none, it waits until ctx ends and returns nil.
func (a *Adapter) Run(ctx context.Context) error {
	if r, ok := a.inner.(adapters.Runner); ok {
		return r.Run(ctx)
	}
	<-ctx.Done()
	return nil
}

// Changed returns the inner adapter's channel, nil if the inner adapter has none.
func (a *Adapter) Changed() <-chan struct{} {
	if w, ok := a.inner.(adapters.Watcher); ok {
		return w.Changed()
	}
	return nil
}

// Check returns an error of kind Invalid if the batch system cannot express a request.
func (a *Adapter) Check(r jjm.Request) error {
	if c, ok := a.inner.(adapters.Checker); ok {
		return c.Check(r)
	}
	return adapters.PlainOnly(a.Name(), r)
}

// Close closes the inner adapter.
func (a *Adapter) Close() error {
	if c, ok := a.inner.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Status returns the state of the turns and of the circuit breakers.
func (a *Adapter) Status() Status { return a.limit.status() }

// Line returns what prevents the next submission in the account of ctx from starting.
func (a *Adapter) Line(ctx context.Context) Line { return a.limit.turns.of(accountOf(ctx)) }

// Reset closes all circuit breakers: the next call is sent.
func (a *Adapter) Reset() { a.limit.reset() }
