// Package control cancels and releases batch jobs, makes sure that local jobs that are to be killed do not start, and
// leaves orders to end for their wrappers.
package control

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"jjm/adapters"
	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/engine/floor/sweep"
	"jjm/internal/jjm"
)

// Controller cancels batch jobs and releases held batch jobs. It repeats both until their outcome is known. Its loop is
// the control loop.
type Controller struct {
	sys     *system.System
	b       *base.Base
	s       *state.State
	areas   *areas.Areas
	sweeper *sweep.Sweeper
	// look is called after each command, so that a listing shows soon what became of the jobs.
	look func()
	kick chan struct{}
	// controls runs the commands, in a lane for each account.
	controls *fair.Lanes

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
	at    time.Time
	sent  bool
	fails Failure
}

// New returns the Controller of a batch system. look makes the cluster's next listing start soon and returns
// immediately.
func New(sys *system.System, s *state.State, as *areas.Areas, sw *sweep.Sweeper, look func()) *Controller {
	return &Controller{sys: sys, b: s.B, s: s, areas: as, sweeper: sw, look: look, kick: make(chan struct{}, 1),
		controls: sys.Lanes(), cancels: map[jjm.AttemptID]lastCancel{}, releases: map[jjm.AttemptID]time.Time{}}
}

// Loop sends the cancels and the releases that are due. It repeats a cancel until the attempt has ended, and a release
// until it is done.
func (ct *Controller) Loop(ctx context.Context) {
	defer ct.controls.Running.Wait()
	for ctx.Err() == nil {
		cancels, releases := ct.cancelsDue(), ct.releasesDue()
		for owner := range owners(cancels, releases) {
			ct.controls.Do(ct.sys.Account(owner), func() {
				if c := cancels[owner]; len(c.all()) > 0 {
					ct.cancel(ctx, owner, c.all())
					ct.OrderEnds(c.again)
				}
				ct.releaseHeld(ctx, owner, releases[owner])
			}, func() { fair.Kick(ct.kick) })
		}
		fair.WaitKick(ctx, ct.kick, ct.b.Conf().CancelAgain.D()/4)
	}
}

// owners returns the owners that have cancels or releases to send.
func owners(cancels map[jjm.Owner]dueCancels, releases map[jjm.Owner][]system.Job) map[jjm.Owner]bool {
	all := map[jjm.Owner]bool{}
	for o := range cancels {
		all[o] = true
	}
	for o := range releases {
		all[o] = true
	}
	return all
}

// dueCancels are the jobs of one owner to cancel now. running are those that run; all others are in jobs. A duplicate
// has a batch job, but no id. again are the attempts for which a cancel was sent before and that have not ended.
type dueCancels struct {
	jobs    []system.Job
	running []system.Job
	again   []jjm.AttemptID
}

// all returns the jobs in the order in which they are cancelled. Running jobs come last: if they came first, a waiting
// job of the same list could start in the place that a cancelled running job frees.
func (d dueCancels) all() []system.Job { return slices.Concat(d.jobs, d.running) }

// cancelsDue returns the batch jobs to cancel now, duplicates included, by owner, and forgets the attempts that have
// ended. A cancel is due when it was not sent yet, or was sent before the time CancelAgain. cancelsDue leaves out
// accounts whose lane is taken and attempts whose batch id is not known; a later call returns these.
func (ct *Controller) cancelsDue() (due map[jjm.Owner]dueCancels) {
	due = map[jjm.Owner]dueCancels{}
	now := ct.b.Now()
	ct.mu.Lock()
	cancels := maps.Clone(ct.cancels)
	for owner, refs := range ct.duplicates {
		if !ct.controls.Taken(ct.sys.Account(owner)) {
			jobs := make([]system.Job, len(refs))
			for i := range refs {
				jobs[i].Ref = refs[i]
			}
			due[owner] = dueCancels{jobs: jobs}
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
		ref, owner, known := system.RefOf(ct.s, &l)
		gone := now.Sub(c.at)
		// a negative gone means that the clock was set back
		if known && !ct.controls.Taken(ct.sys.Account(owner)) && (gone >= ct.b.Conf().CancelAgain.D() || gone < 0) {
			d := due[owner]
			if job := (system.Job{ID: id, Ref: ref}); l.State == jjm.Running {
				d.running = append(d.running, job)
			} else {
				d.jobs = append(d.jobs, job)
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
		ct.cancels[id] = lastCancel{at: now, sent: true, fails: ct.cancels[id].fails}
	}
	return due
}

// cancel runs one command that cancels jobs of an owner. If the command fails, cancel logs the error, and the control
// loop sends the cancels again later.
func (ct *Controller) cancel(ctx context.Context, owner jjm.Owner, jobs []system.Job) {
	cmd, done := ct.sys.Command(ctx, ct.sys.Account(owner))
	defer done()
	refs := make([]adapters.Ref, len(jobs))
	for i := range jobs {
		refs[i] = jobs[i].Ref
	}
	results, err := ct.sys.Adapter.Control(cmd, ct.sys.Account(owner), adapters.Cancel, refs)
	if ctx.Err() == nil {
		ct.noteCancels(jobs, results, err)
	}
	if err == nil {
		err = errors.Join(results...)
	}
	if err != nil && ctx.Err() == nil {
		ct.b.Complain(slog.LevelWarn, "cancel/"+ct.sys.Name+"/"+owner.User, "cancel failed, will be repeated", "cluster",
			ct.sys.Name, "jobs", len(refs), "error", err)
	}
	ct.b.Log.Debug("cancelled", "cluster", ct.sys.Name, "jobs", len(refs))
	ct.look()
	fair.Pause(ctx, 10*time.Millisecond)
}

// AddCancel adds an attempt to the attempts whose batch jobs are to be cancelled, and makes its cancel due now. If the
// attempt was added before, the time of its last cancel stays.
func (ct *Controller) AddCancel(id jjm.AttemptID) {
	ct.mu.Lock()
	if _, known := ct.cancels[id]; !known {
		ct.cancels[id] = lastCancel{at: ct.b.Now().Add(-ct.b.Conf().CancelAgain.D())}
	}
	ct.mu.Unlock()
	fair.Kick(ct.kick)
}

// AddDuplicate adds a batch job to the duplicates, which are cancelled once.
func (ct *Controller) AddDuplicate(owner jjm.Owner, ref adapters.Ref) {
	ct.mu.Lock()
	if ct.duplicates == nil {
		ct.duplicates = map[jjm.Owner][]adapters.Ref{}
	}
	ct.duplicates[owner] = append(ct.duplicates[owner], ref)
	ct.mu.Unlock()
	fair.Kick(ct.kick)
}

// Wake wakes the control loop and returns immediately.
func (ct *Controller) Wake() { fair.Kick(ct.kick) }
