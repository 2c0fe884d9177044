package dataset

import (
	"context"
	"fmt"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// Dataset carries out the action Do of the request: it adds files to a dataset, marks or lists its files, closes it,
// removes datasets, or only shows datasets. Except after a removal, it returns the datasets in their new state. It
// wakes the grid jobs that read a changed dataset.
func (ds *Datasets) Dataset(ctx context.Context, caller wire.Caller, r wire.DatasetRequest) (wire.DatasetAnswer,
	error) {
	out, err := carryOut(ctx, ds, caller, *r.Dataset)
	return wire.DatasetAnswer{Datasets: &out}, err
}

func carryOut(ctx context.Context, ds *Datasets, caller wire.Caller, d wire.Dataset) (out wire.Datasets, err error) {
	uid := caller.UID
	if d.UID != nil {
		uid = *d.UID
	}
	if !caller.May(uid) {
		return out, jjm.Errorf(jjm.Denied, "datasets of uid %d: only their owner and administrators may use them",
			uid)
	}
	if d.Name != "" && d.Do != wire.DatasetAdd && d.Do != wire.DatasetShow {
		if _, err := named(ctx, ds.b.Store, uid, d.Name); err != nil {
			return out, err
		}
	}
	switch d.Do {
	case wire.DatasetAdd:
		if err := ds.mayAdd(caller); err != nil {
			return out, err
		}
		if err := ds.notFilled(uid, d.Name); err != nil {
			return out, err
		}
		out.Added, err = ds.addFilesIn(ctx, uid, jjm.Dataset{Name: d.Name, Container: d.Container}, d.Files)
	case wire.DatasetMark:
		err = ds.marks.mark(ctx, caller, uid, d, &out)
	case wire.DatasetRemove:
		return wire.Datasets{Removed: ds.remove(ctx, caller, uid, d), Shown: []wire.DatasetState{}}, nil
	case wire.DatasetFiles:
		err = ds.list(ctx, caller, uid, d, &out)
	case wire.DatasetClose:
		out.Changed, err = ds.closeDataset(ctx, uid, d.Name, "closed by "+caller.User)
	}
	if err != nil {
		return out, fmt.Errorf("dataset %s: %w", d.Name, err)
	}
	out.Shown, err = ds.showDatasets(ctx, caller, uid, d)
	return out, err
}

// makerOf returns the owner of the grid job that fills a dataset. The user is "" if no grid job fills it.
func makerOf(ctx context.Context, from *store.Store, id store.DatasetID) (jjm.Owner, error) {
	made, err := from.Made(ctx, id)
	if err != nil || made.Grid == 0 {
		return jjm.Owner{UID: -1}, err
	}
	job, err := from.Grid(ctx, made.Grid)
	return job.Owner, err
}

// mayAdd returns an error of kind Denied for a caller who may not submit grid jobs, and so may not
// add files either.
func (ds *Datasets) mayAdd(caller wire.Caller) error {
	if err := ds.b.MayRun(caller); err != nil {
		return err
	}
	v := ds.s.View()
	defer v.Close()
	return v.NotBanned(state.Whom(jjm.Owner{User: caller.User, UID: caller.UID}, nil, nil))
}

// notFilled returns an error of kind Conflict for the output dataset of a live grid job,
// because readers would mistake added files for its outputs.
func (ds *Datasets) notFilled(uid int, name string) error {
	v := ds.s.View()
	defer v.Close()
	for id, g := range v.Grids() {
		if g.Job.Owner.UID == uid && g.Job.Spec.OutputDataset == name && !g.Job.Status.Final() {
			return stillFilled(name, id, "use another dataset, or wait until the grid job has ended")
		}
	}
	return nil
}

// showDatasets returns the dataset or the datasets of the container that d names, or all datasets of the account uid.
// Administrators who name no account get the datasets of all accounts.
func (ds *Datasets) showDatasets(ctx context.Context, caller wire.Caller, uid int, d wire.Dataset) ([]wire.DatasetState,
	error) {
	var all []store.Dataset
	if d.Name != "" {
		var err error
		if all, err = called(ctx, ds.b.Store, uid, d.Name); err != nil {
			return nil, err
		}
	} else {
		if caller.Admin && d.UID == nil {
			uid = -1
		}
		var err error
		if all, err = ds.b.Store.Datasets(ctx, uid); err != nil {
			return nil, err
		}
	}
	out := make([]wire.DatasetState, 0, len(all))
	for _, s := range all {
		state := wire.DatasetState{Name: s.Name, Container: s.Container, UID: s.UID, Created: s.Created, Closed: s.Closed,
			Files: s.Files, Events: s.Events, Bytes: s.Bytes}
		if d.Name != "" && d.Do == wire.DatasetShow {
			var err error
			if state.Readers, err = ds.readersOf(ctx, s.ID); err != nil {
				return nil, err
			}
			origins, err := ds.b.Store.Origins(ctx, s.ID)
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

// readersOf returns the live grid jobs that read a dataset, with their counts of its
// files.
func (ds *Datasets) readersOf(ctx context.Context, id store.DatasetID) ([]wire.DatasetReader, error) {
	grids, err := ds.b.Store.Readers(ctx, id)
	if err != nil {
		return nil, err
	}
	var out []wire.DatasetReader
	for _, gid := range grids {
		inputs, err := ds.b.Store.Inputs(ctx, gid)
		if err != nil {
			return nil, err
		}
		job := ds.s.JobOf(gid)
		for _, in := range inputs {
			if in.Dataset == id {
				out = append(out, wire.DatasetReader{Grid: gid, Status: job.Status.String(),
					Input: wire.Input{Master: in.Master, Counts: in.Counts}})
			}
		}
	}
	return out, nil
}

// stillFilled returns the error about a request that would disturb the grid job that fills a dataset. remedy is advice.
func stillFilled(name string, id jjm.GridID, remedy string) error {
	return jjm.Errorf(jjm.Conflict, "dataset %s: grid job %s fills it with its outputs: %s", name, id, remedy)
}

// closeDataset closes a dataset; changed is false if it was closed already. The error is of kind Conflict if an
// unfinished grid job fills the dataset. why goes into the journals of the grid jobs that read the dataset.
func (ds *Datasets) closeDataset(ctx context.Context, uid int, name, why string) (changed bool, err error) {
	err = ds.s.Change(ctx, "dataset-close", func(c *state.Change) error {
		set, found, err := c.Tx.FindDataset(uid, name)
		if err != nil {
			return err
		}
		if !found { // the dataset was removed just now
			return jjm.Errorf(jjm.Gone, "no dataset %s", name)
		}
		if g := c.Live.Grid(set.Maker); g != nil && !g.Job.Status.Final() {
			return stillFilled(name, set.Maker, fmt.Sprintf("jjm closes it when this grid job ends (jjm wait %s; to end it "+
				"now, jjm kill %[1]s)", set.Maker))
		}
		if changed, err = c.Tx.CloseDataset(set.ID); err != nil || !changed {
			return err
		}
		c.News = append(c.News, set.ID)
		noteReaders(c, set.ID, "dataset "+name+" is closed: "+why, "")
		return nil
	})
	return changed && err == nil, err
}

// noteReaders adds a text about a dataset to the journals of the live grid jobs that read it.
func noteReaders(c *state.Change, id store.DatasetID, what, actor string) {
	for gid, g := range c.Live.Grids() {
		if g.Reads != nil && g.Reads.Knows(id) {
			c.Note(gid, "", what, "", actor)
		}
	}
}
