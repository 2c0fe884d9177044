package store

import (
	"context"
	"encoding/json"
	"fmt"

	"jjm/internal/jjm"
)

// Removal is the order to remove an ended grid job. When the order is stored, the grid job is gone for all clients
// except gatekeepers, and the removal can no longer be stopped.
type Removal struct {
	Grid  jjm.GridID
	Owner jjm.Owner // the owner of the grid job
	Actor string
	Time  jjm.Time
	// Done is the time when the removal was complete, 0 if some rows are left.
	Done jjm.Time
}

// Err returns the error of kind Gone for clients that request the removed grid job.
func (r *Removal) Err() error { return jjm.Errorf(jjm.Gone, "grid job %s %s", r.Grid, r.Text()) }

// Text returns a text that says who removed the grid job and when. The text is to be placed after the grid job's name.
func (r *Removal) Text() string {
	if r.Done == 0 {
		return fmt.Sprintf("is being removed: %s asked for that at %s", r.Actor, r.Time.Local())
	}
	return fmt.Sprintf("was removed by %s at %s", r.Actor, r.Time.Local())
}

// hindrances are queries that return a text if something depends on the grid job ?1 and prevents its removal. If told
// is set, the query checks that a gatekeeper knows the end of the grid job; a forced removal skips this check.
var hindrances = [...]struct {
	query string
	told  bool
}{
	{query: `SELECT format('it is being reopened by %s: %s', actor, why) FROM reopenings WHERE grid = ?1 AND done = 0`},
	{query: `WITH RECURSIVE r (grid) AS (SELECT grid FROM recoveries WHERE recovers = ?1
		UNION SELECT n.grid FROM r JOIN recoveries AS n ON n.recovers = r.grid)
		SELECT format('grid job %d, which recovers it, is not over: wait until it is', g.id)
		FROM r JOIN grid_jobs AS g ON g.id = r.grid WHERE g.status NOT IN ` + overGrids + ` LIMIT 1`},
	{query: `SELECT format('it recovers grid job %d, whose verification counts what it did: ' ||
			'remove that one first (jjm remove %d)', r.recovers, r.recovers)
		FROM recoveries AS r WHERE r.grid = ?1 AND NOT EXISTS (SELECT 1 FROM removals WHERE grid = r.recovers)`},
	{query: `SELECT format('dataset %s refers to its outputs, such as %s: if nobody needs the dataset, ' ||
			'remove it first (jjm dataset remove %s); or mark each of its files as lost ' ||
			'(jjm dataset mark %s LFN... lost --reason WHY)', d.name, f.lfn, d.name, d.name)
		FROM datasets AS d JOIN files AS f ON f.dataset = d.id
		WHERE d.maker = ?1
			AND NOT EXISTS (SELECT 1 FROM file_marks AS m WHERE m.dataset = f.dataset AND m.file = f.n) LIMIT 1`},
	{query: `SELECT format('grid job %d reads dataset %s, which it filled, and its verification asks ' ||
			'who made the files: remove that one first (jjm remove %d)', i.grid, d.name, i.grid)
		FROM datasets AS d JOIN inputs AS i ON i.dataset = d.id
			OR i.dataset IN (SELECT e.dataset FROM expansions AS e WHERE e.member = d.id)
		WHERE d.maker = ?1 AND i.grid <> ?1 AND NOT EXISTS (SELECT 1 FROM removals WHERE grid = i.grid) LIMIT 1`},
	{told: true, query: `SELECT CASE WHEN g.origin IS NULL
			THEN format('nobody has asked yet by its key how it ended: ask once with jjm lookup %d, or use --force', g.id)
			ELSE 'its gatekeeper was not told yet that it is over: wait until it asks, or use --force' END
		FROM grid_jobs AS g WHERE g.id = ?1 AND (g.origin IS NOT NULL OR g.req_key IS NOT NULL)
			AND NOT EXISTS (SELECT 1 FROM told WHERE grid = g.id)`},
}

