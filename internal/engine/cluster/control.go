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

// controller cancels batch jobs and releases held batch jobs. It repeats both until their outcome is known. Its loop is
// the control loop.
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
	// releases contains, for each stored release that is not known to be done, the time at which the command was last
	// sent.
	releases map[jjm.AttemptID]time.Time
	// duplicates are further batch jobs of attempts, which are to be cancelled, by owner.
	duplicates map[jjm.Owner][]adapters.Ref
}

// lastCancel is when a cancel of an attempt was last sent. If sent is false, no cancel was sent yet, and at is so far
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
// not see the work area. It returns false if the bulk is not open or the site no longer has its cluster.
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

// controlLoop sends the cancels and the releases that are due. It repeats a cancel until the attempt has ended, and a
// release until it is done.
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

// owners returns the owners that have cancels or releases to send.
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

// dueCancels are the batch jobs of one owner to cancel now. running are those that run; all others are in refs. again
// are the attempts for which a cancel was sent before and that have not ended.
type dueCancels struct {
	refs    []adapters.Ref
	running []adapters.Ref
	again   []jjm.AttemptID
}

// all returns the batch jobs in the order in which they are cancelled. Running jobs come last: if they came first, a
// waiting job of the same list could start in the place that a cancelled running job frees.
func (d dueCancels) all() []adapters.Ref { return slices.Concat(d.refs, d.running) }

// cancelsDue returns the batch jobs to cancel now, duplicates included, by owner, and forgets the attempts that have
// ended. A cancel is due when it was not sent yet, or was sent before the time CancelAgain. cancelsDue leaves out
// accounts whose lane is taken and attempts whose batch id is not known; a later call returns these.
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
		// a negative gone means that the clock was set back
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

// cancel runs one command that cancels batch jobs of an owner. If the command fails, cancel logs the error, and the
// control loop sends the cancels again later.
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

// CancelDuplicate orders the control loop to cancel ref, a second batch job of the current attempt of l. It does
// nothing if the bulk of the attempt is closed, or if the site no longer has the cluster.
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

// clusterOf returns the cluster of an open bulk. It returns nil if the bulk is not open or the site no longer has the
// cluster.
func (cs *Clusters) clusterOf(tag jjm.Tag) *Cluster {
	v := cs.s.View()
	defer v.Close()
	if b := v.Bulk(tag); b != nil {
		return cs.all[b.Cluster]
	}
	return nil
}

// AskCancel orders the control loop to cancel the batch job of the current attempt of l. It does nothing if the bulk is
// closed, or if the site no longer has the cluster.
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

// Leaving returns a function for the case that jjm stops waiting for the batch job of a local job. The function gets
// the bulk and the local job while both are live, and returns a second function that orders one cancel of the batch
// job. The second function also works after the attempt and its bulk are over. It does nothing if the batch id is
// unknown or the site no longer has the cluster.
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

// RefOf returns the batch job of the current attempt of l, and the owner of its bulk. ok is false if the bulk is
// closed, or if the batch system's id is not known.
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

// refIn returns the batch job of the current attempt of l, which is a member of the bulk b. known is false if the batch
// system's id is not known.
func refIn(b *state.Bulk, l *jjm.LocalJob) (ref adapters.Ref, known bool) {
	if l.BatchID != "" && !state.PartOf(l.BatchID, b.ID) { // l points to a duplicate, or the bulk's id is unknown
		return adapters.Ref{Tag: l.Tag, ID: l.BatchID, Index: -1}, true
	}
	return adapters.Ref{Tag: l.Tag, ID: b.ID, Index: l.Pos}, b.ID != ""
}

// Settle returns how long a result of a bulk waits for the batch system's final report. open is false if the bulk is
// not open or the site no longer has the cluster.
func (cs *Clusters) Settle(tag jjm.Tag) (d time.Duration, open bool) {
	c := cs.clusterOf(tag)
	if c == nil {
		return 0, false
	}
	return c.batchSettle(), true
}

// addCancel adds an attempt to the attempts whose batch jobs are to be cancelled, and makes its cancel due now. If the
// attempt was added before, the time of its last cancel stays.
func (ct *controller) addCancel(id jjm.AttemptID) {
	ct.mu.Lock()
	if _, known := ct.cancels[id]; !known {
		ct.cancels[id] = lastCancel{at: ct.b.Now().Add(-ct.b.Conf().CancelAgain.D())}
	}
	ct.mu.Unlock()
	fair.Kick(ct.controlKick)
}

// addDuplicate adds a batch job to the duplicates, which are cancelled once.
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

// answered returns an error of kind Internal unless an adapter has returned exactly one answer for each job.
func answered(answers, jobs int) error {
	if answers != jobs {
		return jjm.Errorf(jjm.Internal, "%d answers for %d jobs", answers, jobs)
	}
	return nil
}
