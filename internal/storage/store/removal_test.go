package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

func orderRemoval(tb testing.TB, s *Store, id jjm.GridID) {
	tb.Helper()
	update(tb, s, func(tx *Tx) error {
		return errors.Join(tx.Hindrance(id, false), tx.PutRemoval(&Removal{Grid: id, Actor: "alice"}))
	})
}

func removeRows(tb testing.TB, s *Store, id jjm.GridID, chunk int) (calls int) {
	tb.Helper()
	for more := true; more; calls++ {
		var err error
		if more, err = s.RemoveRows(context.Background(), id, chunk); err != nil {
			tb.Fatal(err)
		}
		if err := s.Check(context.Background()); err != nil {
			tb.Fatalf("after %d chunks: %v", calls, err)
		}
	}
	return calls
}

// readAndMade stores an archived grid job that has rows in every table, because it read files, retracted an output and
// merged its outputs.
func readAndMade(t *testing.T, s *Store) *jjm.GridJob {
	t.Helper()
	g := reader(t, s, dataset(t, s, "raw", 3))
	update(t, s, func(tx *Tx) error {
		return tx.InsertLocals([]jjm.LocalJob{fileJob(g, 0, 0, "f000000"), fileJob(g, 1, 1, "f000001"),
			fileJob(g, 2, 2, "f000002")})
	})
	finish(t, s, submit(t, s, g.ID, jjm.Tag("jread"+g.ID.String()), 0, 2))
	ls, err := s.Locals(context.Background(), g.ID, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	var changed []*jjm.LocalJob
	for i := range ls {
		ls[i].State = jjm.Completed
		changed = append(changed, &ls[i])
	}
	g.Step.Made, g.Step.Closed, g.Tar, g.Status = 3, true, "out.tar", jjm.Finished
	g.Merging = &jjm.MergeStep{Splitter: "x", Closed: true}
	update(t, s, func(tx *Tx) error {
		d, _, err := tx.PutDataset(g.Owner.UID, jjm.Dataset{Name: fmt.Sprintf("(merge of %s)", g.ID)})
		if err != nil {
			return err
		}
		_, err = tx.AddFiles(d, []jjm.File{{LFN: "a"}, {LFN: "b"}, {LFN: "c"}})
		return errors.Join(err, saveEnds(tx, changed), tx.EndInputs(changed))
	})
	update(t, s, func(tx *Tx) error {
		_, err := tx.Retract(ls[2].ID, "alice", "lost")
		return errors.Join(err, tx.SaveGrid(g), tx.Tell([]jjm.GridID{g.ID}))
	})
	const template = `INSERT INTO output_templates (grid, step, n, last, most) VALUES (%d, 0, 0, 3, 0)`
	if err := raw(s, fmt.Sprintf(template, g.ID)); err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx *Tx) error {
		return tx.Journal(jjm.JournalEntry{Grid: g.ID, First: -1, Last: -1, From: "prepared", To: "finished"})
	})
	last, err := s.LastEntry(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx *Tx) error {
		return tx.PutNotices([]Notice{{Target: "command", Change: last, Grid: g.ID, Generation: 1}})
	})
	archive(t, s, g.ID, 9)
	return g
}

// about returns, for each table with a column grid, the number of rows about a grid job.
func about(t *testing.T, s *Store, id jjm.GridID) map[string]int64 {
	t.Helper()
	var tables []string
	err := s.view(context.Background(), func(c *conn) error {
		return c.query(context.Background(), `SELECT m.name FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS i
			WHERE m.type = 'table' AND i.name = 'grid' ORDER BY m.name`, nil, func(r row) error {
			tables = append(tables, r.text(0))
			return nil
		})
	})
	if err != nil || len(tables) < 15 {
		t.Fatal(tables, err)
	}
	rows := map[string]int64{}
	for _, table := range tables {
		rows[table] = number(t, s, fmt.Sprintf("SELECT count(*) FROM %s WHERE grid = %d", table, id))
	}
	return rows
}

