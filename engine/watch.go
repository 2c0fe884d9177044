package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/plan"
)

// watchLoop lists the cluster once a cycle and at a hint from its adapter.
func (c *cluster) watchLoop(ctx context.Context) {
	var hint <-chan struct{}
	if w, ok := c.adapter.(adapters.Watcher); ok {
		hint = w.Changed()
	}
	for ctx.Err() == nil {
		if err := c.watchOnce(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errCrashed) {
			c.e.complain(slog.LevelError, "listing/"+c.name, "listing could not be applied, trying again", "cluster", c.name, "error", err)
		}
		t := time.NewTimer(c.e.conf().Poll.D())
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-c.watchKick:
			pause(ctx, c.spacing())
		case <-hint:
			pause(ctx, c.spacing())
		}
		t.Stop()
	}
}

// spacing keeps hints from listing more than ten times a second, or than forty
// times a poll interval.
func (c *cluster) spacing() time.Duration {
	return max(min(c.e.conf().Poll.D()/40, time.Second), 100*time.Millisecond)
}

// watchOnce makes one listing per account and applies it. Trouble changes
// nothing but the cluster's health.
func (c *cluster) watchOnce(ctx context.Context) error {
	c.cycle++
	for _, account := range c.accounts() {
		asked := jjm.At(c.e.now())
		cmd, cancel := c.command(ctx)
		listing, err := c.adapter.List(cmd, account, c.since(account))
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		c.health(err)
		if err != nil {
			return nil
		}
		if err := c.e.crash("watch.listed"); err != nil {
			return err
		}
		if err := c.applyListing(ctx, listing, asked, account); err != nil {
			return err
		}
	}
	return nil
}

// since is how far back ended jobs matter: to the oldest open bulk.
func (c *cluster) since(account jjm.Owner) time.Time {
	c.e.mem.RLock()
	defer c.e.mem.RUnlock()
	oldest := jjm.At(c.e.now())
	for _, b := range c.e.bulks {
		if b.Cluster == c.name && c.account(b.Owner) == account && b.Created < oldest {
			oldest = b.Created
		}
	}
	return oldest.Add(-time.Hour).Time()
}

