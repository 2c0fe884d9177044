package engine

import (
	"context"
	"fmt"

	"jjm"
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
	return e.change(ctx, "dataset-close", func(c *change) error {
		_, err := c.tx.CloseDataset(d.ID)
		c.news = append(c.news, d.ID)
		return err
	})
}