// Hindrance returns an error of kind Conflict with the reason if an ended grid job cannot be removed. With force, the
// grid job can be removed even if its gatekeeper does not know the end yet.
func (tx *Tx) Hindrance(id jjm.GridID, force bool) error {
	if tx.c == nil {
		return errOver()
	}
	for _, h := range hindrances {
		if h.told && force {
			continue
		}
		why := ""
		err := tx.c.query(tx.ctx, h.query, args{}.int(int64(id)), func(r row) error {
			why = r.text(0)
			return nil
		})
		if err != nil {
			return tx.fail(err, "find what depends on grid job %s", id)
		}
		if why != "" {
			return jjm.Errorf(jjm.Conflict, "%s", why)
		}
	}
	return nil
}

// PutRemoval stores the order to remove a grid job, and sets the order's Time. The caller must refuse a grid job that
// has a Hindrance or is not over; the schema refuses only some of these cases.
func (tx *Tx) PutRemoval(r *Removal) error {
	r.Time = jjm.At(tx.s.o.Now())
	_, err := tx.exec("INSERT INTO removals (grid, actor, time) VALUES (?, ?, ?)",
		args{}.int(int64(r.Grid)).text(r.Actor).int(int64(r.Time)))
	if err != nil {
		return tx.fail(err, "remove grid job %s", r.Grid)
	}
	return nil
}

const removalColumns = `r.grid, g.uid, g.gid, g.user, r.actor, r.time, r.done
	FROM removals AS r JOIN grid_jobs AS g ON g.id = r.grid`

func scanRemoval(r row) Removal {
	return Removal{Grid: jjm.GridID(r.int(0)), Owner: jjm.Owner{UID: int(r.int(1)), GID: int(r.int(2)), User: r.text(3)},
		Actor: r.text(4), Time: jjm.Time(r.int(5)), Done: jjm.Time(r.int(6))}
}

// Removals returns the removals that are not carried out yet, in the order of the grid jobs.
func (s *Store) Removals(ctx context.Context) (all []Removal, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, "SELECT "+removalColumns+" WHERE r.done = 0 ORDER BY r.grid", nil, func(r row) error {
			all = append(all, scanRemoval(r))
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "read what is to be removed")
	}
	return all, nil
}

// Kept returns a grid job, even if it is removed, and its removal, which is nil if the grid job is not removed. The
// error is of kind Gone if the grid job is unknown.
func (s *Store) Kept(ctx context.Context, id jjm.GridID) (g jjm.GridJob, gone *Removal, err error) {
	err = s.view(ctx, func(c *conn) error {
		if g, err = gridRow(ctx, c, id); err == nil {
			gone, err = removal(ctx, c, id)
		}
		return err
	})
	if jjm.KindOf(err) == jjm.Gone {
		return jjm.GridJob{}, nil, err // the error needs no further text
	}
	if err != nil {
		return jjm.GridJob{}, nil, s.fail(err, "read grid job %d", id)
	}
	return g, gone, nil
}

// removal returns the removal of a grid job, or nil.
func removal(ctx context.Context, c *conn, id jjm.GridID) (gone *Removal, err error) {
	err = c.query(ctx, "SELECT "+removalColumns+" WHERE r.grid = ?", args{}.int(int64(id)), func(r row) error {
		one := scanRemoval(r)
		gone = &one
		return nil
	})
	return gone, err
}

// LastEvidence returns the Seq of the last ended attempt of a grid job, 0 if no attempt has ended; see
// [Store.EndedAfter].
func (s *Store) LastEvidence(ctx context.Context, id jjm.GridID) (seq int64, err error) {
	err = s.view(ctx, func(c *conn) error {
		seq, err = c.number("SELECT coalesce(max(id), 0) FROM evidence WHERE grid = ?", args{}.int(int64(id)))
		return err
	})
	if err != nil {
		return 0, s.fail(err, "find the attempt of grid job %s that ended last", id)
	}
	return seq, nil
}

// evidenceMark is the key of the meta value that holds the highest id that a row of evidence had when some rows were
// removed. Ids are never used again, because accounting relies on their order.
const evidenceMark = "store.evidence"

// lastEvidenceID is SQL for the highest id that a row of evidence ever had.
const lastEvidenceID = `max(coalesce((SELECT max(id) FROM evidence), 0),
	coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = '` + evidenceMark + `'), 0))`

