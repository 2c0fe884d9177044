package store

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jjm/internal/jjm"
)

// namesIn returns the names of what lies in a folder.
func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestOpen_CopiesAStoreBeforeItsSchemaIsUpdated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	version1(t, path)
	for _, name := range []string{".v1.new", ".v3", ".v7", ".vx"} { // a crash in the middle, older copies, somebody's file
		if err := os.WriteFile(path+name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	told := ""
	s, err := Open(path, Options{Copied: func(path string, from, to int) {
		if from != 1 || to != len(schema()) {
			t.Errorf("told of versions %d and %d", from, to)
		}
		told = path
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"store.db", "store.db.v1", "store.db.v7", "store.db.vx"}; told != path+".v1" ||
		!slices.Equal(namesIn(t, filepath.Dir(path)), want) {
		t.Errorf("told of %q; there are %q, want %q", told, namesIn(t, filepath.Dir(path)), want)
	}
	if info, err := os.Stat(told); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v, %v", info, err)
	}
	if have, err := Look(told); err != nil || have.Highest != 3 { // the old store, whole
		t.Errorf("the copy has %+v, %v", have, err)
	}
	if s, err = Open(told, Options{}); err != nil { // the way back, and forward again
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// A store that cannot be copied is not touched.
func TestOpen_WithoutACopyNothingIsUpdated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	version1(t, path)
	if err := os.MkdirAll(path+".v1.new/in", 0o700); err != nil { // stands for a full disk
		t.Fatal(err)
	}
	_, err := Open(path, Options{})
	if jjm.KindOf(err) != jjm.Busy || !strings.Contains(err.Error(), "nothing was changed") {
		t.Fatalf("%v", err)
	}
	if err := os.RemoveAll(path + ".v1.new"); err != nil {
		t.Fatal(err)
	}
	c, err := dial(path, writing)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if n, err := c.number("PRAGMA user_version", nil); err != nil || n != 1 {
		t.Errorf("version %d, %v after a copy that failed", n, err)
	}
}

// An update that fails in one of its steps says where the store of before is.
func TestOpen_AnUpdateThatFailsNamesTheCopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	atSchema(t, path, 1, "CREATE TABLE removals (a)") // stands in the way of a table of a later version
	_, err := Open(path, Options{})
	if err == nil || !strings.Contains(err.Error(), "the store as it was before is in "+path+".v1") {
		t.Fatalf("%v", err)
	}
	c, err := dial(path+".v1", writing)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if n, err := c.number("PRAGMA user_version", nil); n != 1 || err != nil {
		t.Errorf("the copy has version %d, %v: want 1", n, err)
	}
}
