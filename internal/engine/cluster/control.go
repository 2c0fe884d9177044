package cluster

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"jjm/adapters"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// controller cancels batch jobs and releases held batch jobs. It repeats both until the outcome is known.
type controller struct {
	c           *Cluster
	b           *base.Base
	s           *state.State
	name        string
	controlKick chan struct{}
	// controls runs the commands, in a lane for each account.
	controls fair.Lanes

	mu      sync.Mutex
	cancels map[jjm.AttemptID]lastCancel
	// releases holds, for each stored release that is not known to be done, the time of the last command.
	releases map[jjm.AttemptID]time.Time
	// duplicates are second batch jobs of attempts, to be cancelled.
	duplicates map[jjm.Owner][]adapters.Ref
}

// lastCancel holds when a cancel of an attempt was last sent. If sent is false, no cancel was sent, and at lies so far
// in the past that the cancel is due.
type lastCancel struct {
	at   time.Time
	sent bool
}

func newController(c *Cluster) *controller {
	return &controller{c: c, b: c.b, s: c.s, name: c.name, controlKick: make(chan struct{}, 1), controls: c.lanes(),
		cancels: map[jjm.AttemptID]lastCancel{}, releases: map[jjm.AttemptID]time.Time{}}
}

// Carries reports whether the batch system of a bulk must carry files to and from the workers, because the workers do
// not see the work area.
func (cs *Clusters) Carries(tag jjm.Tag) bool {
	v := cs.s.View()
	defer v.Close()
	b := v.Bulk(tag)
	if b == nil {
		return false
	}
	c := cs.all[b.Cluster]
	return c != nil && !c.adapter.Capabilities().SharedFS
}

// controlLoop sends cancels and releases, and repeats them until listings confirm their
// effect.
func (ct *controller) controlLoop(ctx context.Context) {
	defer ct.controls.Running.Wait()
	for ctx.Err() == nil {
		cancels, releases := ct.cancelsDue(), ct.releasesDue()
		for owner := range owners(cancels, releases) {
			ct.controls.Do(ct.c.account(owner), func() {
				if c := cancels[owner]; len(c.all()) > 0 {
					ct.cancel(ctx, owner, c.all())
					ct.c.orderEnds(c.again)
				}
				ct.releaseHeld(ctx, owner, releases[owner])
			}, func() { fair.Kick(ct.controlKick) })
		}
		fair.WaitKick(ctx, ct.controlKick, ct.b.Conf().CancelAgain.D()/4)
	}
}

// owners returns the owners of cancels and releases.
func owners(cancels map[jjm.Owner]dueCancels, releases map[jjm.Owner][]absentee) map[jjm.Owner]bool {
	all := map[jjm.Owner]bool{}
	for o := range cancels {
		all[o] = true
	}
	for o := range releases {
		all[o] = true
	}
	return all
}

// dueCancels are the batch jobs of one owner to cancel now. running are the running batch jobs, which are cancelled
// last. again are the attempts whose batch jobs were cancelled before and did not end.
type dueCancels struct {
	refs    []adapters.Ref
	running []adapters.Ref
	again   []jjm.AttemptID
}

// all returns the batch jobs in the order in which they are cancelled. Running jobs come last, because another job of
// the list would start in the place that a running job frees.
func (d dueCancels) all() []adapters.Ref { return slices.Concat(d.refs, d.running) }

// cancelsDue returns the batch jobs to cancel now, duplicates included, and forgets attempts that have ended. A cancel
// is repeated after the time CancelAgain. cancelsDue leaves out accounts whose lane is taken, and attempts whose batch
// id is not known; a later call returns these.
func (ct *controller) cancelsDue() (due map[jjm.Owner]dueCancels) {
	due = map[jjm.Owner]dueCancels{}
	now := ct.b.Now()
	ct.mu.Lock()
	cancels := maps.Clone(ct.cancels)
	for owner, refs := range ct.duplicates {
		if !ct.controls.Taken(ct.c.account(owner)) {
			due[owner] = dueCancels{refs: refs}
			delete(ct.duplicates, owner)
		}
	}
	ct.mu.Unlock()
	var over, sent []jjm.AttemptID
	for id, c := range cancels { // without mu, because the memory lock must not be taken while mu is held
		l, _, ok := ct.s.AttemptRow(id)
		if !ok {
			over = append(over, id)
			continue
		}
		ref, owner, known := ct.c.cs.RefOf(&l)
		gone := now.Sub(c.at)
		// gone < 0: the clock was set back
		if known && !ct.controls.Taken(ct.c.account(owner)) && (gone >= ct.b.Conf().CancelAgain.D() || gone < 0) {
			d := due[owner]
			if l.State == jjm.Running {
				d.running = append(d.running, ref)
			} else {
				d.refs = append(d.refs, ref)
			}
			if c.sent {
				d.again = append(d.again, id)
			}
			due[owner] = d
			sent = append(sent, id)
		}
	}
	ct.mu.Lock()
	defer ct.mu.Unlock()
	for _, id := range over {
		delete(ct.cancels, id)
	}
	for _, id := range sent {
		ct.cancels[id] = lastCancel{at: now, sent: true}
	}
	return due
}

