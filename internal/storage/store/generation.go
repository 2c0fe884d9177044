package store

import (
	"context"
	"encoding/json"

	"jjm/internal/jjm"
)

// Reopening is a request to reopen an ended grid job.
type Reopening struct {
	Seq  int64 // grows in the order in which requests were stored
	Grid jjm.GridID
	// Generation is the number of the generation that will begin.
	Generation int
	// Request is the request as JSON of package reopen, which carries it out.
	Request    []byte
	Actor, Why string
	Time       jjm.Time
}

// PutReopening stores a request and sets its Seq and Time. The error is of kind Conflict if another request for the
// same grid job is open, and Busy if the grid job is not over or is in a later generation.
func (tx *Tx) PutReopening(r *Reopening) error {
	err := tx.mayRequest(r)
	if kind := jjm.KindOf(err); kind == jjm.Conflict || kind == jjm.Busy {
		return err // a text for people, who named the grid job
	}
	if err == nil {
		err = tx.putReopening(r)
	}
	if err != nil {
		return tx.fail(err, "reopen grid job %s", r.Grid)
	}
	return nil
}

// mayRequest returns the refusals of [Tx.PutReopening].
func (tx *Tx) mayRequest(r *Reopening) error {
	if tx.c == nil {
		return errOver()
	}
	open := ""
	err := tx.c.query(tx.ctx, "SELECT format('%s: %s', actor, why) FROM reopenings WHERE grid = ? AND done = 0",
		args{}.int(int64(r.Grid)), func(row row) error {
			open = row.text(0)
			return nil
		})
	if err != nil {
		return err
	}
	if open != "" {
		return jjm.Errorf(jjm.Conflict, "it is being reopened already by %s; try again once it runs (jjm status %s)", open,
			r.Grid)
	}
	over, err := tx.c.number("SELECT EXISTS (SELECT 1 FROM grid_jobs WHERE id = ? AND generation = ? - 1 AND status IN "+
		overGrids+")", args{}.int(int64(r.Grid)).int(int64(r.Generation)))
	if err != nil {
		return err
	}
	if over == 0 {
		return jjm.Errorf(jjm.Busy, "it was reopened meanwhile: try again")
	}
	return nil
}

func (tx *Tx) putReopening(r *Reopening) error {
	r.Time = jjm.At(tx.s.o.Now())
	a := args{}.int(int64(r.Grid)).int(int64(r.Generation)).value(string(r.Request)).text(r.Actor).text(r.Why)
	_, err := tx.exec("INSERT INTO reopenings (grid, generation, request, actor, why, time) VALUES (?, ?, ?, ?, ?, ?)",
		a.int(int64(r.Time)))
	if err != nil {
		return err
	}
	r.Seq, err = tx.c.number("SELECT last_insert_rowid()", nil)
	return err
}

// EndReopening stores that a request was carried out, or that it was refused if refused, the reason, is not empty. The
// error is of kind Gone if the request is not open.
func (tx *Tx) EndReopening(seq int64, refused string) error {
	err := tx.change("UPDATE reopenings SET done = ?, refused = ? WHERE id = ? AND done = 0",
		args{}.int(int64(jjm.At(tx.s.o.Now()))).text(refused).int(seq), jjm.Errorf(jjm.Gone, "there is no such open request"))
	if err != nil {
		return tx.fail(err, "end the reopening %d", seq)
	}
	return nil
}

// Reopenings returns the open requests, oldest first.
func (s *Store) Reopenings(ctx context.Context) (all []Reopening, err error) {
	err = s.view(ctx, func(c *conn) error {
		const open = "SELECT id, grid, generation, request, actor, why, time FROM reopenings WHERE done = 0 ORDER BY id"
		return c.query(ctx, open, nil,
			func(r row) error {
				all = append(all, Reopening{Seq: r.int(0), Grid: jjm.GridID(r.int(1)), Generation: int(r.int(2)),
					Request: []byte(r.text(3)), Actor: r.text(4), Why: r.text(5), Time: jjm.Time(r.int(6))})
				return nil
			})
	})
	if err != nil {
		return nil, s.fail(err, "read what is to be reopened")
	}
	return all, nil
}

