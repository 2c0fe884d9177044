package store

import (
	"context"

	"jjm/internal/jjm"
)

// PutExclusion stores an exclusion. It replaces a stored exclusion of the same host ([jjm.Exclusion.Same]).
func (tx *Tx) PutExclusion(e jjm.Exclusion) error {
	a := args{}.value(e.Cluster).value(e.Host).value(e.Reason).value(e.By).int(int64(e.Since)).int(int64(e.Until))
	_, err := tx.exec(`INSERT INTO exclusions (cluster, host, reason, actor, since, until) VALUES (?,?,?,?,?,?)
		ON CONFLICT (cluster, host) DO UPDATE SET reason = excluded.reason, actor = excluded.actor,
		since = excluded.since, until = excluded.until`, a)
	if err != nil {
		return tx.fail(err, "store the exclusion of host %.80q", e.Host)
	}
	return nil
}

// DropExclusion deletes the exclusion of a host. It returns nil if the host is not excluded.
func (tx *Tx) DropExclusion(e jjm.Exclusion) error {
	_, err := tx.exec("DELETE FROM exclusions WHERE cluster = ? AND host = ?", args{}.value(e.Cluster).value(e.Host))
	if err != nil {
		return tx.fail(err, "delete the exclusion of host %.80q", e.Host)
	}
	return nil
}

// Exclusions returns all stored exclusions, including expired exclusions, sorted by cluster and host.
func (s *Store) Exclusions(ctx context.Context) ([]jjm.Exclusion, error) {
	var out []jjm.Exclusion
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, "SELECT cluster, host, reason, actor, since, until FROM exclusions ORDER BY cluster, host", nil,
			func(r row) error {
				out = append(out, jjm.Exclusion{Cluster: r.text(0), Host: r.text(1), Reason: r.text(2), By: r.text(3),
					Since: jjm.Time(r.int(4)), Until: jjm.Time(r.int(5))})
				return nil
			})
	})
	if err != nil {
		return nil, s.fail(err, "read the excluded hosts")
	}
	return out, nil
}
