package store

import (
	"context"

	"jjm/internal/jjm"
)

// Made describes the origin of the files in a dataset. The zero value means that people or catalogues list the files.
type Made struct {
	// Grid is the grid job that made the files. Merged is set if this grid job merges its outputs.
	Grid   jjm.GridID
	Merged bool
	// From is the master dataset of Grid, from whose files the outputs were made; 0 if Grid has no master dataset.
	From DatasetID
}

// SetMaker stores that a dataset gets the outputs of a grid job. It is called once, when the dataset is created.
func (tx *Tx) SetMaker(id DatasetID, grid jjm.GridID) error {
	_, err := tx.exec("UPDATE datasets SET maker = ? WHERE id = ?", args{}.int(int64(grid)).int(int64(id)))
	if err != nil {
		return tx.fail(err, "set the maker of dataset %d", id)
	}
	return nil
}

// Made returns the origin of a dataset's files. The result is the zero value if the grid job that made them was
// removed.
func (s *Store) Made(ctx context.Context, id DatasetID) (m Made, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT g.id, g.spec ->> '$.merge' IS NOT NULL,
				coalesce((SELECT i.dataset FROM inputs AS i WHERE i.grid = g.id AND i.step = 0 AND i.master = 1), 0)
			FROM datasets AS d JOIN grid_jobs AS g ON g.id = d.maker
			WHERE d.id = ? AND NOT EXISTS (SELECT 1 FROM removals WHERE grid = g.id)`, args{}.int(int64(id)), func(r row) error {
			m = Made{Grid: jjm.GridID(r.int(0)), Merged: r.bool(1), From: DatasetID(r.int(2))}
			return nil
		})
	})
	if err != nil {
		return Made{}, s.fail(err, "find the maker of dataset %d", id)
	}
	return m, nil
}

// ParentsOf returns the parents of files of a dataset, by LFN. Files that the dataset does not
// have are left out. The cost grows with the number of LFNs, not with the dataset.
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