// cancel runs one command that cancels batch jobs. If the command fails, the control loop repeats it.
func (ct *controller) cancel(ctx context.Context, owner jjm.Owner, refs []adapters.Ref) {
	cmd, done := ct.c.command(ctx, ct.c.account(owner))
	defer done()
	results, err := ct.c.adapter.Control(cmd, ct.c.account(owner), adapters.Cancel, refs)
	if err == nil {
		err = errors.Join(results...)
	}
	if err != nil && ctx.Err() == nil {
		ct.b.Complain(slog.LevelWarn, "cancel/"+ct.name+"/"+owner.User, "cancel failed, will be repeated", "cluster",
			ct.name, "jobs", len(refs), "error", err)
	}
	ct.b.Log.Debug("cancelled", "cluster", ct.name, "jobs", len(refs))
	ct.c.watcher.wakeWatch()
	fair.Pause(ctx, 10*time.Millisecond)
}

// CancelDuplicate orders the control loop to cancel a second batch job of an attempt. It does nothing if the bulk is
// closed or the configuration no longer has its cluster.
func (cs *Clusters) CancelDuplicate(l *jjm.LocalJob, owner jjm.Owner, ref adapters.Ref) {
	v := cs.s.View()
	b := v.Bulk(l.Tag)
	v.Close()
	if b == nil || cs.all[b.Cluster] == nil {
		return
	}
	c := cs.all[b.Cluster]
	c.controller.addDuplicate(owner, ref)
}

// clusterOf returns the cluster of an open bulk, or nil.
func (cs *Clusters) clusterOf(tag jjm.Tag) *Cluster {
	v := cs.s.View()
	defer v.Close()
	if b := v.Bulk(tag); b != nil {
		return cs.all[b.Cluster]
	}
	return nil
}

// AskCancel orders the control loop of an attempt's cluster to cancel the batch job. It does nothing if the bulk is
// closed or the configuration no longer has its cluster.
func (cs *Clusters) AskCancel(l *jjm.LocalJob) {
	v := cs.s.View()
	b := v.Bulk(l.Tag)
	var c *Cluster
	if b != nil {
		c = cs.all[b.Cluster]
	}
	v.Close()
	if c == nil {
		return
	}
	c.controller.addCancel(l.AttemptID())
}

// Leaving returns a function that prepares, for a local job of a bulk, the cancel of the batch job for which jjm no
// longer waits. The prepared function orders one cancel, even if the attempt and its bulk are over by then. It does
// nothing if the batch id is unknown or the configuration no longer has the cluster.
func Leaving(cs *Clusters) func(*state.Bulk, *jjm.LocalJob) func() {
	return func(b *state.Bulk, l *jjm.LocalJob) func() {
		ref, known := refIn(b, l)
		c, owner := cs.all[b.Cluster], b.Owner
		if !known || c == nil {
			return func() {}
		}
		return func() { c.controller.addDuplicate(owner, ref) }
	}
}

// RefOf returns the batch job of an attempt and the owner of its bulk. ok is false if the bulk is closed or the batch
// system's id is unknown.
func (cs *Clusters) RefOf(l *jjm.LocalJob) (ref adapters.Ref, owner jjm.Owner, ok bool) {
	v := cs.s.View()
	defer v.Close()
	b := v.Bulk(l.Tag)
	if b == nil {
		return adapters.Ref{}, jjm.Owner{}, false
	}
	ref, known := refIn(b, l)
	return ref, b.Owner, known
}

// refIn returns the batch job of an attempt of a bulk. known is false if the batch system's id is unknown.
func refIn(b *state.Bulk, l *jjm.LocalJob) (ref adapters.Ref, known bool) {
	if l.BatchID != "" && !state.PartOf(l.BatchID, b.ID) { // l points to a duplicate, or the bulk's id is unknown
		return adapters.Ref{Tag: l.Tag, ID: l.BatchID, Index: -1}, true
	}
	return adapters.Ref{Tag: l.Tag, ID: b.ID, Index: l.Pos}, b.ID != ""
}

// Settle returns how long a result of a bulk waits for the batch system's final report;
// open is false if the bulk is closed.
func (cs *Clusters) Settle(tag jjm.Tag) (d time.Duration, open bool) {
	c := cs.clusterOf(tag)
	if c == nil {
		return 0, false
	}
	return c.batchSettle(), true
}

// addCancel adds an attempt to the attempts whose batch jobs are to be cancelled, due now. An attempt that is already
// among them keeps its time.
func (ct *controller) addCancel(id jjm.AttemptID) {
	ct.mu.Lock()
	if _, known := ct.cancels[id]; !known {
		ct.cancels[id] = lastCancel{at: ct.b.Now().Add(-ct.b.Conf().CancelAgain.D())}
	}
	ct.mu.Unlock()
	fair.Kick(ct.controlKick)
}

// addDuplicate adds a second batch job of an attempt to the duplicates to be cancelled.
func (ct *controller) addDuplicate(owner jjm.Owner, ref adapters.Ref) {
	ct.mu.Lock()
	if ct.duplicates == nil {
		ct.duplicates = map[jjm.Owner][]adapters.Ref{}
	}
	ct.duplicates[owner] = append(ct.duplicates[owner], ref)
	ct.mu.Unlock()
	fair.Kick(ct.controlKick)
}

// wakeControl wakes the control loop and returns immediately.
func (ct *controller) wakeControl() { fair.Kick(ct.controlKick) }

// answered returns an error of kind Internal if an adapter did not answer once for each
// job.
func answered(answers, jobs int) error {
	if answers != jobs {
		return jjm.Errorf(jjm.Internal, "%d answers for %d jobs", answers, jobs)
	}
	return nil
}
