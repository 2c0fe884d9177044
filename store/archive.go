package store

import (
	"context"
	"errors"
	"math"

	"jjm"
)

// maxLocal is the largest number of a local job.
const maxLocal = math.MaxInt32

// Archive moves at most chunk local jobs of a grid job that is over, with
// their attempts and cover, from the live tables to the history tables, in one
// transaction of its own, and says whether more remain. Once none remain the
// grid job is archived: [Store.Live] does not give it any more. It goes on
// where it was, whatever ended it before; on an archived grid job it does
// nothing. A grid job that is not over, or that has an open attempt, is a
// Conflict; an unknown one is Gone.
//
// Evidence and the journal stay where they are: they only grow, and their cost
// does not depend on what is in them.
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
	archived := int64(-1)
	err = tx.c.query(tx.ctx, "SELECT archived, status FROM grid_jobs WHERE id = ?", args{}.int(int64(id)),
		func(r row) error {
			archived = r.int(0)
			if st := jjm.GridStatus(r.int(1)); !st.Final() {
				return jjm.Errorf(jjm.Conflict, "it is %s: only what is over is archived", st)
			}
			return nil
		})
	if err != nil {
		return false, err
	}
	switch archived {
	case -1:
		return false, unknownGrid(id)
	case 2:
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
	_, err = tx.exec("UPDATE grid_jobs SET archived = ? WHERE id = ? AND archived <> ?1",
		args{}.int(2-left).int(int64(id)))
	return left != 0, err
}

// chunkEnd returns the number of the last local job of the next chunk.
func (tx *Tx) chunkEnd(id jjm.GridID, chunk int) (last int64, err error) {
	last = maxLocal
	err = tx.c.query(tx.ctx, "SELECT n FROM local_jobs WHERE grid = ? ORDER BY n LIMIT 1 OFFSET ?",
		args{}.int(int64(id)).int(int64(chunk)-1), func(r row) error {
			last = r.int(0)
			return nil
		})
	return last, err
}

// moveUpTo copies, then deletes; the schema lets nothing be deleted that has
// not been copied. Cover follows its local job.
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

func errOver() error { return errors.New("the transaction is over") }
