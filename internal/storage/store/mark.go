package store

import (
	"context"

	"jjm/internal/jjm"
)

// Mark is the mark of a file of a dataset that cannot be read.
type Mark struct {
	LFN   string
	State jjm.FileState // missing, lost or broken
}

// Marked is the outcome of marking a file.
type Marked struct {
	Mark
	// File is the file's number in the dataset. Before is the mark that the file already had; such a file is not changed.
	// Before is [jjm.FileReady] if the file had no mark.
	File   int64
	Before jjm.FileState
}

// MarkFiles marks files of a dataset, so that steps that read the dataset no longer cut these files. Local jobs keep
// the pieces that they own. If a local job completes, its pieces count as processed; if it fails, the file gets the
// state of the mark. A file that already has a mark keeps it. If the dataset does not have a file, the error is of kind
// Gone and no file is marked.
func (tx *Tx) MarkFiles(id DatasetID, marks []Mark, actor, reason string) ([]Marked, error) {
	out := make([]Marked, 0, len(marks))
	for _, m := range marks {
		one := Marked{Mark: m}
		if err := tx.markOne(id, &one, actor, reason); err != nil {
			if jjm.KindOf(err) == jjm.Gone {
				return nil, tx.refuse(err) // the person who named the file reads this text
			}
			return nil, tx.fail(err, "mark file %.80q as %s", m.LFN, m.State)
		}
		out = append(out, one)
	}
	return out, nil
}

// markOne marks a file, unless the file already has a mark.
func (tx *Tx) markOne(id DatasetID, m *Marked, actor, reason string) (err error) {
	if m.File, m.Before, err = tx.marked(id, m.LFN); err != nil || m.Before != jjm.FileReady {
		return err
	}
	return tx.mark(id, m, actor, reason)
}

// marked returns the number of a file of a dataset and the file's mark, jjm.FileReady if the file has none. The error
// is of kind Gone if the file is unknown.
func (tx *Tx) marked(id DatasetID, lfn string) (file int64, state jjm.FileState, err error) {
	file, err = tx.fileOf(id, lfn)
	if err != nil {
		return file, 0, err
	}
	if file < 0 {
		return file, 0, jjm.Errorf(jjm.Gone, "it has no file %.80s", lfn)
	}
	state, err = tx.markOf(id, file)
	return file, state, err
}

// markOf returns the mark of a file, jjm.FileReady if the file has none.
func (tx *Tx) markOf(id DatasetID, file int64) (state jjm.FileState, err error) {
	err = tx.c.query(tx.ctx, "SELECT state FROM file_marks WHERE dataset = ? AND file = ?",
		args{}.int(int64(id)).int(file), func(r row) error {
			state = jjm.FileState(r.int(0))
			return nil
		})
	return state, err
}

// mark stores one mark and updates the file in each step of a live grid job that reads the file:
//
//	not cut at all     the file gets the state of the mark
//	partly cut         the rest of the file counts as one lost piece, as if a local job had failed with it
//	fully cut          the file keeps its state; if a piece is lost and none is open, it gets the state of the mark
func (tx *Tx) mark(id DatasetID, m *Marked, actor, reason string) error {
	_, err := tx.exec("INSERT INTO file_marks (dataset, file, state, time, actor, reason) VALUES (?, ?, ?, ?, ?, ?)",
		args{}.int(int64(id)).int(m.File).int(int64(m.State)).int(int64(jjm.At(tx.s.o.Now()))).text(actor).text(reason))
	if err != nil {
		return err
	}
	const among = ` WHERE file = ? AND (grid, step) IN (SELECT i.grid, i.step FROM inputs AS i JOIN grid_jobs AS g ON g.id = i.grid
		WHERE i.dataset = ? AND i.master = 1 AND g.status NOT IN ` + overGrids + `)`
	key := func(a args) args { return a.int(m.File).int(int64(id)) }
	_, err = tx.exec("UPDATE input_files SET state = ?, avail = 0, why = ?"+among+" AND state = 0",
		key(args{}.int(int64(m.State)).text(reason)))
	if err != nil {
		return err
	}
	_, err = tx.exec("UPDATE input_files SET avail = 0, lost = lost + 1, why = ?"+among+" AND state = 1 AND avail = 1",
		key(args{}.text(reason)))
	if err != nil {
		return err
	}
	_, err = tx.exec("UPDATE input_files SET state = ?"+among+" AND state = 1 AND avail = 0 AND open = 0 AND lost > 0",
		key(args{}.int(int64(m.State))))
	return err
}