// RemoveRows deletes some rows of an archived grid job whose removal is stored: the rows of at most
// chunk local jobs, or of as many files. It reports whether more remain. After an interruption it
// continues where it stopped. The grid job's own row and the journal stay.
func (s *Store) RemoveRows(ctx context.Context, id jjm.GridID, chunk int) (more bool, err error) {
	if chunk < 1 {
		return false, jjm.Errorf(jjm.Invalid, "store: remove grid job %d: chunk is %d: want 1 or more", id, chunk)
	}
	err = s.Update(ctx, func(tx *Tx) error {
		if more, err = tx.removeRows(id, chunk); err != nil {
			return tx.fail(err, "remove rows of grid job %d", id)
		}
		return nil
	})
	return more && err == nil, err
}

func (tx *Tx) removeRows(id jjm.GridID, chunk int) (more bool, err error) {
	// archived = 2: all rows are in the history; reviving = 0: none are moved back for a reopening.
	may, err := tx.c.number(`SELECT EXISTS (SELECT 1 FROM grid_jobs AS g JOIN removals AS r ON r.grid = g.id
		WHERE g.id = ? AND g.archived = 2 AND g.reviving = 0 AND r.done = 0)`, args{}.int(int64(id)))
	if err != nil {
		return false, err
	}
	if may == 0 {
		return false, jjm.Errorf(jjm.Conflict, "it is not to be removed, or not in the history")
	}
	parts := [...]func(jjm.GridID, int) (bool, error){tx.removeLocals, tx.removeInputFiles, tx.removeMergeFiles}
	for _, remove := range parts {
		if some, err := remove(id, chunk); some || err != nil {
			return some, err
		}
	}
	return false, tx.removeRest(id)
}

