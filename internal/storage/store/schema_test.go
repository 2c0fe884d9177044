package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"jjm/internal/jjm"
)

// worked returns a store with three grid jobs. Grid job 1 is live with local jobs 0 to 3; local job 0 is completed;
// local jobs 0 to 2 have attempts in bulk "jone", and the attempt of 0 has ended. Grid job 2 is done and archived with
// local jobs 0 and 1. Grid job 3 is done and not archived.
func worked(tb testing.TB) *Store {
	tb.Helper()
	s := fresh(tb)
	g := fill(tb, s, 4, 4)
	b := submit(tb, s, g.ID, "jone", 0, 2)
	l := sampleLocal(g.ID, 0)
	l.State = jjm.Completed
	update(tb, s, func(tx *Tx) error {
		return errors.Join(tx.EndAttempts([]AttemptEnd{sampleEnd(b.Members[0])}), saveEnds(tx, []*jjm.LocalJob{&l}))
	})
	for i, tag := range []jjm.Tag{"jtwo", "jthree"} {
		g := fill(tb, s, 2, 2)
		finish(tb, s, submit(tb, s, g.ID, tag, 0, 1))
		complete(tb, s, g)
		if i == 0 {
			archive(tb, s, g.ID, 1)
		}
	}
	return s
}

// begin returns SQL that changes a new local job of grid job 1 to submitting.
func begin(n int) string {
	return fmt.Sprintf("UPDATE local_jobs SET state = 1 WHERE grid = 1 AND n = %d; ", n)
}

// insertLocal returns SQL that adds a local job.
func insertLocal(grid, n int, unit string, first, count int64) string {
	return fmt.Sprintf(`INSERT INTO local_jobs (grid, n, unit, first, count, serial, state, attempt, early, late_handled, late_unhandled,
		not_before, kill, pos, submitted, started, ended, exit, prog_done, prog_total)
		VALUES (%d, %d, '%s', %d, %d, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0)`, grid, n, unit, first, count)
}

// insertGrids returns SQL that copies the selected grid jobs, with another request key and status.
func insertGrids(which, key, status string) string {
	return fmt.Sprintf(`INSERT INTO grid_jobs (uid, gid, user, type, spec, req_key, key_held, accepted, status, kill, changed, ended,
		prepared, expected, made, closed, tar, tar_bytes) SELECT uid, gid, user, type, spec, %s, 1, accepted, %s, kill, changed, ended,
		prepared, expected, made, closed, tar, tar_bytes FROM grid_jobs WHERE %s`, key, status, which)
}

