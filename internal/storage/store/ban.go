package store

import (
	"context"
	"strconv"

	"jjm/internal/credential"
	"jjm/internal/jjm"
)

// PutBan stores a ban. It replaces an older ban of the same person.
func (tx *Tx) PutBan(b jjm.Ban) error {
	if err := tx.DropBan(b); err != nil {
		return err
	}
	a := args{}.value(b.Kind).value(b.Name).value(b.Reason).value(b.By).int(int64(b.UID)).int(int64(b.Since))
	if b.Account == nil {
		a = a.value(nil)
	} else {
		a = a.int(int64(*b.Account))
	}
	_, err := tx.exec("INSERT INTO bans (kind, name, reason, actor, uid, since, account) VALUES (?,?,?,?,?,?,?)", a)
	if err != nil {
		return tx.fail(err, "store the ban of %s %.80q", b.Kind, b.Name)
	}
	return nil
}

// DropBan deletes the bans of a person. It returns nil if the person is not banned.
func (tx *Tx) DropBan(b jjm.Ban) error {
	all, err := tx.c.bans(tx.ctx)
	if err != nil {
		return tx.fail(err, "read the bans")
	}
	for _, old := range all {
		// Kind and name are the key of a ban. If an account has taken over the name of another account, its ban replaces the
		// other account's ban.
		if !credential.SameBan(old, b) && (old.Kind != b.Kind || old.Name != b.Name) {
			continue
		}
		_, err := tx.exec("DELETE FROM bans WHERE kind = ? AND name = ?", args{}.value(old.Kind).value(old.Name))
		if err != nil {
			return tx.fail(err, "delete the ban of %s %.80q", b.Kind, b.Name)
		}
	}
	return nil
}

// Bans returns all bans, sorted by kind and name.
func (s *Store) Bans(ctx context.Context) (out []jjm.Ban, err error) {
	err = s.view(ctx, func(c *conn) error {
		out, err = c.bans(ctx)
		return err
	})
	if err != nil {
		return nil, s.fail(err, "read the bans")
	}
	return out, nil
}

func (c *conn) bans(ctx context.Context) (out []jjm.Ban, err error) {
	const all = "SELECT kind, name, reason, actor, uid, since, CAST(account AS TEXT) FROM bans ORDER BY kind, name"
	err = c.query(ctx, all, nil, func(r row) error {
		b := jjm.Ban{Kind: r.text(0), Name: r.text(1), Reason: r.text(2), By: r.text(3), UID: int(r.int(4)),
			Since: jjm.Time(r.int(5))}
		if uid, err := strconv.Atoi(r.text(6)); err == nil {
			b.Account = &uid
		}
		out = append(out, b)
		return nil
	})
	return out, err
}
