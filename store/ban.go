package store

import (
	"context"

	"jjm"
)

// PutBan stores a ban; one of the same person is replaced.
func (tx *Tx) PutBan(b jjm.Ban) error {
	a := args{}.value(b.Kind).value(b.Name).value(b.Reason).value(b.By).int(int64(b.UID)).int(int64(b.Since))
	_, err := tx.exec(`INSERT INTO bans (kind, name, reason, actor, uid, since) VALUES (?,?,?,?,?,?)
		ON CONFLICT (kind, name) DO UPDATE SET reason = excluded.reason, actor = excluded.actor,
		uid = excluded.uid, since = excluded.since`, a)
	if err != nil {
		return tx.fail(err, "store the ban of %s %.80q", b.Kind, b.Name)
	}
	return nil
}

// DropBan deletes a ban; that there is none is no error.
func (tx *Tx) DropBan(b jjm.Ban) error {
	_, err := tx.exec("DELETE FROM bans WHERE kind = ? AND name = ?", args{}.value(b.Kind).value(b.Name))
	if err != nil {
		return tx.fail(err, "delete the ban of %s %.80q", b.Kind, b.Name)
	}
	return nil
}

// Bans gives all bans, by kind and name.
func (s *Store) Bans(ctx context.Context) ([]jjm.Ban, error) {
	var out []jjm.Ban
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, "SELECT kind, name, reason, actor, uid, since FROM bans ORDER BY kind, name", nil, func(r row) error {
			out = append(out, jjm.Ban{Kind: r.text(0), Name: r.text(1), Reason: r.text(2), By: r.text(3),
				UID: int(r.int(4)), Since: jjm.Time(r.int(5))})
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "read the bans")
	}
	return out, nil
}
