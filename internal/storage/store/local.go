package store

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"jjm/internal/jjm"
)

// localColumns are the columns of both tables of local jobs, in the order of scanLocal. The columns partColumns, step,
// place and serials never change, except that MoveLocal changes the place. SaveLocals writes the columns lifeColumns.
const (
	partColumns = "grid, n, unit, first, count, serial, args"
	lifeColumns = "state, phase, attempt, early, late_handled, late_unhandled, retry_args, not_before, kill, tag, pos, " +
		"batch_id, host, submitted, started, ended, exit, message, prog_phase, prog_done, prog_total, cluster, holding, " +
		"again, again_stopped, failing, since, suspended"
	localColumns = partColumns + ", " + lifeColumns + ", step, place, serials"
	numPart      = 7
	numLife      = 28
	numLocal     = numPart + numLife + 3
)

func partArgs(a args, l *jjm.LocalJob) args {
	a = a.int(int64(l.ID.Grid)).int(int64(l.ID.N)).value(l.Part.Unit).int(l.Part.First).int(l.Part.Count)
	return a.int(l.Part.Serial).words(l.Part.Args)
}

func lifeArgs(a args, l *jjm.LocalJob) args {
	a = a.int(int64(l.State)).text(string(l.Phase)).int(int64(l.Attempt))
	a = a.int(int64(l.Counters.Early)).int(int64(l.Counters.LateHandled)).int(int64(l.Counters.LateUnhandled))
	a = a.words(l.RetryArgs).int(int64(l.NotBefore)).bool(l.Kill).text(string(l.Tag)).int(int64(l.Pos))
	a = a.text(l.BatchID).text(l.Host).int(int64(l.Submitted)).int(int64(l.Started)).int(int64(l.Ended))
	a = a.int(int64(l.Exit)).text(l.Message).text(l.Progress.Phase).int(l.Progress.Done).int(l.Progress.Total)
	a = a.text(l.Cluster).text(holdingText(l.Holding)).int(int64(l.Again.Times)).text(l.Again.Stopped).text(l.Failing)
	return a.int(int64(l.Since)).int(int64(l.Suspended))
}

// holdingText returns the column holding as JSON, "" if the local job was never held.
func holdingText(h *jjm.Holding) string {
	if h == nil {
		return ""
	}
	b, err := json.Marshal(h)
	if err != nil {
		panic(err) // texts and numbers can always be encoded
	}
	return string(b)
}

// scanHolding reads the column holding. It returns nil for a local job that was never held.
func scanHolding(text string) (*jjm.Holding, error) {
	if text == "" {
		return nil, nil
	}
	h := new(jjm.Holding)
	return h, json.Unmarshal([]byte(text), h)
}

func scanLocal(r row, l *jjm.LocalJob) (err error) {
	*l = jjm.LocalJob{
		ID:        jjm.LocalID{Grid: jjm.GridID(r.int(0)), N: int32(r.int(1))},
		Part:      jjm.Part{Unit: unit(r.text(2)), First: r.int(3), Count: r.int(4), Serial: r.int(5)},
		State:     jjm.State(r.int(7)),
		Phase:     jjm.Phase(r.text(8)),
		Attempt:   int32(r.int(9)),
		Counters:  jjm.Counters{Early: int(r.int(10)), LateHandled: int(r.int(11)), LateUnhandled: int(r.int(12))},
		NotBefore: jjm.Time(r.int(14)),
		Kill:      r.bool(15),
		Tag:       jjm.Tag(r.text(16)),
		Pos:       int32(r.int(17)),
		BatchID:   r.text(18),
		Host:      r.text(19),
		Submitted: jjm.Time(r.int(20)),
		Started:   jjm.Time(r.int(21)),
		Ended:     jjm.Time(r.int(22)),
		Exit:      int(r.int(23)),
		Message:   r.text(24),
		Progress:  jjm.Progress{Phase: r.text(25), Done: r.int(26), Total: r.int(27)},
		Cluster:   r.text(28),
		Again:     jjm.Again{Times: int(r.int(30)), Stopped: r.text(31)},
		Failing:   r.text(32),
		Since:     jjm.Time(r.int(33)),
		Suspended: jjm.Time(r.int(34)),
		Step:      int32(r.int(35)),
		Place:     int32(r.int(36)),
	}
	if l.Part.Args, err = r.words(6); err != nil {
		return jjm.Errorf(jjm.Internal, "local job %s: column args: %w", l.ID, err)
	}
	if l.RetryArgs, err = r.words(13); err != nil {
		return jjm.Errorf(jjm.Internal, "local job %s: column retry_args: %w", l.ID, err)
	}
	if err := scanSerials(r.text(37), l); err != nil {
		return err
	}
	l.Holding, err = scanHolding(r.text(29))
	if err != nil {
		return jjm.Errorf(jjm.Internal, "local job %s: column holding: %w", l.ID, err)
	}
	return nil
}