// lies are statements that the schema itself must refuse, each with a part of the expected error.
var lies = []struct{ name, sql, want string }{
	{"another rollback", `UPDATE grid_jobs SET rollback = 'keep' WHERE id = 1`,
		"grid job 1: how it is rolled back never changes"},
	{"overlap inside", insertLocal(1, 4, "event", 990, 5),
		"cover: event 990-994 of local job 1.4 overlaps 750-999 of local job 1.3"},
	{"overlap replaced", strings.Replace(insertLocal(1, 4, "event", 0, 5000), "INSERT", "INSERT OR REPLACE", 1),
		"overlaps"},
	{"cover without local job", `INSERT INTO cover VALUES (1, 0, 'event', 5000, 5001, 9)`,
		"there is no local job 1.9 with this part"},
	{"cover of another part", `INSERT INTO cover VALUES (1, 0, 'event', 5000, 5001, 3)`,
		"there is no local job 1.3 with this part"},
	{"cover changed", `UPDATE cover SET last = last + 1 WHERE local = 3`, "owns its part for good"},
	{"cover deleted", `DELETE FROM cover WHERE local = 3`, "owns its part for good"},
	{"part changed", `UPDATE local_jobs SET count = 1 WHERE n = 3`, "owns its part for good"},
	{"place changed", `UPDATE local_jobs SET place = 1 WHERE n = 1`, "its place never changes"},
	{"place below none", strings.Replace(strings.Replace(insertLocal(1, 4, "event", 9000, 1), "n,", "n, place,", 1),
		"(1, 4,", "(1, 4, -1,", 1), "CHECK"},
	{"local job renumbered", `UPDATE local_jobs SET n = 7 WHERE n = 3`, "owns its part for good"},
	{"empty part", insertLocal(1, 4, "event", 5000, 0), "CHECK"},
	{"local job deleted", `DELETE FROM local_jobs WHERE grid = 1 AND n = 3`, "a local job is never deleted"},
	{"local job replaced", `INSERT OR REPLACE INTO local_jobs SELECT * FROM local_jobs WHERE n = 3`,
		"a local job is never deleted"},
	{"local job of no grid job", insertLocal(99, 3, "event", 750, 250), "FOREIGN KEY"},
	{"local job added to what is over", insertLocal(3, 2, "event", 9000, 1), "local job 3.2: its grid job is over"},
	{"completed undone", `UPDATE local_jobs SET state = 6 WHERE grid = 1 AND n = 0`, "completed stays completed"},
	{"completed undone while frozen", `UPDATE local_jobs SET state = 9 WHERE grid = 1 AND n = 0;
		UPDATE local_jobs SET state = 6 WHERE grid = 1 AND n = 0`, "no local job goes from state 9 to state 6"},
	{"frozen before its end", `UPDATE local_jobs SET state = 10 WHERE grid = 1 AND n = 3`,
		"no local job goes from state 0 to state 10"},
	{"done with a local job that a person forced to completed", `UPDATE local_jobs SET phase = 'forced' WHERE grid = 1 AND n = 0;
		UPDATE grid_jobs SET status = 6, closed = 1, tar = 'x' WHERE id = 1`, "of its 4 local jobs 4 are there and 0 completed"},
	{"unknown state", `UPDATE local_jobs SET state = 11 WHERE grid = 1 AND n = 3`, "no local job goes from state 0 to state 11"},
	{"attempt twice", `INSERT INTO attempts (grid, local, attempt, tag, pos) VALUES (1, 0, 0, 'jone', 7)`, "UNIQUE"},
	{"place taken", `INSERT INTO attempts (grid, local, attempt, tag, pos) VALUES (1, 3, 0, 'jone', 1)`, "UNIQUE"},
	{"attempt in no bulk", `INSERT INTO attempts (grid, local, attempt, tag, pos) VALUES (1, 3, 0, 'jnone', 1)`,
		"FOREIGN KEY"},
	{"attempt of no local job", `INSERT INTO attempts (grid, local, attempt, tag, pos) VALUES (1, 9, 0, 'jone', 7)`,
		"FOREIGN KEY"},
	{"attempt renumbered", `UPDATE attempts SET attempt = 1 WHERE local = 1`, "keeps its number"},
	{"end undone", `UPDATE attempts SET ended = 0 WHERE grid = 1 AND local = 0`, "it has ended"},
	{"attempt moved", `UPDATE attempts SET pos = 9 WHERE grid = 1 AND local = 1`, "keeps its number and its place"},
	{"attempt deleted", `DELETE FROM attempts WHERE grid = 1 AND local = 1`, "never deleted"},
	{"evidence changed", `UPDATE evidence SET evidence = '{}'`, "kept as it was"},
	{"evidence deleted", `DELETE FROM evidence`, "kept as it was"},
	{"evidence replaced", `INSERT OR REPLACE INTO evidence SELECT * FROM evidence`, "kept as it was"},
	{"journal changed", `UPDATE journal SET became = 'done'`, "append-only"},
	{"journal deleted", `DELETE FROM journal WHERE seq = 1`, "append-only"},
	{"journal replaced", `INSERT OR REPLACE INTO journal SELECT * FROM journal`, "append-only"},
	{"journal range backwards", `INSERT INTO journal (time, grid, first, last, became) VALUES (1, 1, 5, 4, 'new')`,
		"CHECK"},
	{"final status changed", `UPDATE grid_jobs SET status = 7 WHERE id = 3`, "a final status never changes"},
	{"done loses its tar", `UPDATE grid_jobs SET tar = NULL WHERE id = 3`, "its cutting and its tar stay"},
	{"done is opened again", `UPDATE grid_jobs SET closed = 0 WHERE id = 3`, "its cutting and its tar stay"},
	{"done too early", `UPDATE grid_jobs SET status = 6, closed = 1, tar = 'x' WHERE id = 1`,
		"of its 4 local jobs 4 are there and 1 completed"},
	{"over with a job in a batch system",
		begin(2) + `UPDATE local_jobs SET state = 3 WHERE grid = 1 AND n = 2; UPDATE grid_jobs SET status = 11 WHERE id = 1`,
		"cannot be over while local job 1.2 is not"},
	{"over with a held job", begin(2) + `UPDATE local_jobs SET state = 8 WHERE grid = 1 AND n = 2; UPDATE grid_jobs SET status = 8 WHERE id = 1`, "cannot be over while local job 1.2 is not"},
	{"finished without a tar", `UPDATE grid_jobs SET status = 7 WHERE id = 1`, "needs its tar"},
	{"born done", insertGrids("id = 3", "NULL", "status"), "a new grid job is not done"},
	{"archived while running", `UPDATE grid_jobs SET archived = 2 WHERE id = 1`, "only a final grid job is archived"},
	{"taken from the history", `UPDATE grid_jobs SET archived = 0 WHERE id = 2`, "and for good"},
	{"owner changed", `UPDATE grid_jobs SET uid = 0 WHERE id = 1`, "what was accepted never changes"},
	{"spec changed", `UPDATE grid_jobs SET spec = '{}' WHERE id = 1`, "what was accepted never changes"},
	{"grid job deleted", `DELETE FROM grid_jobs WHERE id = 1`, "never deleted"},
	{"grid job replaced", `INSERT OR REPLACE INTO grid_jobs SELECT * FROM grid_jobs WHERE id = 1`, "never deleted"},
	{"key taken twice", insertGrids("id IN (1, 3)", "'k'", "0"), "UNIQUE"},
	{"released key taken back", `UPDATE grid_jobs SET key_held = 1 WHERE id = 1`, "is not taken back"},
	{"bulk deleted", `DELETE FROM bulks WHERE tag = 'jone'`, "never deleted"},
	{"bulk given to another", `UPDATE bulks SET uid = 0 WHERE tag = 'jone'`, "what was intended never changes"},
	{"history changed", `UPDATE history_local_jobs SET state = 6`, "history never changes"},
	{"history deleted", `DELETE FROM history_local_jobs`, "history never changes"},
	{"history of attempts changed", `UPDATE history_attempts SET ended = 1`, "history never changes"},
	{"history of attempts deleted", `DELETE FROM history_attempts`, "history never changes"},
	{"open attempt in the history", `INSERT INTO history_attempts VALUES (1, 1, 0, 'jone', 1, 0)`, "CHECK"},
	{"retracted what has not completed", `INSERT INTO retractions VALUES (1, 3, 0, 1, 'a', 'b')`, "has not completed"},
	{"retracted and killed", `INSERT INTO retractions VALUES (1, 0, 0, 1, 'a', 'b'); UPDATE local_jobs SET state = 7 WHERE grid = 1 AND n = 0`, "no local job goes from state 5 to state 7"},
	{"retracted, and run again without a reopening", `INSERT INTO retractions VALUES (1, 0, 0, 1, 'a', 'b');
		UPDATE local_jobs SET state = 1, attempt = 1 WHERE grid = 1 AND n = 0`, "completed stays completed"},
	{"recovers what is not over", `INSERT INTO recoveries VALUES (3, 1)`, "is not over"},
	{"recovers what comes later", `INSERT INTO recoveries VALUES (2, 3)`, "CHECK"},
	{"text for a number", `UPDATE grid_jobs SET kill = 'yes' WHERE id = 1`, "cannot store TEXT value in INTEGER column"},
	{"two identities", `INSERT INTO identity VALUES (2, 'aaaa', 0, 1)`, "CHECK"},
}

