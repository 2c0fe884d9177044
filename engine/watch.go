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

// watchLoop lists the cluster once an interval, which adapts to how long listings
// take, and sooner when something asks for it.
func (c *cluster) watchLoop(ctx context.Context) {
	defer c.absents.all.Wait()
	defer c.asking.all.Wait()
	for ctx.Err() == nil {
		if err := c.watchOnce(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errCrashed) {
			c.e.complain(slog.LevelError, "listing/"+c.name, "listing could not be applied, trying again", "cluster", c.name, "error", err)
		}
		c.warnUnknown()
		if err := c.rest(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errCrashed) {
			c.e.complain(slog.LevelError, "listing/"+c.name, "listing could not be applied, trying again", "cluster", c.name, "error", err)
		}
	}
}

// rest lasts until the next listing is due. Listings that come late are applied
// meanwhile.
func (c *cluster) rest(ctx context.Context) error {
	every, soon, result := c.interval()
	due, look := time.NewTimer(every), time.NewTicker(result)
	defer due.Stop()
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-due.C:
			return nil
		case <-c.watchKick:
			pause(ctx, soon)
			return nil
		case <-c.hints():
			pause(ctx, soon)
			return nil
		case l := <-c.asking.looks:
			if err := c.take(ctx, l); err != nil {
				return err
			}
		case <-look.C:
			if c.resultsWait() {
				return nil
			}
		}
	}
}

// interval says when to list again: by itself, when something asks for it, and
// when results wait for it. Those are less urgent: where jobs end all the time
// there would be no rest.
func (c *cluster) interval() (every, soon, result time.Duration) {
	p := c.polling()
	c.mu.Lock()
	took := c.took
	c.mu.Unlock()
	return p.Every(took), p.Soon(took), p.AfterResult(took)
}

// resultsWait reports whether enough results wait for the last word of this
// cluster.
func (c *cluster) resultsWait() bool {
	waiting := 0
	for tag, results := range c.e.endings.withoutReport() {
		if c.e.clusterOf(tag) == c {
			waiting += results
		}
	}
	return waiting > 0 && plan.Worth(waiting, c.inBatch())
}

// inBatch counts the local jobs that the batch system has, or is about to get.
func (c *cluster) inBatch() (n int) {
	c.e.mem.RLock()
	defer c.e.mem.RUnlock()
	for _, g := range c.e.grids {
		n += sum(g.on[c.name].load())
	}
	return n
}

// listed notes how long the listings of this round took that were answered, after
// one that took so long before.
func (c *cluster) listed(before, took time.Duration) {
	c.mu.Lock()
	c.took, c.lastTook = plan.Took(before, took), took
	c.mu.Unlock()
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
	listing.Reports = c.ownReports(listing.Reports, account)
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
	c.noteWaits(listing.Reports, jjm.At(listing.At))
	if err := c.noteHolds(ctx, listing.Reports, account); err != nil {
		return err
	}
	c.absent(ctx, account, missing)
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
		case r.State.Ended() && !own:
			e.endings.other(l.AttemptID(), *r) // maybe a double that was cancelled
		case r.State.Ended() && b.State == jjm.BulkIntent:
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
	held := c.caps().TwoPhase
	if b := c.e.bulks[l.Tag]; b != nil {
		held = held && (b.State != jjm.BulkReleased || c.asked <= b.released)
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
	c.e.endings.revived(id)
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

// heartbeatFresh reports whether a missing attempt's wrapper shows signs of life,
// as far as its owner's harvest looked: a listing waits for nobody's work area.
// What is not known counts as alive.
func (e *Engine) heartbeatFresh(id jjm.AttemptID) bool { return !e.endings.stale(id) }