// unit returns the constant for a known unit. A hundred thousand local jobs in memory then share one string.
func unit(s string) string {
	for _, known := range [...]string{jjm.UnitEvent, jjm.UnitRow, jjm.UnitFile, jjm.UnitRange, jjm.UnitLumi} {
		if s == known {
			return known
		}
	}
	return s
}

// insertRows are the numbers of rows of an INSERT statement, largest first. One statement with many rows costs less
// than many statements with one row each, and only a few sizes are used because each size needs its own prepared
// statement.
var insertRows = [...]int{128, 16, 1}

// insertMany inserts n rows with width columns. add appends the values of row i.
func (tx *Tx) insertMany(head string, width, n int, add func(a args, i int) args) error {
	var a args
	for i := 0; i < n; {
		size := 1
		for _, size = range insertRows {
			if n-i >= size {
				break
			}
		}
		a = a[:0]
		for j := range size {
			a = add(a, i+j)
		}
		if _, err := tx.exec(manyRows(head, width, size), a); err != nil {
			return err
		}
		i += size
	}
	return nil
}

// manyRows returns the text of an INSERT statement of n rows.
func manyRows(head string, width, n int) string {
	one := "(" + strings.Repeat("?,", width-1) + "?)"
	return head + " VALUES " + strings.Repeat(one+",", n-1) + one
}

// InsertLocals stores new local jobs and sets the serial numbers of their outputs (Part.Serials). It also stores their
// entries in the ledgers: a part that reads files owns pieces of the files of its step's master dataset. Within a grid
// job local jobs are numbered densely, so the first new number must follow the last stored number. The error is of kind
// Internal and names the local job if a part has no unit or count, if a part overlaps the part of another local job of
// the grid job, or if the grid job is final.
func (tx *Tx) InsertLocals(ls []jjm.LocalJob) error {
	if err := tx.checkNew(ls); err != nil {
		return tx.fail(err, "insert %d local jobs", len(ls))
	}
	if err := tx.numberOutputs(ls); err != nil {
		return tx.fail(err, "insert %d local jobs", len(ls))
	}
	err := tx.insertMany("INSERT INTO local_jobs ("+localColumns+")", numLocal, len(ls), func(a args, i int) args {
		a = lifeArgs(partArgs(a, &ls[i]), &ls[i]).int(int64(ls[i].Step)).int(int64(ls[i].Place))
		return a.text(serialsText(ls[i].Part.Serials))
	})
	if err == nil {
		err = tx.insertOwned(ls)
	}
	if err != nil {
		return tx.fail(err, "insert local jobs %s to %s", ls[0].ID, ls[len(ls)-1].ID)
	}
	return nil
}

