package store

import (
	"context"

	"jjm"
)

// Owned calls fn for what the cover ledger says of a step of events or rows:
// which local job owns units first..last, by first, ascending. An error of fn ends
// it and comes back as it is; fn must be quick, because it holds a snapshot.
func (s *Store) Owned(ctx context.Context, id jjm.GridID, step int,
	fn func(first, last int64, local int32) error) error {
	const query = "SELECT first, last, local FROM cover WHERE grid = ?1 AND step = ?2 " +
		"UNION ALL SELECT first, last, local FROM history_cover WHERE grid = ?1 AND step = ?2 ORDER BY first"
	var own error
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, query, args{}.int(int64(id)).int(int64(step)), func(r row) error {
			own = fn(r.int(0), r.int(1), int32(r.int(2)))
			return own
		})
	})
	if own != nil {
		return own
	}
	if err != nil {
		return s.fail(err, "read the cover ledger of grid job %s", id)
	}
	return nil
}
