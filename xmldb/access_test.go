package xmldb

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

func TestAccess_OwnerAndAdministratorsOnly(t *testing.T) {
	needs.Root(t, "to look as others do")
	dir := needs.PublicDir(t)
	db, err := Open(dir, Options{Readers: []int{70009}, Warn: func(msg string, args ...any) { t.Error(msg, args) }})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const owner = 70001
	h := sampleHead(17, 1200)
	h.Grid.Owner.UID = owner
	write := func() {
		t.Helper()
		if err := db.Publish(t.Context(), h, shardsOf(17, 1200)); err != nil {
			t.Fatal(err)
		}
	}
	try := func(want map[int]bool) {
		t.Helper()
		for uid, may := range want {
			for _, name := range []string{"17", "17/record.xml", "17/jobs-0001.xml"} {
				err := needs.As(uid, func() error {
					f, err := os.Open(filepath.Join(dir, name))
					if err == nil {
						f.Close()
					}
					return err
				})
				if (err == nil) != may || err != nil && !errors.Is(err, os.ErrPermission) {
					t.Errorf("uid %d opens %s: %v, want %v", uid, name, err, may)
				}
			}
			for _, do := range []func() error{
				func() error { return os.WriteFile(filepath.Join(dir, "17/new"), nil, 0o644) },
				func() error { return os.Remove(filepath.Join(dir, "17/record.xml")) },
				func() error { return os.Rename(filepath.Join(dir, "17"), filepath.Join(dir, "18")) },
			} {
				if err := needs.As(uid, do); err == nil {
					t.Errorf("uid %d changed the record", uid)
				}
			}
		}
	}
	write()
	write()
	all := map[int]bool{owner: true, 70009: true, 70002: false}
	try(all)
	// Somebody widened the mode of the folder, and the daemon crashed before it set the access list.
	if err := os.Chmod(filepath.Join(dir, "17"), 0o755); err != nil {
		t.Fatal(err)
	}
	if db, err = Open(dir, Options{Readers: []int{70009}}); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	write()
	try(all)
	// Somebody removed the folder: the daemon makes it again.
	if err := os.RemoveAll(filepath.Join(dir, "17")); err != nil {
		t.Fatal(err)
	}
	write()
	try(all)
}

// noLists is a file system without access lists.
type noLists struct{ disk }

func (n noLists) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	if name == "1" || name == "2" {
		return os.OpenFile("/proc/self/status", os.O_RDONLY, 0)
	}
	return n.disk.OpenFile(name, flag, perm)
}

func TestAccess_WithoutListsTheFolderStaysClosed(t *testing.T) {
	db, w := open(t, t.TempDir())
	db.fs = noLists{db.fs}
	for _, id := range []jjm.GridID{1, 2, 1} {
		h := sampleHead(id, 1)
		h.Grid.Owner.UID = 70001
		if err := db.Publish(t.Context(), h, shardsOf(id, 1)); err != nil {
			t.Fatal(err)
		}
		st, err := db.fs.Lstat(id.String())
		if err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", st.Mode(), err)
		}
	}
	if all := w.all(); len(all) != 1 || !strings.Contains(all[0], "owners cannot read") {
		t.Errorf("warnings: %q", all)
	}
}
