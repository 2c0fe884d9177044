package store

import (
	"context"

	"jjm/internal/jjm"
)

// Reads is a dataset that a step reads.
type Reads struct {
	Dataset    DatasetID
	Master     bool
	Attributes string
}

// Input is a dataset that a step reads, with its counters.
type Input struct {
	Reads
	Step   int
	Name   string
	Closed bool
	// Counts are the numbers of files that the step has noticed (see NoticeFiles); they are zero for a secondary dataset.
	Counts jjm.InputCounts
}

// OpenInputs stores which datasets a step reads. It is called once for each step. It returns an error if two datasets
// are masters, or if a dataset is listed twice.
func (tx *Tx) OpenInputs(id jjm.GridID, step int, all []Reads) error {
	for i, r := range all {
		_, err := tx.exec("INSERT INTO inputs (grid, step, dataset, pos, master, attributes) VALUES (?, ?, ?, ?, ?, ?)",
			args{}.int(int64(id)).int(int64(step)).int(int64(r.Dataset)).int(int64(i)).bool(r.Master).text(r.Attributes))
		if err != nil {
			return tx.fail(err, "open the inputs of grid job %d", id)
		}
	}
	return nil
}

// master returns the master dataset of a step, 0 if it has none.
func (tx *Tx) master(id jjm.GridID, step int) (DatasetID, error) {
	if tx.c == nil {
		return 0, errOver()
	}
	n, err := tx.c.number("SELECT dataset FROM inputs WHERE grid = ? AND step = ? AND master = 1", stepArgs(id, step))
	return DatasetID(n), err
}

func stepArgs(id jjm.GridID, step int) args { return args{}.int(int64(id)).int(int64(step)) }

// NoticeFiles adds at most limit new files of a step's master dataset to the files of the step. A file with a mark gets
// the state of the mark; any other file is ready. noticed is the number of files added. complete is set if no more
// files will come, because the dataset is closed and all its files are noticed.
func (tx *Tx) NoticeFiles(id jjm.GridID, step, limit int) (noticed int, complete bool, err error) {
	master, err := tx.master(id, step)
	if err != nil {
		return 0, false, tx.fail(err, "notice files for grid job %d", id)
	}
	d, err := tx.dataset(master)
	if err != nil {
		return 0, false, err
	}
	seen, err := tx.c.number("SELECT files FROM inputs WHERE grid = ? AND step = ? AND master = 1", stepArgs(id, step))
	if err != nil {
		return 0, false, tx.fail(err, "notice files for grid job %d", id)
	}
	to := min(d.Files, seen+int64(limit))
	_, err = tx.exec(
		"INSERT INTO input_files (grid, step, file) SELECT ?, ?, n FROM files WHERE dataset = ? AND n >= ? AND n < ? ORDER BY n",
		stepArgs(id, step).int(int64(master)).int(seen).int(to))
	if err == nil {
		_, err = tx.exec(`UPDATE input_files SET avail = 0, state = m.state, why = m.reason FROM file_marks AS m
			WHERE m.dataset = ?3 AND m.file >= ?4 AND m.file < ?5 AND input_files.grid = ?1 AND input_files.step = ?2 AND input_files.file = m.file`,
			stepArgs(id, step).int(int64(master)).int(seen).int(to))
	}
	if err != nil {
		return 0, false, tx.fail(err, "notice files for grid job %d", id)
	}
	return int(to - seen), d.Closed != 0 && to == d.Files, nil
}

// CutFiles stores that files, given by their numbers, are fully cut: no later part will own a piece of such a file,
// unless a piece is given back.
func (tx *Tx) CutFiles(id jjm.GridID, step int, files []int64) error {
	for _, n := range files {
		if err := tx.setFile(id, step, n, "avail = 0"); err != nil {
			return err
		}
	}
	return nil
}

