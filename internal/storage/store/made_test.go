package store

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

// made stores a grid job that fills a new dataset, and returns both ids. The grid job reads the dataset from, or no
// dataset if from is 0.
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
	// The query finds the file through an index and does not scan the dataset.
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
