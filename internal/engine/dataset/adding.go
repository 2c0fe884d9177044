package dataset

import (
	"context"
	"sync"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// filler prevents grid jobs from cutting a dataset while files that belong together are added to it in several
// transactions.
type filler struct {
	s *state.State

	mu     sync.Mutex
	filled map[Source]func() // the functions that adding returned to Resume, until the source is read
}

// adding prevents grid jobs from cutting the files of a dataset until the caller calls filled.
func (fi *filler) adding(id store.DatasetID) (filled func()) {
	fi.s.Adjust(func(a *state.Memo) { a.Filling(id) })
	return func() {
		var waited []jjm.GridID
		fi.s.Adjust(func(a *state.Memo) { waited = a.Filled(id) })
		for _, reader := range waited {
			fi.s.WakeGrid(reader)
		}
	}
}

// read lets grid jobs cut the files of a source again, if Resume had prevented cutting until the source was read.
func (fi *filler) read(s Source) {
	fi.mu.Lock()
	filled := fi.filled[s]
	delete(fi.filled, s)
	fi.mu.Unlock()
	if filled != nil {
		filled()
	}
}

// Resume stops grid jobs from cutting the files of containers until the containers are read for the first time: the
// daemon may have stopped when only a part of these files was stored.
func (fi *filler) Resume(ctx context.Context) error {
	of := map[Source]jjm.DatasetInput{}
	uids := map[Source]int{}
	v := fi.s.View()
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
		have, err := fi.s.B.Store.DatasetNamed(ctx, uids[src], d.Name)
		switch {
		case jjm.KindOf(err) == jjm.Gone:
			continue
		case err != nil:
			return err
		}
		all[src] = fi.adding(have.ID)
	}
	fi.mu.Lock()
	fi.filled = all
	fi.mu.Unlock()
	return nil
}
