package dataset

import (
	"context"
	"path/filepath"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// readPage is the greatest number of files in one answer if each file comes with its readers.
const readPage = 500

// list adds files of a dataset to out: the files among at most wire.MaxFiles, or readPage if d.All is set, from number
// d.From on. Files with marks are left out unless d.All is set. It sets out.Next to the number at which to continue if
// there may be further files.
func (ds *Datasets) list(ctx context.Context, caller wire.Caller, uid int, d wire.Dataset, out *wire.Datasets) error {
	set, err := ds.b.Store.DatasetNamed(ctx, uid, d.Name)
	if err != nil {
		return err
	}
	page := wire.MaxFiles
	if d.All {
		page = readPage
	}
	to := d.From + int64(page)
	marks, err := ds.b.Store.MarksOf(ctx, set.ID, d.From, to)
	if err != nil {
		return err
	}
	var readers map[int64][]store.FileReader
	if d.All {
		if readers, err = ds.b.Store.FileReaders(ctx, set.ID, d.From, to); err != nil {
			return err
		}
	}
	owner := jjm.Owner{User: caller.User, UID: caller.UID}
	if uid != caller.UID {
		if owner, err = makerOf(ctx, ds.b.Store, set.ID); err != nil {
			return err
		}
	}
	root, some, last := ds.outside.areas.RootPath(owner), 0, int64(0)
	err = ds.b.Store.Files(ctx, set.ID, d.From, page, func(n int64, f jjm.File) error {
		some, last = some+1, n
		mark, marked := marks[n]
		if marked && !d.All {
			return nil
		}
		file := wire.DatasetFile{File: f}
		if d.All {
			file.State, file.Reason, file.Readers = mark.State.String(), mark.Reason, fileReaders(readers[n])
		}
		if f.Path != "" && owner.UID == uid {
			file.Lies = filepath.Join(root, f.Path)
		}
		out.Files = append(out.Files, file)
		return nil
	})
	if some == page {
		out.Next = last + 1
	}
	return err
}

// fileReaders converts the readers of a file for an answer.
func fileReaders(all []store.FileReader) (out []wire.FileReader) {
	for _, r := range all {
		out = append(out, wire.FileReader{Grid: r.Grid, State: r.State.String()})
	}
	return out
}
