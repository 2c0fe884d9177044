package store

import (
	"context"

	"jjm/internal/jjm"
)

// PutOrder stores an order. It replaces a stored order that is the same by [jjm.Order.Same].
func (tx *Tx) PutOrder(o jjm.Order) error {
	a := args{}.value(o.Kind).value(o.Name).value(o.Verb).int(int64(o.From)).value(o.Reason).value(o.By).int(int64(
		o.Since)).int(int64(o.Until))
	_, err := tx.exec(`INSERT INTO orders (kind, name, verb, start, reason, actor, since, until) VALUES (?,?,?,?,?,?,?,?)
		ON CONFLICT (kind, name, verb, start) DO UPDATE SET reason = excluded.reason, actor = excluded.actor,
		since = excluded.since, until = excluded.until`, a)
	if err != nil {
		return tx.fail(err, "store the order to %s %s %.80q", o.Verb, o.Kind, o.Name)
	}
	return nil
}

// DropOrder deletes an order. It returns nil if the order is not stored.
func (tx *Tx) DropOrder(o jjm.Order) error {
	_, err := tx.exec("DELETE FROM orders WHERE kind = ? AND name = ? AND verb = ? AND start = ?",
		args{}.value(o.Kind).value(o.Name).value(o.Verb).int(int64(o.From)))
	if err != nil {
		return tx.fail(err, "delete the order to %s %s %.80q", o.Verb, o.Kind, o.Name)
	}
	return nil
}

// Orders returns all stored orders, including expired orders, sorted by kind, name, verb and start.
func (s *Store) Orders(ctx context.Context) ([]jjm.Order, error) {
	var out []jjm.Order
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, "SELECT kind, name, verb, start, reason, actor, since, until FROM orders"+
			" ORDER BY kind, name, verb, start", nil, func(r row) error {
			out = append(out, jjm.Order{Kind: r.text(0), Name: r.text(1), Verb: r.text(2), From: jjm.Time(r.int(3)),
				Reason: r.text(4), By: r.text(5), Since: jjm.Time(r.int(6)), Until: jjm.Time(r.int(7))})
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "read the orders")
	}
	return out, nil
}
