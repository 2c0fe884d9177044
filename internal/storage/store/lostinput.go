package store

import (
	"context"

	"jjm/internal/jjm"
)

// LostInput is a file of a grid job's master dataset that cannot be read, and that no completed local job processed as
// a whole.
type LostInput struct {
	jjm.File
	Dataset string
	// Maker is the grid job that made the file, 0 if people or catalogues list the file or if the maker was removed.
	Maker jjm.GridID
	// Marked is set if the file is marked as lost, missing or broken now. Owned is set if a local job that did not give
	// its work back owns some of the file.
	Marked, Owned bool
}

// LostInputs calls fn for each lost file of the first step of a grid job, in the order of the dataset. The cost grows
// with the number of files that the grid job reads. LostInputs stops at an error of fn and returns the error unchanged.
func (s *Store) LostInputs(ctx context.Context, id jjm.GridID, fn func(LostInput) error) error {
	var stop error // the error of fn, returned unchanged
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, "SELECT "+fileColumns+`, d.name, m.file IS NOT NULL,
				EXISTS (SELECT 1 FROM cover_input AS c WHERE c.grid = a.grid AND c.step = a.step AND c.file = a.file
					AND c.released = 0),
				coalesce((SELECT g.id FROM grid_jobs AS g WHERE g.id = d.maker),
					(SELECT g.id FROM expansions AS x JOIN files AS o ON o.dataset = x.member AND o.lfn = f.lfn
						JOIN datasets AS made ON made.id = x.member JOIN grid_jobs AS g ON g.id = made.maker
						WHERE x.dataset = d.id LIMIT 1), 0)
			FROM inputs AS i JOIN datasets AS d ON d.id = i.dataset
			JOIN input_files AS a ON a.grid = i.grid AND a.step = i.step
			JOIN files AS f ON f.dataset = i.dataset AND f.n = a.file
			LEFT JOIN file_marks AS m ON m.dataset = i.dataset AND m.file = a.file
			WHERE i.grid = ? AND i.step = 0 AND i.master = 1
				AND (a.state BETWEEN 4 AND 6 OR m.file IS NOT NULL AND a.state NOT IN (2, 7))
			ORDER BY a.file`, args{}.int(int64(id)), func(r row) error {
			f, err := scanFile(r)
			if err == nil {
				stop = fn(LostInput{File: f, Dataset: r.text(9), Marked: r.bool(10), Owned: r.bool(11),
					Maker: jjm.GridID(r.int(12))})
				err = stop
			}
			return err
		})
	})
	if stop != nil {
		return stop
	}
	if err != nil {
		return s.fail(err, "find the lost inputs of grid job %s", id)
	}
	return nil
}
