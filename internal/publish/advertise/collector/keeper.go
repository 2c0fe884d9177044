package collector

import (
	"context"
	"sync"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/publish/advertise"
)

// checkInterval is the time between two comparisons of the current facts with the facts that were sent last. If the
// offer has changed, the ad is sent early.
const checkInterval = 5 * time.Second

// keeper keeps the site's ad up to date in one collector. If leftover is set, the ad was sent by an earlier daemon with
// other settings, and keeper only withdraws it.
type keeper struct {
	p         *Publisher
	collector Collector
	leftover  bool          // the ad belongs to an earlier daemon, and is only withdrawn
	wake      chan struct{} // requests an attempt now

	// The following fields are used only by the goroutine of Run.
	failures int    // number of failed attempts in a row
	offer    string // the offer in the facts that were sent last

	mu    sync.Mutex
	state wire.AdCollector
	asked []chan struct{} // channels to close after the next attempt
}

// newKeeper returns the keeper for one collector. state has the name of the collector and its last known state.
func newKeeper(p *Publisher, state wire.AdCollector) *keeper {
	return &keeper{p: p, collector: p.deps.Open(state.Collector), leftover: state.State == wire.AdWithdrawing,
		wake: make(chan struct{}, 1), state: state}
}

// keep sends the ad again and again until ctx ends, and then withdraws it.
func (k *keeper) keep(ctx context.Context) {
	for ctx.Err() == nil {
		k.try(ctx)
		k.wait(ctx, pauseAfter(k.failures, k.p.config.Interval.D()))
	}
	if !k.view().There {
		return
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.p.config.WithdrawTime.D())
	defer cancel()
	if err := k.withdraw(end); err != nil {
		k.p.deps.Log.Warn("the site's ad was not withdrawn: the collector drops it when it expires", "collector", k.view().Collector, "expires",
			k.view().Expires, "error", err)
	}
}

// clear withdraws an ad that is no longer in the settings. It tries again until the ad is withdrawn or has expired, or
// until ctx ends.
func (k *keeper) clear(ctx context.Context) {
	for ctx.Err() == nil && k.view().There {
		err := k.withdraw(ctx)
		k.failures++
		if err == nil || ctx.Err() != nil {
			continue
		}
		if v := k.view(); v.Expires <= k.now() {
			k.change(func(s *wire.AdCollector) { s.There, s.State, s.Error = false, wire.AdWithdrawn, "" })
			return
		}
		k.wait(ctx, pauseAfter(k.failures, k.p.config.Interval.D()))
	}
}

// wait waits until the ad is to be sent again: when pause is over, when somebody requests it, or, after a success, when
// the site offers something else than the ad says. It also returns when ctx ends.
func (k *keeper) wait(ctx context.Context, pause time.Duration) {
	k.mu.Lock()
	k.state.Next = k.now().Add(pause)
	k.mu.Unlock()
	next := time.NewTimer(pause)
	defer next.Stop()
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
			return
		case <-next.C:
			return
		case <-tick.C:
			if k.failures == 0 && k.p.deps.Facts().Offer() != k.offer {
				return
			}
		}
	}
}

// try sends the ad once, checks whether it arrived, and records the result.
func (k *keeper) try(ctx context.Context) {
	facts := k.p.deps.Facts()
	k.mu.Lock()
	asked := k.asked
	k.asked = nil
	before := k.state
	k.state.Trying, k.state.Next = k.now(), 0
	k.mu.Unlock()
	k.noteSending(before)
	err := k.renew(ctx, facts, before.State == wire.AdPublished)
	if ctx.Err() == nil {
		k.finish(facts, before, err)
	}
	for _, done := range asked {
		close(done)
	}
}

// noteSending records that the collector may have an ad. It must be called before the ad is sent.
func (k *keeper) noteSending(before wire.AdCollector) {
	if before.There {
		return
	}
	k.change(func(s *wire.AdCollector) { s.There, s.Expires = true, k.now().Add(k.p.config.Lifetime.D()) })
}

