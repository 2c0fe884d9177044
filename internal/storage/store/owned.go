package store

import (
	"context"

	"jjm/internal/jjm"
)

// Owned calls fn for each entry of the ledger of a step of events or rows. An entry means that a local job owns the
// units first to last. The entries are sorted by first. fn must be quick, because a snapshot is held. Owned stops at an
// error of fn and returns the error unchanged.
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