// checkNew checks the properties that are cheaper to check here than in the schema.
func (tx *Tx) checkNew(ls []jjm.LocalJob) error {
	if tx.c == nil {
		return errOver()
	}
	var id jjm.LocalID // the expected id
	for i := range ls {
		l := &ls[i]
		if l.ID.Grid != id.Grid || i == 0 {
			made, err := tx.c.number("SELECT n + 1 FROM local_jobs WHERE grid = ? ORDER BY n DESC LIMIT 1",
				args{}.int(int64(l.ID.Grid)))
			if err != nil {
				return err
			}
			id = jjm.LocalID{Grid: l.ID.Grid, N: int32(made)}
		}
		if l.ID != id {
			return jjm.Errorf(jjm.Internal, "local job %s: expected %s, since local jobs are numbered densely", l.ID, id)
		}
		id.N++
		if p := l.Part; p.Unit == "" || p.Count < 1 || p.First > math.MaxInt64-p.Count {
			return jjm.Errorf(jjm.Internal, "local job %s: part of %d units %q from %d: want a unit and a positive count", l.ID,
				p.Count, p.Unit, p.First)
		}
	}
	return nil
}

// SaveLocals stores the fields of local jobs that may change: all fields except the ID, the part, the step, the place,
// and Waits, which is only in memory. The error is of kind Internal if a local job was never inserted or is archived,
// or if it would leave the state completed without being retracted.
func (tx *Tx) SaveLocals(ls []*jjm.LocalJob) error {
	return tx.SaveLocalsAfter(ls, func(jjm.LocalID) *jjm.LocalJob { return nil })
}

// SaveLocalsAfter is SaveLocals for a caller that knows some local jobs as they are stored. stored returns the stored
// local job, or nil if the caller does not know it. Consecutive local jobs with the same changes are stored by one
// statement if their positions and batch jobs do not change.
func (tx *Tx) SaveLocalsAfter(ls []*jjm.LocalJob, stored func(jjm.LocalID) *jjm.LocalJob) error {
	for first := 0; first < len(ls); {
		keeps := func(i int) bool { return keepsPlace(ls[first+i], stored(ls[first+i].ID)) }
		n := alike(len(ls)-first, func(i int) bool {
			return sameLife(ls[first+i-1], ls[first+i]) && (i > 1 || keeps(0)) && keeps(i)
		})
		if err := tx.saveRun(ls[first : first+n]); err != nil {
			return err
		}
		first += n
	}
	return nil
}

// MoveLocal stores another place of a local job that waits or has ended. The schema refuses to move a local job of
// which an attempt may be in a batch system.
func (tx *Tx) MoveLocal(id jjm.LocalID, place int32) error {
	err := tx.change("UPDATE local_jobs SET place = ? WHERE grid = ? AND n = ?",
		args{}.int(int64(place)).int(int64(id.Grid)).int(int64(id.N)),
		jjm.Errorf(jjm.Internal, "it was never inserted, or it is archived"))
	if err != nil {
		return tx.fail(err, "move local job %s to place %d", id, place)
	}
	return nil
}

// keepsPlace reports whether a change leaves the position and the batch job of a local job unchanged.
func keepsPlace(l, stored *jjm.LocalJob) bool {
	return stored != nil && l.Pos == stored.Pos && l.BatchID == stored.BatchID
}

// sameLife reports whether b is the next local job after a, and their columns differ only in position and batch job.
func sameLife(a, b *jjm.LocalJob) bool {
	if b.ID.Grid != a.ID.Grid || b.ID.N != a.ID.N+1 {
		return false
	}
	if a.RetryArgs != nil || b.RetryArgs != nil || a.Holding != nil || b.Holding != nil {
		return false // these fields are pointers and rarely set
	}
	return a.State == b.State && a.Phase == b.Phase && a.Attempt == b.Attempt && a.Counters == b.Counters &&
		a.NotBefore == b.NotBefore && a.Kill == b.Kill && a.Tag == b.Tag && a.Host == b.Host &&
		a.Submitted == b.Submitted && a.Started == b.Started && a.Ended == b.Ended && a.Exit == b.Exit &&
		a.Message == b.Message && a.Progress == b.Progress && a.Cluster == b.Cluster && a.Again == b.Again &&
		a.Failing == b.Failing && a.Since == b.Since && a.Suspended == b.Suspended
}

