package engine_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/policy/health"
	"jjm/internal/policy/why"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/work/cover"
)

// while stops the engine, executes an SQL statement on the store, and starts the engine again.
func (w *world) while(statement string) {
	w.t.Helper()
	w.shut()
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "store.db"))
	w.must(err)
	_, err = db.Exec(statement)
	w.must(err)
	w.must(db.Close())
	w.open()
}

// longFirst is a play in which the local jobs of grid job 1 run for an hour, and all others end quickly.
func longFirst(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
	if id.Grid == 1 {
		return adaptertest.Play{Life: time.Hour}
	}
	return adaptertest.Play{}
}

// whyOf returns the causes for which the local jobs of a grid job are not done, as alice sees them.
func (w *world) whyOf(id jjm.GridID) wire.Why {
	w.t.Helper()
	all, err := w.engine.Why(context.Background(), alice, []jjm.Ref{{Grid: id}})
	w.must(err)
	return all[0]
}

// An unfinished grid job fills its output dataset; nobody can close the dataset before the end.
func TestDatasets_AnOutputDatasetIsNotClosedWhileItIsFilled(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: longFirst}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2, `output_dataset = "hits"`))
		w.running(id, 2)
		closing := wire.Dataset{Do: wire.DatasetClose, Name: "hits"}
		_, err := w.engine.Dataset(context.Background(), alice, closing)
		if jjm.KindOf(err) != jjm.Conflict || !strings.Contains(err.Error(),
			"dataset hits: grid job 1 fills it with its outputs: jjm closes it when this grid job ends (jjm wait 1;") {
			t.Errorf("%v", err)
		}
		reader := w.submit(alice, fileJob("", "name = \"hits\"\n"))
		w.pass(time.Minute)
		if g := w.whyOf(reader).Grid; g == nil || !strings.Contains(g.Text, "it reads hits, filled by grid job 1") ||
			!strings.HasPrefix(g.Remedy, "jjm why 1 ") {
			t.Errorf("why of the reader: %+v", g)
		}
		w.final(2*time.Hour, id, reader)
		w.verify(id, done(2))
		if got, err := w.engine.Dataset(context.Background(), alice, closing); err != nil || got.Changed {
			t.Errorf("its grid job closed it at its end: %+v %v", got, err)
		}
	})
}

// If the store refuses the rows of one local job, this local job waits, and its status says so. All other local jobs of
// the account end in time, also those of the same grid job.
func TestVerdict_ARefusedRowHoldsUpNoOtherLocalJob(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: longFirst}, func(t *testing.T, w *world) {
		bad := w.submit(alice, mc(5, `output_dataset = "hits"`))
		w.running(bad, 5)
		w.while("CREATE TRIGGER refuse BEFORE INSERT ON files WHEN NEW.lfn LIKE '%.3.%' " +
			"BEGIN SELECT RAISE(ABORT, 'refused by the test'); END")
		w.until(2*time.Hour, "the other local jobs are done", func() bool { return w.lookup(bad).Counts.Completed == 4 })
		good := w.submit(alice, plain(7))
		w.final(time.Hour, good)
		w.verify(good, done(7))

		w.pass(15 * time.Minute)
		c := w.state("results", "", health.Critical, "1 local job ended, but an error prevents the verdict, the oldest for 1")
		if !strings.Contains(c.Detail, "refused by the test") || !strings.Contains(c.Remedy, "jjm why 1.3 ") {
			t.Errorf("%+v", c)
		}
		if c := w.checked(alice, "results", ""); c.Detail != "" {
			t.Errorf("a user reads the error of an account: %+v", c)
		}
		if cs := w.whyOf(bad).Causes; len(cs) != 1 || cs[0].Code != string(why.Collecting) ||
			!strings.Contains(cs[0].Text, "its end cannot be stored") || !strings.Contains(cs[0].Text, "refused by the test") {
			t.Errorf("why: %+v", cs)
		}
		if n := w.logged("results could not be read"); n == 0 || n > 4 {
			t.Errorf("the log has %d lines about it", n)
		}

		w.while("DROP TRIGGER refuse")
		w.final(time.Hour, bad)
		w.verify(bad, done(5))
		w.state("results", "", health.OK, "no result waits")
	})
}

// A grid job broke before its work was known. Verify then finds nothing missing, but must not report the grid job as
// proven.
func TestVerify_ABrokenGridJobWithoutWorkIsNotProven(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: longFirst}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2, `output_dataset = "hits"`))
		w.running(id, 2)
		w.must(w.engine.Kill(context.Background(), alice, []jjm.Ref{{Grid: id}}, wire.KillHow{})[0].Error.Err())
		w.final(time.Hour, id)
		reader := w.submit(alice, fileJob("", "name = \"hits\"\n"))
		w.final(time.Hour, reader)
		p := w.proof(reader, "")
		if l := w.lookup(reader); l.Status != "broken" || p.Report.Verdict != cover.Undecidable || p.Report.Proof != "" ||
			!strings.HasPrefix(p.Report.Why, "nothing was done: it is broken: ") {
			t.Errorf("%+v\n%+v", l, p.Report)
		}
	})
}
