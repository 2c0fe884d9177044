package store

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

// over stores a finished and archived grid job of n local jobs with a tar. The last local job failed.
func over(tb testing.TB, s *Store, n int) *jjm.GridJob {
	tb.Helper()
	g := fill(tb, s, n, n)
	finish(tb, s, submit(tb, s, g.ID, jjm.Tag("jover"+g.ID.String()), 0, n-1))
	ls, err := s.Locals(context.Background(), g.ID, 0, -1)
	if err != nil {
		tb.Fatal(err)
	}
	var changed []*jjm.LocalJob
	for i := range ls {
		ls[i].State, ls[i].Exit = jjm.Completed, 0
		changed = append(changed, &ls[i])
	}
	ls[n-1].State, ls[n-1].Exit = jjm.Failed, 3
	g.Step.Closed, g.Tar, g.TarBytes, g.TarSHA256, g.Status = true, "out.tar", 99, "abc", jjm.Finished
	g.Kill, g.KillBy, g.Reason, g.Exit, g.Ended = true, "bob", "one failed", 1, 9000
	g.Step.Expected, g.Counts[jjm.Completed], g.Counts[jjm.Failed] = n, n-1, 1
	g.Usage, g.Causes = &jjm.Usage{Host: "node1", Processors: 2}, []jjm.Cause{{Text: "exit code 3", Jobs: 1}}
	update(tb, s, func(tx *Tx) error { return errors.Join(saveEnds(tx, changed), tx.SaveGrid(g)) })
	archive(tb, s, g.ID, n)
	return g
}

func request(tb testing.TB, s *Store, g *jjm.GridJob) *Reopening {
	tb.Helper()
	r := &Reopening{Grid: g.ID, Generation: g.Generation + 1, Request: []byte(`{}`), Actor: "alice", Why: "resubmit"}
	update(tb, s, func(tx *Tx) error { return tx.PutReopening(r) })
	return r
}

func revive(tb testing.TB, s *Store, id jjm.GridID, chunk int) (calls int) {
	tb.Helper()
	for more := true; more; calls++ {
		var err error
		if more, err = s.Revive(context.Background(), id, chunk); err != nil {
			tb.Fatal(err)
		}
	}
	return calls
}

func reopen(tb testing.TB, s *Store, g *jjm.GridJob, r *Reopening) {
	tb.Helper()
	update(tb, s, func(tx *Tx) error {
		_, err := tx.Reopen(g, r)
		return errors.Join(err, tx.EndReopening(r.Seq, ""))
	})
}

// Every read returns the same result while a grid job is moved back from the history, until the next generation begins.
// A refused request leaves the grid job unchanged.
func TestRevive_ReadsDoNotSeeIt(t *testing.T) {
	const n = 23
	s, ctx := fresh(t), context.Background()
	before := fill(t, s, 2, 2)
	g := over(t, s, n)
	type all struct {
		Grid   jjm.GridJob
		Locals []jjm.LocalJob
		Tries  []Attempt
		Owned  [][3]int64
		Live   []jjm.LocalID
		Grids  int
	}
	read := func() (a all) {
		var errs [6]error
		a.Grid, errs[0] = s.Grid(ctx, g.ID)
		a.Locals, errs[1] = s.Locals(ctx, g.ID, 0, -1)
		a.Tries, errs[2] = s.Attempts(ctx, jjm.LocalID{Grid: g.ID, N: 5})
		errs[3] = s.Owned(ctx, g.ID, 0, func(first, last int64, local int32) error {
			a.Owned = append(a.Owned, [3]int64{first, last, int64(local)})
			return nil
		})
		errs[4] = s.LiveLocals(ctx, func(l jjm.LocalJob) error {
			a.Live = append(a.Live, l.ID)
			return nil
		})
		live, err := s.Live(ctx)
		a.Grids, errs[5] = len(live.Grids), err
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		return a
	}
	want := read()
	if len(want.Locals) != n || len(want.Owned) != n || len(want.Tries) != 1 || len(want.Live) != 2 ||
		want.Live[0].Grid != before.ID || want.Grids != 1 {
		t.Fatalf("%+v", want)
	}
	r := request(t, s, g)
	calls := 0
	for more := true; more; calls++ {
		var err error
		if more, err = s.Revive(ctx, g.ID, 5); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, read()); d != "" {
			t.Fatalf("after chunk %d: %s", calls+1, d)
		}
	}
	if calls != 5 {
		t.Errorf("%d chunks, want 5", calls)
	}
	update(t, s, func(tx *Tx) error { return tx.EndReopening(r.Seq, "a successor owns it") })
	if d := cmp.Diff(want, read()); d != "" {
		t.Errorf("refused: %s", d)
	}
	if left, err := s.Unsettled(ctx); err != nil || len(left) != 1 || left[0] != g.ID {
		t.Errorf("unsettled %v, %v", left, err)
	}
	if calls := archive(t, s, g.ID, 7); calls != 4 {
		t.Errorf("%d chunks back, want 4", calls)
	}
	if d := cmp.Diff(want, read()); d != "" {
		t.Error(d)
	}
	if left, err := s.Unsettled(ctx); err != nil || len(left) != 0 {
		t.Errorf("unsettled %v, %v", left, err)
	}
}