// Unsettled returns the grid jobs with rows that were moved back from the history for a request that was then refused.
// [Store.Archive] moves these rows to the history again.
func (s *Store) Unsettled(ctx context.Context) (all []jjm.GridID, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT id FROM grid_jobs WHERE reviving = 1
			AND NOT EXISTS (SELECT 1 FROM reopenings WHERE grid = grid_jobs.id AND done = 0)
			ORDER BY id`, nil, func(r row) error {
			all = append(all, jjm.GridID(r.int(0)))
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "find what is partly in the history")
	}
	return all, nil
}

// Revive prepares the reopening of an archived grid job. In one transaction it moves at most chunk local jobs, with
// their attempts and ledger entries, from the history tables back to the live tables, the last local jobs first. more
// is set if more local jobs remain. The grid job stays over and archived until [Tx.Reopen]; reads see no difference.
// After an interruption Revive continues where it stopped. It returns an error if the grid job is not archived, or if
// no request to reopen the grid job is stored.
func (s *Store) Revive(ctx context.Context, id jjm.GridID, chunk int) (more bool, err error) {
	if chunk < 1 {
		return false, jjm.Errorf(jjm.Invalid, "store: revive grid job %d: chunk is %d: want 1 or more", id, chunk)
	}
	err = s.Update(ctx, func(tx *Tx) error {
		more, err = tx.revive(id, chunk)
		if err != nil {
			return tx.fail(err, "revive grid job %d", id)
		}
		return nil
	})
	return more && err == nil, err
}

func (tx *Tx) revive(id jjm.GridID, chunk int) (more bool, err error) {
	grid := args{}.int(int64(id))
	if err := tx.change("UPDATE grid_jobs SET reviving = 1 WHERE id = ?", grid, unknownGrid(id)); err != nil {
		return false, err
	}
	first := int64(0)
	err = tx.c.query(tx.ctx, "SELECT n FROM history_local_jobs WHERE grid = ? ORDER BY n DESC LIMIT 1 OFFSET ?",
		args{}.int(int64(id)).int(int64(chunk)-1), func(r row) error {
			first = r.int(0)
			return nil
		})
	if err != nil {
		return false, err
	}
	a := args{}.int(int64(id)).int(first)
	for _, move := range [...]string{
		"INSERT INTO local_jobs (" + localColumns + ") SELECT " + localColumns +
			" FROM history_local_jobs WHERE grid = ? AND n >= ? ORDER BY n",
		"INSERT INTO attempts (grid, local, attempt, tag, pos, ended) SELECT grid, local, attempt, tag, pos, ended " +
			"FROM history_attempts WHERE grid = ? AND local >= ? ORDER BY local, attempt",
		"DELETE FROM history_attempts WHERE grid = ? AND local >= ?",
		"DELETE FROM history_local_jobs WHERE grid = ? AND n >= ?",
	} {
		if _, err := tx.exec(move, a); err != nil {
			return false, err
		}
	}
	left, err := tx.c.number("SELECT EXISTS (SELECT 1 FROM history_local_jobs WHERE grid = ?)", grid)
	return left != 0, err
}

// Reopen begins the next generation of an ended grid job. It stores how the present generation ended, and resets the
// fields of g and its row that belong to that end. It opens and returns the datasets that the grid job makes. r is the
// request. All rows must be back in the live tables (see Revive), and the caller must end the request in the same
// transaction.
func (tx *Tx) Reopen(g *jjm.GridJob, r *Reopening) ([]DatasetID, error) {
	now := jjm.At(tx.s.o.Now())
	e := jjm.Ending{Generation: g.Generation, Status: g.Status, Kill: g.Kill, KillBy: g.KillBy, Reason: g.Reason,
		Expected: g.Step.Expected, Made: g.Step.Made, Counts: g.Counts, Exit: g.Exit, Usage: g.Usage, Causes: g.Causes,
		Proof: g.Proof, Tar: g.Tar, TarBytes: g.TarBytes, TarSHA256: g.TarSHA256, Ended: g.Ended,
		Reopened: now, By: r.Actor, Why: r.Why}
	_, err := tx.exec("INSERT INTO endings ("+endingColumns+", grid, reopened, actor, why) SELECT "+endingColumns+
		", id, ?, ?, ? FROM grid_jobs WHERE id = ?", args{}.int(int64(now)).text(r.Actor).text(r.Why).int(int64(g.ID)))
	if err == nil {
		err = tx.change(`UPDATE grid_jobs SET generation = ?, status = ?, kill = 0, kill_by = NULL, reason = NULL,
			ended = 0, tar = NULL, tar_bytes = 0, tar_sha256 = NULL, counts = NULL, exit = 0, usage = NULL,
			causes = NULL, proof = NULL, archived = 0, reviving = 0, changed = ? WHERE id = ?`,
			args{}.int(int64(r.Generation)).int(int64(jjm.GridRunning)).int(int64(now)).int(int64(g.ID)), unknownGrid(g.ID))
	}
	if err != nil {
		return nil, tx.fail(err, "reopen grid job %s", g.ID)
	}
	made, err := tx.reopenMade(g.ID)
	if err != nil {
		return nil, tx.fail(err, "reopen the datasets of grid job %s", g.ID)
	}
	g.Endings = append(g.Endings[:len(g.Endings):len(g.Endings)], e)
	g.Generation, g.Status, g.Kill, g.KillBy, g.Reason = r.Generation, jjm.GridRunning, false, "", ""
	g.Ended, g.Changed, g.Tar, g.TarBytes, g.TarSHA256 = 0, now, "", 0, ""
	g.Counts, g.Exit, g.Usage, g.Causes, g.Proof = [jjm.NumStates]int{}, 0, nil, nil, ""
	return made, nil
}

// reopenMade opens the closed datasets that a grid job makes.
func (tx *Tx) reopenMade(id jjm.GridID) (made []DatasetID, err error) {
	err = tx.c.query(tx.ctx, "SELECT id FROM datasets WHERE maker = ? AND closed <> 0 ORDER BY id", args{}.int(int64(id)),
		func(r row) error {
			made = append(made, DatasetID(r.int(0)))
			return nil
		})
	if err != nil {
		return nil, err
	}
	for _, d := range made {
		if _, err := tx.exec("UPDATE datasets SET closed = 0 WHERE id = ?", args{}.int(int64(d))); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// endingColumns are the columns of endings that are copies of columns of grid_jobs.
const endingColumns = "generation, status, kill, kill_by, reason, expected, made, counts, exit, usage, causes, proof, " +
	"tar, tar_bytes, tar_sha256, ended"

// pastColumn is SQL for the endings of a row of grid_jobs, as scanEndings reads them.
const pastColumn = `CASE WHEN generation > 1 THEN (SELECT json_group_array(json_object(
	'Generation', e.generation, 'Status', e.status, 'Kill', e.kill, 'KillBy', e.kill_by, 'Reason', e.reason,
	'Expected', e.expected, 'Made', e.made, 'Counts', json(e.counts), 'Exit', e.exit, 'Usage', json(e.usage),
	'Causes', json(e.causes), 'Proof', e.proof, 'Tar', e.tar, 'TarBytes', e.tar_bytes, 'TarSHA256', e.tar_sha256,
	'Ended', e.ended, 'Reopened', e.reopened, 'By', e.actor, 'Why', e.why) ORDER BY e.generation)
	FROM endings AS e WHERE e.grid = grid_jobs.id) END`

// scanEndings reads the text of pastColumn.
func scanEndings(text string) ([]jjm.Ending, error) {
	if text == "" {
		return nil, nil
	}
	var rows []struct {
		jjm.Ending
		Status, Kill    int64 // the numbers that SQLite stores
		Ended, Reopened int64
	}
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, err
	}
	all := make([]jjm.Ending, len(rows))
	for i, r := range rows {
		all[i] = r.Ending
		all[i].Status, all[i].Kill = jjm.GridStatus(r.Status), r.Kill != 0
		all[i].Ended, all[i].Reopened = jjm.Time(r.Ended), jjm.Time(r.Reopened)
	}
	return all, nil
}

// ReopenInputs changes the files of a local job that failed or was killed, and that did not give its work back, as if
// the local job had not ended: it will process the files again. The error is of kind Conflict if a file can no longer
// be read.
func (tx *Tx) ReopenInputs(l *jjm.LocalJob) error {
	files, err := tx.ownedBy(l.ID)
	if err != nil {
		return tx.fail(err, "reopen the files of local job %s", l.ID)
	}
	for _, n := range sortedKeys(files) {
		if err := tx.reopenInput(l, n, files[n].open); err != nil {
			return tx.fail(err, "reopen the files of local job %s", l.ID)
		}
	}
	return nil
}

// reopenInput does the work of ReopenInputs for one file. pieces is the number of pieces of the file that the local job
// owns.
func (tx *Tx) reopenInput(l *jjm.LocalJob, file, pieces int64) error {
	k := args{}.int(int64(l.ID.Grid)).int(int64(l.Step)).int(file)
	marked, err := tx.c.number("SELECT state > 3 FROM input_files WHERE grid = ? AND step = ? AND file = ?", k)
	if err != nil {
		return err
	}
	if marked != 0 {
		return jjm.Errorf(jjm.Conflict, "file %d of its dataset is lost, missing or broken", file)
	}
	_, err = tx.exec(`UPDATE input_files SET lost = lost - ?4, open = open + ?4,
		state = CASE state WHEN 3 THEN 1 ELSE state END WHERE grid = ?1 AND step = ?2 AND file = ?3`, k.int(pieces))
	return err
}

// NextAttempt returns the number of the next attempt of a live local job, 0 if the local job was never in a bulk.
func (tx *Tx) NextAttempt(id jjm.LocalID) (int32, error) {
	if tx.c == nil {
		return 0, tx.fail(errOver(), "number the next attempt of local job %s", id)
	}
	n, err := tx.c.number("SELECT coalesce(max(attempt) + 1, 0) FROM attempts WHERE grid = ? AND local = ?", localArgs(id))
	if err != nil {
		return 0, tx.fail(err, "number the next attempt of local job %s", id)
	}
	return int32(n), nil
}

// WasTaken reports whether a batch system took, or may have taken, an attempt of the local job that came before id. An
// attempt was certainly not taken if its bulk was refused.
func (tx *Tx) WasTaken(id jjm.AttemptID) (bool, error) {
	if tx.c == nil {
		return false, tx.fail(errOver(), "find the earlier attempts of local job %s", id.LocalID)
	}
	n, err := tx.c.number(`SELECT count(*) FROM attempts AS a JOIN bulks AS b ON b.tag = a.tag
		WHERE a.grid = ? AND a.local = ? AND a.attempt < ? AND b.state <> ?`,
		localArgs(id.LocalID).int(int64(id.Attempt)).int(int64(jjm.BulkRefused)))
	if err != nil {
		return false, tx.fail(err, "find the earlier attempts of local job %s", id.LocalID)
	}
	return n > 0, nil
}

// Unreadable returns the local jobs of a grid job that own a part of a file marked as lost, missing or broken. The
// value is the LFN of such a file.
func (s *Store) Unreadable(ctx context.Context, id jjm.GridID) (map[int32]string, error) {
	out := map[int32]string{}
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT c.local, f.lfn FROM cover_input AS c
			JOIN inputs AS i ON i.grid = c.grid AND i.step = c.step AND i.master = 1
			JOIN file_marks AS m ON m.dataset = i.dataset AND m.file = c.file
			JOIN files AS f ON f.dataset = i.dataset AND f.n = c.file
			WHERE c.grid = ? AND c.released = 0`, args{}.int(int64(id)), func(r row) error {
			out[int32(r.int(0))] = r.text(1)
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "find what grid job %s cannot read", id)
	}
	return out, nil
}
