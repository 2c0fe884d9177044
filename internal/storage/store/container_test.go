package store

import (
	"context"
	"slices"
	"testing"

	"jjm/internal/jjm"
)

// A dataset that reads a container takes each file of the container's datasets once, in order, together with the mark
// of the file.
func TestContainer_FilesAreReadOnceWithTheirMarks(t *testing.T) {
	s := fresh(t)
	var all, a DatasetID
	files := sampleFiles(0, 4)
	update(t, s, func(tx *Tx) error {
		var err error
		if all, _, err = tx.PutDataset(7, jjm.Dataset{Name: "all"}); err != nil {
			return err
		}
		if a, _, err = tx.PutDataset(7, jjm.Dataset{Name: "a", Container: "c"}); err != nil {
			return err
		}
		if _, err = tx.AddFiles(a, files); err != nil {
			return err
		}
		_, err = tx.MarkFiles(a, []Mark{{LFN: files[1].LFN, State: jjm.FileBroken}}, "alice", "a test")
		return err
	})
	take := func(from int64, some []jjm.File) (added int, err error) {
		err = s.Update(context.Background(), func(tx *Tx) error {
			added, err = tx.Take(all, a, from, some)
			return err
		})
		return added, err
	}
	if n, err := take(0, files[:3]); err != nil || n != 3 {
		t.Fatal(n, err)
	}
	for _, from := range []int64{0, 2, 4} {
		if _, err := take(from, files[from:]); jjm.KindOf(err) != jjm.Conflict {
			t.Errorf("from %d: %v", from, err)
		}
	}
	if n, err := take(3, files[3:]); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	marks, err := s.Marks(context.Background(), all)
	if err != nil || len(marks) != 1 || marks[1] != jjm.FileBroken {
		t.Errorf("%v %v", marks, err)
	}
	origins, err := s.Origins(context.Background(), all)
	if err != nil || !slices.Equal(origins, []Origin{{"a", 4}}) {
		t.Errorf("%v %v", origins, err)
	}
	members, err := s.Members(context.Background(), 7, "c")
	if err != nil || len(members) != 1 || members[0].ID != a || members[0].Head() {
		t.Errorf("%+v %v", members, err)
	}
	if others, err := s.Members(context.Background(), 8, "c"); err != nil || len(others) != 0 {
		t.Errorf("another account's: %+v %v", others, err)
	}
	for _, sql := range []string{"UPDATE expansions SET files = 1", "DELETE FROM expansions",
		"INSERT INTO expansions VALUES (1, 1, 0)", "UPDATE datasets SET container = 'd'"} {
		if raw(s, sql) == nil {
			t.Errorf("%s passed", sql)
		}
	}
}