// The test reopens a grid job twice, so that it has three generations. Each generation has its own end, and the stored
// ends of earlier generations do not change.
func TestReopen_GenerationsFollowOneAnother(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	g := over(t, s, 4)
	for generation := 1; generation < 3; generation++ {
		was := *g
		r := request(t, s, g)
		revive(t, s, g.ID, 3)
		reopen(t, s, g, r)
		stored, err := s.Grid(ctx, g.ID)
		if err != nil {
			t.Fatal(err)
		}
		g.Changed = stored.Changed
		if d := cmp.Diff(*g, stored); d != "" {
			t.Fatalf("what is stored differs from what Reopen says: %s", d)
		}
		if g.Generation != generation+1 || g.Status != jjm.GridRunning || g.Tar != "" || g.Kill ||
			len(g.Endings) != generation {
			t.Errorf("%+v", g)
		}
		then, past := stored.AtEnd(generation)
		then.Changed, then.Step.Closed = was.Changed, was.Step.Closed
		if d := cmp.Diff(was, then); d != "" || !past {
			t.Errorf("generation %d, of which people were told: %s", generation, d)
		}
		if live, err := s.Live(ctx); err != nil || len(live.Grids) != 1 {
			t.Errorf("%d live grid jobs, %v", len(live.Grids), err)
		}
		l := sampleLocal(g.ID, 3)
		l.State, l.Attempt = jjm.Failed, int32(generation)
		b := &jjm.Bulk{Tag: jjm.Tag("jnext" + string(rune('0'+generation))), Cluster: "local", Owner: g.Owner,
			Members: []jjm.AttemptID{l.AttemptID()}}
		update(t, s, func(tx *Tx) error { return errors.Join(tx.SaveLocals([]*jjm.LocalJob{&l}), tx.InsertBulk(b)) })
		finish(t, s, b)
		g.Status, g.Tar, g.TarSHA256, g.Ended = jjm.Finished, "out.g2.tar", "def", 12_000
		update(t, s, func(tx *Tx) error { return tx.SaveGrid(g) })
		archive(t, s, g.ID, 2)
	}
	tries, err := s.Attempts(ctx, jjm.LocalID{Grid: g.ID, N: 3})
	if err != nil || len(tries) != 3 {
		t.Errorf("%d attempts, %v", len(tries), err)
	}
	if told := g.Told(); told.Tar != "out.tar" || told.Generation != 1 || told.KillBy != "bob" {
		t.Errorf("told %+v", told)
	}
	if last, ok := g.LastTar(); !ok || last.Tar != "out.g2.tar" {
		t.Errorf("last tar %+v", last)
	}
}

