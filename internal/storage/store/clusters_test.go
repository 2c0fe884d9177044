package store

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

// version1 makes a store of schema 1 with a live grid job, one in the history,
// and a local job in each that was in a bulk and one that was not.
func version1(t *testing.T, path string) {
	t.Helper()
	const local = `grid, n, unit, first, count, serial, state, attempt, early, late_handled, late_unhandled, not_before, kill, pos,
		submitted, started, ended, exit, prog_done, prog_total, tag`
	atSchema(t, path, 1, `INSERT INTO identity (one, nonce, created) VALUES (1, 'abcd', 1);
		INSERT INTO grid_jobs (uid, gid, user, type, spec, accepted, status, kill, changed, ended, prepared, cluster, expected, made, closed, tar_bytes)
			VALUES (1, 1, 'a', 'script', '{}', 1, 4, 0, 1, 0, 1, 'farm', 2, 2, 1, 0), (1, 1, 'a', 'script', '{}', 1, 8, 0, 1, 1, 1, 'old', 2, 2, 1, 0),
			(1, 1, 'a', 'script', '{}', 1, 0, 0, 1, 0, 0, NULL, 0, 0, 0, 0);
		INSERT INTO local_jobs (`+local+`) VALUES (1, 0, 'row', 0, 1, 1, 3, 0,0,0,0,0,0,0,0,0,0,0,0,0, 'jabcdx'), (1, 1, 'row', 1, 1, 2, 0, 0,0,0,0,0,0,0,0,0,0,0,0,0, NULL);
		INSERT INTO history_local_jobs (`+local+`) VALUES (2, 0, 'row', 0, 1, 1, 6, 0,0,0,0,0,0,0,0,0,0,0,0,0, 'jabcdy'), (2, 1, 'row', 1, 1, 2, 6, 0,0,0,0,0,0,0,0,0,0,0,0,0, NULL);
		UPDATE grid_jobs SET archived = 2 WHERE id = 2`)
}

func TestMigrate_OldLocalJobsAreOnTheClusterOfTheirGridJob(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jjm.db")
	version1(t, path)
	s := open(t, path)
	for id, want := range map[jjm.GridID][]string{1: {"farm"}, 2: {"old"}, 3: nil} {
		g, err := s.Grid(t.Context(), id)
		if err != nil || !cmp.Equal(g.Step.Clusters, want) {
			t.Errorf("grid job %d goes to %v, %v; want %v", id, g.Step.Clusters, err, want)
		}
		ls, err := s.Locals(t.Context(), id, 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range ls {
			cluster := ""
			if i == 0 {
				cluster = want[0]
			}
			if l.Cluster != cluster {
				t.Errorf("local job %s is on %q, want %q", l.ID, l.Cluster, cluster)
			}
		}
	}
	if err := raw(s, "UPDATE history_local_jobs SET cluster = 'x'"); err == nil {
		t.Error("after the migration history can be changed")
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestClusterJobs_CountLiveAndArchivedLocalJobsAlike(t *testing.T) {
	s := fresh(t)
	g := fill(t, s, 7, 7)
	submit(t, s, g.ID, "jabcdeone", 0, 4)
	update(t, s, func(tx *Tx) error {
		var ls []*jjm.LocalJob
		var ends []AttemptEnd
		for n := range 7 {
			l := sampleLocal(g.ID, n)
			l.State = jjm.Failed
			switch {
			case n < 3:
				l.Cluster, l.State = "slurm", jjm.Completed
			case n < 5:
				l.Cluster = "condor"
			}
			if n < 5 {
				ends = append(ends, sampleEnd(jjm.AttemptID{LocalID: l.ID}))
			}
			ls = append(ls, &l)
		}
		g.Status, g.Tar = jjm.Finished, "x.tar"
		if err := tx.EndAttempts(ends); err != nil {
			return err
		}
		if err := saveEnds(tx, ls); err != nil {
			return err
		}
		return tx.SaveGrid(g)
	})
	want := []jjm.ClusterJob{{Cluster: "condor"}, {Cluster: "slurm"}}
	want[0].Counts[jjm.Failed], want[1].Counts[jjm.Completed] = 2, 3
	for more := true; more; {
		got, err := s.ClusterJobs(t.Context(), g.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if more, err = s.Archive(context.Background(), g.ID, 2); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOrders_AreStoredReplacedAndDropped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jjm.db")
	s := open(t, path)
	drain := jjm.Order{Verb: jjm.OrderDrain, Kind: jjm.OrderCluster, Name: "slurm", Reason: "disks", By: "root", Since: 5}
	pause := jjm.Order{Verb: jjm.OrderPause, Kind: jjm.OrderCluster, Name: "slurm", Reason: "x", By: "root", Since: 6,
		Until: 9}
	user := jjm.Order{Verb: jjm.OrderPause, Kind: jjm.OrderUser, Name: "O'Brien; --", Reason: "y\n", By: "alice", Since: 7}
	queue := jjm.Order{Verb: jjm.OrderDrain, Kind: jjm.OrderQueue, Name: "slurm/long", Reason: "x", By: "root", Since: 8}
	// who pauses it need not say why
	job := jjm.Order{Verb: jjm.OrderPause, Kind: jjm.OrderJob, Name: "17", By: "alice", Since: 9}
	// windows of one target that begin at different times stand side by side
	soon := jjm.Order{Verb: jjm.OrderMaintenance, Kind: jjm.OrderCluster, Name: "slurm", Reason: "x", By: "root", Since: 8,
		From: 20, Until: 30}
	later := soon
	later.From, later.Until = 25, 50
	update(t, s, func(tx *Tx) error {
		for _, o := range []jjm.Order{user, later, drain, pause, job, queue, soon} {
			if err := tx.PutOrder(o); err != nil {
				return err
			}
		}
		pause.Reason, pause.Until = "again", 0
		soon.Until = 60
		return errors.Join(tx.PutOrder(pause), tx.PutOrder(soon))
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	check := func(want ...jjm.Order) {
		t.Helper()
		got, err := s.Orders(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	check(drain, soon, later, pause, job, queue, user)
	update(t, s, func(tx *Tx) error {
		if err := tx.DropOrder(drain); err != nil {
			return err
		}
		return errors.Join(tx.DropOrder(drain), tx.DropOrder(soon))
	})
	check(later, pause, job, queue, user)
	for _, bad := range []jjm.Order{{}, {Verb: "stop", Kind: "cluster", Name: "a", Reason: "b"},
		{Verb: "drain", Kind: "cluster", Name: "a"},
		{Verb: "drain", Kind: "cluster", Name: "a", Reason: "b", From: 5, Until: 9},
		{Verb: "maintenance", Kind: "cluster", Name: "a", Reason: "b", Until: 9},
		{Verb: "maintenance", Kind: "cluster", Name: "a", Reason: "b", From: 5},
		{Verb: "maintenance", Kind: "cluster", Name: "a", Reason: "b", From: 5, Until: 5},
		{Verb: "maintenance", Kind: "user", Name: "a", Reason: "b", From: 5, Until: 9}} {
		err := s.Update(t.Context(), func(tx *Tx) error { return tx.PutOrder(bad) })
		wantKind(t, err, jjm.Internal)
	}
}
