package store

import "jjm/internal/jjm"

// Below counts, by state in a step, the files of the step's master dataset whose LFNs begin with a folder, "a/b/".
// Files that the step has not noticed yet count as ready.
type Below [jjm.FileDropped + 1]int

// FilesBelow returns the counts for a folder, which must end with a slash.
func (tx *Tx) FilesBelow(id jjm.GridID, step int, folder string) (b Below, err error) {
	if n := len(folder); n == 0 || folder[n-1] != '/' {
		return b, tx.fail(jjm.Errorf(jjm.Internal, "%q is not a folder", folder), "count files of grid job %d", id)
	}
	master, err := tx.master(id, step)
	if err != nil {
		return b, tx.fail(err, "count files of grid job %d", id)
	}
	end := folder[:len(folder)-1] + "0" // "0" is the character after the slash
	a := stepArgs(id, step).int(int64(master)).value(folder).value(end)
	err = tx.c.query(tx.ctx, `SELECT coalesce(a.state, 0), count(*) FROM files AS f
		LEFT JOIN input_files AS a ON a.grid = ? AND a.step = ? AND a.file = f.n
		WHERE f.dataset = ? AND f.lfn >= ? AND f.lfn < ? GROUP BY 1`, a, func(r row) error {
		b[r.int(0)] = int(r.int(1))
		return nil
	})
	if err != nil {
		return b, tx.fail(err, "count files of grid job %d", id)
	}
	return b, nil
}
