package store

import (
	"context"

	"jjm/internal/jjm"
)

// insertRecovery stores the grid job that a new grid job recovers, if there is one.
func (tx *Tx) insertRecovery(g *jjm.GridJob) error {
	if g.Spec.Recovers == 0 {
		return nil
	}
	_, err := tx.exec("INSERT INTO recoveries (grid, recovers) VALUES (?, ?)",
		args{}.int(int64(g.ID)).int(int64(g.Spec.Recovers)))
	if err != nil {
		return tx.fail(err, "insert a grid job that recovers grid job %s", g.Spec.Recovers)
	}
	return nil
}

// Recoveries returns the grid jobs that recover a grid job, directly or through another
// recovery, ascending.
func (s *Store) Recoveries(ctx context.Context, id jjm.GridID) (all []jjm.GridID, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, `WITH RECURSIVE r (grid) AS (SELECT grid FROM recoveries WHERE recovers = ?
			UNION SELECT n.grid FROM r JOIN recoveries AS n ON n.recovers = r.grid) SELECT grid FROM r ORDER BY grid`,
			args{}.int(int64(id)), func(r row) error {
				all = append(all, jjm.GridID(r.int(0)))
				return nil
			})
	})
	if err != nil {
		return nil, s.fail(err, "find what recovers grid job %s", id)
	}
	return all, nil
}
