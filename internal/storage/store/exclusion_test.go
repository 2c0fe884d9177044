package store

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

func TestExclusions_AreStoredReplacedAndDropped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jjm.db")
	s := open(t, path)
	one := jjm.Exclusion{Cluster: "slurm", Host: "wn13", Reason: "eats jobs", By: "root (uid 0)", Since: 7, Until: 9}
	other := jjm.Exclusion{Cluster: "pool", Host: "wn13", Reason: "O'Brien; --", By: "alice (uid 1001)", Since: 5}
	update(t, s, func(tx *Tx) error {
		for _, e := range []jjm.Exclusion{one, other} {
			if err := tx.PutExclusion(e); err != nil {
				return err
			}
		}
		one.Reason, one.Until, one.Since = "again", 0, 8
		return tx.PutExclusion(one)
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	check := func(want ...jjm.Exclusion) {
		t.Helper()
		got, err := s.Exclusions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	check(other, one)
	for range 2 {
		update(t, s, func(tx *Tx) error { return tx.DropExclusion(other) })
	}
	check(one)
	for _, bad := range []jjm.Exclusion{{}, {Cluster: "a", Host: "b"}, {Host: "b", Reason: "x"},
		{Cluster: "a", Reason: "x"}} {
		err := s.Update(t.Context(), func(tx *Tx) error { return tx.PutExclusion(bad) })
		wantKind(t, err, jjm.Internal)
	}
}