// staysAfterRemoval reports whether the rows of a table about a removed grid job stay.
func staysAfterRemoval(table string) bool {
	return slices.Contains([]string{"removals", "journal", "endings", "reopenings", "recoveries", "handles"}, table)
}

// A removal deletes every row about the grid job, in chunks, and no row of another grid job. If the rows of a new table
// are kept, the table must be added to staysAfterRemoval.
func TestRemoval_NothingIsLeftButWhatIsKept(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	g, other := readAndMade(t, s), readAndMade(t, s)
	live := []string{"local_jobs", "attempts", "cover"} // only grid jobs that are not archived have rows here
	for table, rows := range about(t, s, g.ID) {
		if rows == 0 && !staysAfterRemoval(table) && !slices.Contains(live, table) {
			t.Errorf("table %s has no row, so this test does not see it", table)
		}
	}
	theirs, ended := about(t, s, other.ID), number(t, s, "SELECT max(id) FROM evidence")
	orderRemoval(t, s, g.ID)
	if err := s.Update(ctx, func(tx *Tx) error { return tx.EndRemoval(g.ID) }); err == nil {
		t.Error("it is called removed while its rows are there")
	}
	if calls := removeRows(t, s, g.ID, 2); calls != 7 {
		t.Errorf("%d chunks, want 2 each of local jobs, files read and files merged, and what is left", calls)
	}
	update(t, s, func(tx *Tx) error { return tx.EndRemoval(g.ID) })
	for table, rows := range about(t, s, g.ID) {
		if rows > 0 && !staysAfterRemoval(table) {
			t.Errorf("table %s still has %d rows", table, rows)
		}
	}
	if d := cmp.Diff(theirs, about(t, s, other.ID)); d != "" {
		t.Error("of the other grid job", d)
	}
	for query, want := range map[string]int64{"SELECT count(*) FROM datasets": 2, "SELECT count(*) FROM bulks": 1,
		"SELECT count(*) FROM datasets WHERE name = '(merge of 1)'":            0,
		"SELECT count(*) FROM grid_jobs WHERE id = 1 AND spec LIKE '%events%'": 0} {
		if n := number(t, s, query); n != want {
			t.Errorf("%s: %d, want %d", query, n, want)
		}
	}
	row, gone, err := s.Kept(ctx, g.ID)
	if err != nil || gone == nil || gone.Done == 0 || gone.Actor != "alice" || gone.Owner != g.Owner ||
		row.Status != jjm.Finished || row.Spec.Type != g.Spec.Type || row.Step.Made != 3 {
		t.Errorf("%+v, %+v, %v", row, gone, err)
	}
	_, err = s.Grid(ctx, g.ID)
	wantKind(t, err, jjm.Gone)
	if !strings.Contains(err.Error(), "grid job 1 was removed by alice at ") {
		t.Error(err)
	}
	if all, err := s.Grids(ctx, Filter{All: true}); err != nil || len(all) != 1 {
		t.Errorf("%d are listed, %v", len(all), err)
	}
	// New rows of evidence get higher ids than the removed rows. Accounting reads the rows in the order of these ids, so
	// an id must not be used again.
	orderRemoval(t, s, other.ID)
	removeRows(t, s, other.ID, 100)
	if last, err := s.LastEnded(ctx); err != nil || last != ended {
		t.Errorf("last ended %d, want %d, %v", last, ended, err)
	}
	next := fill(t, s, 1, 1)
	finish(t, s, submit(t, s, next.ID, "jnext", 0, 0))
	if got, err := s.EndedAfter(ctx, ended, 9); err != nil || len(got) != 1 || got[0].Attempt.Grid != next.ID {
		t.Errorf("%+v, %v", got, err)
	}
	if next.ID != 3 {
		t.Errorf("the next grid job is %s, want 3", next.ID)
	}
}

