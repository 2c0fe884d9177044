// Package watch lists the jobs of a batch system and applies the listings to memory: which jobs live, have ended, are
// missing, are held by the batch system, or run although their attempts have ended. It reports ends and absences to
// package endings.
package watch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"jjm/adapters"
	"jjm/internal/engine/cluster/outage"
	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/endings"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// Control acts on batch jobs that a listing shows or should have shown.
type Control interface {
	// AddDuplicate orders one cancel of a batch job.
	AddDuplicate(owner jjm.Owner, ref adapters.Ref)
	// AskRelease orders the release of the batch jobs of attempts.
	AskRelease(ids ...jjm.AttemptID)
	// OrderEnds leaves orders to end for the wrappers of attempts.
	OrderEnds(of []jjm.AttemptID)
}

// Watcher lists the jobs of the batch system and compares the listings with memory. Its loop is the watch loop. Only
// the loop uses the fields, except ends, the channels, and the fields that have locks of their own (absences and
// times).
type Watcher struct {
	sys  *system.System
	b    *base.Base
	s    *state.State
	ends *endings.Endings
	hears
	kick chan struct{}
	// cycle is the number of the present round of listings. asked is when the listing that is being applied was started.
	cycle    uint32
	asked    jjm.Time
	restarts map[jjm.AttemptID]int // by attempt: how often the batch system restarted the job, as listings showed
	absences absences
	// logged contains, by account, the unread records that were logged and that the last listing still showed.
	logged map[jjm.Owner]map[string]bool
	clocks clocks
	strays strays
	asking asking
	times  times
}

// hears are the parts that hear what listings show.
type hears struct {
	health  *outage.Health
	failing *outage.Failing
	holder  holder
	// suspended has a lock of its own.
	suspended *suspensions
}

// times contains how long rounds of successful listings take.
type times struct {
	mu   sync.Mutex
	took time.Duration // the time of a round, smoothed over the last two rounds (plan.Took)
	last time.Duration // the time of the last round, -1 before the first; only the watch loop reads it
}

// New returns the Watcher of a batch system. It notes in health and failing how listings end.
func New(sys *system.System, s *state.State, ends *endings.Endings, health *outage.Health, failing *outage.Failing,
	control Control) *Watcher {
	w := &Watcher{
		sys: sys, b: s.B, s: s, ends: ends, kick: make(chan struct{}, 1),
		hears:    hears{health, failing, holder{sys: sys, b: s.B, s: s, control: control}, &suspensions{}},
		restarts: map[jjm.AttemptID]int{}, logged: map[jjm.Owner]map[string]bool{}, clocks: clocks{},
		strays: strays{sys: sys, b: s.B, control: control, seen: map[strayKey]time.Time{},
			lately: map[jjm.Owner]time.Time{}},
		asking: newAsking(), times: times{last: -1},
	}
	w.absences = absences{sys: sys, b: s.B, s: s, ends: ends, control: control,
		missing: map[jjm.AttemptID]plan.Absence{}, inquiries: sys.Lanes(), tell: w.tell}
	return w
}

// Loop lists the cluster in rounds. The interval between two rounds grows with the time that listings take; events can
// shorten it.
func (w *Watcher) Loop(ctx context.Context) {
	defer w.absences.inquiries.Running.Wait()
	defer w.asking.all.Wait()
	for ctx.Err() == nil {
		if err := w.watchOnce(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, base.ErrCrashed) {
			w.b.Complain(slog.LevelError, "listing/"+w.sys.Name, "listing could not be applied, will try again",
				"cluster", w.sys.Name, "error", err)
		}
		w.health.WarnUnknown(w.absences.missing)
		if err := w.health.Journal(ctx); err != nil && ctx.Err() == nil {
			w.b.Complain(slog.LevelError, "outage/"+w.sys.Name,
				"the journal gets no entry about the outage of a cluster, will try again", "cluster", w.sys.Name, "error", err)
		}
		if err := w.rest(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, base.ErrCrashed) {
			w.b.Complain(slog.LevelError, "listing/"+w.sys.Name, "listing could not be applied, will try again",
				"cluster", w.sys.Name, "error", err)
		}
	}
}