// setFile changes the row of a file of a step by SQL assignments. Then it sets the file's state if the file can no
// longer be cut (avail = 0) and no unfinished local job owns a piece of the file (open = 0):
//
//	finished   if no piece was lost
//	failed     if a piece was lost and the file has no mark
//	the mark   (lost, missing or broken) if a piece was lost and the file has a mark
func (tx *Tx) setFile(id jjm.GridID, step int, file int64, set string, values ...int64) error {
	a := args{}
	for _, v := range values {
		a = a.int(v)
	}
	where := " WHERE grid = ? AND step = ? AND file = ?"
	key := func(a args) args { return a.int(int64(id)).int(int64(step)).int(file) }
	err := tx.change("UPDATE input_files SET "+set+where, key(a), jjm.Errorf(jjm.Internal,
		"the step has not noticed it"))
	if err == nil {
		_, err = tx.exec("UPDATE input_files SET state = CASE lost WHEN 0 THEN 2 ELSE coalesce((SELECT m.state"+markOfFile+
			"), 3) END,"+
			" why = CASE lost WHEN 0 THEN why ELSE coalesce((SELECT m.reason"+markOfFile+"), why) END"+where+
			" AND avail = 0 AND open = 0 AND state < 2", key(nil))
	}
	if err != nil {
		return tx.fail(err, "file %d of grid job %d", file, id)
	}
	return nil
}

// markOfFile is SQL that finds the mark of the file of a row of input_files.
const markOfFile = ` FROM inputs AS i JOIN file_marks AS m ON m.dataset = i.dataset AND m.file = input_files.file
	WHERE i.grid = input_files.grid AND i.step = input_files.step AND i.master = 1`

// Drop is a file that is left out of the cutting, with the reason.
type Drop struct {
	File  int64
	State jjm.FileState // failed, missing, lost, broken or dropped
	Why   string
}

