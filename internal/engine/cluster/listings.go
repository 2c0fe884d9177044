package cluster

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/sys/run"
)

// straggle is how long, beyond twice the time of the last round, a round waits for the listings of several accounts.
// Listings that arrive after that are applied on arrival. An account can therefore delay only its own commands.
const straggle = 2 * time.Second

// listers is the greatest number of accounts that are listed at the same time.
const listers = 4

// look is the result of one listing of one account, or a function for the watch loop.
type look struct {
	account jjm.Owner
	began   time.Time
	took    time.Duration
	listing adapters.Listing
	err     error
	// then, if set, is a function for the watch loop to run; in that case the other fields
	// are not set.
	then func()
}

// tell passes a function to the watch loop, and waits until the loop receives the function or ctx ends. If all jobs run
// as one account, inquiries run in the watch loop itself; tell then runs the function itself.
func (w *watcher) tell(ctx context.Context, then func()) {
	if w.inquiries.OneAccount {
		then()
		return
	}
	select {
	case w.asking.looks <- look{then: then}:
	case <-ctx.Done():
	}
}

// asking holds the listings in progress, at most one for each account. Only the watch loop uses the fields, except the
// channels.
type asking struct {
	under map[jjm.Owner]bool // accounts whose listing is in progress
	looks chan look
	turns chan struct{} // its capacity is listers
	all   sync.WaitGroup
	// heard is the error of the last listing of each account, nil if it succeeded.
	heard map[jjm.Owner]error
	// before is how long the listings of the last round took. took is how long the listings of the present round have
	// taken so far.
	before, took time.Duration
	// idle is when an idle cluster was last listed.
	idle time.Time
}

func newAsking() asking {
	return asking{under: map[jjm.Owner]bool{}, looks: make(chan look), turns: make(chan struct{}, listers),
		heard: map[jjm.Owner]error{}}
}

// ask starts a listing of an account in a goroutine.
func (w *watcher) ask(ctx context.Context, account jjm.Owner) {
	a := &w.asking
	a.under[account] = true
	a.all.Go(func() {
		select {
		case a.turns <- struct{}{}:
		case <-ctx.Done():
			return
		}
		l := look{account: account, began: w.b.Now()}
		cmd, cancel := w.c.command(ctx, account)
		l.listing, l.err = w.c.adapter.List(cmd, account, w.since(account))
		cancel()
		l.took = max(w.b.Now().Sub(l.began), 0)
		<-a.turns
		select {
		case a.looks <- l:
		case <-ctx.Done():
		}
	})
}

// watchOnce makes one listing for each account and applies each listing on arrival. A failed listing changes no job. It
// counts against the health of the cluster, unless the cause lies only in the account (plan.Heard).
func (w *watcher) watchOnce(ctx context.Context) error {
	w.cycle++
	accounts := w.accounts()
	w.unwatched(accounts)
	w.asking.before, w.asking.took = w.times.last, 0 // only this loop sets times.last
	due := map[jjm.Owner]bool{}
	for _, account := range accounts {
		if !w.asking.under[account] {
			due[account] = true
			w.ask(ctx, account)
		}
	}
	late := make(<-chan time.Time)
	if len(accounts) > 1 {
		t := time.NewTimer(straggle + 2*max(w.times.last, 0))
		defer t.Stop()
		late = t.C
	}
	for len(due) > 0 {
		select {
		case <-ctx.Done():
			return nil
		case <-late:
			return nil
		case l := <-w.asking.looks:
			if l.then == nil {
				delete(due, l.account)
			}
			if err := w.take(ctx, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// take runs the function of l, or applies the outcome of a listing: it notes the health of the cluster and how long the
// listing took, and if the listing succeeded, applies it. If the account's helper failed, take changes nothing.
func (w *watcher) take(ctx context.Context, l look) error {
	if l.then != nil {
		l.then()
		return nil
	}
	a := &w.asking
	delete(a.under, l.account)
	if ctx.Err() != nil {
		return nil
	}
	if l.err != nil {
		w.complainOfListing(l)
	}
	if run.IsRunnerError(l.err) { // the account's helper failed, which says nothing about the batch system
		delete(a.heard, l.account)
		return nil
	}
	a.heard[l.account] = l.err
	w.c.failing.note(l.err, jjm.At(w.b.Now()))
	if l.err == nil { // the time of a failed listing is its deadline, not what a listing takes
		a.took += l.took
		w.listed(a.before, a.took)
	}
	w.judgeHealth(ctx, l.err)
	if l.err != nil {
		w.notListed(l.account)
		return nil
	}
	w.listedBy(l.account, l.began)
	if err := w.b.Crash("watch.listed"); err != nil {
		return err
	}
	w.asked = jjm.At(l.began)
	return w.applyListing(ctx, l.listing, w.asked, l.account)
}

// complainOfListing logs that an account cannot be listed. If all jobs run as one account it logs nothing, because
// health.note logs the failure as an outage.
func (w *watcher) complainOfListing(l look) {
	if w.b.Deps.Account != nil {
		return
	}
	w.b.Complain(slog.LevelWarn, "listing/"+w.name+"/"+l.account.User,
		"the jobs of an account cannot be listed as that account",
		"cluster", w.name, "account", l.account.User, "error", l.err)
}

// judgeHealth decides, from the last answer of each account, whether the cluster is healthy, and records the decision.
// latest is the newest answer.
func (w *watcher) judgeHealth(ctx context.Context, latest error) {
	h := plan.Heard{Own: w.b.Deps.Account != nil}
	cause := latest
	for _, err := range w.asking.heard {
		if err == nil {
			h.Answered++
			continue
		}
		h.Silent++
		if cause == nil {
			cause = err
		}
	}
	if h.OneWord() {
		h.Pinged = w.pings(ctx)
	}
	if !h.Unhealthy() {
		cause = nil
	}
	w.c.health.note(cause, latest == nil)
}

// pings reports whether the batch system answers a probe that the daemon runs as its own account.
func (w *watcher) pings(ctx context.Context) bool {
	p, ok := w.c.adapter.(adapters.Prober)
	if !ok {
		return false
	}
	cmd, cancel := context.WithTimeout(run.WithRunner(ctx, nil), patience*w.c.deadline())
	defer cancel()
	return p.Probe(cmd) == nil
}
