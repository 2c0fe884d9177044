package store

import (
	"context"

	"jjm"
)

// PutOrder stores an order; one of the same verb about the same target is
// replaced.
func (tx *Tx) PutOrder(o jjm.Order) error {
	a := args{}.value(o.Kind).value(o.Name).value(o.Verb).value(o.Reason).value(o.By).int(int64(o.Since)).int(int64(
		o.Until))
	_, err := tx.exec(`INSERT INTO orders (kind, name, verb, reason, actor, since, until) VALUES (?,?,?,?,?,?,?)
		ON CONFLICT (kind, name, verb) DO UPDATE SET reason = excluded.reason, actor = excluded.actor,
		since = excluded.since, until = excluded.until`, a)
	if err != nil {
		return tx.fail(err, "store the order to %s %s %.80q", o.Verb, o.Kind, o.Name)
	}
	return nil
}

// DropOrder deletes an order; that there is none is no error.
func (tx *Tx) DropOrder(o jjm.Order) error {
	_, err := tx.exec("DELETE FROM orders WHERE kind = ? AND name = ? AND verb = ?",
		args{}.value(o.Kind).value(o.Name).value(o.Verb))
	if err != nil {
		return tx.fail(err, "delete the order to %s %s %.80q", o.Verb, o.Kind, o.Name)
	}
	return nil
}

// Orders returns all stored orders, also those whose time is over, by kind, name
// and verb.
func (s *Store) Orders(ctx context.Context) ([]jjm.Order, error) {
	var out []jjm.Order
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, "SELECT kind, name, verb, reason, actor, since, until FROM orders ORDER BY kind, name, verb", nil,
			func(r row) error {
				out = append(out, jjm.Order{Kind: r.text(0), Name: r.text(1), Verb: r.text(2), Reason: r.text(3),
					By: r.text(4), Since: jjm.Time(r.int(5)), Until: jjm.Time(r.int(6))})
				return nil
			})
	})
	if err != nil {
		return nil, s.fail(err, "read the orders")
	}
	return out, nil
}