// The schema refuses to end a removal if a single table still has rows that are to go. It names all such tables.
func TestRemoval_SchemaRefusesTheEndWhileOneTableHasRows(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	g := readAndMade(t, s)
	var doomed []string
	for table, rows := range about(t, s, g.ID) {
		if rows > 0 && !staysAfterRemoval(table) {
			doomed = append(doomed, table)
		}
	}
	orderRemoval(t, s, g.ID)
	for _, left := range doomed {
		err := s.Update(ctx, func(tx *Tx) error {
			if _, err := tx.exec("PRAGMA defer_foreign_keys = ON", nil); err != nil {
				return err
			}
			for _, table := range doomed {
				if table == left {
					continue
				}
				if _, err := tx.exec("DELETE FROM "+table+" WHERE grid = ?", args{}.int(int64(g.ID))); err != nil {
					return fmt.Errorf("delete from %s: %w", table, err)
				}
			}
			return tx.EndRemoval(g.ID)
		})
		if err == nil || !strings.Contains(err.Error(), "it is not removed while rows of it are left") {
			t.Fatalf("rows of %s are left: error %v", left, err)
		}
	}
}

// The id of a removed grid job is never assigned again, not even after a restart of the daemon.
func TestRemoval_IdsAreNotGivenOutAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jjm.db")
	s := open(t, path)
	for range 3 {
		id := over(t, s, 2).ID
		orderRemoval(t, s, id)
		removeRows(t, s, id, 9)
		update(t, s, func(tx *Tx) error { return tx.EndRemoval(id) })
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if have, err := Look(path); err != nil || have.Highest != 3 {
		t.Errorf("%+v, %v", have, err)
	}
	if g := fill(t, open(t, path), 1, 1); g.ID != 4 {
		t.Errorf("the next id is %s, want 4", g.ID)
	}
}

// The test runs SQL that breaks the rules of a removal. The schema itself must refuse it.
func TestRemoval_SchemaRefuses(t *testing.T) {
	s := fresh(t)
	live, requested, doomed := fill(t, s, 2, 2), over(t, s, 2), over(t, s, 2)
	recovered, gone := over(t, s, 2), over(t, s, 2)
	request(t, s, requested)
	recovery := sampleGrid()
	recovery.Spec.Recovers = recovered.ID
	update(t, s, func(tx *Tx) error { return tx.InsertGrid(recovery) })
	orderRemoval(t, s, doomed.ID)
	orderRemoval(t, s, gone.ID)
	removeRows(t, s, gone.ID, 1)
	update(t, s, func(tx *Tx) error { return tx.EndRemoval(gone.ID) })
	for _, lie := range []struct{ name, sql, want string }{
		{"what goes on", "INSERT INTO removals VALUES (1, 'a', 1, 0)", "it is not over"},
		{"what is reopened", "INSERT INTO removals VALUES (2, 'a', 1, 0)", "about to begin another generation"},
		{"what is being recovered", "INSERT INTO removals VALUES (4, 'a', 1, 0)", "a recovery of it is not over"},
		{"done at once", "INSERT INTO removals VALUES (6, 'a', 1, 1)", "it is not over"},
		{"twice", "INSERT INTO removals VALUES (3, 'a', 1, 0)", "UNIQUE"},
		{"by somebody else", "UPDATE removals SET actor = 'b' WHERE grid = 3", "never changes"},
		{"too early", "UPDATE removals SET done = 1 WHERE grid = 3", "while rows of it are left"},
		{"taken back", "UPDATE removals SET done = 0 WHERE grid = 5", "never changes"},
		{"forgotten", "DELETE FROM removals WHERE grid = 5", "never forgotten"},
		{"reopened", `INSERT INTO reopenings (grid, generation, request, actor, why, time)
			VALUES (3, 2, '{}', 'a', 'b', 1)`, "it is removed"},
		{"recovered", "INSERT INTO recoveries (grid, recovers) VALUES (6, 3)", "which it recovers, is removed"},
		{"history of another", "DELETE FROM history_local_jobs WHERE grid = 2", "history never changes"},
		{"evidence of another", "DELETE FROM evidence WHERE grid = 2", "kept as it was"},
		{"a bulk of another", "DELETE FROM bulks WHERE tag = 'jover2'", "never deleted"},
		{"the job file of another", "UPDATE grid_jobs SET spec = '{}' WHERE id = 2", "never changes"},
		{"the job file of what is removed", "UPDATE grid_jobs SET spec = '{}' WHERE id = 5", "never changes"},
		{"another owner", "UPDATE grid_jobs SET uid = 9, spec = '{}' WHERE id = 3", "never changes"},
		{"the row itself", "DELETE FROM grid_jobs WHERE id = 3", "never deleted"},
	} {
		if err := raw(s, lie.sql); err == nil || !strings.Contains(err.Error(), lie.want) {
			t.Errorf("%s: error %v, want %q", lie.name, err, lie.want)
		}
	}
	_, err := s.RemoveRows(context.Background(), live.ID, 5)
	wantKind(t, err, jjm.Conflict)
	_, err = s.RemoveRows(context.Background(), doomed.ID, 0)
	wantKind(t, err, jjm.Invalid)
}

