package store

import (
	"context"

	"jjm"
)

// Made says where the files of a dataset come from. The zero value: people or
// catalogues list them.
type Made struct {
	// Grid is the grid job whose outputs they are, and Merged says that it merged
	// them.
	Grid   jjm.GridID
	Merged bool
	// From is the master dataset that the grid job reads, in which the files are
	// that its outputs were made from; 0 if it reads none.
	From DatasetID
}

// SetMaker says that a dataset has the outputs of a grid job, once and for good.
func (tx *Tx) SetMaker(id DatasetID, grid jjm.GridID) error {
	_, err := tx.exec("UPDATE datasets SET maker = ? WHERE id = ?", args{}.int(int64(grid)).int(int64(id)))
	if err != nil {
		return tx.fail(err, "set the maker of dataset %d", id)
	}
	return nil
}

// Made returns where the files of a dataset come from.
func (s *Store) Made(ctx context.Context, id DatasetID) (m Made, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT g.id, g.spec ->> '$.merge' IS NOT NULL,
				coalesce((SELECT i.dataset FROM inputs AS i WHERE i.grid = g.id AND i.step = 0 AND i.master = 1), 0)
			FROM datasets AS d JOIN grid_jobs AS g ON g.id = d.maker WHERE d.id = ?`, args{}.int(int64(id)), func(r row) error {
			m = Made{Grid: jjm.GridID(r.int(0)), Merged: r.bool(1), From: DatasetID(r.int(2))}
			return nil
		})
	})
	if err != nil {
		return Made{}, s.fail(err, "find the maker of dataset %d", id)
	}
	return m, nil
}

// ParentsOf returns, by name, the files that some files of a dataset were made from.
// Files that the dataset does not have are left out. It takes time in the number of
// names.
func (s *Store) ParentsOf(ctx context.Context, id DatasetID, lfns []string) (map[string][]string, error) {
	out := make(map[string][]string, len(lfns))
	err := s.view(ctx, func(c *conn) error {
		for _, lfn := range lfns {
			err := c.query(ctx, "SELECT "+fileColumns+" FROM files AS f WHERE f.dataset = ? AND f.lfn = ?",
				args{}.int(int64(id)).value(lfn), func(r row) error {
					f, err := scanFile(r)
					out[lfn] = f.Parents
					return err
				})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, s.fail(err, "read the parents of files of dataset %d", id)
	}
	return out, nil
}
