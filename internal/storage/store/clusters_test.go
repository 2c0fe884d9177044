package store

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

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
	// A person who pauses a grid job need not give a reason.
	job := jjm.Order{Verb: jjm.OrderPause, Kind: jjm.OrderJob, Name: "17", By: "alice", Since: 9}
	// One target may have several windows that begin at different times.
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