// Hindrance returns an error that names the dependency that prevents the removal of a grid job.
func TestRemoval_Hindrances(t *testing.T) {
	s := fresh(t)
	hindrance := func(id jjm.GridID, force bool) (why string) {
		t.Helper()
		err := s.Update(t.Context(), func(tx *Tx) error {
			err := tx.Hindrance(id, force)
			if err != nil {
				wantKind(t, err, jjm.Conflict)
				why = err.Error()
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return why
	}
	wants := func(id jjm.GridID, force bool, want string) {
		t.Helper()
		if why := hindrance(id, force); want == "" && why != "" || !strings.Contains(why, want) {
			t.Errorf("grid job %s: %q, want %q", id, why, want)
		}
	}
	maker, user := over(t, s, 2), over(t, s, 2)
	wants(maker.ID, false, "")
	var made DatasetID
	update(t, s, func(tx *Tx) error {
		var err error
		if made, _, err = tx.PutDataset(maker.Owner.UID, jjm.Dataset{Name: "made"}); err != nil {
			return err
		}
		_, err = tx.AddFiles(made, []jjm.File{{LFN: "mc.1.0.out"}})
		return errors.Join(err, tx.SetMaker(made, maker.ID))
	})
	wants(maker.ID, true, "dataset made refers to its outputs, such as mc.1.0.out: if nobody needs the dataset, "+
		"remove it first (jjm dataset remove made); or mark each of its files as lost "+
		"(jjm dataset mark made LFN... lost --reason WHY)")
	if err := raw(s, fmt.Sprintf(`INSERT INTO file_marks VALUES (%d, 0, 5, 1, 'a', 'lost')`, made)); err != nil {
		t.Fatal(err)
	}
	wants(maker.ID, false, "")
	if err := raw(s, fmt.Sprintf(`INSERT INTO inputs (grid, step, dataset, pos, master) VALUES (%d, 0, %d, 0, 1)`,
		user.ID, made)); err != nil {
		t.Fatal(err)
	}
	wants(maker.ID, false, "grid job 2 reads dataset made, which it filled, and its verification asks who "+
		"made the files: remove that one first (jjm remove 2)")
	orderRemoval(t, s, user.ID)
	wants(maker.ID, false, "")

	recovery := sampleGrid()
	recovery.Spec.Recovers, recovery.Origin = maker.ID, &jjm.Origin{Gatekeeper: "arc"}
	update(t, s, func(tx *Tx) error { return tx.InsertGrid(recovery) })
	wants(maker.ID, true, "grid job 3, which recovers it, is not over")
	recovery.Status = jjm.GridFailed
	update(t, s, func(tx *Tx) error { return tx.SaveGrid(recovery) })
	wants(recovery.ID, true, "it recovers grid job 1, whose verification counts what it did: remove that one "+
		"first (jjm remove 1)")
	orderRemoval(t, s, maker.ID)
	wants(recovery.ID, false, "its gatekeeper was not told yet that it is over")
	wants(recovery.ID, true, "")
	update(t, s, func(tx *Tx) error { return tx.Tell([]jjm.GridID{recovery.ID, recovery.ID, 99}) })
	wants(recovery.ID, false, "")
	reopened := over(t, s, 2)
	request(t, s, reopened)
	wants(reopened.ID, true, "it is being reopened by alice: resubmit")
}