func TestSchema_RefusesInvalidSQL(t *testing.T) {
	s := worked(t)
	for _, tt := range lies {
		t.Run(tt.name, func(t *testing.T) {
			err := raw(s, tt.sql)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s\ngave %v, want an error with %q", tt.sql, err, tt.want)
			}
		})
	}
	if err := s.Check(context.Background()); err != nil {
		t.Error(err)
	}
}

// The schema accepts similar statements with valid values. So the statements in lies fail for the reason that each
// names.
func TestSchema_AcceptsValidRows(t *testing.T) {
	for _, sql := range []string{
		insertLocal(1, 4, "event", 1000, 5),
		insertLocal(1, 4, "row", 0, 5),
		`UPDATE local_jobs SET state = 6 WHERE grid = 1 AND n = 3`,
		`UPDATE local_jobs SET state = 5, host = 'x' WHERE grid = 1 AND n = 0`,
		`INSERT INTO attempts (grid, local, attempt, tag, pos) VALUES (1, 3, 0, 'jone', 7)`,
		`UPDATE local_jobs SET state = 1 WHERE grid = 1 AND state = 0; UPDATE local_jobs SET state = 5 WHERE grid = 1; UPDATE grid_jobs SET status = 6, closed = 1, tar = 'x' WHERE id = 1`,
		`UPDATE grid_jobs SET status = 9 WHERE id = 1`,
		`UPDATE grid_jobs SET status = 6, tar_bytes = 3 WHERE id = 3`,
		`UPDATE grid_jobs SET key_held = 0 WHERE id = 1`,
		`INSERT INTO retractions VALUES (1, 0, 0, 1, 'a', 'b'); UPDATE local_jobs SET state = 6 WHERE grid = 1 AND n = 0`,
		`INSERT INTO recoveries VALUES (3, 2)`,
	} {
		if err := raw(worked(t), sql); err != nil {
			t.Errorf("%s\ngave %v", sql, err)
		}
	}
}

