package store

import (
	"context"

	"jjm/internal/jjm"
)

// attemptOf is SQL for the number of the current or last attempt of local job ?2 of grid job ?1.
const attemptOf = `(SELECT attempt FROM local_jobs WHERE grid = ?1 AND n = ?2
	UNION ALL SELECT attempt FROM history_local_jobs WHERE grid = ?1 AND n = ?2)`

// Retract stores that the outputs of a completed local job are lost, with the actor and the reason. fresh is false if
// this was already stored. It returns an error if the local job has not completed.
func (tx *Tx) Retract(id jjm.LocalID, actor, reason string) (fresh bool, err error) {
	n, err := tx.exec(`INSERT INTO retractions (grid, n, time, actor, reason, attempt)
		SELECT ?1, ?2, ?3, ?4, ?5, l.attempt FROM `+attemptOf+` AS l WHERE NOT EXISTS
			(SELECT 1 FROM retractions WHERE grid = ?1 AND n = ?2 AND attempt = l.attempt)`,
		localArgs(id).int(int64(jjm.At(tx.s.o.Now()))).text(actor).text(reason))
	if err != nil {
		return false, tx.fail(err, "retract local job %s", id)
	}
	return n > 0, nil
}

// RetractInputs changes the rows of the input files of a retracted local job as if the local job had failed. The caller
// then releases the files with [Tx.GiveBack].
func (tx *Tx) RetractInputs(l *jjm.LocalJob) error {
	files, err := tx.ownedBy(l.ID)
	if err != nil {
		return tx.fail(err, "retract local job %s", l.ID)
	}
	for _, n := range sortedKeys(files) {
		err := tx.reopenFile(l.ID.Grid, int64(l.Step), n, "lost = lost + ?, state = CASE state WHEN 2 THEN 1 ELSE state END",
			files[n].open)
		if err == nil {
			err = tx.setFile(l.ID.Grid, int(l.Step), n, "lost = lost")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Retracted returns the local jobs of a grid job whose results were retracted, with the reasons. It leaves out local
// jobs that made their outputs again in a later attempt.
func (s *Store) Retracted(ctx context.Context, id jjm.GridID) (map[int32]string, error) {
	out := map[int32]string{}
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT r.n, r.reason FROM retractions AS r
			LEFT JOIN local_jobs AS l ON l.grid = r.grid AND l.n = r.n
			LEFT JOIN history_local_jobs AS h ON h.grid = r.grid AND h.n = r.n
			WHERE r.grid = ? AND r.attempt = coalesce(l.attempt, h.attempt)`, args{}.int(int64(id)), func(r row) error {
			out[int32(r.int(0))] = r.text(1)
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "read what grid job %s retracted", id)
	}
	return out, nil
}

// HasFile reports whether a dataset has a file.
func (tx *Tx) HasFile(id DatasetID, lfn string) (bool, error) {
	n, err := tx.fileOf(id, lfn)
	if err != nil {
		return false, tx.fail(err, "find a file of dataset %d", id)
	}
	return n >= 0, nil
}
