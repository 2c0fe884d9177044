package watch

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

// straggle is how long a round waits for the last listings if several accounts are listed, in addition to twice the
// time that the last round took. Listings that arrive later are applied when they arrive. An account with slow commands
// therefore delays only itself.
const straggle = 2 * time.Second

// listers is the greatest number of accounts that are listed at the same time. A round is one listing for each account.
const listers = 4

// look is a message to the watch loop: the result of one listing of one account, or a function.
type look struct {
	account jjm.Owner
	began   time.Time
	took    time.Duration
	listing adapters.Listing
	err     error
	// then is a function for the watch loop to run. If then is set, the other fields are not.
	then func()
}

// tell passes a function to the watch loop, which alone may use the watcher's fields. It waits until the loop receives
// the function or ctx ends. If all jobs run as one account, inquiries run in the watch loop itself, so tell runs the
// function itself.
func (w *Watcher) tell(ctx context.Context, then func()) {
	if w.absences.inquiries.OneAccount {
		then()
		return
	}
	select {
	case w.asking.looks <- look{then: then}:
	case <-ctx.Done():
	}
}

// asking contains the listings in progress, at most one for each account. Only the watch loop uses the fields, except
// the channels.
type asking struct {
	under map[jjm.Owner]bool // accounts whose listing is in progress
	looks chan look          // results of listings, for the watch loop
	turns chan struct{}      // a listing in progress holds one of listers places
	all   sync.WaitGroup
	// heard is the error of the last listing of each account, nil if the listing succeeded.
	heard map[jjm.Owner]error
	// before is how long the listings of the last round took, took is how long those of the present round have taken so
	// far.
	before, took time.Duration
	// idle is when the cluster was last listed although no account had jobs there.
	idle time.Time
}

func newAsking() asking {
	return asking{under: map[jjm.Owner]bool{}, looks: make(chan look), turns: make(chan struct{}, listers),
		heard: map[jjm.Owner]error{}}
}

// ask starts a goroutine that lists the jobs of an account and sends the result to the channel looks.
func (w *Watcher) ask(ctx context.Context, account jjm.Owner) {
	a := &w.asking
	a.under[account] = true
	a.all.Go(func() {
		select {
		case a.turns <- struct{}{}:
		case <-ctx.Done():
			return
		}
		l := look{account: account, began: w.b.Now()}
		cmd, cancel := w.sys.Command(ctx, account)
		l.listing, l.err = w.sys.Adapter.List(cmd, account, w.since(account))
		cancel()
		l.took = max(w.b.Now().Sub(l.began), 0)
		<-a.turns
		select {
		case a.looks <- l:
		case <-ctx.Done():
		}
	})
}

// watchOnce makes one round: it starts a listing for each account and applies each result when it arrives. A failed
// listing changes no local job. It counts against the health of the cluster, unless the cause lies only in the account
// (plan.Heard). Errors come from applying a listing.
func (w *Watcher) watchOnce(ctx context.Context) error {
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

// take handles a message to the watch loop. It runs the function if there is one. Otherwise it records the health of
// the cluster and how long the listing took, and applies the listing if it succeeded. If the helper program of the
// account failed, which says nothing about the batch system, take logs the error and forgets the last answer to the
// account. The error says that the listing could not be applied.
func (w *Watcher) take(ctx context.Context, l look) error {
	if l.then != nil {
		l.then()
		return nil
	}
	a := &w.asking
	delete(a.under, l.account)
	if ctx.Err() != nil {
		return nil
	}
	if w.b.Deps.Account == nil {
		w.health.Unlisted.Note(l.account, l.err, jjm.At(l.began))
	}
	if l.err != nil {
		w.complainOfListing(l)
	}
	if run.IsRunnerError(l.err) { // the account's helper failed, which says nothing about the batch system
		delete(a.heard, l.account)
		return nil
	}
	a.heard[l.account] = l.err
	w.failing.Note(l.err, jjm.At(w.b.Now()))
	if l.err == nil { // a failed listing only shows the deadline, not how long listings take
		a.took += l.took
		w.listed(a.before, a.took)
	}
	w.judgeHealth(ctx, l.err)
	if l.err != nil {
		w.clocks.failed(l.account)
		return nil
	}
	w.clocks.listed(l.account, l.began, w.farApart())
	if err := w.b.Crash("watch.listed"); err != nil {
		return err
	}
	w.asked = jjm.At(l.began)
	return w.applyListing(ctx, l.listing, w.asked, l.account)
}

// complainOfListing logs that the listing of an account failed. It logs nothing if all jobs run as one account, because
// Health.Note then logs the failure as an outage.
func (w *Watcher) complainOfListing(l look) {
	if w.b.Deps.Account != nil {
		return
	}
	w.b.Complain(slog.LevelWarn, "listing/"+w.sys.Name+"/"+l.account.User,
		"the jobs of an account cannot be listed as that account",
		"cluster", w.sys.Name, "account", l.account.User, "error", l.err)
}

// judgeHealth decides from the last listing of each account whether the cluster is healthy, and records the decision.
// latest is the error of the newest listing, nil if it succeeded.
func (w *Watcher) judgeHealth(ctx context.Context, latest error) {
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
	w.health.Note(cause, latest == nil)
}

// pings reports whether the batch system answers a probe that the daemon runs as its own account. It returns false if
// the adapter cannot probe.
func (w *Watcher) pings(ctx context.Context) bool {
	p, ok := w.sys.Adapter.(adapters.Prober)
	if !ok {
		return false
	}
	cmd, cancel := context.WithTimeout(run.WithRunner(ctx, nil), w.sys.CallTime())
	defer cancel()
	return p.Probe(cmd) == nil
}