// saveRun stores consecutive local jobs that differ only in position and batch job.
func (tx *Tx) saveRun(run []*jjm.LocalJob) error {
	l, last := run[0], run[len(run)-1]
	never := jjm.Errorf(jjm.Internal, "it was never inserted, or it is archived")
	if len(run) == 1 {
		a := lifeArgs(make(args, 0, numLife+3), l).int(int64(l.ID.Grid)).int(int64(l.ID.N))
		if err := tx.change(saveLocal, a, never); err != nil {
			return tx.fail(err, "save local job %s", l.ID)
		}
		return nil
	}
	a := lifeArgs(make(args, 0, numLife+3), l).int(int64(l.ID.Grid)).int(int64(l.ID.N)).int(int64(last.ID.N))
	n, err := tx.exec(saveAlike, a)
	if err != nil {
		return tx.fail(err, "save local jobs %s to %s", l.ID, last.ID)
	}
	if missing := int64(len(run)) - n; missing > 0 {
		return tx.fail(jjm.Errorf(jjm.Internal, "%d of them were never inserted, or are archived", missing),
			"save local jobs %s to %s", l.ID, last.ID)
	}
	return nil
}

const saveLocal = `UPDATE local_jobs SET state = ?, phase = ?, attempt = ?, early = ?, late_handled = ?, late_unhandled = ?,
	retry_args = ?, not_before = ?, kill = ?, tag = ?, pos = ?, batch_id = ?, host = ?, submitted = ?, started = ?, ended = ?,
	exit = ?, message = ?, prog_phase = ?, prog_done = ?, prog_total = ?, cluster = ?, holding = ?,
	again = ?, again_stopped = ?, failing = ?, since = ?,
	suspended = ? WHERE grid = ? AND n = ?`

// saveAlike is the statement of saveLocal for local jobs up to a last number, ?31. It leaves out position and batch
// job.
const saveAlike = `UPDATE local_jobs SET state = ?1, phase = ?2, attempt = ?3, early = ?4, late_handled = ?5,
	late_unhandled = ?6, retry_args = ?7, not_before = ?8, kill = ?9, tag = ?10, host = ?13, submitted = ?14, started = ?15,
	ended = ?16, exit = ?17, message = ?18, prog_phase = ?19, prog_done = ?20, prog_total = ?21, cluster = ?22,
	holding = ?23, again = ?24, again_stopped = ?25, failing = ?26, since = ?27,
	suspended = ?28 WHERE grid = ?29 AND n BETWEEN ?30 AND ?31`