// applyListing compares the listing with memory and stores the differences: in
// a quiet cycle there are none, and nothing is written.
func (c *cluster) applyListing(ctx context.Context, listing adapters.Listing, asked jjm.Time, account jjm.Owner) error {
	c.strays.begin(account)
	alive, ended := c.compare(listing.Reports)
	c.cancelStrays()
	missing := c.absences(asked, account)
	now := jjm.At(c.e.now())
	for id, r := range ended {
		c.e.endings.report(id, r, now)
	}
	if len(alive) > 0 {
		err := c.e.change(ctx, "watch", func(ch *change) error {
			for _, r := range alive {
				c.live(ch, r)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for id, a := range missing {
		if err := c.absent(ctx, id, a); err != nil {
			return err
		}
	}
	if len(ended) > 0 || len(missing) > 0 {
		kick(c.e.harvKick)
	}
	return nil
}

// compare marks what the listing shows as seen and picks the reports that tell
// something new: of jobs that are alive, and of jobs that ended.
func (c *cluster) compare(reports []jjm.Report) (alive []jjm.Report, ended map[jjm.AttemptID]jjm.Report) {
	e := c.e
	e.mem.RLock()
	defer e.mem.RUnlock()
	ended = map[jjm.AttemptID]jjm.Report{}
	for i := range reports {
		r := &reports[i]
		b := e.bulks[r.Tag]
		if b == nil || r.Index < 0 || int(r.Index) >= len(b.Members) || b.Cluster != c.name {
			c.stray(r)
			continue
		}
		l := e.current(b.Members[r.Index])
		own := l != nil && l.Tag == r.Tag && owns(b, l, r.ID)
		if own {
			b.seen[r.Index] = c.cycle
		}
		switch {
		case l == nil || l.Tag != r.Tag:
			c.stray(r)
		case !c.tells(l, r):
		case r.State.Ended() && (!own || b.State == jjm.BulkIntent): // maybe a double that was cancelled
		case r.State.Ended():
			ended[l.AttemptID()] = *r
		default:
			alive = append(alive, *r)
		}
	}
	return alive, ended
}

// owns reports whether a batch job is the one that an attempt points to: by
// its own id, else by that of its bulk as acknowledged. While neither is known
// any job of the tag will do.
func owns(b *bulk, l *jjm.LocalJob, id string) bool {
	switch {
	case l.BatchID != "":
		return id == l.BatchID
	case b.ID != "":
		return partOf(id, b.ID)
	}
	return true
}

// tells reports whether a listing line differs from what memory shows.
func (c *cluster) tells(l *jjm.LocalJob, r *jjm.Report) bool {
	if r.State.Ended() {
		return !c.e.endings.knows(l.AttemptID(), r.State)
	}
	if r.ID != l.BatchID || r.Host != "" && r.Host != l.Host || r.Started != 0 && l.Started == 0 {
		return true
	}
	return plan.Live(c.liveInput(l, *r)).Changed
}

func (c *cluster) liveInput(l *jjm.LocalJob, r jjm.Report) plan.LiveInput {
	held := c.caps.TwoPhase
	if b := c.e.bulks[l.Tag]; b != nil {
		held = held && b.State != jjm.BulkReleased
	}
	return plan.LiveInput{State: l.State, Phase: l.Phase, Restarts: c.restarts[l.AttemptID()], OwnHold: held, Report: r}
}

// live applies a report of a job that is alive to its local job.
func (c *cluster) live(ch *change, r jjm.Report) {
	b := c.e.bulks[r.Tag]
	if b == nil || c.e.current(b.Members[r.Index]) == nil {
		return
	}
	id := b.Members[r.Index]
	c.e.endings.alive(id)
	l := ch.local(id.LocalID)
	if !owns(b, l, r.ID) {
		c.stranger(id, r)
		return
	}
	l.BatchID = r.ID
	if r.Host != "" {
		l.Host = r.Host
	}
	if l.Started == 0 && (r.State == jjm.BatchRunning || r.State == jjm.BatchSuspended) {
		l.Started = ch.now
		if r.Started != 0 {
			l.Started = r.Started
		}
	}
	if next := plan.Live(c.liveInput(l, r)); next.Changed {
		ch.move(l, next.State, next.Phase, next.Cause)
		if next.Restarts > 0 {
			c.restarts[id] = next.Restarts
		}
	}
}

// stranger is a job under one of our tags that is not the one its attempt
// points to: a doubled submission. The claim says which one runs.
func (c *cluster) stranger(id jjm.AttemptID, r jjm.Report) {
	c.e.log.Error("two batch jobs for one attempt", "cluster", c.name, "local", id.LocalID, "tag", r.Tag, "batch", r.ID)
	c.e.endings.suspect(id, r)
	kick(c.e.harvKick)
}

// absences lists the attempts of this cluster that should have been listed and
// were not. Bulks acknowledged after the question was asked do not count.
func (c *cluster) absences(asked jjm.Time, account jjm.Owner) map[jjm.AttemptID]plan.Absence {
	e := c.e
	e.mem.RLock()
	defer e.mem.RUnlock()
	out := map[jjm.AttemptID]plan.Absence{}
	for _, b := range e.bulks {
		if b.Cluster != c.name || c.account(b.Owner) != account || b.State == jjm.BulkIntent || b.Settled >= asked {
			continue
		}
		for pos, m := range b.Members {
			if b.seen[pos] == c.cycle {
				delete(c.missing, m)
				continue
			}
			if l := e.current(m); l != nil && l.Tag == b.Tag {
				a := c.missing[m].Missed(asked, b.Settled)
				c.missing[m] = a
				out[m] = a
			}
		}
	}
	return out
}

// absent asks plan what an absence means so far and does it.
func (c *cluster) absent(ctx context.Context, id jjm.AttemptID, a plan.Absence) error {
	e := c.e
	l, owner, ok := e.attemptRow(id)
	if !ok {
		delete(c.missing, id)
		return nil
	}
	rules := plan.AbsenceRules{Listings: e.conf().AbsentListings, Age: e.conf().AbsentFor.D()}
	asked := e.endings.accounted(id) || !c.caps.Accounting
	verdict := plan.Missing(a, jjm.At(e.now()), asked, e.heartbeatFresh(id, owner), rules)
	ref, _, _ := e.refOf(&l)
	switch verdict {
	case plan.AskAccounting:
		return c.askAccounting(ctx, id, owner, ref)
	case plan.Prove:
		c.prove(ctx, id, owner, ref)
	}
	e.endings.absent(id, verdict)
	return nil
}

// askAccounting looks for the end of an attempt that the listing has forgotten.
func (c *cluster) askAccounting(ctx context.Context, id jjm.AttemptID, owner jjm.Owner, ref adapters.Ref) error {
	cmd, cancel := c.command(ctx)
	defer cancel()
	reports, err := c.adapter.Account(cmd, c.account(owner), []adapters.Ref{ref})
	if err != nil {
		c.e.complain(slog.LevelWarn, "accounting/"+c.name, "accounting gives no answer", "cluster", c.name, "local", id.LocalID, "error", err)
		return nil
	}
	for _, r := range reports {
		if r.Tag == ref.Tag && (ref.Index < 0 || r.Index == ref.Index) && r.State.Ended() {
			c.e.endings.report(id, r, jjm.At(c.e.now()))
			kick(c.e.harvKick)
			return nil
		}
	}
	c.e.endings.asked(id)
	return nil
}

// prove cancels what is missing and then looks for its tag: only both together
// prove that nothing is left of it.
func (c *cluster) prove(ctx context.Context, id jjm.AttemptID, owner jjm.Owner, ref adapters.Ref) {
	cmd, cancel := c.command(ctx)
	defer cancel()
	c.e.endings.with(id, func(en *ending) { en.proving = true })
	results, err := c.adapter.Control(cmd, c.account(owner), adapters.Cancel, []adapters.Ref{ref})
	if err == nil {
		err = errors.Join(results...)
	}
	var found []adapters.Found
	if err == nil {
		found, err = c.adapter.Find(cmd, c.account(owner), []jjm.Tag{ref.Tag})
	}
	if err != nil {
		c.e.complain(slog.LevelWarn, "absence/"+c.name, "absence cannot be proven yet", "cluster", c.name, "local", id.LocalID, "error", err)
		return
	}
	// A bulk may be present for the sake of its other members: then the cancel
	// that succeeded, and the listings that lack this one, are the proof.
	if len(found) == 1 && found[0].Presence != adapters.NotYetKnown {
		a := c.missing[id]
		a.Proven = true
		c.missing[id] = a
	}
}

// attemptRow copies the row of an attempt that is current.
func (e *Engine) attemptRow(id jjm.AttemptID) (jjm.LocalJob, jjm.Owner, bool) {
	e.mem.RLock()
	defer e.mem.RUnlock()
	l := e.current(id)
	if l == nil {
		return jjm.LocalJob{}, jjm.Owner{}, false
	}
	return *l, e.grids[id.Grid].job.Owner, true
}

// heartbeatFresh reports whether the attempt's wrapper shows signs of life.
func (e *Engine) heartbeatFresh(id jjm.AttemptID, owner jjm.Owner) bool {
	ar, err := e.areas.of(owner)
	if err != nil {
		return true // not known: stay on the safe side
	}
	age, ok, err := ar.HeartbeatAge(id, e.now())
	return err != nil || ok && age < e.conf().HeartbeatStale.D()
}