// Unmarked is the outcome of removing a mark.
type Unmarked struct {
	LFN string
	// File is the file's number in the dataset. Before is the mark that the file had. It is [jjm.FileReady] if the file
	// had no mark; then nothing changed.
	File   int64
	Before jjm.FileState
	// Again are the grid jobs that can cut the file now. Without are the grid jobs that continue without all or some of
	// the file, because a local job owned some of the file or because their cutting has ended.
	Again, Without []jjm.GridID
}

// UnmarkFiles removes the marks of files of a dataset. Steps that are still being cut can cut such a file again, unless
// a local job owns some of the file or once owned only a piece of it. If the dataset does not have a file, the error is
// of kind Gone and no mark is removed.
func (tx *Tx) UnmarkFiles(id DatasetID, lfns []string) ([]Unmarked, error) {
	out := make([]Unmarked, 0, len(lfns))
	for _, lfn := range lfns {
		one := Unmarked{LFN: lfn}
		if err := tx.unmarkOne(id, &one); err != nil {
			if jjm.KindOf(err) == jjm.Gone {
				return nil, tx.refuse(err) // the person who named the file reads this text
			}
			return nil, tx.fail(err, "remove the mark of file %.80q", lfn)
		}
		out = append(out, one)
	}
	return out, nil
}

// unmarkOne removes the mark of a file, if the file has a mark.
func (tx *Tx) unmarkOne(id DatasetID, u *Unmarked) (err error) {
	if u.File, u.Before, err = tx.marked(id, u.LFN); err != nil || u.Before == jjm.FileReady {
		return err
	}
	return tx.unmark(id, u)
}

// unmark removes one mark.
func (tx *Tx) unmark(id DatasetID, u *Unmarked) error {
	key := args{}.int(int64(id)).int(u.File)
	if _, err := tx.exec("DELETE FROM file_marks WHERE dataset = ? AND file = ?", key); err != nil {
		return err
	}
	err := tx.c.query(tx.ctx, `SELECT a.grid, a.state BETWEEN 4 AND 6 AND g.closed = 0 AND g.status NOT IN `+overGrids+`
			AND NOT EXISTS (SELECT 1 FROM cover_input AS c WHERE c.grid = a.grid AND c.step = a.step AND c.file = a.file
				AND (c.released = 0 OR c.run >= 0 OR c.first > 0 OR c.last < 9223372036854775807))
		FROM inputs AS i JOIN input_files AS a ON a.grid = i.grid AND a.step = i.step AND a.file = ?2 JOIN grid_jobs AS g ON g.id = i.grid
		WHERE i.dataset = ?1 AND i.master = 1 AND (a.state BETWEEN 3 AND 6 OR a.lost > 0) ORDER BY a.grid`, key, func(r row) error {
		if r.bool(1) {
			u.Again = append(u.Again, jjm.GridID(r.int(0)))
		} else {
			u.Without = append(u.Without, jjm.GridID(r.int(0)))
		}
		return nil
	})
	for _, grid := range u.Again {
		if err != nil {
			return err
		}
		_, err = tx.exec(
			"UPDATE input_files SET state = 0, avail = 1, lost = 0, why = NULL WHERE grid = ? AND step = 0 AND file = ?",
			args{}.int(int64(grid)).int(u.File))
	}
	return err
}

// Marks returns the marks of a dataset's files, by number of the file.
func (s *Store) Marks(ctx context.Context, id DatasetID) (map[int64]jjm.FileState, error) {
	out := map[int64]jjm.FileState{}
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, "SELECT file, state FROM file_marks WHERE dataset = ?", args{}.int(int64(id)), func(r row) error {
			out[r.int(0)] = jjm.FileState(r.int(1))
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "read the marks of dataset %d", id)
	}
	return out, nil
}

