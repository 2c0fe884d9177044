// Package dependency delays grid jobs that are to begin after other grid jobs (Spec.After) until the other grid jobs
// have ended as the job file requires (plan.After). It stores nothing: the job file and the statuses of the grid jobs
// in Spec.After are in the store. It reads the statuses again after a start of the daemon, and whenever one of the
// statuses changes. Once a grid job has begun, it no longer depends on other grid jobs.
package dependency

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// Dependencies are the grid jobs that wait for other grid jobs. Its methods may be called from many goroutines.
type Dependencies struct {
	s *state.State

	mu        sync.Mutex // never held while the store or memory is read
	followers map[jjm.GridID]*follower
	// of maps a grid job to the grid jobs that begin after it.
	of map[jjm.GridID]map[jjm.GridID]bool
}

// follower is a grid job that begins after other grid jobs. It holds the statuses of the other grid jobs that were read
// last. known is false if the statuses must be read again; waits describes, for people, the grid jobs that it waits
// for.
type follower struct {
	after   []jjm.GridID
	changes int // counts the changes of the grid jobs in after
	known   bool
	seen    map[jjm.GridID]jjm.GridStatus
	waits   string
}

// New returns Dependencies without grid jobs.
func New(s *state.State) *Dependencies {
	return &Dependencies{s: s, followers: map[jjm.GridID]*follower{}, of: map[jjm.GridID]map[jjm.GridID]bool{}}
}

// Check returns a problem for each grid job of Spec.After that does not exist, or that the caller may not see.
func (d *Dependencies) Check(ctx context.Context, caller wire.Caller, spec *jjm.Spec) (ps jjm.Problems) {
	if len(spec.After) > jjm.MaxAfter {
		return nil // parsing the job file reported it
	}
	for i, id := range spec.After {
		if _, _, err := d.s.Kept(ctx, caller, id); err != nil {
			ps = append(ps, jjm.Problem{Field: fmt.Sprintf("after[%d]", i), Text: err.Error()})
		}
	}
	return ps
}

// Outlook describes, for people, the grid jobs that a grid job would wait for; "" if it would not wait. The error is
// jjm.Problems if the grid job would never begin.
func (d *Dependencies) Outlook(ctx context.Context, spec *jjm.Spec) (waits string, err error) {
	all, err := d.look(ctx, spec.After)
	if err != nil {
		return "", err
	}
	waits, never := plan.After(all, spec.AfterEnd)
	if never != "" {
		return "", jjm.Problems{{Field: "after", Text: never}}.Err()
	}
	return waits, nil
}

// Waits describes, for people, the grid jobs that a grid job waits for; "" if it does not wait. unknown is true if the
// caller must call Await first.
func (d *Dependencies) Waits(job *jjm.GridJob) (waits string, unknown bool) {
	if len(job.Spec.After) == 0 || job.Step.Prepared {
		return "", false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.followers[job.ID]
	if f == nil || !f.known {
		return "", true
	}
	return f.waits, false
}

// Await reads the statuses of the grid jobs after which job begins, and stores the result for Waits. From then on, job
// is woken when one of these statuses changes. The error is of kind Invalid if job will never begin.
func (d *Dependencies) Await(ctx context.Context, job *jjm.GridJob) error {
	before := d.follow(job)
	all, err := d.look(ctx, job.Spec.After)
	if err != nil {
		return err
	}
	waits, never := plan.After(all, job.Spec.AfterEnd)
	if never != "" {
		return jjm.Errorf(jjm.Invalid, "%s", never)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.followers[job.ID]
	if f == nil || f.changes != before {
		return nil // a status changed meanwhile: the next step reads the statuses again
	}
	f.known, f.waits, f.seen = true, waits, map[jjm.GridID]jjm.GridStatus{}
	for _, p := range all {
		f.seen[p.ID] = p.Status
	}
	return nil
}

// follow registers a grid job to be woken by changes of the grid jobs in its Spec.After, and returns the number of such
// changes so far.
func (d *Dependencies) follow(job *jjm.GridJob) (changes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.followers[job.ID]
	if f == nil {
		f = &follower{after: job.Spec.After}
		d.followers[job.ID] = f
		for _, id := range f.after {
			if d.of[id] == nil {
				d.of[id] = map[jjm.GridID]bool{}
			}
			d.of[id][job.ID] = true
		}
	}
	return f.changes
}

// look reads the statuses of grid jobs of any owner.
func (d *Dependencies) look(ctx context.Context, ids []jjm.GridID) (all []plan.Predecessor, err error) {
	for _, id := range ids {
		job, _, err := d.s.Kept(ctx, wire.Caller{Admin: true}, id)
		if err != nil {
			return nil, err
		}
		all = append(all, plan.Predecessor{ID: id, Status: job.Status})
	}
	v := d.s.View()
	defer v.Close()
	for i := range all {
		_, all[i].Reopening = v.Reopening(all[i].ID)
	}
	return all, nil
}

// Changed wakes the grid jobs that wait for a grid job of the change.
func (d *Dependencies) Changed(c *state.Change) {
	for _, id := range d.concerned(c) {
		d.s.WakeGrid(id)
	}
}

// concerned returns the grid jobs that must read statuses again because of the change, and marks their known statuses
// as outdated.
func (d *Dependencies) concerned(c *state.Change) []jjm.GridID {
	d.mu.Lock()
	defer d.mu.Unlock()
	woken := map[jjm.GridID]bool{}
	for id, g := range c.Grids {
		if g.Step.Prepared || g.Status.Final() {
			d.forget(id)
		}
		for n := range d.of[id] {
			if f := d.followers[n]; !f.known || f.seen[id] != g.Status {
				woken[n] = true
			}
		}
	}
	for _, id := range c.Requests() {
		maps.Copy(woken, d.of[id])
	}
	for n := range woken {
		f := d.followers[n]
		f.known, f.changes = false, f.changes+1
	}
	return slices.Collect(maps.Keys(woken))
}

// forget drops a grid job that no longer waits. The caller holds the lock.
func (d *Dependencies) forget(id jjm.GridID) {
	f := d.followers[id]
	if f == nil {
		return
	}
	delete(d.followers, id)
	for _, p := range f.after {
		if delete(d.of[p], id); len(d.of[p]) == 0 {
			delete(d.of, p)
		}
	}
}
