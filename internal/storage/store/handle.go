package store

import (
	"context"

	"jjm/internal/jjm"
)

// Handle maps a handle to a grid job. If Refused is set, the last submission with the handle
// was refused for that reason.
type Handle struct {
	UID     int
	Grid    jjm.GridID
	Refused string
	Time    jjm.Time
}

// PutHandle maps a handle to a grid job or a refusal. A refusal keeps the grid job to which the handle was mapped
// before. The schema refuses a handle of another owner, and a grid job that is earlier than the mapped grid job.
func (tx *Tx) PutHandle(name jjm.Handle, h Handle) error {
	a := args{}.value(string(name)).int(int64(h.UID))
	if h.Grid != 0 {
		a = a.int(int64(h.Grid)).value(nil)
	} else {
		a = a.value(nil).value(h.Refused)
	}
	_, err := tx.exec(`INSERT INTO handles (handle, uid, grid, refused, time) VALUES (?,?,?,?,?)
		ON CONFLICT (handle) DO UPDATE SET uid = excluded.uid, grid = coalesce(excluded.grid, grid),
		refused = excluded.refused, time = excluded.time`, a.int(int64(h.Time)))
	if err != nil {
		return tx.fail(err, "store handle %s", name)
	}
	return nil
}

// Handle returns the grid job or refusal of a handle. The error is of kind Gone if the handle is unknown.
func (s *Store) Handle(ctx context.Context, name jjm.Handle) (h Handle, err error) {
	found := false
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, "SELECT uid, grid, refused, time FROM handles WHERE handle = ?", args{}.value(string(name)),
			func(r row) error {
				h = Handle{UID: int(r.int(0)), Grid: jjm.GridID(r.int(1)), Refused: r.text(2), Time: jjm.Time(r.int(3))}
				found = true
				return nil
			})
	})
	switch {
	case err != nil:
		return Handle{}, s.fail(err, "read handle %s", name)
	case !found:
		return Handle{}, jjm.Errorf(jjm.Gone, "no grid job is known by %s here", name)
	}
	return h, nil
}
