package engine

import (
	"context"
	"fmt"
	"slices"

	"jjm"
	"jjm/store"
	"jjm/wire"
)

// AddFiles adds files to a dataset of the caller, which is made if there is none;
// it says how many were new. The grid jobs that read it go on at once.
func (e *Engine) AddFiles(ctx context.Context, caller wire.Caller, name string, files []jjm.File) (added int, err error) {
	for from := 0; from < len(files) || from == 0; from += addChunk {
		n, err := e.addFiles(ctx, caller.UID, name, files[from:min(from+addChunk, len(files))])
		if added += n; err != nil {
			return added, fmt.Errorf("dataset %s: %w", name, err)
		}
	}
	return added, nil
}

// CloseDataset says that no more files will come to a dataset of the caller. One
// that is closed already is no error.
func (e *Engine) CloseDataset(ctx context.Context, caller wire.Caller, name string) error {
	d, err := e.store.DatasetNamed(ctx, caller.UID, name)
	if err != nil {
		return err
	}
	_, err = e.closeDataset(ctx, d.UID, name, "closed by "+caller.User)
	return err
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
		c.tell(id, "dataset "+name+" is closed: "+why)
		return nil
	})
	return changed && err == nil, err
}

// tell journals news of a dataset with the grid jobs that read it.
func (c *change) tell(id store.DatasetID, what string) {
	for gid, g := range c.e.grids {
		if g.reads != nil && slices.Contains(g.reads.datasets, id) {
			c.note(gid, "", what, "", "")
		}
	}
}
