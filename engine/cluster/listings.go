package cluster

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/plan"
	"jjm/run"
)

// straggle is how long a round waits for listings beyond what a round takes, if
// there are several: those that come later are applied when they come. One account
// may hold up its own commands; the others do not wait for it.
const straggle = 2 * time.Second

// listers is how many accounts are listed at once.
const listers = 4

// look is what one listing of one account came to.
type look struct {
	account jjm.Owner
	began   time.Time
	took    time.Duration
	listing adapters.Listing
	err     error
	// then, if set, is all there is: something else for the watch loop to do.
	then func()
}

// tell has the watch loop do something, at once where that is who calls.
func (w *watcher) tell(ctx context.Context, then func()) {
	if w.absents.Alone {
		then()
		return
	}
	select {
	case w.asking.looks <- look{then: then}:
	case <-ctx.Done():
	}
}

// asking are the listings under way, one of an account at most. Only the watch loop
// uses it, but for what goes through its channels.
type asking struct {
	under map[jjm.Owner]bool
	looks chan look
	turns chan struct{}
	all   sync.WaitGroup
	// heard is the last answer of each account that is listed, nil for a listing.
	heard map[jjm.Owner]error
	// before is how long the last round took, took how long the one at hand does.
	before, took time.Duration
}

func newAsking() asking {
	return asking{under: map[jjm.Owner]bool{}, looks: make(chan look), turns: make(chan struct{}, listers),
		heard: map[jjm.Owner]error{}}
}

// ask begins a listing of an account.
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

// watchOnce makes one listing per account and applies each as it comes. Trouble
// changes nothing but the health of the cluster, or the account's own.
func (w *watcher) watchOnce(ctx context.Context) error {
	w.cycle++
	accounts := w.accounts()
	w.unwatched(accounts)
	w.asking.before, w.asking.took = w.times.last, 0 // lastTook this loop alone sets
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

// take applies what a listing came to.
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
	if run.IsRunners(l.err) { // it says nothing of the batch system
		delete(a.heard, l.account)
		return nil
	}
	a.heard[l.account] = l.err
	if l.err == nil { // else it is a deadline's length, and says nothing of what a listing costs
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

// complainOfListing tells of an account that gets no listing, where that is more
// than the cluster's own trouble.
func (w *watcher) complainOfListing(l look) {
	if w.b.Deps.Account != nil {
		return
	}
	w.b.Complain(slog.LevelWarn, "listing/"+w.name+"/"+l.account.User,
		"the jobs of an account cannot be listed as that account",
		"cluster", w.name, "account", l.account.User, "error", l.err)
}

// judgeHealth says whether the cluster is well, from the last answer of each
// account; seen is that of the latest.
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

// pings reports whether the batch system answers the daemon itself.
func (w *watcher) pings(ctx context.Context) bool {
	p, ok := w.c.adapter.(adapters.Prober)
	if !ok {
		return false
	}
	cmd, cancel := context.WithTimeout(run.Through(ctx, nil), patience*w.c.deadline())
	defer cancel()
	return p.Probe(cmd) == nil
}
