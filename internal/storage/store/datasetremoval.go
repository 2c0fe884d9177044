package store

import (
	"context"
	"fmt"

	"jjm/internal/jjm"
)

// FindDataset returns the dataset of an owner by its name. found is false if there is no such dataset.
func (tx *Tx) FindDataset(uid int, name string) (d Dataset, found bool, err error) {
	if tx.c == nil {
		return d, false, tx.fail(errOver(), "read dataset %.80q", name)
	}
	err = tx.c.query(tx.ctx, "SELECT "+datasetColumns+" FROM datasets WHERE uid = ? AND name = ?",
		args{}.int(int64(uid)).text(name), func(r row) error {
			d, found = scanDataset(r), true
			return nil
		})
	if err != nil {
		return d, false, tx.fail(err, "read dataset %.80q", name)
	}
	return d, found, nil
}

// Needs returns the grid jobs that have rows about reading a dataset, or about reading another dataset that took files
// from it, sorted by id. These rows stay until the grid job is removed.
func (tx *Tx) Needs(id DatasetID) (grids []jjm.GridID, err error) {
	if tx.c == nil {
		return nil, tx.fail(errOver(), "find who reads dataset %d", id)
	}
	err = tx.c.query(tx.ctx, `WITH RECURSIVE t (dataset) AS (VALUES (?1)
		UNION SELECT e.dataset FROM t JOIN expansions AS e ON e.member = t.dataset)
		SELECT DISTINCT i.grid FROM t JOIN inputs AS i ON i.dataset = t.dataset ORDER BY i.grid`,
		args{}.int(int64(id)), func(r row) error {
			grids = append(grids, jjm.GridID(r.int(0)))
			return nil
		})
	if err != nil {
		return nil, tx.fail(err, "find who reads dataset %d", id)
	}
	return grids, nil
}

// RemoveDataset removes a dataset: its name is free, and no query finds the dataset any longer. [Store.ClearDataset]
// deletes the rows of its files. The schema refuses the removal while a grid job or another dataset uses the dataset.
// The error is of kind Gone if the dataset is unknown.
func (tx *Tx) RemoveDataset(id DatasetID) error {
	d, err := tx.dataset(id)
	if err != nil {
		return err
	}
	_, err = tx.exec("UPDATE datasets SET removed = ?, name = ?, container = NULL, maker = 0 WHERE id = ?",
		args{}.int(int64(jjm.At(tx.s.o.Now()))).text(fmt.Sprintf("(removed %d)", id)).int(int64(id)))
	if err == nil {
		_, err = tx.exec("DELETE FROM expansions WHERE dataset = ?", args{}.int(int64(id)))
	}
	if err != nil {
		return tx.fail(err, "remove dataset %s", d.Name)
	}
	return nil
}

// RemoveContainer takes the datasets of an account out of a container. The datasets stay.
func (tx *Tx) RemoveContainer(uid int, container string) error {
	_, err := tx.exec("UPDATE datasets SET container = NULL WHERE uid = ? AND container = ?",
		args{}.int(int64(uid)).text(container))
	if err != nil {
		return tx.fail(err, "remove container %s", container)
	}
	return nil
}

// RemovedDatasets returns the removed datasets that still have rows, sorted by their ids.
func (s *Store) RemovedDatasets(ctx context.Context) ([]Dataset, error) {
	all, err := s.datasets(ctx, "WHERE removed <> 0 ORDER BY id", nil)
	if err != nil {
		return nil, s.fail(err, "list removed datasets")
	}
	return all, nil
}

// ClearDataset deletes at most chunk files of a removed dataset with their marks, the last files first. If no file is
// left, ClearDataset deletes the dataset's row and more is false. An unknown dataset is skipped, because it was already
// cleared.
func (s *Store) ClearDataset(ctx context.Context, id DatasetID, chunk int) (more bool, err error) {
	if chunk < 1 {
		return false, jjm.Errorf(jjm.Invalid, "store: clear dataset %d: chunk is %d: want 1 or more", id, chunk)
	}
	err = s.Update(ctx, func(tx *Tx) error {
		files, err := tx.c.number("SELECT coalesce(max(files), 0) FROM datasets WHERE id = ? AND removed <> 0",
			args{}.int(int64(id)))
		if err != nil {
			return tx.fail(err, "clear dataset %d", id)
		}
		if more = files > 0; more {
			err = tx.removeFiles(id, max(files-int64(chunk), 0))
		} else {
			_, err = tx.exec("DELETE FROM datasets WHERE id = ? AND removed <> 0", args{}.int(int64(id)))
		}
		if err != nil {
			return tx.fail(err, "clear dataset %d", id)
		}
		return nil
	})
	return more && err == nil, err
}

// removeFiles deletes the files of a dataset whose numbers are from or larger, with their marks.
func (tx *Tx) removeFiles(id DatasetID, from int64) error {
	a := args{}.int(int64(id)).int(from)
	for _, change := range [...]string{"DELETE FROM file_marks WHERE dataset = ? AND file >= ?",
		"DELETE FROM files WHERE dataset = ? AND n >= ?", "UPDATE datasets SET files = ?2 WHERE id = ?1"} {
		if _, err := tx.exec(change, a); err != nil {
			return err
		}
	}
	return nil
}
