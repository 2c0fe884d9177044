package answer

import (
	"context"
	"slices"
	"time"

	"jjm"
	"jjm/engine/state"
	"jjm/store"
	"jjm/wire"
)

// defaultList is how many grid jobs a list shows unless asked.
const defaultList = 50

// List returns grid jobs that the caller may see, newest first.
func (an *Answers) List(ctx context.Context, caller wire.Caller, l wire.List) ([]wire.Status, error) {
	f := store.Filter{Status: l.Status, Type: l.Type, Owner: l.Owner, All: l.All, Limit: l.Limit,
		Before: jjm.GridID(l.Before)}
	if !caller.Admin {
		f.Owner = caller.User
	}
	if f.Limit <= 0 {
		f.Limit = defaultList
	}
	jobs, err := an.b.Store.Grids(ctx, f)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Status, 0, len(jobs))
	for _, job := range jobs {
		if !caller.May(job.Owner.UID) {
			continue
		}
		v := an.s.View()
		g := v.Grid(job.ID)
		if g == nil {
			g = state.NewGrid(job)
		}
		s := an.statusOf(v.Memory, g)
		v.Close()
		if err := an.showSteps(ctx, &job, &s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// watchEvery is how often a watcher's grid jobs are compared.
const watchEvery = 250 * time.Millisecond

// Watch sends the state of the grid jobs at once and after every change until
// all are final.
func (an *Answers) Watch(ctx context.Context, caller wire.Caller, refs []jjm.Ref,
	send func([]wire.Status) error) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var last []uint64
	for {
		versions := an.versions(refs)
		if last == nil || !slices.Equal(versions, last) {
			last = versions
			states, err := an.Status(ctx, caller, refs)
			if err == nil {
				err = firstError(states)
			}
			if err != nil {
				return err
			}
			if err := send(states); err != nil {
				return err
			}
			if allFinal(states) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func allFinal(states []wire.Status) bool {
	return !slices.ContainsFunc(states, func(s wire.Status) bool {
		var st jjm.GridStatus
		return st.UnmarshalText([]byte(s.Lookup.Status)) != nil || !st.Final()
	})
}

func (an *Answers) versions(refs []jjm.Ref) []uint64 {
	v := an.s.View()
	defer v.Close()
	out := make([]uint64, len(refs))
	for i, ref := range refs {
		out[i] = v.Version(ref.Grid)
	}
	return out
}