// The test runs SQL and calls that break the rules of a reopening. The schema itself must refuse them.
func TestReopen_SchemaRefuses(t *testing.T) {
	s := fresh(t)
	live, open, ready := fill(t, s, 2, 2), over(t, s, 2), over(t, s, 2)
	part := over(t, s, 4)
	request(t, s, open)
	request(t, s, ready)
	revive(t, s, ready.ID, 9)
	request(t, s, part)
	if more, err := s.Revive(context.Background(), part.ID, 1); !more || err != nil {
		t.Fatal(more, err)
	}
	ending := func(id, lie string) string {
		values := endingColumns
		if lie != "" {
			values = strings.Replace(values, lie, "'x'", 1)
		}
		return "INSERT INTO endings (" + endingColumns + ", grid, reopened, actor, why) SELECT " + values +
			", id, 1, 'a', 'b' FROM grid_jobs WHERE id = " + id + ";"
	}
	const begin = "UPDATE grid_jobs SET generation = 2, status = 4, kill = 0, ended = 0, tar = NULL, tar_bytes = 0, tar_sha256 = NULL, " +
		"counts = NULL, usage = NULL, causes = NULL, archived = 0, reviving = 0 WHERE id = "
	for _, lie := range []struct{ name, sql, want string }{
		{"a request about what is not over", "INSERT INTO reopenings (grid, generation, request, actor, why, time) VALUES (1, 2, '{}', 'a', 'b', 1)",
			"it is not over"},
		{"a request that skips a generation", "INSERT INTO reopenings (grid, generation, request, actor, why, time) VALUES (4, 3, '{}', 'a', 'b', 1)",
			"generation 3 is not its next one"},
		{"two requests", "INSERT INTO reopenings (grid, generation, request, actor, why, time) VALUES (2, 2, '{}', 'a', 'b', 1)", "UNIQUE"},
		{"a request changed", "UPDATE reopenings SET request = 'x' WHERE grid = 2", "never changes"},
		{"a request forgotten", "DELETE FROM reopenings WHERE grid = 2", "never forgotten"},
		{"revived without a request", "UPDATE reopenings SET done = 1 WHERE grid = 2; UPDATE grid_jobs SET reviving = 1 WHERE id = 2",
			"nobody asked to reopen it"},
		{"no longer revived, but not back", "UPDATE grid_jobs SET reviving = 0 WHERE id = 3", "are not back in the history"},
		{"history leaves without a request", "DELETE FROM history_local_jobs WHERE grid = 2", "history never changes"},
		{"history of a revived one lost", "DELETE FROM history_local_jobs WHERE grid = 4", "history never changes"},
		{"attempts of a revived one lost", "DELETE FROM history_attempts WHERE grid = 4", "history never changes"},
		{"added while revived", insertLocal(3, 2, "event", 9000, 1), "its grid job is over"},
		{"an ending that is none", ending("1", ""), "generation 1 is not over"},
		{"a false ending", ending("3", "reason"), "ended in another way"},
		{"a false tar", ending("3", "tar_sha256"), "ended in another way"},
		{"begun without the ending", begin + "3", "generation 2 cannot follow generation 1 now"},
		{"begun too early", ending("4", "") + begin + "4", "1 of its 4 local jobs are back"},
		{"begun with the old tar", ending("3", "") + strings.Replace(begin, "tar = NULL", "tar = 'out.tar'", 1) + "3",
			"without the end of another one"},
		{"begun as done", ending("3", "") + strings.Replace(begin, "status = 4", "status = 6", 1) + "3", "cannot follow"},
		{"a final status changed", "UPDATE grid_jobs SET status = 4 WHERE id = 3", "a final status never changes"},
		{"archived undone", "UPDATE grid_jobs SET archived = 0 WHERE id = 3", "only a final grid job is archived"},
		{"an ending changed", ending("3", "") + "UPDATE endings SET tar = NULL", "never changes"},
		{"an ending forgotten", ending("3", "") + "DELETE FROM endings", "never forgotten"},
		{"recovered while it is reopened", "INSERT INTO recoveries (grid, recovers) VALUES (5, 3)", "is being reopened"},
	} {
		if err := raw(s, lie.sql); err == nil || !strings.Contains(err.Error(), lie.want) {
			t.Errorf("%s: error %v, want %q", lie.name, err, lie.want)
		}
	}
	if err := s.Update(context.Background(), func(tx *Tx) error {
		return tx.PutReopening(&Reopening{Grid: open.ID, Generation: 2, Request: []byte("{}"), Actor: "a", Why: "b"})
	}); jjm.KindOf(err) != jjm.Conflict || !strings.HasPrefix(err.Error(), "it is being reopened already by ") {
		t.Errorf("error %v", err)
	}
	if err := raw(s, ending("3", "")+begin+"3"); err != nil {
		t.Errorf("the truth is refused: %v", err)
	}
	_, err := s.Revive(context.Background(), live.ID, 5)
	if err == nil || !strings.Contains(err.Error(), "nobody asked to reopen it") {
		t.Errorf("error %v", err)
	}
}

