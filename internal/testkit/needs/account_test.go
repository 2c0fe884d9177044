package needs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestUnprivileged_HasFewerRightsAndTheTestKeepsIts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "closed")
	if err := os.WriteFile(path, nil, 0); err != nil {
		t.Fatal(err)
	}
	read := func() error { _, err := os.ReadFile(path); return err }
	before := read()
	var inside error
	Unprivileged(t, func() { inside = read() })
	if !errors.Is(inside, fs.ErrPermission) {
		t.Errorf("it reads what it may not: %v", inside)
	}
	if after := read(); (after == nil) != (before == nil) {
		t.Errorf("before %v, after %v", before, after)
	}
}

// As runs a function with the rights of one account: the function can read files of the account and of its group, and
// no other private files.
func TestAs_HasTheRightsOfOneAccount(t *testing.T) {
	Root(t, "to look as others do")
	dir := PublicDir(t)
	for name, f := range map[string]struct {
		mode     os.FileMode
		uid, gid int
	}{"owner": {0o400, 70001, 0}, "group": {0o040, 0, 70001}, "root": {0o440, 0, 0}} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, f.uid, f.gid),
			os.Chmod(path, f.mode)); err != nil {
			t.Fatal(err)
		}
	}
	for uid, may := range map[int]map[string]bool{70001: {"owner": true, "group": true, "root": false},
		70002: {"owner": false, "group": false, "root": false}} {
		for name, want := range may {
			err := As(uid, func() error { _, err := os.ReadFile(filepath.Join(dir, name)); return err })
			if (err == nil) != want || err != nil && !errors.Is(err, fs.ErrPermission) {
				t.Errorf("uid %d reads %s: %v, want %v", uid, name, err, want)
			}
		}
	}
}

func TestAs_ReturnsAnErrorIfItCannotChangeTheAccount(t *testing.T) {
	Root(t, "to look as others do")
	if err := As(nobody, func() error { runtime.Goexit(); return nil }); err == nil {
		t.Error("what ended early passed")
	}
	if err := As(-7, func() error { t.Error("it ran as somebody else"); return nil }); err == nil {
		t.Error("an account that cannot be passed")
	}
}

func TestPublicDir_IsRemovedAtTheEndOfTheTest(t *testing.T) {
	var dir string
	t.Run("inside", func(t *testing.T) {
		dir = PublicDir(t)
		if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0); err != nil {
			t.Error(err)
		}
	})
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}