// DropFiles leaves files out of the cutting. If local jobs own pieces of a file, they keep the pieces and only the rest
// of the file is left out. The error is of kind Internal if a state is before jjm.FileFailed.
func (tx *Tx) DropFiles(id jjm.GridID, step int, drops []Drop) error {
	for _, d := range drops {
		if d.State < jjm.FileFailed {
			return tx.fail(jjm.Errorf(jjm.Internal, "it cannot be dropped with state %s", d.State), "file %d of grid job %d",
				d.File,
				id)
		}
		a := args{}.int(int64(d.State)).text(d.Why).int(int64(id)).int(int64(step)).int(d.File)
		n, err := tx.exec(
			"UPDATE input_files SET state = ?, avail = 0, why = ? WHERE grid = ? AND step = ? AND file = ? AND state = 0", a)
		if err != nil {
			return tx.fail(err, "drop file %d of grid job %d", d.File, id)
		}
		if n == 0 {
			err = tx.setFile(id, step, d.File, "avail = 0")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// DropRest ends the cutting of a step: it leaves out all files and parts of files of the master dataset that could
// still be cut. It returns the number of files that have no part at all.
func (tx *Tx) DropRest(id jjm.GridID, step int, why string) (files int, err error) {
	n, err := tx.exec(
		"UPDATE input_files SET state = 7, avail = 0, why = ? WHERE grid = ? AND step = ? AND avail = 1 AND state = 0",
		args{}.text(why).int(int64(id)).int(int64(step)))
	var partly []int64 // files of which local jobs own pieces
	if err == nil {
		err = tx.c.query(tx.ctx, "SELECT file FROM input_files WHERE grid = ? AND step = ? AND avail = 1", stepArgs(id, step),
			func(r row) error {
				partly = append(partly, r.int(0))
				return nil
			})
	}
	if err != nil {
		return 0, tx.fail(err, "end the cutting of grid job %d", id)
	}
	return int(n), tx.CutFiles(id, step, partly)
}

// Available calls fn for the files of a step's master dataset that are not fully cut, in the order in which the files
// were added. This order never changes. The cost grows with the number of these files, not of all files. Available
// stops at an error of fn and returns the error unchanged.
func (s *Store) Available(ctx context.Context, id jjm.GridID, step int, fn func(n int64, f jjm.File) error) error {
	return s.eachFile(ctx, "SELECT "+fileColumns+` FROM input_files AS a JOIN files AS f ON f.n = a.file
		AND f.dataset = (SELECT dataset FROM inputs WHERE grid = ?1 AND step = ?2 AND master = 1)
		WHERE a.grid = ?1 AND a.step = ?2 AND a.avail = 1 ORDER BY a.file`, stepArgs(id, step), fn)
}

// Siblings returns, by number of the file, how far other steps are with the files that the step can still cut. The
// other steps are those that read the same master dataset as their master; the result is nil if there are none. Steps
// of the splitter except do not count, because such steps would wait for one another.
//
//	FileFinished   all other steps processed the file, or left it out because of a mark or their splitter
//	FileFailed     processing the file failed in another step, or another step ended without the file
//	FilePicked     otherwise
func (s *Store) Siblings(ctx context.Context, id jjm.GridID, step int, except string) (map[int64]jjm.FileState, error) {
	var out map[int64]jjm.FileState
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT a.file, max(CASE WHEN o.state = 2 OR o.state > 3 THEN 2 WHEN o.state = 3 OR g.status IN `+overGrids+` THEN 3 ELSE 1 END),
				min(coalesce(o.state, 0) = 2 OR coalesce(o.state, 0) > 3)
			FROM inputs AS i JOIN input_files AS a ON a.grid = i.grid AND a.step = i.step AND a.avail = 1
			JOIN inputs AS j ON j.dataset = i.dataset AND j.master = 1 AND (j.grid <> i.grid OR j.step <> i.step)
			JOIN grid_jobs AS g ON g.id = j.grid AND coalesce(g.splitter, '') <> ?3
			LEFT JOIN input_files AS o ON o.grid = j.grid AND o.step = j.step AND o.file = a.file
			WHERE i.grid = ?1 AND i.step = ?2 AND i.master = 1 GROUP BY a.file`, stepArgs(id, step).value(except), func(r row) error {
			if out == nil {
				out = map[int64]jjm.FileState{}
			}
			state := jjm.FileState(r.int(1))
			if state == jjm.FileFinished && !r.bool(2) {
				state = jjm.FilePicked // some of the other steps are done with the file, not all
			}
			out[r.int(0)] = state
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "read the siblings of grid job %d", id)
	}
	return out, nil
}

const inputColumns = `i.dataset, i.master, i.attributes, i.step, d.name, d.closed, i.files, i.to_be_used, i.used,
	i.finished, i.failed, i.events, i.events_used`

func scanInput(r row) Input {
	return Input{
		Reads: Reads{Dataset: DatasetID(r.int(0)), Master: r.bool(1), Attributes: r.text(2)},
		Step:  int(r.int(3)), Name: r.text(4), Closed: r.bool(5),
		Counts: jjm.InputCounts{Files: r.int(6), ToBeUsed: r.int(7), Used: r.int(8), Finished: r.int(9), Failed: r.int(10),
			Events: r.int(11), EventsUsed: r.int(12)},
	}
}

// Inputs returns the datasets that the steps of a grid job read, in the order of OpenInputs. The result is empty if the
// grid job reads no dataset.
func (s *Store) Inputs(ctx context.Context, id jjm.GridID) (all []Input, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, "SELECT "+inputColumns+
			" FROM inputs AS i JOIN datasets AS d ON d.id = i.dataset WHERE i.grid = ? ORDER BY i.step, i.pos",
			args{}.int(int64(id)), func(r row) error {
				all = append(all, scanInput(r))
				return nil
			})
	})
	if err != nil {
		return nil, s.fail(err, "read the inputs of grid job %d", id)
	}
	return all, nil
}

// Readers returns the grid jobs that read a dataset and are not archived, in the order of their ids.
func (s *Store) Readers(ctx context.Context, id DatasetID) (all []jjm.GridID, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT DISTINCT i.grid FROM inputs AS i JOIN grid_jobs AS g ON g.id = i.grid
			WHERE i.dataset = ? AND g.archived < 2 ORDER BY i.grid`, args{}.int(int64(id)), func(r row) error {
			all = append(all, jjm.GridID(r.int(0)))
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "find the readers of dataset %d", id)
	}
	return all, nil
}

// InputFiles calls fn for the noticed files of a step's master dataset, in order, with their state. why is the reason
// why the step gave the whole file up, "" if it did not. InputFiles stops at an error of fn and returns the error
// unchanged.
func (s *Store) InputFiles(ctx context.Context, id jjm.GridID, step int,
	fn func(n int64, state jjm.FileState, why string, f jjm.File) error) error {
	var stop error // the error of fn, returned unchanged
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, "SELECT "+fileColumns+`, a.state, a.why FROM input_files AS a JOIN files AS f ON f.n = a.file
			AND f.dataset = (SELECT dataset FROM inputs WHERE grid = ?1 AND step = ?2 AND master = 1)
			WHERE a.grid = ?1 AND a.step = ?2 ORDER BY a.file`, stepArgs(id, step), func(r row) error {
			f, err := scanFile(r)
			if err == nil {
				stop = fn(r.int(0), jjm.FileState(r.int(9)), r.text(10), f)
				err = stop
			}
			return err
		})
	})
	if stop != nil {
		return stop
	}
	if err != nil {
		return s.fail(err, "read the files of grid job %d", id)
	}
	return nil
}

