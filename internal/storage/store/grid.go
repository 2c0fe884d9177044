package store

import (
	"context"
	"encoding/json"
	"strings"

	"jjm/internal/jjm"
)

// gridColumns are the columns that scanGrid reads, in the order in which scanGrid reads them.
const gridColumns = `id, uid, gid, user, spec, base_dir, accepted, status, kill, kill_by, reason,
	changed, ended, prepared, cluster, splitter, why, expected, made, closed, carry, tar, tar_bytes, tar_sha256,
	counts, exit, clusters, origin, usage,
	(SELECT splitter FROM steps WHERE grid = id AND step = 1), (SELECT made FROM steps WHERE grid = id AND step = 1),
	(SELECT closed FROM steps WHERE grid = id AND step = 1), (SELECT carry FROM steps WHERE grid = id AND step = 1),
	places, warnings, proof, causes, generation, ` + pastColumn + `, rollback, stopped, last_made`

func scanGrid(r row) (g jjm.GridJob, err error) {
	g = jjm.GridJob{
		ID:       jjm.GridID(r.int(0)),
		Owner:    jjm.Owner{UID: int(r.int(1)), GID: int(r.int(2)), User: r.text(3)},
		BaseDir:  r.text(5),
		Accepted: jjm.Time(r.int(6)),
		Status:   jjm.GridStatus(r.int(7)),
		Kill:     r.bool(8),
		KillBy:   r.text(9),
		Reason:   r.text(10),
		Changed:  jjm.Time(r.int(11)),
		Ended:    jjm.Time(r.int(12)),
		Step: jjm.Step{
			Prepared: r.bool(13),
			Cluster:  r.text(14),
			Splitter: r.text(15),
			Expected: int(r.int(17)),
			Made:     int(r.int(18)),
			Closed:   r.bool(19),
			Carry:    r.blob(20),
			LastMade: jjm.Time(r.int(41)),
		},
		Tar:       r.text(21),
		TarBytes:  r.int(22),
		TarSHA256: r.text(23),
		Exit:      int(r.int(25)),
		Proof:     jjm.Proof(r.text(35)),

		Generation: int(r.int(37)),
		Rollback:   jjm.Rollback(r.text(39)),
		Stopped:    r.text(40),
	}
	if r[29] != nil {
		g.Merging = &jjm.MergeStep{Splitter: r.text(29), Made: int(r.int(30)), Closed: r.bool(31), Carry: r.blob(32)}
	}
	if counts := r.text(24); counts != "" {
		if err = json.Unmarshal([]byte(counts), &g.Counts); err != nil {
			return g, jjm.Errorf(jjm.Internal, "grid job %d: column counts: %w", g.ID, err)
		}
	}
	if g.Step.Why, err = r.words(16); err != nil {
		return g, jjm.Errorf(jjm.Internal, "grid job %d: column why: %w", g.ID, err)
	}
	if g.Step.Clusters, err = r.words(26); err != nil {
		return g, jjm.Errorf(jjm.Internal, "grid job %d: column clusters: %w", g.ID, err)
	}
	if text := r.text(33); text != "" {
		if err = json.Unmarshal([]byte(text), &g.Step.Places); err != nil {
			return g, jjm.Errorf(jjm.Internal, "grid job %d: column places: %w", g.ID, err)
		}
	}
	if text := r.text(34); text != "" {
		if err = json.Unmarshal([]byte(text), &g.Warnings); err != nil {
			return g, jjm.Errorf(jjm.Internal, "grid job %d: column warnings: %w", g.ID, err)
		}
	}
	if text := r.text(36); text != "" {
		if err = json.Unmarshal([]byte(text), &g.Causes); err != nil {
			return g, jjm.Errorf(jjm.Internal, "grid job %d: column causes: %w", g.ID, err)
		}
	}
	if g.Endings, err = scanEndings(r.text(38)); err != nil {
		return g, jjm.Errorf(jjm.Internal, "grid job %d: its endings: %w", g.ID, err)
	}
	if g.Origin, err = decoded[jjm.Origin](r.text(27)); err != nil {
		return g, jjm.Errorf(jjm.Internal, "grid job %d: column origin: %w", g.ID, err)
	}
	if g.Usage, err = decoded[jjm.Usage](r.text(28)); err != nil {
		return g, jjm.Errorf(jjm.Internal, "grid job %d: column usage: %w", g.ID, err)
	}
	if err = json.Unmarshal([]byte(r.text(4)), &g.Spec); err != nil {
		return g, jjm.Errorf(jjm.Internal, "grid job %d: column spec: %w", g.ID, err)
	}
	return g, nil
}

