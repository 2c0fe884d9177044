package store

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

// Paths and Filled find files that local jobs made: in the dataset that the grid job fills, and in datasets that took
// the files from that dataset.
func TestPaths_OfFilesThatLocalJobsMade(t *testing.T) {
	s := fresh(t)
	ctx := context.Background()
	files := sampleFiles(0, 3)
	files[1].Path = "jobs/1/0xxx/0/attempt.2/work/out"
	var people, made, all DatasetID
	g := sampleGrid()
	update(t, s, func(tx *Tx) (err error) {
		if err := tx.InsertGrid(g); err != nil {
			return err
		}
		for name, id := range map[string]*DatasetID{"people": &people, "made": &made, "all": &all} {
			if *id, _, err = tx.PutDataset(7, jjm.Dataset{Name: name}); err != nil {
				return err
			}
		}
		if err := tx.SetMaker(made, g.ID); err != nil {
			return err
		}
		if _, err := tx.AddFiles(made, files); err != nil {
			return err
		}
		_, err = tx.Take(all, made, 0, files[:2])
		return err
	})
	filled, err := s.Filled(ctx, []DatasetID{people, all, made})
	if err != nil || !slices.Equal(filled, []DatasetID{all, made}) {
		t.Errorf("filled are %v, error %v; want %d and %d", filled, err, all, made)
	}
	names := []string{files[0].LFN, files[1].LFN, "none"}
	for _, id := range filled {
		got, err := s.Paths(ctx, id, names)
		if err != nil {
			t.Fatal(err)
		}
		if f := got[files[1].LFN]; len(got) != 1 || f.Path != files[1].Path || f.Size != files[1].Size {
			t.Errorf("dataset %d has %+v", id, got)
		}
	}
	for i, want := range [][]DatasetID{{made}, {made}, nil} { // the third file is in no other dataset
		var members []DatasetID
		update(t, s, func(tx *Tx) (err error) {
			members, err = tx.MembersTaken(all, files[i].LFN)
			return err
		})
		if diff := cmp.Diff(want, members); diff != "" {
			t.Errorf("file %d was taken from (-want +got):\n%s", i, diff)
		}
	}
}
