package store

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

// made makes a grid job that reads a dataset, 0 for none, and fills another one.
func made(t *testing.T, s *Store, from DatasetID, output string, merge *jjm.Merge) (jjm.GridID, DatasetID) {
	t.Helper()
	g := sampleGrid()
	g.Spec.OutputDataset, g.Spec.Merge = output, merge
	var id DatasetID
	update(t, s, func(tx *Tx) (err error) {
		if err = tx.InsertGrid(g); err != nil {
			return err
		}
		if from != 0 {
			if err := tx.OpenInputs(g.ID, 0, []Reads{{Dataset: from, Master: true}}); err != nil {
				return err
			}
		}
		if id, _, err = tx.PutDataset(501, jjm.Dataset{Name: output}); err != nil {
			return err
		}
		return tx.SetMaker(id, g.ID)
	})
	return g.ID, id
}

func TestMade_ReturnsTheOriginOfFiles(t *testing.T) {
	s := fresh(t)
	first := dataset(t, s, "raw", 3)
	plain, one := made(t, s, first, "one", nil)
	merging, two := made(t, s, one, "two", &jjm.Merge{Concat: true})
	alone, three := made(t, s, 0, "three", nil)
	for id, want := range map[DatasetID]Made{first: {}, one: {Grid: plain, From: first},
		two: {Grid: merging, Merged: true, From: one}, three: {Grid: alone}, 99: {}} {
		got, err := s.Made(t.Context(), id)
		if err != nil || got != want {
			t.Errorf("dataset %d: %+v, %v; want %+v", id, got, err, want)
		}
	}
	if err := raw(s, "UPDATE datasets SET maker = 1 WHERE name = 'two'"); err == nil {
		t.Error("another grid job makes it now")
	}
}

func TestParentsOf_OfTheNamedFilesAlone(t *testing.T) {
	s := fresh(t)
	id := dataset(t, s, "raw", 0)
	other := dataset(t, s, "other", 0)
	update(t, s, func(tx *Tx) error {
		if _, err := tx.AddFiles(other, []jjm.File{{LFN: "a", Parents: []string{"wrong"}}}); err != nil {
			return err
		}
		_, err := tx.AddFiles(id, []jjm.File{{LFN: "a", Parents: []string{"x", "y"}}, {LFN: "b"},
			{LFN: "c", Parents: []string{"z"}}})
		return err
	})
	got, err := s.ParentsOf(t.Context(), id, []string{"a", "b", "none"})
	if diff := cmp.Diff(map[string][]string{"a": {"x", "y"}, "b": nil}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	// By name, not by looking at all.
	plan := ""
	err = s.view(context.Background(), func(c *conn) error {
		return c.query(context.Background(),
			"EXPLAIN QUERY PLAN SELECT "+fileColumns+" FROM files AS f WHERE f.dataset = ? AND f.lfn = ?",
			args{}.int(1).value("a"), func(r row) error {
				plan += r.text(3)
				return nil
			})
	})
	if want := "SEARCH f USING INDEX files_lfn (dataset=? AND lfn=?)"; err != nil || plan != want {
		t.Errorf("%q, %v; want %q", plan, err, want)
	}
}

// A store of schema 8 comes to know who made its datasets.
func TestMigrate_OldDatasetsKnowTheirMaker(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jjm.db")
	atSchema(t, path, 8, `INSERT INTO identity (one, nonce, created) VALUES (1, 'abcd', 1);
		INSERT INTO grid_jobs (uid, gid, user, type, spec, accepted, status, kill, changed, ended, prepared, cluster, expected, made, closed, tar_bytes)
			VALUES (7, 1, 'a', 'script', '{"output_dataset":"reco"}', 1, 4, 0, 1, 0, 1, 'farm', 2, 2, 1, 0), (8, 1, 'b', 'script', '{}', 1, 4, 0, 1, 0, 1, 'farm', 2, 2, 1, 0);
		INSERT INTO datasets (uid, name, created) VALUES (7, 'raw', 1), (7, 'reco', 1), (8, 'reco', 1)`)
	s := open(t, path)
	for id, want := range map[DatasetID]Made{1: {}, 2: {Grid: 1}, 3: {}} {
		if got, err := s.Made(t.Context(), id); err != nil || got != want {
			t.Errorf("dataset %d: %+v, %v; want %+v", id, got, err, want)
		}
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