// OwnedEvents returns, by local job, the number of events that the local job owns now, in ranges or whole files. Local
// jobs that own a file with an unknown number of events are left out.
func (s *Store) OwnedEvents(ctx context.Context, id jjm.GridID) (map[int32]int64, error) {
	out := map[int32]int64{}
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT c.local, sum(CASE WHEN c.last < 9223372036854775807 THEN c.last + 1 ELSE f.events END - c.first), min(f.events - c.first) FROM cover_input AS c
			JOIN inputs AS i ON i.grid = c.grid AND i.step = c.step AND i.master = 1
			JOIN files AS f ON f.dataset = i.dataset AND f.n = c.file
			WHERE c.grid = ? AND c.run = -1 AND c.released = 0
			GROUP BY c.local`, args{}.int(int64(id)), func(r row) error {
			if r.int(2) > 0 {
				out[int32(r.int(0))] = r.int(1)
			}
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "read the events of grid job %d", id)
	}
	return out, nil
}

// InputUnit returns the unit of a grid job's parts, "" if it has no parts yet.
func (s *Store) InputUnit(ctx context.Context, id jjm.GridID) (string, error) {
	found := ""
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT unit FROM local_jobs WHERE grid = ?1 AND n = 0 UNION ALL
			SELECT unit FROM history_local_jobs WHERE grid = ?1 AND n = 0`, args{}.int(int64(id)), func(r row) error {
			found = unit(r.text(0))
			return nil
		})
	})
	if err != nil {
		return "", s.fail(err, "read the unit of grid job %d", id)
	}
	return found, nil
}

// InputFile returns a file of the master dataset of a grid job by its LFN. The error is of kind Gone if the file is
// unknown.
func (s *Store) InputFile(ctx context.Context, id jjm.GridID, lfn string) (f jjm.File, err error) {
	found := false
	err = s.eachFile(ctx, "SELECT "+fileColumns+` FROM inputs AS i JOIN files AS f ON f.dataset = i.dataset
		WHERE i.grid = ? AND i.step = 0 AND i.master = 1 AND f.lfn = ?`, args{}.int(int64(id)).text(lfn), func(_ int64, got jjm.File) error {
		f, found = got, true
		return nil
	})
	if err != nil {
		return f, err
	}
	if !found {
		return f, jjm.Errorf(jjm.Gone, "grid job %d reads no file %.80q", id, lfn)
	}
	return f, nil
}

// FileStatus is the state of a file in a step.
type FileStatus struct {
	File               int64 // the number of the file in the dataset
	LFN                string
	Events             int64
	State              jjm.FileState
	Attempts, Failures int
	Why                string
}

// FileStatuses calls fn for the noticed files of a step's master dataset, in order. FileStatuses stops at an error of
// fn and returns the error unchanged.
func (s *Store) FileStatuses(ctx context.Context, id jjm.GridID, step int, fn func(FileStatus) error) error {
	var stop error // the error of fn, returned unchanged
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT a.file, f.lfn, f.events, a.state, a.attempts, a.failures, a.why FROM input_files AS a JOIN files AS f ON f.n = a.file
			AND f.dataset = (SELECT dataset FROM inputs WHERE grid = ?1 AND step = ?2 AND master = 1)
			WHERE a.grid = ?1 AND a.step = ?2 ORDER BY a.file`, stepArgs(id, step), func(r row) error {
			stop = fn(FileStatus{File: r.int(0), LFN: r.text(1), Events: r.int(2), State: jjm.FileState(r.int(3)),
				Attempts: int(r.int(4)), Failures: int(r.int(5)), Why: r.text(6)})
			return stop
		})
	})
	if stop != nil {
		return stop
	}
	if err != nil {
		return s.fail(err, "read the files of grid job %d", id)
	}
	return nil
}
