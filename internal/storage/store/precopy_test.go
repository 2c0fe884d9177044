package store

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jjm/internal/jjm"
)

// namesIn returns the names of the entries of a folder.
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

// next returns the options of a version of jjm whose schema has one more step.
func next(step string) Options { return Options{steps: []string{schema1, step}} }

// storeOfToday makes a store with the present schema and three grid jobs, and returns its path.
func storeOfToday(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path)
	for range 3 {
		fill(t, s, 2, 2)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// versionOf returns the schema version of a store.
func versionOf(t *testing.T, path string) int64 {
	t.Helper()
	c, err := dial(path, writing)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	n, err := c.number("PRAGMA user_version", nil)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOpen_CopiesAStoreBeforeItsSchemaIsUpdated(t *testing.T) {
	path := storeOfToday(t)
	for _, name := range []string{".v1.new", ".v3", ".v7", ".vx"} { // an interrupted copy, older copies, a foreign file
		if err := os.WriteFile(path+name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o, told := next("ALTER TABLE meta ADD COLUMN more TEXT"), ""
	o.Copied = func(path string, from, to int) {
		if from != 1 || to != 2 {
			t.Errorf("told of versions %d and %d", from, to)
		}
		told = path
	}
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := number(t, s, "SELECT count(more) FROM meta"); n != 0 || s.Schema() != 2 {
		t.Errorf("%d, schema %d", n, s.Schema())
	}
	if g, err := s.Grid(t.Context(), 3); err != nil || g.ID != 3 {
		t.Errorf("%+v, %v", g, err)
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
	wayBack(t, path, told)
}

// wayBack checks that the old version of jjm refuses the updated store and opens the copy.
func wayBack(t *testing.T, updated, copied string) {
	t.Helper()
	_, err := Open(updated, Options{})
	if wantKind(t, err, jjm.Invalid); !strings.Contains(err.Error(), "run the newer jjm") {
		t.Error(err)
	}
	if have, err := Look(copied); err != nil || have.Highest != 3 {
		t.Errorf("the copy has %+v, %v", have, err)
	}
	s, err := Open(copied, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// If the store cannot be copied, Open returns an error and does not change the store.
func TestOpen_WithoutACopyNothingIsUpdated(t *testing.T) {
	path := storeOfToday(t)
	if err := os.MkdirAll(path+".v1.new/in", 0o700); err != nil { // fails like a full disk
		t.Fatal(err)
	}
	_, err := Open(path, next("CREATE TABLE late (x)"))
	if jjm.KindOf(err) != jjm.Busy || !strings.Contains(err.Error(), "nothing was changed") {
		t.Fatalf("%v", err)
	}
	if n := versionOf(t, path); n != 1 {
		t.Errorf("version %d after a copy that failed", n)
	}
}

// If a step of the update fails, the error names the copy that was made before the update.
func TestOpen_AnUpdateThatFailsNamesTheCopy(t *testing.T) {
	path := storeOfToday(t)
	_, err := Open(path, next("CREATE TABLE removals (a)")) // this table exists already
	if err == nil || !strings.Contains(err.Error(), "the store as it was before is in "+path+".v1") {
		t.Fatalf("%v", err)
	}
	if n := versionOf(t, path+".v1"); n != 1 {
		t.Errorf("the copy has version %d: want 1", n)
	}
}

// A command that only reads cannot open a store with an old schema. The error says that the daemon must be started
// once.
func TestOpen_ReadOnlyNeedsAnUpdatedStore(t *testing.T) {
	o := next("CREATE TABLE late (x)")
	o.ReadOnly = true
	_, err := Open(storeOfToday(t), o)
	if wantKind(t, err, jjm.Conflict); !strings.Contains(err.Error(), "start the daemon once") {
		t.Error(err)
	}
}