// When the next generation of a grid job begins, the dataset that the grid job makes is open again. The schema refuses
// to open the dataset at any other time.
func TestReopen_OpensWhatItMakes(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	g := over(t, s, 2)
	var id DatasetID
	update(t, s, func(tx *Tx) (err error) {
		if id, _, err = tx.PutDataset(g.Owner.UID, jjm.Dataset{Name: "made"}); err != nil {
			return err
		}
		if err := tx.SetMaker(id, g.ID); err != nil {
			return err
		}
		_, err = tx.CloseDataset(id)
		return err
	})
	if err := raw(s, "UPDATE datasets SET closed = 0"); err == nil || !strings.Contains(err.Error(), "closed, for good") {
		t.Errorf("error %v", err)
	}
	r := request(t, s, g)
	revive(t, s, g.ID, 5)
	reopen(t, s, g, r)
	if d, err := s.DatasetNamed(ctx, g.Owner.UID, "made"); err != nil || d.Closed != 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

// A local job can move to another place only if none of its attempts may be in a batch system.
func TestMoveLocal_OnlyWithoutALiveAttempt(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	g := fill(t, s, 9, 9)
	submit(t, s, g.ID, "tag", 0, 1)
	ls, err := s.Locals(context.Background(), g.ID, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	phases := []struct {
		state jjm.State
		phase jjm.Phase
		moves bool
	}{
		0: {jjm.New, "", false}, // this local job has a live attempt
		1: {jjm.Submitting, jjm.RetryWait, false},
		2: {jjm.New, "", true},
		3: {jjm.Submitting, jjm.RetryWait, true},
		4: {jjm.Held, jjm.HeldByPerson, true},
		5: {jjm.Failed, "", true},
		6: {jjm.Submitting, jjm.Spooled, false},
		7: {jjm.Running, "", false},
		8: {jjm.Completing, jjm.Merging, false},
	}
	for n, p := range phases {
		if p.state == jjm.Running || p.state == jjm.Completing {
			for _, before := range []jjm.State{jjm.Submitting, jjm.Submitted, jjm.Running} {
				ls[n].State = before
				update(t, s, func(tx *Tx) error { return tx.SaveLocals([]*jjm.LocalJob{&ls[n]}) })
			}
		}
		ls[n].State, ls[n].Phase = p.state, p.phase
		update(t, s, func(tx *Tx) error { return tx.SaveLocals([]*jjm.LocalJob{&ls[n]}) })
		err := s.Update(context.Background(), func(tx *Tx) error { return tx.MoveLocal(ls[n].ID, 4) })
		if p.moves && err != nil || !p.moves && jjm.KindOf(err) != jjm.Internal {
			t.Errorf("%d, %s/%s: error %v", n, p.state, p.phase, err)
		}
	}
	none := jjm.LocalID{Grid: g.ID, N: 9}
	wantKind(t, s.Update(context.Background(), func(tx *Tx) error { return tx.MoveLocal(none, 4) }), jjm.Internal)
	if ls, err = s.Locals(context.Background(), g.ID, 0, -1); err != nil {
		t.Fatal(err)
	}
	for n, p := range phases {
		if (ls[n].Place == 4) != p.moves {
			t.Errorf("%d is at place %d", n, ls[n].Place)
		}
	}
}