// rest waits until the next round is due: after the interval, soon after something asks for a round, or when enough
// results wait for the batch system's final report. Meanwhile it applies listings of the last round that come late.
func (w *Watcher) rest(ctx context.Context) error {
	every, soon, result := w.interval()
	due, look := time.NewTimer(every), time.NewTicker(result)
	defer due.Stop()
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-due.C:
			return nil
		case <-w.kick:
			fair.Pause(ctx, soon)
			return nil
		case <-w.sys.Hints():
			fair.Pause(ctx, soon)
			return nil
		case l := <-w.asking.looks:
			if err := w.take(ctx, l); err != nil {
				return err
			}
		case <-look.C:
			if w.resultsWait() {
				return nil
			}
		}
	}
}

// interval returns times until the next round: every is the time if nothing is urgent, soon is the time after a
// wake-up. result is the time between two checks whether enough results wait for a listing. It is not shorter than
// soon, because a cluster on which jobs end all the time would otherwise be listed without a pause.
func (w *Watcher) interval() (every, soon, result time.Duration) {
	p, took := w.sys.Polling(), w.Pace()
	return p.Every(took), p.Soon(took), p.AfterResult(took)
}

// resultsWait reports whether enough results wait for this batch system's final report to make a listing worth its cost
// (plan.Worth).
func (w *Watcher) resultsWait() bool {
	waiting := 0
	for tag, results := range w.ends.WithoutReport() {
		if isOn(w.s, tag, w.sys.Name) {
			waiting += results
		}
	}
	return waiting > 0 && plan.Worth(waiting, w.inBatch())
}

// isOn reports whether a bulk is open on a cluster.
func isOn(s *state.State, tag jjm.Tag, cluster string) bool {
	v := s.View()
	defer v.Close()
	b := v.Bulk(tag)
	return b != nil && b.Cluster == cluster
}

// inBatch returns the number of local jobs that the batch system has or is about to get.
func (w *Watcher) inBatch() (n int) {
	v := w.s.View()
	defer v.Close()
	for _, g := range v.Grids() {
		n += state.Sum(g.ByCluster[w.sys.Name].Load())
	}
	return n
}

// listed notes how long the successful listings of the present round took so far. before is the time of the previous
// round.
func (w *Watcher) listed(before, took time.Duration) {
	w.times.mu.Lock()
	w.times.took, w.times.last = plan.Took(before, took), took
	w.times.mu.Unlock()
}

// since returns the time from which the ends of an account's jobs matter: an hour before its oldest open bulk on this
// cluster was formed.
func (w *Watcher) since(account jjm.Owner) time.Time {
	v := w.s.View()
	defer v.Close()
	oldest := jjm.At(w.b.Now())
	for _, b := range v.Bulks() {
		if b.Cluster == w.sys.Name && w.sys.Account(b.Owner) == account && b.Created < oldest {
			oldest = b.Created
		}
	}
	return oldest.Add(-time.Hour).Time()
}

