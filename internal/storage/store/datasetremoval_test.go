package store

import (
	"context"
	"testing"

	"jjm/internal/jjm"
)

// cleared clears a dataset in chunks, and returns the number of chunks that contained files.
func cleared(t *testing.T, s *Store, id DatasetID, chunk int) (chunks int) {
	t.Helper()
	for {
		more, err := s.ClearDataset(t.Context(), id, chunk)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return chunks
		}
		chunks++
	}
}

// The name of a removed dataset is free immediately, and its files are removed in chunks. The store is consistent at
// every moment.
func TestRemoveDataset_LeavesNothing(t *testing.T) {
	s := fresh(t)
	id := dataset(t, s, "raw", 7)
	other := dataset(t, s, "other", 2)
	update(t, s, func(tx *Tx) error {
		if _, err := tx.MarkFiles(id, []Mark{{LFN: "f000003", State: jjm.FileLost}}, "a", "gone"); err != nil {
			return err
		}
		if _, err := tx.CloseDataset(id); err != nil {
			return err
		}
		return tx.RemoveDataset(id)
	})
	if _, err := s.DatasetNamed(t.Context(), 501, "raw"); jjm.KindOf(err) != jjm.Gone {
		t.Errorf("it has its name: %v", err)
	}
	if all, err := s.Datasets(t.Context(), -1); err != nil || len(all) != 1 || all[0].ID != other {
		t.Errorf("%+v %v", all, err)
	}
	again := dataset(t, s, "raw", 1)
	left, err := s.RemovedDatasets(t.Context())
	if err != nil || len(left) != 1 || left[0].ID != id || left[0].Files != 7 {
		t.Errorf("%+v %v", left, err)
	}
	if more, err := s.ClearDataset(t.Context(), id, 3); err != nil || !more {
		t.Error(more, err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if n := cleared(t, s, id, 3); n != 2 {
		t.Errorf("%d more chunks with files, want 2", n)
	}
	if n := cleared(t, s, id, 3); n != 0 {
		t.Errorf("again: %d chunks with files", n)
	}
	if left, err := s.RemovedDatasets(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("%+v %v", left, err)
	}
	for _, kept := range []DatasetID{other, again} {
		if more, err := s.ClearDataset(t.Context(), kept, 3); more || err != nil {
			t.Errorf("a dataset that is not removed: %v %v", more, err)
		}
	}
	for name, files := range map[string]int64{"other": 2, "raw": 1} {
		if d, err := s.DatasetNamed(t.Context(), 501, name); err != nil || d.Files != files || d.Closed != 0 {
			t.Errorf("%+v %v", d, err)
		}
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// The schema refuses to remove a dataset that is still referenced, and refuses references to a removed dataset.
func TestRemoveDataset_TheSchemaRefuses(t *testing.T) {
	s := fresh(t)
	read, member, all := dataset(t, s, "read", 2), dataset(t, s, "member", 2), dataset(t, s, "all", 0)
	g := reader(t, s, read)
	update(t, s, func(tx *Tx) error {
		_, err := tx.Take(all, member, 0, sampleFiles(0, 2))
		return err
	})
	remove := func(id DatasetID) error {
		return s.Update(context.Background(), func(tx *Tx) error { return tx.RemoveDataset(id) })
	}
	for name, id := range map[string]DatasetID{"is read": read, "was taken from": member, "is not known": 99} {
		if err := remove(id); err == nil {
			t.Errorf("one that %s is removed", name)
		}
	}
	update(t, s, func(tx *Tx) error {
		if needs, err := tx.Needs(read); err != nil || len(needs) != 1 || needs[0] != g.ID {
			t.Errorf("%v %v", needs, err)
		}
		needs, err := tx.Needs(member)
		if len(needs) != 0 {
			t.Errorf("%v", needs)
		}
		return err
	})
	for _, id := range []DatasetID{all, member} {
		if err := remove(id); err != nil {
			t.Error(err)
		}
	}
	for _, sql := range []string{
		"UPDATE datasets SET removed = 0 WHERE name = '(removed 2)'",
		"UPDATE datasets SET name = 'member' WHERE name = '(removed 2)'",
		"UPDATE datasets SET removed = 1 WHERE name = 'read'",
		"UPDATE datasets SET name = '(removed 1)' WHERE name = 'read'",
		"DELETE FROM datasets WHERE name = 'read'", "DELETE FROM files WHERE dataset = 1",
		"INSERT INTO expansions VALUES (1, 2, 1)", "INSERT INTO expansions VALUES (2, 1, 1)",
		"INSERT INTO files SELECT 2, 2, 'x', size, events, first_event, checksum, boundary, added, more FROM files WHERE dataset = 1 AND n = 0",
		"INSERT INTO inputs (grid, step, dataset, pos, master) VALUES (1, 0, 2, 9, 0)",
	} {
		if raw(s, sql) == nil {
			t.Errorf("%s passed", sql)
		}
	}
}
