package dataset

import (
	"context"
	"sync"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// adding keeps grid jobs from cutting the files of a dataset until filled is called: files that belong together are
// being added to it, in several transactions.
func (ds *Datasets) adding(id store.DatasetID) (filled func()) {
	ds.s.Adjust(func(a *state.Memo) { a.Filling(id) })
	return func() {
		var waited []jjm.GridID
		ds.s.Adjust(func(a *state.Memo) { waited = a.Filled(id) })
		for _, reader := range waited {
			ds.s.WakeGrid(reader)
		}
	}
}

// resumed are the sources that a stop of the daemon may have cut short, until they are read again.
type resumed struct {
	mu     sync.Mutex
	filled map[Source]func()
}

// over ends the wait for a source, if there is one.
func (r *resumed) over(s Source) {
	r.mu.Lock()
	filled := r.filled[s]
	delete(r.filled, s)
	r.mu.Unlock()
	if filled != nil {
		filled()
	}
}

// Resume keeps grid jobs from cutting the files of containers until these were read once: when the daemon stopped, a
// part of their files may have been added.
func (ds *Datasets) Resume(ctx context.Context) error {
	of := map[Source]jjm.DatasetInput{}
	uids := map[Source]int{}
	v := ds.s.View()
	for id, g := range v.Grids() {
		for i := range g.Job.Spec.Datasets {
			if d := g.Job.Spec.Datasets[i]; d.Container != "" && g.Job.Step.Prepared && !g.Job.Status.Final() {
				of[Source{id, i}], uids[Source{id, i}] = d, g.Job.Owner.UID
			}
		}
	}
	v.Close()
	all := map[Source]func(){}
	for src, d := range of {
		have, err := ds.b.Store.DatasetNamed(ctx, uids[src], d.Name)
		switch {
		case jjm.KindOf(err) == jjm.Gone:
			continue
		case err != nil:
			return err
		}
		all[src] = ds.adding(have.ID)
	}
	ds.resumed.mu.Lock()
	ds.resumed.filled = all
	ds.resumed.mu.Unlock()
	return nil
}