// applyListing compares a listing of an account with memory and stores the differences. It writes nothing to the store
// if there are none. asked is when the listing was started. An error means that a change could not be stored.
func (w *Watcher) applyListing(ctx context.Context, listing adapters.Listing, asked jjm.Time, account jjm.Owner) error {
	listing.Reports = w.sys.OwnReports(listing.Reports, account)
	unread := unreadOf(w, &listing, account)
	w.strays.begin(account)
	seen := w.compare(listing.Reports)
	w.strays.cancel()
	of := applied{account: account, asked: asked, cycle: w.cycle, watched: w.clocks[account].For}
	missing := w.absences.missed(of, unread)
	now := jjm.At(w.b.Now())
	for id, r := range seen.ended {
		if w.sys.Proves(&r) {
			w.ends.Withdrawn(id, r, now)
		} else {
			w.ends.Report(id, r, now)
		}
	}
	if len(seen.alive) > 0 {
		err := w.s.Change(ctx, "watch", func(ch *state.Change) error {
			for _, r := range seen.alive {
				w.live(ch, r)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	w.holder.noteWaits(seen.waiting, jjm.At(listing.At))
	if err := w.holder.noteHolds(ctx, seen.waiting, w.clocks[account].added); err != nil {
		return err
	}
	w.absences.follow(ctx, of, missing)
	if len(seen.ended) > 0 || len(missing) > 0 {
		w.ends.Wake()
	}
	return nil
}

// observations are what one listing says about the local jobs.
type observations struct {
	alive   []jjm.Report                 // the reports with news about live jobs
	ended   map[jjm.AttemptID]jjm.Report // the reports with news about ended jobs
	waiting []observation                // about live batch jobs that do not run, or did not run at the last listing
}

// observation is a report about the batch job of an attempt. The attempt may have got another batch job since.
type observation struct {
	id     jjm.AttemptID
	report *jjm.Report
}

// of returns the local job of the observation. It returns nil if the attempt is not current any more, or has another
// batch job.
func (o *observation) of(mem state.Memory) *jjm.LocalJob {
	if l := mem.Current(o.id); l != nil && l.BatchID == o.report.ID {
		return l
	}
	return nil
}

// compare marks the attempts that the reports show as seen, and returns what the reports say. It leaves out the end of
// a batch job whose bulk is still in doubt (BulkIntent). It notes strays, and the ends of batch jobs that are not the
// batch job of their attempt.
func (w *Watcher) compare(reports []jjm.Report) observations {
	v := w.s.View()
	defer v.Close()
	w.suspended.prune(v.Memory)
	seen := observations{ended: map[jjm.AttemptID]jjm.Report{}}
	for i := range reports {
		r := &reports[i]
		b := v.Bulk(r.Tag)
		if b == nil || r.Index < 0 || int(r.Index) >= len(b.Members) || b.Cluster != w.sys.Name {
			w.strays.note(r)
			continue
		}
		l := v.Current(b.Members[r.Index])
		own := l != nil && l.Tag == r.Tag && owns(b, l, r.ID)
		if own {
			b.See(r.Index, w.cycle)
			w.suspended.note(l.AttemptID(), r.State == jjm.BatchSuspended, w.asked)
		}
		if own && r.State.Alive() && (r.State != jjm.BatchRunning || l.Waits != nil || l.Holding.Now()) {
			seen.waiting = append(seen.waiting, observation{l.AttemptID(), r})
		}
		switch {
		case l == nil || l.Tag != r.Tag:
			w.strays.note(r)
		case !w.tells(v.Memory, l, r):
		case r.State.Ended() && !own:
			w.ends.Other(l.AttemptID(), *r) // perhaps a duplicate that was cancelled
		case r.State.Ended() && b.State == jjm.BulkIntent:
		case r.State.Ended():
			seen.ended[l.AttemptID()] = *r
		default:
			seen.alive = append(seen.alive, *r)
		}
	}
	return seen
}

// owns reports whether the batch job with an id is the batch job of the local job l, a member of the bulk b. The batch
// id of l decides or, if l has none yet, the id of the bulk. If neither is known, every job with the tag of the bulk
// counts.
func owns(b *state.Bulk, l *jjm.LocalJob, id string) bool {
	switch {
	case l.BatchID != "":
		return id == l.BatchID
	case b.ID != "":
		return state.PartOf(id, b.ID)
	}
	return true
}

// tells reports whether a report contains facts about a local job that memory does not have yet.
func (w *Watcher) tells(mem state.Memory, l *jjm.LocalJob, r *jjm.Report) bool {
	if r.State.Ended() {
		return !w.ends.Knows(l.AttemptID(), r.State)
	}
	if r.ID != l.BatchID || r.Host != "" && r.Host != l.Host || r.Started != 0 && l.Started == 0 {
		return true
	}
	return plan.Live(w.liveInput(mem, l, *r)).Changed
}

// liveInput returns the input of plan.Live for a report about a local job. It sets OwnHold while the listing may still
// show the hold that is jjm's own: jjm submits the bulk held and releases it afterwards.
func (w *Watcher) liveInput(mem state.Memory, l *jjm.LocalJob, r jjm.Report) plan.LiveInput {
	held := w.sys.Caps().TwoPhase
	if b := mem.Bulk(l.Tag); b != nil {
		held = held && (b.State != jjm.BulkReleased || w.asked <= b.Released())
	}
	return plan.LiveInput{State: l.State, Phase: l.Phase, Restarts: w.restarts[l.AttemptID()], OwnHold: held, Report: r}
}

// live applies the report of a live batch job to its local job, in a change. A report of another batch job than the
// attempt's own is noted as a duplicate.
func (w *Watcher) live(ch *state.Change, r jjm.Report) {
	b := ch.Live.Bulk(r.Tag)
	if b == nil || ch.Live.Current(b.Members[r.Index]) == nil {
		return
	}
	id := b.Members[r.Index]
	w.ends.Alive(id)
	l := ch.Local(id.LocalID)
	if !owns(b, l, r.ID) {
		w.duplicate(id, r)
		return
	}
	w.ends.Revived(id)
	l.BatchID = r.ID
	if r.Host != "" {
		l.Host = r.Host
	}
	if l.Started == 0 && (r.State == jjm.BatchRunning || r.State == jjm.BatchSuspended) {
		l.Started = ch.Now
		if r.Started != 0 {
			l.Started = r.Started
		}
	}
	if next := plan.Live(w.liveInput(ch.Live, l, r)); next.Changed {
		ch.Move(l, next.State, next.Phase, next.Cause)
		if next.Restarts > 0 {
			w.restarts[id] = next.Restarts
		}
	}
}

// duplicate notes a live batch job that has the tag and the index of an attempt and is not the attempt's own batch job:
// the bulk was submitted twice. Package verdict then reads the claim to learn which of the two runs, and cancels the
// other.
func (w *Watcher) duplicate(id jjm.AttemptID, r jjm.Report) {
	w.b.Log.Error("two batch jobs for one attempt", "cluster", w.sys.Name, "local", id.LocalID, "tag", r.Tag,
		"batch", r.ID)
	w.ends.Suspect(id, r)
	w.ends.Wake()
}

// accounts returns the accounts to list: the accounts that have open bulks on this cluster, or had open bulks or strays
// there lately. If there are none and the cluster is unhealthy, it returns the account of one grid job that may use the
// cluster. Otherwise it returns the result of idle.
func (w *Watcher) accounts() []jjm.Owner {
	v := w.s.View()
	defer v.Close()
	seen := map[jjm.Owner]bool{}
	var out []jjm.Owner
	for _, b := range v.Bulks() {
		if a := w.sys.Account(b.Owner); b.Cluster == w.sys.Name && !seen[a] {
			seen[a] = true
			out = append(out, a)
		}
	}
	out = w.strays.also(out, seen, w.b.Now())
	// the listing for an account that would submit here shows whether the cluster is back
	if len(out) == 0 && !w.health.Healthy() {
		for _, g := range v.Grids() {
			if slices.Contains(g.Job.Step.Clusters, w.sys.Name) && !g.Job.Status.Final() {
				return []jjm.Owner{w.sys.Account(g.Job.Owner)}
			}
		}
	}
	if len(out) == 0 {
		return w.idle()
	}
	return out
}

// idle returns the service account if a cluster without jobs is to be listed now, else nil. Such a listing is due after
// system.ProbeEvery, or after system.ProbeAgain while the cluster is unhealthy. It shows whether the cluster answers
// before a grid job needs it. If jobs run as their owners, idle always returns nil: then only probes show whether the
// cluster answers.
func (w *Watcher) idle() []jjm.Owner {
	every, now := system.ProbeEvery, w.b.Now()
	if !w.health.Healthy() {
		every = system.ProbeAgain
	}
	own := w.b.Deps.Account
	if since := now.Sub(w.asking.idle); own == nil || since >= 0 && since < every {
		return nil
	}
	w.asking.idle = now
	return []jjm.Owner{*own}
}

// Pace returns how long a round of successful listings takes, smoothed over the last two rounds (plan.Took).
func (w *Watcher) Pace() time.Duration {
	w.times.mu.Lock()
	defer w.times.mu.Unlock()
	return w.times.took
}

// Recall makes the watch loop list an account for some time, even if the account has no open bulk.
func (w *Watcher) Recall(account jjm.Owner) { w.strays.lately[account] = w.b.Now() }

// Wake makes the next round of listings start soon, and returns immediately.
func (w *Watcher) Wake() { fair.Kick(w.kick) }