// MarkedBy returns the numbers of the files of a dataset that the actor marked.
func (s *Store) MarkedBy(ctx context.Context, id DatasetID, actor string) (map[int64]bool, error) {
	out := map[int64]bool{}
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, "SELECT file FROM file_marks WHERE dataset = ? AND actor = ?",
			args{}.int(int64(id)).text(actor), func(r row) error {
				out[r.int(0)] = true
				return nil
			})
	})
	if err != nil {
		return nil, s.fail(err, "read who marked files of dataset %d", id)
	}
	return out, nil
}

// MarkedOwned returns the numbers of the unfinished local jobs of a step that own some of
// a marked file, ascending.
func (s *Store) MarkedOwned(ctx context.Context, id jjm.GridID, step int) (locals []int32, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT DISTINCT c.local FROM inputs AS i JOIN file_marks AS m ON m.dataset = i.dataset
			JOIN cover_input AS c ON c.grid = i.grid AND c.step = i.step AND c.file = m.file AND c.released = 0
			JOIN local_jobs AS l ON l.grid = c.grid AND l.n = c.local AND l.state NOT IN `+overLocals+`
			WHERE i.grid = ? AND i.step = ? AND i.master = 1 ORDER BY c.local`, stepArgs(id, step), func(r row) error {
			locals = append(locals, int32(r.int(0)))
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "read who owns marked files that grid job %s reads", id)
	}
	return locals, nil
}

// Owner is a local job that owns some of a file.
type Owner struct {
	Local jjm.LocalID
	File  int64
}

// Owners returns the unfinished local jobs that own some of the given files of a dataset.
// The keys of files are the numbers of the files; the values are ignored.
func (s *Store) Owners(ctx context.Context, id DatasetID, files map[int64]int) (all []Owner, err error) {
	err = s.view(ctx, func(c *conn) error {
		for n := range files {
			err := c.query(ctx, `SELECT DISTINCT c.grid, c.local FROM inputs AS i JOIN cover_input AS c ON c.grid = i.grid AND c.step = i.step AND c.file = ?
				AND c.released = 0 JOIN local_jobs AS l ON l.grid = c.grid AND l.n = c.local AND l.state NOT IN `+overLocals+`
				WHERE i.dataset = ? AND i.master = 1 ORDER BY c.grid, c.local`, args{}.int(n).int(int64(id)), func(r row) error {
				all = append(all, Owner{jjm.LocalID{Grid: jjm.GridID(r.int(0)), N: int32(r.int(1))}, n})
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, s.fail(err, "read who owns files of dataset %d", id)
	}
	return all, nil
}

// Unreadable returns the marked files among the given files of a grid job's master datasets.
func (tx *Tx) Unreadable(id jjm.GridID, lfns []string) (map[string]bool, error) {
	if tx.c == nil {
		return nil, errOver()
	}
	out := map[string]bool{}
	none, err := tx.c.number(
		"SELECT NOT EXISTS (SELECT 1 FROM inputs AS i JOIN file_marks AS m ON m.dataset = i.dataset WHERE i.grid = ? AND i.master = 1)",
		args{}.int(int64(id)))
	if none == 1 {
		lfns = nil
	}
	for _, lfn := range lfns {
		if err != nil {
			break
		}
		err = tx.c.query(tx.ctx, `SELECT 1 FROM inputs AS i JOIN files AS f ON f.dataset = i.dataset AND f.lfn = ?2
			JOIN file_marks AS m ON m.dataset = f.dataset AND m.file = f.n WHERE i.grid = ?1 AND i.master = 1`,
			args{}.int(int64(id)).text(lfn), func(row) error {
				out[lfn] = true
				return nil
			})
	}
	if err != nil {
		return nil, tx.fail(err, "read the marks of what grid job %s reads", id)
	}
	return out, nil
}