// mutable appends the values of the columns that SaveGrid writes.
func mutable(a args, g *jjm.GridJob) args {
	a = a.int(int64(g.Status)).bool(g.Kill).text(g.KillBy).text(g.Reason).int(int64(g.Changed)).int(int64(g.Ended))
	a = a.bool(g.Step.Prepared).text(g.Step.Cluster).text(g.Step.Splitter).words(g.Step.Why)
	a = a.int(int64(g.Step.Expected)).int(int64(g.Step.Made)).bool(g.Step.Closed).blob(g.Step.Carry)
	return a.text(g.Tar).int(g.TarBytes).text(g.TarSHA256).text(countsText(g.Counts)).int(int64(g.Exit)).words(
		g.Step.Clusters).text(encoded(g.Usage)).text(listed(g.Step.Places)).text(listed(g.Warnings)).text(
		string(g.Proof)).text(listed(g.Causes)).text(g.Stopped).int(int64(g.Step.LastMade))
}

// listed returns a list as JSON, "" for an empty list.
func listed[T any](all []T) string {
	if len(all) == 0 {
		return ""
	}
	return encoded(&all)
}

// decoded parses a JSON object. It returns nil for "".
func decoded[T any](text string) (*T, error) {
	if text == "" {
		return nil, nil
	}
	v := new(T)
	return v, json.Unmarshal([]byte(text), v)
}

// encoded returns a value as JSON, "" for nil.
func encoded[T any](v *T) string {
	if v == nil {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain texts and numbers can always be encoded
	}
	return string(b)
}

// countsText returns counts as JSON, "" if all are zero.
func countsText(counts [jjm.NumStates]int) string {
	if counts == ([jjm.NumStates]int{}) {
		return ""
	}
	b, err := json.Marshal(counts)
	if err != nil {
		panic(err) // an array of numbers can always be encoded
	}
	return string(b)
}