func TestSchema_RefusesInvalidCallsOfTheAPI(t *testing.T) {
	local := func(g jjm.GridID, n int, first, count int64) []jjm.LocalJob {
		l := sampleLocal(g, n)
		l.Part.First, l.Part.Count = first, count
		return []jjm.LocalJob{l}
	}
	state := func(n int, st jjm.State) []*jjm.LocalJob {
		l := sampleLocal(1, n)
		l.State = st
		return []*jjm.LocalJob{&l}
	}
	grid := func(id jjm.GridID, change func(g *jjm.GridJob)) *jjm.GridJob {
		g := sampleGrid()
		g.ID, g.Step.Made = id, 4
		change(g)
		return g
	}
	member := func(g jjm.GridID, n, attempt int32) jjm.AttemptID {
		return jjm.AttemptID{LocalID: jjm.LocalID{Grid: g, N: n}, Attempt: attempt}
	}
	bulk := func(tag jjm.Tag, ids ...jjm.AttemptID) *jjm.Bulk { return &jjm.Bulk{Tag: tag, Members: ids} }
	tests := []struct {
		name string
		do   func(tx *Tx) error
		kind jjm.Kind
		want string
	}{
		{"overlap", func(tx *Tx) error {
			return tx.InsertLocals(local(1, 4, 999, 2))
		}, jjm.Internal, "1.4 overlaps 750-999 of local job 1.3"},
		{"no units", func(tx *Tx) error {
			return tx.InsertLocals(local(1, 4, 5000, 0))
		}, jjm.Internal, "want a unit and a positive count"},
		{"beyond all numbers", func(tx *Tx) error {
			return tx.InsertLocals(local(1, 4, 1<<62, 1<<62))
		}, jjm.Internal, "want a unit and a positive count"},
		{"gap in the numbers", func(tx *Tx) error {
			return tx.InsertLocals(local(1, 5, 5000, 1))
		}, jjm.Internal, "expected 1.4"},
		{"number used", func(tx *Tx) error { return tx.InsertLocals(local(1, 3, 5000, 1)) }, jjm.Internal, "expected 1.4"},
		{"no such grid job", func(tx *Tx) error { return tx.InsertLocals(local(99, 0, 0, 1)) }, jjm.Internal, "FOREIGN KEY"},
		{"grid job over", func(tx *Tx) error {
			return tx.InsertLocals(local(3, 2, 5000, 1))
		}, jjm.Internal, "its grid job is over"},
		{"save what is not there", func(tx *Tx) error {
			return tx.SaveLocals(state(9, jjm.Running))
		}, jjm.Internal, "local job 1.9: it was never inserted"},
		{"completed undone", func(tx *Tx) error {
			return tx.SaveLocals(state(0, jjm.Failed))
		}, jjm.Internal, "completed stays completed"},
		{"done too early", func(tx *Tx) error {
			return tx.SaveGrid(grid(1, func(g *jjm.GridJob) { g.Status, g.Step.Closed, g.Tar = jjm.Done, true, "x" }))
		}, jjm.Internal, "4 are there and 1 completed"},
		{"done without tar", func(tx *Tx) error {
			return tx.SaveGrid(grid(1, func(g *jjm.GridJob) { g.Status, g.Step.Closed = jjm.Done, true }))
		}, jjm.Internal, "needs its tar"},
		{"done and not closed", func(tx *Tx) error {
			return tx.SaveGrid(grid(1, func(g *jjm.GridJob) { g.Status, g.Tar = jjm.Done, "x" }))
		}, jjm.Internal, "needs its cutting closed"},
		{"final status changed", func(tx *Tx) error {
			return tx.SaveGrid(grid(3, func(g *jjm.GridJob) {
				g.Status, g.Tar, g.Step.Made, g.Step.Closed = jjm.Aborted, "out.tar", 2, true
			}))
		}, jjm.Internal, "a final status never changes (6 to 11)"},
		{"save a grid job that is not there", func(tx *Tx) error {
			return tx.SaveGrid(grid(9, func(*jjm.GridJob) {}))
		}, jjm.Internal, "never inserted"},
		{"attempt in another bulk", func(tx *Tx) error {
			return tx.InsertBulk(bulk("jnew", member(1, 3, 0), member(1, 1, 0)))
		}, jjm.Internal, "UNIQUE"},
		{"attempt twice in one bulk", func(tx *Tx) error {
			return tx.InsertBulk(bulk("jnew", member(1, 3, 0), member(1, 3, 0)))
		}, jjm.Internal, "UNIQUE"},
		{"tag in use", func(tx *Tx) error { return tx.InsertBulk(bulk("jone", member(1, 3, 0))) }, jjm.Internal, "UNIQUE"},
		{"tag not valid", func(tx *Tx) error {
			return tx.InsertBulk(bulk("../jone", member(1, 3, 0)))
		}, jjm.Internal, "tag is not valid"},
		{"bulk of nothing", func(tx *Tx) error { return tx.InsertBulk(bulk("jnew")) }, jjm.Internal, "no members"},
		{"attempt of an archived local job", func(tx *Tx) error {
			return tx.InsertBulk(bulk("jnew", member(2, 0, 1)))
		}, jjm.Internal, "FOREIGN KEY"},
		{"save a bulk that is not there", func(tx *Tx) error {
			return tx.SaveBulk(bulk("jnew"))
		}, jjm.Internal, "never inserted"},
		{"end twice", func(tx *Tx) error {
			return tx.EndAttempts([]AttemptEnd{sampleEnd(member(1, 0, 0))})
		}, jjm.Conflict, "1.0 #0: it ended at 1970-01-01"},
		{"end what was never begun", func(tx *Tx) error {
			return tx.EndAttempts([]AttemptEnd{sampleEnd(member(1, 3, 0))})
		}, jjm.Gone, "1.3 #0: it is in no bulk"},
		{"end without a time", func(tx *Tx) error {
			return tx.EndAttempts([]AttemptEnd{{ID: member(1, 1, 0)}})
		}, jjm.Internal, "time of its end"},
		{"release the key of nothing", func(tx *Tx) error { return tx.ReleaseKey(99) }, jjm.Gone, "no grid job 99"},
		{"journal range backwards", func(tx *Tx) error {
			return tx.Journal(jjm.JournalEntry{Grid: 1, First: 5, Last: 4, To: "x"})
		}, jjm.Internal, "CHECK"},
	}
	s := worked(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := s.Update(context.Background(), tt.do)
			wantKind(t, err, tt.kind)
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q lacks %q", err, tt.want)
			}
		})
	}
}

