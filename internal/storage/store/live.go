package store

import (
	"context"

	"jjm/internal/jjm"
)

// Live holds the rows that a daemon loads when it starts, except the local jobs.
type Live struct {
	// Grids are the grid jobs that are not archived, in the order of their ids. Final grid jobs in this list are not yet
	// archived by [Store.Archive].
	Grids []jjm.GridJob
	// Bulks are the bulks that are neither closed nor refused, oldest first, with their
	// members.
	Bulks []jjm.Bulk
}

// Live returns the grid jobs that are not archived and the open bulks, from one snapshot.
func (s *Store) Live(ctx context.Context) (Live, error) {
	var live Live
	err := s.view(ctx, func(c *conn) error {
		err := c.query(ctx, "SELECT "+gridColumns+" FROM grid_jobs WHERE archived < 2 ORDER BY id", nil, func(r row) error {
			g, err := scanGrid(r)
			live.Grids = append(live.Grids, g)
			return err
		})
		if err != nil {
			return err
		}
		return liveBulks(ctx, c, &live)
	})
	if err != nil {
		return Live{}, s.fail(err, "read what is live")
	}
	return live, nil
}

func liveBulks(ctx context.Context, c *conn, live *Live) error {
	err := c.query(ctx, "SELECT "+bulkColumns+" FROM bulks WHERE state < 3 ORDER BY created, tag", nil, func(r row) error {
		b, err := scanBulk(r)
		live.Bulks = append(live.Bulks, b)
		return err
	})
	if err != nil {
		return err
	}
	for i := range live.Bulks {
		if err := fillMembers(ctx, c, &live.Bulks[i]); err != nil {
			return err
		}
	}
	return nil
}

// LiveLocals calls fn for every local job of the grid jobs that are not archived, ordered by grid job and number. It
// reads one snapshot; fn should be quick, because the write-ahead log cannot be reused meanwhile. LiveLocals stops at
// an error of fn and returns the error unchanged.
func (s *Store) LiveLocals(ctx context.Context, fn func(jjm.LocalJob) error) error {
	var stop error // the error of fn, returned unchanged
	call := func(l jjm.LocalJob) error {
		stop = fn(l)
		return stop
	}
	err := s.view(ctx, func(c *conn) error {
		moving := false
		err := c.query(ctx, "SELECT 1 FROM grid_jobs WHERE archived = 1 UNION ALL SELECT 1 FROM grid_jobs WHERE reviving = 1 LIMIT 1", nil, func(row) error {
			moving = true
			return nil
		})
		if err != nil {
			return err
		}
		return liveLocals(ctx, c, moving, call)
	})
	if stop != nil {
		return stop
	}
	if err != nil {
		return s.fail(err, "read the live local jobs")
	}
	return nil
}

// liveLocals reads only the table local_jobs if moving is false. If moving is true, a grid job is partly in the history
// tables, and the local jobs of each grid job are read from both tables.
func liveLocals(ctx context.Context, c *conn, moving bool, fn func(jjm.LocalJob) error) error {
	if !moving {
		return c.query(ctx, "SELECT "+localColumns+" FROM local_jobs ORDER BY grid, n", nil, func(r row) error {
			var l jjm.LocalJob
			if err := scanLocal(r, &l); err != nil {
				return err
			}
			return fn(l)
		})
	}
	var ids []jjm.GridID
	err := c.query(ctx, "SELECT id FROM grid_jobs WHERE archived < 2 ORDER BY id", nil, func(r row) error {
		ids = append(ids, jjm.GridID(r.int(0)))
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := eachLocal(ctx, c, id, 0, maxLocal, fn); err != nil {
			return err
		}
	}
	return nil
}