// eachLocal calls fn for the local jobs first..last of a grid job in order, including archived
// local jobs. Archive moves local jobs in order, so the archived local jobs come first.
func eachLocal(ctx context.Context, c *conn, id jjm.GridID, first, last int32, fn func(jjm.LocalJob) error) error {
	a := args{}.int(int64(id)).int(int64(first)).int(int64(last))
	for _, table := range [...]string{"history_local_jobs", "local_jobs"} {
		err := c.query(ctx, "SELECT "+localColumns+" FROM "+table+" WHERE grid = ? AND n BETWEEN ? AND ? ORDER BY n", a,
			func(r row) error {
				var l jjm.LocalJob
				if err := scanLocal(r, &l); err != nil {
					return err
				}
				return fn(l)
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// Locals returns the local jobs first..last of a grid job in order, including archived local jobs; last -1 means to the
// end. Numbers that do not exist are left out. The error is of kind Gone if the grid job is unknown.
func (s *Store) Locals(ctx context.Context, id jjm.GridID, first, last int32) ([]jjm.LocalJob, error) {
	if last < 0 {
		last = maxLocal
	}
	var ls []jjm.LocalJob
	err := s.view(ctx, func(c *conn) error {
		if _, err := gridRow(ctx, c, id); err != nil {
			return err
		}
		return eachLocal(ctx, c, id, first, last, func(l jjm.LocalJob) error {
			ls = append(ls, l)
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "read local jobs of grid job %d", id)
	}
	return ls, nil
}

// UrgentLocals returns some local jobs of a grid job, including archived local jobs: the positions from to from+most-1
// in the order of jjm.MostUrgent. The error is of kind Gone if the grid job is unknown.
func (s *Store) UrgentLocals(ctx context.Context, id jjm.GridID, from, most int) ([]jjm.LocalJob, error) {
	var ls []jjm.LocalJob
	err := s.view(ctx, func(c *conn) error {
		if _, err := gridRow(ctx, c, id); err != nil {
			return err
		}
		states, err := statesOf(ctx, c, id)
		if err != nil {
			return err
		}
		at := func(i int) (jjm.State, jjm.Phase) { return states[i].state, states[i].phase }
		for _, i := range jjm.MostUrgent(len(states), at, from, most) {
			n := states[i].n
			if err := eachLocal(ctx, c, id, n, n, func(l jjm.LocalJob) error {
				ls = append(ls, l)
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, s.fail(err, "read the most urgent local jobs of grid job %d", id)
	}
	return ls, nil
}

// localState is the state of a local job.
type localState struct {
	n     int32
	state jjm.State
	phase jjm.Phase
}

// statesOf returns the states of all local jobs of a grid job in order, including archived local jobs.
func statesOf(ctx context.Context, c *conn, id jjm.GridID) (out []localState, err error) {
	err = c.query(ctx, `SELECT n, state, coalesce(phase, '') FROM history_local_jobs WHERE grid = ?1 UNION ALL
		SELECT n, state, coalesce(phase, '') FROM local_jobs WHERE grid = ?1 ORDER BY 1`, args{}.int(int64(id)),
		func(r row) error {
			out = append(out, localState{int32(r.int(0)), jjm.State(r.int(1)), jjm.Phase(r.text(2))})
			return nil
		})
	return out, err
}

// StepCounts returns the numbers of local jobs of a grid job by step and state, including archived local jobs, in the
// order of the steps. Local jobs that gave their work back are counted separately. Expected and Closed are not set.
func (s *Store) StepCounts(ctx context.Context, id jjm.GridID) ([]jjm.StepCounts, error) {
	var out []jjm.StepCounts
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT step, state, coalesce(phase, ''), count(*) FROM (
			SELECT step, state, phase FROM local_jobs WHERE grid = ?1 UNION ALL
			SELECT step, state, phase FROM history_local_jobs WHERE grid = ?1)
			GROUP BY 1, 2, 3 ORDER BY 1`, args{}.int(int64(id)), func(r row) error {
			if n := len(out); n == 0 || out[n-1].Step != int32(r.int(0)) {
				out = append(out, jjm.StepCounts{Step: int32(r.int(0))})
			}
			to, state, n := &out[len(out)-1], jjm.State(r.int(1)), int(r.int(3))
			switch phase := jjm.Phase(r.text(2)); {
			case phase == jjm.GivenBack:
				to.GivenBack += n
				return nil
			case phase == jjm.Merging && state == jjm.Completing:
				to.Merging += n
			}
			to.Counts[state] += n
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "count the steps of grid job %d", id)
	}
	return out, nil
}

// ClusterJobs returns the numbers of local jobs of a grid job by cluster and state, including archived local jobs,
// sorted by cluster. Local jobs that never were in a bulk are left out. The result is empty for an unknown grid job.
func (s *Store) ClusterJobs(ctx context.Context, id jjm.GridID) ([]jjm.ClusterJob, error) {
	var out []jjm.ClusterJob
	err := s.view(ctx, func(c *conn) error {
		a := args{}.int(int64(id))
		return c.query(ctx, `SELECT cluster, state, sum(n) FROM (
			SELECT cluster, state, count(*) AS n FROM local_jobs WHERE grid = ?1 AND cluster IS NOT NULL GROUP BY cluster, state UNION ALL
			SELECT cluster, state, count(*) AS n FROM history_local_jobs WHERE grid = ?1 AND cluster IS NOT NULL GROUP BY cluster, state)
			GROUP BY cluster, state ORDER BY cluster, state`, a, func(r row) error {
			if n := len(out); n == 0 || out[n-1].Cluster != r.text(0) {
				out = append(out, jjm.ClusterJob{Cluster: r.text(0)})
			}
			out[len(out)-1].Counts[r.int(1)] = int(r.int(2))
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "count the cluster jobs of grid job %d", id)
	}
	return out, nil
}