// The schema contains the numbers of states, so the numbers of known states must never change.
func TestSchema_NumbersOfStatesArePinned(t *testing.T) {
	got := fmt.Sprint(jjm.New, jjm.Submitting, jjm.Submitted, jjm.Running, jjm.Completing, jjm.Completed, jjm.Failed,
		jjm.Killed, jjm.Held, jjm.CompletedFrozen, jjm.FailedFrozen, jjm.NumStates)
	if want := "new submitting submitted running completing completed failed killed held " +
		"completed_frozen failed_frozen 11"; got != want {
		t.Errorf("states: %s, want %s: write a new step of the schema", got, want)
	}
	for i, want := range []string{"registered", "defined", "ready", "pending", "running", "prepared", "done", "finished",
		"failed", "broken", "aborting", "aborted", "paused"} {
		st := jjm.GridStatus(i)
		if st.String() != want || jjm.NumGridStatuses != 13 {
			t.Errorf("grid status %d is %s, want %s: write a new step of the schema", i, st, want)
		}
		if final := i == 6 || i == 7 || i == 8 || i == 9 || i == 11; final != st.Final() {
			t.Errorf("status %s: final is %v, and %v in the schema", st, st.Final(), final)
		}
	}
	for i, want := range []string{"intent", "accepted", "released", "refused", "closed"} {
		if st := jjm.BulkState(i); st.String() != want {
			t.Errorf("bulk state %d is %s, want %s: write a new step of the schema", i, st, want)
		}
	}
	for i := range jjm.State(jjm.NumStates) {
		if inBatch := i >= 1 && i <= 4; inBatch != i.InBatch() {
			t.Errorf("state %s: in batch is %v, and %v in the schema", i, i.InBatch(), inBatch)
		}
	}
}
