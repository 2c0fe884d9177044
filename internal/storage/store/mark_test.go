package store

import (
	"context"
	"testing"

	"jjm/internal/jjm"
)

// A refused change of a dataset fails its transaction, even if the function of the transaction ignores the error.
func TestRefusals_FailTheTransaction(t *testing.T) {
	s := fresh(t)
	id := dataset(t, s, "raw", 3)
	lost := func(lfn string) []Mark { return []Mark{{LFN: lfn, State: jjm.FileLost}} }
	closed := func(tx *Tx) error {
		if _, err := tx.CloseDataset(id); err != nil {
			return err
		}
		_, err := tx.AddFiles(id, []jjm.File{{LFN: "late"}})
		return err
	}
	marked := func(tx *Tx) error {
		_, err := tx.MarkFiles(id, lost("none"), "a", "gone")
		return err
	}
	unmarked := func(tx *Tx) error {
		_, err := tx.UnmarkFiles(id, []string{"none"})
		return err
	}
	for name, refused := range map[string]func(*Tx) error{
		"a mark of an unknown file":        marked,
		"the end of a mark of such a file": unmarked,
		"a file for a closed dataset":      closed,
	} {
		err := s.Update(t.Context(), func(tx *Tx) error {
			if _, err := tx.MarkFiles(id, lost("f000002"), "a", "gone"); err != nil {
				t.Error(err)
			}
			if refused(tx) == nil {
				t.Errorf("%s: no error", name)
			}
			return nil
		})
		if err == nil {
			t.Errorf("%s: the transaction was stored", name)
		}
	}
	if d, err := s.DatasetNamed(context.Background(), 501, "raw"); err != nil || d.Closed != 0 || d.Files != 3 {
		t.Errorf("%+v %v", d, err)
	}
}
