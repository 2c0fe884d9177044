package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/jjm"
)

// A copy of a young store without its write-ahead log has no tables. Open and Look refuse it and leave it as it is.
func TestOpen_RefusesAStoreWithoutItsLog(t *testing.T) {
	s := fresh(t)
	text, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "jjm.db")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, openErr := Open(path, Options{})
	_, lookErr := Look(path)
	for _, err := range []error{openErr, lookErr} {
		if jjm.KindOf(err) != jjm.Conflict || !strings.Contains(err.Error(), path+"-wal") ||
			!strings.Contains(err.Error(), "move "+path+" away") {
			t.Errorf("a store without its log: %v", err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(text) {
		t.Errorf("it has changed: %v", err)
	}
}

// SQLite removes a write-ahead log that has no store beside it. Open and Look refuse such a log, and a store that was
// cut off to an empty file, and leave both as they are.
func TestOpen_RefusesALogWithoutItsStoreAndAnEmptyFile(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string // the ends of their names, and their contents
		want  string
	}{
		"a log alone": {map[string]string{"-wal": "all of the data"}, "it is missing, but its write-ahead log"},
		"a log and an empty file": {map[string]string{"-wal": "all of the data", "": ""},
			"it is empty, but its write-ahead "},
		"an empty file without log": {map[string]string{"": ""}, "it is empty: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "jjm.db")
			for end, text := range c.files {
				if err := os.WriteFile(path+end, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, openErr := Open(path, Options{})
			_, lookErr := Look(path)
			for _, err := range []error{openErr, lookErr} {
				if jjm.KindOf(err) != jjm.Conflict || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != len(c.files) {
				t.Errorf("left %v, %v", left, err)
			}
			for end, text := range c.files {
				if got, err := os.ReadFile(path + end); err != nil || string(got) != text {
					t.Errorf("jjm.db%s has %q, %v", end, got, err)
				}
			}
		})
	}
}

// A daemon that was killed at any moment while it made its first store starts again.
func TestOpen_GoesOnAfterAKillWhileTheStoreIsMade(t *testing.T) {
	for name, upTo := range map[string]int{"the note": 1, "the empty file": 2, "the first page": 3, "the tables": 4} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "jjm.db")
			half := &Store{path: path, steps: Options{}.schema()}
			steps := []func() error{
				half.noteMaking,
				func() error { _, err := touch(path); return err },
				func() (err error) {
					if half.writer, err = dial(path, writing); err != nil {
						return err
					}
					return half.useWAL()
				},
				func() error { return half.migrate(0) },
			}
			for _, step := range steps[:upTo] {
				if err := step(); err != nil {
					t.Fatal(err)
				}
			}
			if half.writer != nil {
				if err := half.writer.close(); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Look(path); err != nil {
				t.Error(err)
			}
			s := open(t, path)
			if _, err := os.Stat(s.making()); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the note stays: %v", err)
			}
		})
	}
}
