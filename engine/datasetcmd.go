package engine

import (
	"context"
	"fmt"
	"slices"

	"jjm"
	"jjm/store"
	"jjm/wire"
)

// Dataset adds files to a dataset, marks some of them, closes it, or shows some. The grid jobs that
// read one go on at once.
func (e *Engine) Dataset(ctx context.Context, caller wire.Caller, d wire.Dataset) (out wire.Datasets, err error) {
	uid := caller.UID
	if d.UID != nil {
		uid = *d.UID
	}
	if !caller.May(uid) {
		return out, jjm.Errorf(jjm.Denied, "datasets of uid %d: only their owner and administrators have to do with them", uid)
	}
	switch d.Do {
	case wire.DatasetAdd:
		if err := e.mayAdd(caller); err != nil {
			return out, err
		}
		out.Added, err = e.addFilesIn(ctx, uid, jjm.Dataset{Name: d.Name, Container: d.Container}, d.Files)
	case wire.DatasetMark:
		err = e.mark(ctx, caller, uid, d, &out)
	case wire.DatasetClose:
		if _, err := e.store.DatasetNamed(ctx, uid, d.Name); err != nil {
			return out, err
		}
		out.Changed, err = e.closeDataset(ctx, uid, d.Name, "closed by "+caller.User)
	}
	if err != nil {
		return out, fmt.Errorf("dataset %s: %w", d.Name, err)
	}
	out.Shown, err = e.showDatasets(ctx, caller, uid, d)
	return out, err
}

// mayAdd refuses who may not submit grid jobs either.
func (e *Engine) mayAdd(caller wire.Caller) error {
	if err := e.mayRun(caller); err != nil {
		return err
	}
	e.mem.RLock()
	defer e.mem.RUnlock()
	return e.admitted(whom(jjm.Owner{User: caller.User, UID: caller.UID}, nil, nil))
}

// showDatasets gives one dataset of an account, or all: to an administrator who
// names nobody those of everybody.
func (e *Engine) showDatasets(ctx context.Context, caller wire.Caller, uid int, d wire.Dataset) ([]wire.DatasetState, error) {
	var all []store.Dataset
	if d.Name != "" {
		one, err := e.store.DatasetNamed(ctx, uid, d.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	} else {
		if caller.Admin && d.UID == nil {
			uid = -1
		}
		var err error
		if all, err = e.store.Datasets(ctx, uid); err != nil {
			return nil, err
		}
	}
	out := make([]wire.DatasetState, 0, len(all))
	for _, s := range all {
		state := wire.DatasetState{Name: s.Name, Container: s.Container, UID: s.UID, Created: s.Created, Closed: s.Closed, Files: s.Files, Events: s.Events, Bytes: s.Bytes}
		if d.Name != "" && d.Do == wire.DatasetShow {
			var err error
			if state.Readers, err = e.readersOf(ctx, s.ID); err != nil {
				return nil, err
			}
			origins, err := e.store.Origins(ctx, s.ID)
			if err != nil {
				return nil, err
			}
			for _, o := range origins {
				state.Origins = append(state.Origins, wire.DatasetOrigin{Name: o.Name, Files: o.Files})
			}
		}
		out = append(out, state)
	}
	return out, nil
}

// readersOf gives the live grid jobs that read a dataset.
func (e *Engine) readersOf(ctx context.Context, id store.DatasetID) ([]wire.DatasetReader, error) {
	grids, err := e.store.Readers(ctx, id)
	if err != nil {
		return nil, err
	}
	var out []wire.DatasetReader
	for _, gid := range grids {
		inputs, err := e.store.Inputs(ctx, gid)
		if err != nil {
			return nil, err
		}
		job := e.jobOf(gid)
		for _, in := range inputs {
			if in.Dataset == id {
				out = append(out, wire.DatasetReader{Grid: gid, Status: job.Status.String(), Input: wire.Input{Master: in.Master, Counts: in.Counts}})
			}
		}
	}
	return out, nil
}

// closeDataset says that no more files will come; changed is false if that was
// known. The grid jobs that read it remember why.
func (e *Engine) closeDataset(ctx context.Context, uid int, name, why string) (changed bool, err error) {
	err = e.change(ctx, "dataset-close", func(c *change) error {
		id, _, err := c.tx.PutDataset(uid, jjm.Dataset{Name: name})
		if err != nil {
			return err
		}
		if changed, err = c.tx.CloseDataset(id); err != nil || !changed {
			return err
		}
		c.news = append(c.news, id)
		c.tell(id, "dataset "+name+" is closed: "+why, "")
		return nil
	})
	return changed && err == nil, err
}

// tell journals news of a dataset with the grid jobs that read it.
func (c *change) tell(id store.DatasetID, what, actor string) {
	for gid, g := range c.e.grids {
		if g.reads != nil && slices.Contains(g.reads.datasets, id) {
			c.note(gid, "", what, "", actor)
		}
	}
}
