package answer

import (
	"context"
	"slices"
	"time"

	"jjm/internal/api/selection"
	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/choice"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// defaultList is how many grid jobs a list contains if the request sets no limit.
const defaultList = 50

// listPage is the smallest number of rows that are read from the store at a time, unless every row is shown.
const listPage = 200

// List returns grid jobs that the caller may see, newest first.
func (an verbs) List(ctx context.Context, caller wire.Caller, r wire.ListRequest) (wire.StatusAnswer, error) {
	var l wire.List
	if r.List != nil {
		l = *r.List
	}
	all, err := an.list(ctx, caller, l)
	return wire.StatusAnswer{Status: all}, err
}

func (an *Answers) list(ctx context.Context, caller wire.Caller, l wire.List) ([]wire.Status, error) {
	among, err := newAmong(l, an.choice, jjm.At(an.b.Now()))
	if err != nil {
		return nil, err
	}
	statuses, err := jjm.GridStatuses(l.Status)
	if err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "status: %w", err)
	}
	f := store.Filter{Statuses: statuses, Type: l.Type, Owner: l.Owner, All: l.All, Limit: l.Limit,
		Before: jjm.GridID(l.Before)}
	if !caller.Admin {
		f.Owner = caller.User
	}
	if l.Limit <= 0 {
		l.Limit = defaultList
	}
	if f.Limit = l.Limit; !among.all {
		f.Limit = max(l.Limit, listPage)
	}
	var out []wire.Status // not allocated with room for l.Limit rows, because a caller chooses the limit
	for {
		jobs, err := an.b.Store.Grids(ctx, f)
		if err != nil {
			return nil, err
		}
		for i := range jobs {
			fits, err := among.fits(ctx, caller, &jobs[i])
			if err != nil {
				return nil, err
			}
			if !fits {
				continue
			}
			s, err := an.listed(ctx, jobs[i])
			if err != nil {
				return nil, err
			}
			if out = append(out, s); len(out) == l.Limit {
				return out, nil
			}
		}
		if len(jobs) < f.Limit || among.all {
			return out, nil
		}
		f.Before = jobs[len(jobs)-1].ID
	}
}

// among holds the patterns and filters of a request to list grid jobs.
type among struct {
	list   selection.List
	filter selection.Filter
	now    jjm.Time
	ch     *choice.Chooser
	all    bool // there are no patterns and no filters
}

func newAmong(l wire.List, ch *choice.Chooser, now jjm.Time) (a among, err error) {
	a.ch, a.now, a.all = ch, now, len(l.Refs) == 0 && !l.Where.Any()
	if a.list, err = selection.Parse(l.Refs); err != nil {
		return a, err
	}
	a.filter, err = l.Where.Parse()
	return a, err
}

// fits reports whether a list shows a grid job.
func (a *among) fits(ctx context.Context, caller wire.Caller, job *jjm.GridJob) (bool, error) {
	if !caller.May(job.Owner.UID) || !a.list.Means(job) || !a.filter.Grid(job, a.now) {
		return false, nil
	}
	return a.ch.Has(ctx, job, &a.filter)
}

// listed returns a grid job as a list shows it.
func (an *Answers) listed(ctx context.Context, job jjm.GridJob) (wire.Status, error) {
	v := an.s.View()
	g := v.Grid(job.ID)
	if g == nil {
		g = state.NewGrid(job)
	}
	s := an.statusOf(v.Memory, g)
	v.Close()
	an.showGenerations(&job, &s)
	var err error
	if s.RecoveredBy, err = recoveredBy(ctx, an.b.Store, &job); err != nil {
		return s, err
	}
	return s, an.showSteps(ctx, &job, &s)
}

// watchEvery is the time between two checks by Wait for changes of its grid jobs.
const watchEvery = 250 * time.Millisecond

// Wait sends the statuses of the grid jobs immediately and after every change, until each grid job is over or kept (see
// allSettled). The last line repeats the last status. Wait returns the first error about a grid job, the error of out,
// or the error of ctx.
func (an *Answers) Wait(ctx context.Context, caller wire.Caller, r wire.WaitRequest,
	out *serve.Stream[wire.StatusAnswer]) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var last []version
	for {
		versions := an.versions(r.Jobs)
		if last == nil || !slices.Equal(versions, last) {
			last = versions
			states, err := an.statuses(ctx, caller, r.Jobs)
			if err == nil {
				err = firstError(states)
			}
			if err != nil {
				return err
			}
			if err := out.Line(wire.StatusAnswer{Status: states}, false); err != nil {
				return err
			}
			if allSettled(an.s, states) {
				return out.Line(wire.StatusAnswer{Status: states}, true)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// allSettled reports whether all grid jobs are over, or kept: nothing more happens to them by itself.
func allSettled(s *state.State, states []wire.Status) bool {
	v := s.View()
	defer v.Close()
	return !slices.ContainsFunc(states, func(s wire.Status) bool {
		g := v.Grid(s.Lookup.ID)
		return !s.Over() && (g == nil || !g.Job.Kept())
	})
}

// version identifies the present state of a grid job: change grows with each change of a live grid
// job, and request is the number of the open request to reopen an ended grid job, 0 if there is none.
type version struct {
	change  uint64
	request int64
}

func (an *Answers) versions(refs []jjm.Ref) []version {
	v := an.s.View()
	defer v.Close()
	out := make([]version, len(refs))
	for i, ref := range refs {
		out[i].change = v.Version(ref.Grid)
		if r, open := v.Reopening(ref.Grid); open {
			out[i].request = r.Seq
		}
	}
	return out
}
