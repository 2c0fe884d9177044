package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"jjm/internal/sys/commons"
	"jjm/internal/testkit/needs"
)

// sparse makes an entry of the given length that takes no space on the disk.
func sparse(t *testing.T, b *Box, seq int64, size int64) Name {
	t.Helper()
	n := Name{Seq: seq, Handle: submitNote("k").Handle, Verb: VerbSubmit}
	file := filepath.Join(b.Path(), n.String())
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, size)); err != nil {
		t.Fatal(err)
	}
	return n
}

// Fit counts the bytes of the entries in their order and does not rely on the client's count. A file that is too long
// to be an entry counts as 0 bytes, because the daemon removes it.
func TestFit_StopsAtMaxBytes(t *testing.T) {
	b := mine(t, box(t))
	most := MaxBytes / MaxEntry
	sparse(t, b, 1, 1<<40)
	for i := range most + 5 {
		sparse(t, b, int64(i+2), MaxEntry)
	}
	if ns := names(t, b); b.Fit(ns) != most+1 {
		t.Errorf("%d of %d entries fit: want %d", b.Fit(ns), len(ns), most+1)
	}
}

func TestFit_StopsAtMaxEntries(t *testing.T) {
	b := mine(t, box(t))
	for i := range MaxEntries + 3 {
		sparse(t, b, int64(i+1), 0)
	}
	ns, _, _, err := b.List(2 * MaxEntries)
	if err != nil || len(ns) != MaxEntries+3 || b.Fit(ns) != MaxEntries {
		t.Errorf("%d of %d entries fit, %v: want %d", b.Fit(ns), len(ns), err, MaxEntries)
	}
}

// Read also checks the space that is allocated for a file. A file with too much allocated space is rejected, even if
// the file itself is short.
func TestRead_RejectsAFileWithTooMuchAllocatedSpace(t *testing.T) {
	dir := box(t)
	put(t, dir, submitNote("k"), 1)
	b := mine(t, dir)
	n := names(t, b)[0]
	f, err := os.OpenFile(filepath.Join(b.Path(), n.String()), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, MaxEntry+2*slack); err != nil {
		needs.Missing(t, "a file system with fallocate(2)", "set TMPDIR to a folder on one")
	}
	var bad *Rejected
	if _, _, err := b.Read(n); !errors.As(err, &bad) {
		t.Errorf("it is read, with error %v", err)
	}
}

// List normally leaves unfinished files out. If the unfinished files of a box take too many bytes, List returns them
// among the names to be removed.
func TestList_ReportsUnfinishedFilesThatTakeTooManyBytes(t *testing.T) {
	b := mine(t, box(t))
	for i, size := range []int64{MaxBytes, 1} {
		file := filepath.Join(b.Path(), fmt.Sprint(tmpPrefix, i))
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, size)); err != nil {
			t.Fatal(err)
		}
		if _, strange, _, err := b.List(MaxEntries); err != nil || len(strange) != i*2 {
			t.Errorf("%d files were begun: strange is %v, %v", i+1, strange, err)
		}
	}
}

// On a full disk the largest box is removed first, and the other boxes stay. A process that has the removed box open
// cannot add anything to the box.
func TestRelieve_RemovesTheLargestBoxFirst(t *testing.T) {
	needs.Root(t, "to give folders to other accounts")
	dir := box(t)
	put(t, dir, submitNote("k"), 1)
	makeBox := func(uid int) string {
		folder := filepath.Join(dir, inName, boxName(uid))
		if err := errors.Join(os.Mkdir(folder, 0o700), os.Chown(folder, uid, uid)); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	heavy, tree, light := makeBox(4711), makeBox(4712), makeBox(4713)
	if err := errors.Join(os.WriteFile(filepath.Join(heavy, "x"), make([]byte, 2*commons.Share.Bytes), 0o600),
		os.MkdirAll(filepath.Join(tree, "x", "y"), 0o700), os.WriteFile(filepath.Join(tree, "x", "y", "z"), nil, 0o600),
		os.WriteFile(filepath.Join(light, tmpPrefix+"1"), make([]byte, commons.Share.Bytes/2), 0o600)); err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(heavy)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	var removed []int
	relieve := func(enough bool) {
		err := commons.Relieve([]commons.Folder{Boxes{dir}}, func() bool { return enough },
			func(x commons.Heap) { removed = append(removed, x.UID) })
		if err != nil {
			t.Error(err)
		}
	}
	if relieve(true); len(removed) != 0 {
		t.Errorf("though there is enough the boxes of %v go", removed)
	}
	if relieve(false); len(removed) != 2 || removed[0] != 4712 || removed[1] != 4711 {
		t.Errorf("the boxes of %v go: want 4712, 4711", removed)
	}
	if _, err := os.Stat(light); err != nil || len(names(t, mine(t, dir))) != 1 {
		t.Errorf("what others left: %v, %v", err, names(t, mine(t, dir)))
	}
	if err := needs.As(4711, func() error { return unix.Mkdirat(int(open.Fd()), "y", 0o700) }); err == nil {
		t.Error("who has the box open makes something in it")
	}
}

func TestShut_KeepsOthersOutUntilTheFolderIsMadeAgain(t *testing.T) {
	dir := box(t)
	in := filepath.Join(dir, inName)
	open := func() fs.FileMode {
		if err := Make(dir, 0o666, -1); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(in)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	before := open()
	if err := (Boxes{dir}).Shut(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(in); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("shut: %v, %v", info.Mode(), err)
	}
	if after := open(); after != before {
		t.Errorf("open again: %v, want %v", after, before)
	}
}