// InsertGrid stores a new grid job in its first generation, and sets its ID. If another grid job of the owner holds the
// same request key, the error is of kind Conflict and names the other grid job.
func (tx *Tx) InsertGrid(g *jjm.GridJob) error {
	spec, err := json.Marshal(g.Spec)
	if err != nil {
		return tx.fail(jjm.Errorf(jjm.Invalid, "spec: %w", err), "insert a grid job")
	}
	key := g.Spec.Key
	if id, found, err := tx.FindKey(g.Owner.UID, key); err != nil {
		return err
	} else if found {
		return tx.fail(jjm.Errorf(jjm.Conflict, "request key %.80q of uid %d is held by grid job %d", key, g.Owner.UID, id),
			"insert a grid job")
	}
	a := args{}.int(int64(g.Owner.UID)).int(int64(g.Owner.GID)).value(g.Owner.User).value(g.Spec.Type)
	a = a.value(string(spec)).text(key).bool(key != "").text(g.BaseDir).int(int64(g.Accepted))
	a = mutable(a, g).text(encoded(g.Origin)).text(string(g.Rollback))
	_, err = tx.exec(`INSERT INTO grid_jobs (uid, gid, user, type, spec, req_key, key_held, base_dir, accepted,
		status, kill, kill_by, reason, changed, ended, prepared, cluster, splitter, why, expected, made, closed, carry,
		tar, tar_bytes, tar_sha256, counts, exit, clusters, usage, places, warnings, proof, causes, stopped,
		last_made, origin, rollback) VALUES (?,?,?,?,?,?,?,?,?,?, ?,?,?,?,?,?,?,?,?,?,?,?,?,?, ?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, a)
	if err != nil {
		return tx.fail(err, "insert a grid job")
	}
	id, err := tx.c.number("SELECT last_insert_rowid()", nil)
	if err != nil {
		return tx.fail(err, "insert a grid job")
	}
	g.ID, g.Generation = jjm.GridID(id), 1
	if err := tx.insertTemplates(g); err != nil {
		return err
	}
	return tx.insertRecovery(g)
}

// FindKey returns the grid job of uid that holds a request key; found is false if no grid job does. The grid job may be
// archived. No grid job holds the empty key.
func (tx *Tx) FindKey(uid int, key string) (id jjm.GridID, found bool, err error) {
	if key == "" {
		return 0, false, nil
	}
	if tx.c == nil {
		return 0, false, tx.fail(errOver(), "find request key %.80q", key)
	}
	id, err = keyHolder(tx.c, uid, key)
	if err != nil {
		return 0, false, tx.fail(err, "find request key %.80q of uid %d", key, uid)
	}
	return id, id != 0, nil
}

// KeyHolder is FindKey outside a transaction.
func (s *Store) KeyHolder(ctx context.Context, uid int, key string) (id jjm.GridID, found bool, err error) {
	if key == "" {
		return 0, false, nil
	}
	err = s.view(ctx, func(c *conn) error {
		id, err = keyHolder(c, uid, key)
		return err
	})
	if err != nil {
		return 0, false, s.fail(err, "find request key %.80q of uid %d", key, uid)
	}
	return id, id != 0, nil
}

// keyHolder returns the grid job of uid that holds a request key, 0 if none does.
func keyHolder(c *conn, uid int, key string) (jjm.GridID, error) {
	n, err := c.number("SELECT id FROM grid_jobs WHERE uid = ? AND req_key = ? AND key_held = 1",
		args{}.int(int64(uid)).text(key))
	return jjm.GridID(n), err
}

// ReleaseKey makes the request key of a grid job free for another grid job. A key that was already released stays
// released. The error is of kind Gone if the grid job is unknown.
func (tx *Tx) ReleaseKey(id jjm.GridID) error {
	err := tx.change("UPDATE grid_jobs SET key_held = 0 WHERE id = ?", args{}.int(int64(id)), unknownGrid(id))
	if err != nil {
		return tx.fail(err, "release the key of grid job %d", id)
	}
	return nil
}

// SaveGrid stores the fields of a grid job that may change: all fields except the owner, spec, base directory, origin
// and time of acceptance. The schema refuses the following with an error of kind Internal:
//
//	a change of a final status (see Reopen)
//	the status done, unless the cutting is closed, the tar is stored and every local job completed
//	the status finished, unless the tar is stored
//	any final status while a local job is in a batch system or held
func (tx *Tx) SaveGrid(g *jjm.GridJob) error {
	err := tx.change(`UPDATE grid_jobs SET status = ?, kill = ?, kill_by = ?, reason = ?, changed = ?, ended = ?,
		prepared = ?, cluster = ?, splitter = ?, why = ?, expected = ?, made = ?, closed = ?, carry = ?,
		tar = ?, tar_bytes = ?, tar_sha256 = ?, counts = ?, exit = ?, clusters = ?, usage = ?, places = ?, warnings = ?,
		proof = ?, causes = ?, stopped = ?, last_made = ? WHERE id = ?`, mutable(nil, g).int(int64(g.ID)),
		jjm.Errorf(jjm.Internal, "it was never inserted"))
	if err != nil {
		return tx.fail(err, "save grid job %d", g.ID)
	}
	return tx.saveMerging(g)
}

// saveMerging stores the merge step, if there is one.
func (tx *Tx) saveMerging(g *jjm.GridJob) error {
	m := g.Merging
	if m == nil {
		return nil
	}
	_, err := tx.exec(`INSERT INTO steps (grid, step, splitter, made, closed, carry) VALUES (?, 1, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET splitter = excluded.splitter, made = excluded.made, closed = excluded.closed, carry = excluded.carry`,
		args{}.int(int64(g.ID)).value(m.Splitter).int(int64(m.Made)).bool(m.Closed).blob(m.Carry))
	if err != nil {
		return tx.fail(err, "save step 1 of grid job %d", g.ID)
	}
	return nil
}

func unknownGrid(id jjm.GridID) error {
	return jjm.Errorf(jjm.Gone, "no grid job %d", id)
}

// Grid returns one grid job. The error is of kind Gone if the grid job is unknown or removed.
func (s *Store) Grid(ctx context.Context, id jjm.GridID) (jjm.GridJob, error) {
	g, gone, err := s.Kept(ctx, id)
	if err == nil && gone != nil {
		return jjm.GridJob{}, gone.Err()
	}
	return g, err
}

// Grid returns one grid job. The error is of kind Gone if the grid job is unknown.
func (tx *Tx) Grid(id jjm.GridID) (jjm.GridJob, error) {
	if tx.c == nil {
		return jjm.GridJob{}, tx.fail(errOver(), "read grid job %d", id)
	}
	g, err := gridRow(tx.ctx, tx.c, id)
	if err != nil && jjm.KindOf(err) != jjm.Gone {
		return jjm.GridJob{}, tx.fail(err, "read grid job %d", id)
	}
	return g, err
}

func gridRow(ctx context.Context, c *conn, id jjm.GridID) (g jjm.GridJob, err error) {
	err = c.query(ctx, "SELECT "+gridColumns+" FROM grid_jobs WHERE id = ?", args{}.int(int64(id)), func(r row) error {
		g, err = scanGrid(r)
		return err
	})
	if err != nil {
		return g, err
	}
	if g.ID == 0 {
		return g, unknownGrid(id)
	}
	return g, nil
}

// Filter selects grid jobs. The zero value selects all grid jobs that are not final.
type Filter struct {
	// Statuses, if set, are the allowed statuses. All is then ignored.
	Statuses []jjm.GridStatus
	// Type must equal the job type, and Owner the user's name, unless they are "".
	Type, Owner string
	// All adds the final grid jobs.
	All bool
	// Since and Until, if set, bound the time of acceptance: from Since until before Until.
	Since, Until jjm.Time
	// Limit is the largest number of grid jobs to return; 0 means no limit.
	Limit int
	// Before, if set, selects only smaller ids, for paging.
	Before jjm.GridID
}

// Grids returns the grid jobs that a filter selects and that are not removed, newest first.
func (s *Store) Grids(ctx context.Context, f Filter) ([]jjm.GridJob, error) {
	query := "SELECT " + gridColumns + ` FROM grid_jobs
		WHERE NOT EXISTS (SELECT 1 FROM removals WHERE grid = grid_jobs.id)`
	a := args{}
	if n := len(f.Statuses); n > 0 {
		query += " AND status IN (?" + strings.Repeat(", ?", n-1) + ")"
		for _, st := range f.Statuses {
			a = a.int(int64(st))
		}
	} else if !f.All {
		query += " AND archived < 2 AND status NOT IN " + overGrids
	}
	if f.Type != "" {
		query, a = query+" AND type = ?", a.text(f.Type)
	}
	if f.Owner != "" {
		query, a = query+" AND user = ?", a.text(f.Owner)
	}
	if f.Since > 0 {
		query, a = query+" AND accepted >= ?", a.int(int64(f.Since))
	}
	if f.Until > 0 {
		query, a = query+" AND accepted < ?", a.int(int64(f.Until))
	}
	if f.Before > 0 {
		query, a = query+" AND id < ?", a.int(int64(f.Before))
	}
	query += " ORDER BY id DESC"
	if f.Limit > 0 {
		query, a = query+" LIMIT ?", a.int(int64(f.Limit))
	}
	var gs []jjm.GridJob
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, query, a, func(r row) error {
			g, err := scanGrid(r)
			gs = append(gs, g)
			return err
		})
	})
	if err != nil {
		return nil, s.fail(err, "list grid jobs")
	}
	return gs, nil
}
