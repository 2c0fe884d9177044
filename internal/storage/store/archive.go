package store

import (
	"context"
	"errors"
	"math"

	"jjm/internal/jjm"
)

// maxLocal is the largest number of a local job.
const maxLocal = math.MaxInt32

// Archive moves at most chunk local jobs of a final grid job, with their attempts and ledger entries, from the live
// tables to the history tables, in one transaction. more is set if local jobs remain. When none remain, the grid job is
// archived, and [Store.Live] no longer returns it. After an interruption Archive continues where it stopped. If the
// grid job is already archived, Archive only moves back the rows that [Store.Revive] moved for a reopening that was
// refused. The error is of kind Conflict if the grid job is not final or has an open attempt, and Gone if the grid job
// does not exist.
//
// Evidence and the journal stay in their tables: rows are only added to these tables, and an access costs the same
// however many rows they have.
func (s *Store) Archive(ctx context.Context, id jjm.GridID, chunk int) (more bool, err error) {
	if chunk < 1 {
		return false, jjm.Errorf(jjm.Invalid, "store: archive grid job %d: chunk is %d: want 1 or more", id, chunk)
	}
	err = s.Update(ctx, func(tx *Tx) error {
		more, err = tx.archive(id, chunk)
		if err != nil {
			return tx.fail(err, "archive grid job %d", id)
		}
		return nil
	})
	return more && err == nil, err
}

func (tx *Tx) archive(id jjm.GridID, chunk int) (more bool, err error) {
	archived, reviving := int64(-1), false
	err = tx.c.query(tx.ctx, "SELECT archived, status, reviving FROM grid_jobs WHERE id = ?", args{}.int(int64(id)),
		func(r row) error {
			archived, reviving = r.int(0), r.bool(2)
			if st := jjm.GridStatus(r.int(1)); !st.Final() {
				return jjm.Errorf(jjm.Conflict, "it is %s: only final grid jobs are archived", st)
			}
			return nil
		})
	if err != nil {
		return false, err
	}
	switch {
	case archived == -1:
		return false, unknownGrid(id)
	case archived == 2 && !reviving:
		return false, nil
	}
	last, err := tx.chunkEnd(id, chunk)
	if err != nil {
		return false, err
	}
	if err := tx.moveUpTo(id, last); err != nil {
		return false, err
	}
	left, err := tx.c.number("SELECT EXISTS (SELECT 1 FROM local_jobs WHERE grid = ?)", args{}.int(int64(id)))
	if err != nil {
		return false, err
	}
	if archived == 2 { // rows left by a reopening that was refused
		if left == 0 {
			_, err = tx.exec("UPDATE grid_jobs SET reviving = 0 WHERE id = ?", args{}.int(int64(id)))
		}
		return left != 0, err
	}
	_, err = tx.exec("UPDATE grid_jobs SET archived = ? WHERE id = ? AND archived <> ?1",
		args{}.int(2-left).int(int64(id)))
	return left != 0, err
}

// Archived is a grid job in the history.
type Archived struct {
	ID jjm.GridID
	// Locals is the number of the grid job's local jobs.
	Locals int
}

// Archived returns at most limit grid jobs in the history with ids below before, newest first. It leaves out grid jobs
// that are removed or being reopened. Before 0 means no bound.
func (s *Store) Archived(ctx context.Context, before jjm.GridID, limit int) (all []Archived, err error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT id, (SELECT coalesce(max(n) + 1, 0) FROM history_local_jobs WHERE grid = g.id)
			FROM grid_jobs AS g WHERE id < ? AND archived = 2 AND reviving = 0
				AND NOT EXISTS (SELECT 1 FROM removals WHERE grid = g.id)
			ORDER BY id DESC LIMIT ?`, args{}.int(int64(before)).int(int64(limit)), func(r row) error {
			all = append(all, Archived{ID: jjm.GridID(r.int(0)), Locals: int(r.int(1))})
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "list the history")
	}
	return all, nil
}

// chunkEnd returns the number of the last local job of the next chunk of a grid job.
func (tx *Tx) chunkEnd(id jjm.GridID, chunk int) (last int64, err error) {
	last = maxLocal
	err = tx.c.query(tx.ctx, "SELECT n FROM local_jobs WHERE grid = ? ORDER BY n LIMIT 1 OFFSET ?",
		args{}.int(int64(id)).int(int64(chunk)-1), func(r row) error {
			last = r.int(0)
			return nil
		})
	return last, err
}

// moveUpTo copies the rows of local jobs up to number last to the history tables, then deletes them from the live
// tables. The schema refuses to delete a row that was not copied, and moves the ledger entries with their local jobs.
func (tx *Tx) moveUpTo(id jjm.GridID, last int64) error {
	a := args{}.int(int64(id)).int(last)
	err := tx.c.query(
		tx.ctx, "SELECT local, attempt, tag FROM attempts WHERE grid = ? AND local <= ? AND ended = 0 LIMIT 1", a,
		func(r row) error {
			return jjm.Errorf(jjm.Conflict, "attempt %d.%d #%d of bulk %s is open", id, r.int(0), r.int(1), r.text(2))
		})
	for _, move := range [...]string{
		"INSERT INTO history_local_jobs (" + localColumns + ") SELECT " + localColumns +
			" FROM local_jobs WHERE grid = ? AND n <= ? ORDER BY n",
		"INSERT INTO history_attempts (grid, local, attempt, tag, pos, ended) SELECT grid, local, attempt, tag, pos, ended " +
			"FROM attempts WHERE grid = ? AND local <= ? ORDER BY local, attempt",
		"DELETE FROM attempts WHERE grid = ? AND local <= ?",
		"DELETE FROM local_jobs WHERE grid = ? AND n <= ?",
	} {
		if err != nil {
			return err
		}
		_, err = tx.exec(move, a)
	}
	return err
}

// errOver is the error of a Tx that is used after its function returned.
func errOver() error { return errors.New("the transaction has ended") }
