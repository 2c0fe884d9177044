package store

import (
	"context"

	"jjm/internal/jjm"
)

// Filled returns the given datasets that may have files made by local jobs: datasets that a grid job fills, and
// datasets that took files from the datasets of a container, and datasets that a recovery reads.
func (s *Store) Filled(ctx context.Context, ids []DatasetID) (filled []DatasetID, err error) {
	err = s.view(ctx, func(c *conn) error {
		for _, id := range ids {
			n, err := c.number(`SELECT EXISTS (SELECT 1 FROM datasets WHERE id = ?1 AND maker <> 0)
				OR EXISTS (SELECT 1 FROM expansions WHERE dataset = ?1)
				OR EXISTS (SELECT 1 FROM inputs AS i JOIN grid_jobs AS g ON g.id = i.grid
					WHERE i.dataset = ?1 AND i.step = 0 AND i.master = 1 AND g.spec ->> '$.recovers' > 0)`, args{}.int(int64(id)))
			if err != nil {
				return err
			}
			if n != 0 {
				filled = append(filled, id)
			}
		}
		return nil
	})
	if err != nil {
		return nil, s.fail(err, "find datasets that grid jobs fill")
	}
	return filled, nil
}

// Paths returns, by LFN, the given files of a dataset that local jobs made and that have a path. The cost grows with
// the number of LFNs.
func (s *Store) Paths(ctx context.Context, id DatasetID, lfns []string) (map[string]jjm.File, error) {
	out := make(map[string]jjm.File, len(lfns))
	err := s.view(ctx, func(c *conn) error {
		for _, lfn := range lfns {
			err := c.query(ctx, "SELECT "+fileColumns+" FROM files AS f WHERE f.dataset = ? AND f.lfn = ?",
				args{}.int(int64(id)).value(lfn), func(r row) error {
					f, err := scanFile(r)
					if f.Path != "" {
						out[lfn] = f
					}
					return err
				})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, s.fail(err, "read where files of dataset %d lie", id)
	}
	return out, nil
}