// removeLocals deletes the rows of the first remaining local jobs. some is false if no local job was left.
func (tx *Tx) removeLocals(id jjm.GridID, chunk int) (some bool, err error) {
	last := int64(-1)
	err = tx.c.query(tx.ctx, `SELECT max(n) FROM (SELECT n FROM history_local_jobs WHERE grid = ? ORDER BY n LIMIT ?)`,
		args{}.int(int64(id)).int(int64(chunk)), func(r row) error {
			if some = r[0] != nil; some {
				last = r.int(0)
			}
			return nil
		})
	if err != nil || !some {
		return false, err
	}
	_, err = tx.exec(`INSERT INTO meta (key, value) VALUES (?1, CAST(`+lastEvidenceID+` AS TEXT))
		ON CONFLICT (key) DO UPDATE SET value = excluded.value`, args{}.value(evidenceMark))
	if err != nil {
		return false, err
	}
	a := args{}.int(int64(id)).int(last)
	var tags []string
	const bulks = "SELECT DISTINCT tag FROM history_attempts WHERE grid = ? AND local <= ?"
	err = tx.c.query(tx.ctx, bulks, a, func(r row) error {
		tags = append(tags, r.text(0))
		return nil
	})
	if err != nil {
		return false, err
	}
	for _, from := range [...]string{
		"evidence WHERE grid = ? AND local <= ?", "history_attempts WHERE grid = ? AND local <= ?",
		"cover_input WHERE grid = ? AND local <= ?", "part_inputs WHERE grid = ? AND n <= ?",
		"retractions WHERE grid = ? AND n <= ?", "history_local_jobs WHERE grid = ? AND n <= ?",
	} {
		if _, err := tx.exec("DELETE FROM "+from, a); err != nil {
			return false, err
		}
	}
	// A bulk is deleted only if it is refused or closed (state >= 3) and has no attempt of another local job.
	for _, tag := range tags {
		_, err := tx.exec(`DELETE FROM bulks WHERE tag = ?1 AND state >= 3
			AND NOT EXISTS (SELECT 1 FROM attempts WHERE tag = ?1)
			AND NOT EXISTS (SELECT 1 FROM history_attempts WHERE tag = ?1)`, args{}.text(tag))
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// removeInputFiles deletes the rows of some files that the grid job read. some is false if no row was left.
func (tx *Tx) removeInputFiles(id jjm.GridID, chunk int) (some bool, err error) {
	n, err := tx.exec(`DELETE FROM input_files WHERE grid = ?1 AND (step, file) IN
		(SELECT step, file FROM input_files WHERE grid = ?1 LIMIT ?2)`, args{}.int(int64(id)).int(int64(chunk)))
	return n > 0, err
}

// mergeDataset returns the name of the dataset of the outputs that a grid job merged.
func mergeDataset(id jjm.GridID) string { return fmt.Sprintf("(merge of %s)", id) }

// removeMergeFiles deletes the last files of the dataset of the outputs that the grid job merged.
// People cannot name that dataset, so no other grid job reads it.
func (tx *Tx) removeMergeFiles(id jjm.GridID, chunk int) (some bool, err error) {
	var dataset, files int64
	err = tx.c.query(tx.ctx, `SELECT d.id, d.files FROM grid_jobs AS g
		JOIN datasets AS d ON d.uid = g.uid AND d.name = ? WHERE g.id = ?`,
		args{}.text(mergeDataset(id)).int(int64(id)), func(r row) error {
			dataset, files = r.int(0), r.int(1)
			return nil
		})
	if err != nil || files == 0 {
		return false, err
	}
	return true, tx.removeFiles(DatasetID(dataset), max(files-int64(chunk), 0))
}

// removeRest deletes the rows of the tables with few rows for each grid job, and the dataset of the outputs that the
// grid job merged.
func (tx *Tx) removeRest(id jjm.GridID) error {
	for _, from := range [...]string{"inputs", "steps", "output_templates", "told", "notices"} {
		if _, err := tx.exec("DELETE FROM "+from+" WHERE grid = ?", args{}.int(int64(id))); err != nil {
			return err
		}
	}
	_, err := tx.exec("DELETE FROM datasets WHERE name = ? AND uid = (SELECT uid FROM grid_jobs WHERE id = ?)",
		args{}.text(mergeDataset(id)).int(int64(id)))
	return err
}

// EndRemoval stores that only the row of a grid job is left, and reduces the job file in the row to type, name and
// request key. The schema refuses this while other rows are left. The error is of kind Gone if the grid job has no open
// removal.
func (tx *Tx) EndRemoval(id jjm.GridID) error {
	if err := tx.endRemoval(id); err != nil {
		return tx.fail(err, "end the removal of grid job %s", id)
	}
	return nil
}

func (tx *Tx) endRemoval(id jjm.GridID) error {
	if tx.c == nil {
		return errOver()
	}
	g, err := gridRow(tx.ctx, tx.c, id)
	if err != nil {
		return err
	}
	spec, err := json.Marshal(jjm.Spec{Type: g.Spec.Type, Name: g.Spec.Name, Key: g.Spec.Key, KeyReuse: g.Spec.KeyReuse})
	if err != nil {
		return err
	}
	_, err = tx.exec(`UPDATE grid_jobs SET spec = ?, base_dir = NULL, carry = NULL, why = NULL, places = NULL,
		warnings = NULL WHERE id = ?`, args{}.value(string(spec)).int(int64(id)))
	if err != nil {
		return err
	}
	return tx.change("UPDATE removals SET done = ? WHERE grid = ? AND done = 0",
		args{}.int(int64(jjm.At(tx.s.o.Now()))).int(int64(id)), jjm.Errorf(jjm.Gone, "there is no such open removal"))
}

// Tell stores that gatekeepers were told the ends of grid jobs. To store the same fact again changes nothing. Grid jobs
// that are being removed, or that have never ended, are skipped.
func (tx *Tx) Tell(ids []jjm.GridID) error {
	for _, id := range ids {
		_, err := tx.exec(`INSERT INTO told (grid, time) SELECT id, ? FROM grid_jobs WHERE id = ? AND (status IN `+overGrids+
			` OR generation > 1) AND NOT EXISTS (SELECT 1 FROM removals WHERE grid = id) ON CONFLICT DO NOTHING`,
			args{}.int(int64(jjm.At(tx.s.o.Now()))).int(int64(id)))
		if err != nil {
			return tx.fail(err, "store that the end of grid job %s was told", id)
		}
	}
	return nil
}