// renew sends the ad and reads it back. seen means that the collector had the ad after the last sending. In this case
// renew first checks whether the collector still has it, so that the state shows how often a collector lost the ad. The
// error is of kind Conflict if the collector instead had an ad of another jjm under the same name.
func (k *keeper) renew(ctx context.Context, facts advertise.Facts, seen bool) error {
	var rival error
	if seen {
		held, err := k.collector.Held(ctx, facts.Site)
		if err != nil {
			return err
		}
		switch {
		case holds(held, facts.Instance):
		case len(held) > 0:
			rival = conflict(held)
		default:
			k.lost()
		}
	}
	ad := facts.Ad()
	if err := k.collector.Send(ctx, ad.Text()); err != nil {
		return err
	}
	k.mu.Lock()
	k.state.Sent, k.state.Expires = k.now(), k.now().Add(k.p.config.Lifetime.D())
	k.mu.Unlock()
	if err := k.readBack(ctx, facts, ad); err != nil {
		return err
	}
	return rival
}

// readBack queries the collector for the ad several times, because the collector processes an ad with some delay. It
// returns an error if the ad does not appear within some seconds, or if it differs.
func (k *keeper) readBack(ctx context.Context, facts advertise.Facts, ad advertise.Ad) (err error) {
	for pause := 100 * time.Millisecond; ; pause *= 2 {
		held, trouble := k.collector.Held(ctx, facts.Site)
		if trouble != nil {
			return trouble
		}
		if err = checkHeld(ad, facts.Instance, held); err == nil || pause > time.Second {
			return err
		}
		if !sleep(ctx, pause) {
			return jjm.Errorf(jjm.Busy, "read back: %w", jjm.Plainly(ctx.Err()))
		}
	}
}

// lost records that the collector had forgotten the ad.
func (k *keeper) lost() {
	k.mu.Lock()
	k.state.Lost++
	k.state.LostAt = k.now()
	k.mu.Unlock()
	k.p.deps.Log.Warn("the collector had lost the site's ad: it is sent again", "collector", k.view().Collector)
}

// finish records the result of an attempt and logs a change.
func (k *keeper) finish(facts advertise.Facts, before wire.AdCollector, err error) {
	log := k.p.deps.Log.With("collector", before.Collector)
	if err != nil {
		k.failures++
		k.change(func(s *wire.AdCollector) {
			s.State, s.Error, s.Trying = wire.AdFailing, err.Error(), 0
			if before.Error == "" {
				s.Since = k.now()
			}
		})
		if before.Error != err.Error() {
			log.Warn("the site's ad was not published: jjm tries again", "error", err)
		}
		return
	}
	k.failures, k.offer = 0, facts.Offer()
	k.change(func(s *wire.AdCollector) {
		s.State, s.Error, s.Since, s.Seen, s.Trying = wire.AdPublished, "", 0, k.now(), 0
	})
	if before.State != wire.AdPublished {
		log.Info("the site's ad is published", "site", advertise.Safe(facts.Site))
	}
}

// withdraw removes the ad and checks whether it is gone.
func (k *keeper) withdraw(ctx context.Context) error {
	v := k.view()
	err := k.collector.Withdraw(ctx, v.Site, v.Instance)
	for pause := 100 * time.Millisecond; err == nil; pause *= 2 {
		var held []advertise.Held
		held, err = k.collector.Held(ctx, v.Site)
		if err != nil || !holds(held, v.Instance) {
			break
		}
		if pause > time.Second || !sleep(ctx, pause) {
			err = jjm.Errorf(jjm.Busy, "the ad was withdrawn, but the collector still shows it")
		}
	}
	k.change(func(s *wire.AdCollector) {
		s.Trying, s.Next = 0, 0
		if err == nil {
			s.There, s.State, s.Error, s.Since, s.Expires = false, wire.AdWithdrawn, "", 0, 0
			return
		}
		s.Error = "not withdrawn: " + err.Error()
	})
	return err
}

// change changes the state and writes the state of all keepers to the file.
func (k *keeper) change(do func(*wire.AdCollector)) {
	k.mu.Lock()
	do(&k.state)
	k.mu.Unlock()
	k.p.note()
}

// view returns a copy of the state.
func (k *keeper) view() wire.AdCollector {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}

// request requests an attempt. The returned channel is closed after the first attempt that starts after the call.
func (k *keeper) request() <-chan struct{} {
	done := make(chan struct{})
	k.mu.Lock()
	k.asked = append(k.asked, done)
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
	return done
}

func (k *keeper) now() jjm.Time { return jjm.At(k.p.deps.Now()) }

// sleep waits for the time d and returns true. If ctx ends before, it returns false.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
