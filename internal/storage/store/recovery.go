package store

import (
	"context"

	sqlite3 "modernc.org/sqlite/lib"

	"jjm/internal/jjm"
)

// insertRecovery stores the grid job that a new grid job recovers, if there is one. The error is of kind Invalid if the
// schema refuses the recovery.
func (tx *Tx) insertRecovery(g *jjm.GridJob) error {
	if g.Spec.Recovers == 0 {
		return nil
	}
	_, err := tx.exec("INSERT INTO recoveries (grid, recovers) VALUES (?, ?)",
		args{}.int(int64(g.ID)).int(int64(g.Spec.Recovers)))
	if code(err) == sqlite3.SQLITE_CONSTRAINT_TRIGGER {
		err = jjm.Errorf(jjm.Invalid, "the recovery is refused: %w", err)
	}
	if err != nil {
		return tx.fail(err, "insert a grid job that recovers grid job %s", g.Spec.Recovers)
	}
	return nil
}

// A Kin is a recovery in the tree of recoveries of a grid job.
type Kin struct {
	Grid     jjm.GridID
	Recovers jjm.GridID // the grid job that it recovers directly
	Gone     bool       // whether it is removed
}

// RecoveryRoot returns the grid job at the beginning of the chain of recoveries of a grid job. It returns id if the
// grid job recovers no other one.
func (s *Store) RecoveryRoot(ctx context.Context, id jjm.GridID) (root jjm.GridID, err error) {
	err = s.view(ctx, func(c *conn) error {
		n, err := c.number(`WITH RECURSIVE up (grid) AS (SELECT ?1
			UNION SELECT r.recovers FROM up JOIN recoveries AS r ON r.grid = up.grid) SELECT min(grid) FROM up`,
			args{}.int(int64(id)))
		root = jjm.GridID(n)
		return err
	})
	if err != nil {
		return 0, s.fail(err, "find what grid job %s recovers", id)
	}
	return root, nil
}

// RecoveryTree returns the recoveries of a grid job as Recoveries does, with the grid jobs that they recover directly.
func (s *Store) RecoveryTree(ctx context.Context, id jjm.GridID) (all []Kin, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, `WITH RECURSIVE r (grid, recovers) AS (SELECT grid, recovers FROM recoveries WHERE recovers = ?
			UNION SELECT n.grid, n.recovers FROM r JOIN recoveries AS n ON n.recovers = r.grid)
			SELECT grid, recovers, EXISTS (SELECT 1 FROM removals AS m WHERE m.grid = r.grid) FROM r ORDER BY grid`,
			args{}.int(int64(id)), func(r row) error {
				all = append(all, Kin{Grid: jjm.GridID(r.int(0)), Recovers: jjm.GridID(r.int(1)), Gone: r.int(2) != 0})
				return nil
			})
	})
	if err != nil {
		return nil, s.fail(err, "find what recovers grid job %s", id)
	}
	return all, nil
}

// Recoveries returns the grid jobs that recover a grid job, directly or through another
// recovery, ascending.
func (s *Store) Recoveries(ctx context.Context, id jjm.GridID) ([]jjm.GridID, error) {
	tree, err := s.RecoveryTree(ctx, id)
	var all []jjm.GridID
	for _, k := range tree {
		all = append(all, k.Grid)
	}
	return all, err
}
