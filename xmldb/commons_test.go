package xmldb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
	"jjm/internal/sys/commons"
	"jjm/internal/testkit/needs"
)

// sparseOf makes a sparse file of an account: the file has the given size and takes no space on the disk.
func sparseOf(t *testing.T, path string, uid int, size int64) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, size), os.Chown(path, uid, uid)); err != nil {
		t.Fatal(err)
	}
}

// publicDrop opens a new drop folder that all accounts can reach. It returns the drop, the path of the folder, and the
// collected warnings.
func publicDrop(t *testing.T) (*Drop, string, *warnings) {
	t.Helper()
	needs.Root(t, "to give files to other accounts")
	dir, w := filepath.Join(needs.PublicDir(t), "drop"), &warnings{}
	d, err := OpenDrop(dir, w.warn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, dir, w
}

// An account without jobs writes files that it never completes. The scan removes the account's latest files beyond the
// limit of bytes, logs the account, and leaves the files of another account.
func TestDrop_AnAccountBeyondItsBytesIsCut(t *testing.T) {
	d, dir, w := publicDrop(t)
	for i := range 5 {
		sparseOf(t, filepath.Join(dir, fmt.Sprintf(".part%d", i)), 4711, MostDropped.Bytes/4)
	}
	sparseOf(t, filepath.Join(dir, ".theirs"), 4712, MostDropped.Bytes/2)
	scan(t, d)
	wantNames(t, dir, ".part0", ".part1", ".part2", ".part3", ".theirs", "refused")
	if all := fmt.Sprint(w.all()); !strings.Contains(all, "left too much") || !strings.Contains(all, "4711") ||
		strings.Contains(all, "4712") {
		t.Errorf("warnings: %v", all)
	}
}

func TestDrop_AnAccountBeyondItsFilesIsCut(t *testing.T) {
	d, dir, w := publicDrop(t)
	d.most.Names = 200
	for i := range 2*d.most.Names + 10 {
		sparseOf(t, filepath.Join(dir, fmt.Sprintf(".part%d", i)), 4711, 0)
	}
	scan(t, d)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != d.most.Names+1 { // plus the folder refused/
		t.Errorf("%d entries are left, %v: want %d", len(left), err, d.most.Names+1)
	}
	if all := fmt.Sprint(w.all()); !strings.Contains(all, "left too much") {
		t.Errorf("warnings: %v", all)
	}
}

// The scan removes files that no writer of fragments makes, whatever their names are, and logs their owner.
func TestDrop_RemovesStrangeFilesAndNamesTheirOwner(t *testing.T) {
	d, dir, w := publicDrop(t)
	secret := filepath.Join(filepath.Dir(dir), "secret")
	put(t, secret, phase)
	tree := filepath.Join(dir, "tree")
	if err := errors.Join(os.MkdirAll(filepath.Join(tree, "a", "b"), 0o755), os.Chown(tree, 4711, 4711),
		os.Symlink("/", filepath.Join(dir, ".link")), unix.Mkfifo(filepath.Join(dir, "fifo"), 0o666),
		os.Link(secret, filepath.Join(dir, ".hard"))); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, ".117.part"), phase)
	scan(t, d)
	wantNames(t, dir, ".117.part", "refused")
	if readText(t, secret) != phase {
		t.Error("the file behind a link was touched")
	}
	if all := fmt.Sprint(w.all()); !strings.Contains(all, "4711") || !strings.Contains(all, "folder") {
		t.Errorf("warnings: %v", all)
	}
}

func TestDrop_KeepsABoundedNumberOfRefusedBytes(t *testing.T) {
	d, dir, _ := openDrop(t)
	for i := range 3 * maxRefusedBytes / jjm.MaxFragment {
		put(t, filepath.Join(dir, fmt.Sprintf("%d.xml", i)), strings.Repeat("x", jjm.MaxFragment))
	}
	for range 3 { // each scan reads only a limited number of bytes
		scan(t, d)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "refused"))
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, e := range entries {
		if st, err := e.Info(); err == nil {
			sum += sizeOf(st)
		}
	}
	if sum > 3*maxRefusedBytes/2 || sum < maxRefusedBytes/2 {
		t.Errorf("%d bytes are kept of what was refused: want about %d", sum, maxRefusedBytes)
	}
}

// The writer of a refused file may read its copy, if the file system has access lists. No other account may read the
// copy, even if the original file was readable for all.
func TestDrop_NobodyElseReadsWhatWasRefused(t *testing.T) {
	d, dir, _ := publicDrop(t)
	sparseOf(t, filepath.Join(dir, "x.xml"), 4711, 10)
	scan(t, d)
	for _, name := range []string{"x.xml", "x.xml.why"} {
		file := filepath.Join(dir, "refused", name)
		if st, err := os.Lstat(file); err != nil || uidOf(st) != 0 {
			t.Fatalf("%s: %v: want a file of the daemon's", name, err)
		}
		read := func() error { _, err := os.ReadFile(file); return err }
		if err := needs.As(4712, read); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s: another account reads it: %v", name, err)
		}
		if err := needs.As(4711, func() error { return os.WriteFile(file, nil, 0) }); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s: its writer changes it: %v", name, err)
		}
		if n, err := unix.Getxattr(file, "system.posix_acl_access", nil); err == nil && n > 0 {
			if err := needs.As(4711, read); err != nil {
				t.Errorf("%s: its writer does not read it: %v", name, err)
			}
		}
	}
}

// A file in refused/ that belongs to another account is removed.
func TestOpenDrop_RemovesRefusedFilesOfOthers(t *testing.T) {
	d, dir, _ := publicDrop(t)
	sparseOf(t, filepath.Join(dir, "refused", "old.xml"), 4711, 10)
	put(t, filepath.Join(dir, "refused", "old.xml.why"), "why")
	again, err := OpenDrop(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	wantNames(t, filepath.Join(dir, "refused"))
	scan(t, d)
}

// On a full disk, all files of the account with the most space are removed, and the files of other accounts stay. A
// file with a second link counts for no account, because another account may have made the link.
func TestDropFolder_TheLargestAccountIsRemoved(t *testing.T) {
	_, dir, _ := publicDrop(t)
	sparseOf(t, filepath.Join(dir, ".fill"), 4711, 8*commons.Share.Bytes)
	tree := filepath.Join(dir, "tree")
	if err := errors.Join(os.Mkdir(tree, 0o755), os.Chown(tree, 4713, 4713)); err != nil {
		t.Fatal(err)
	}
	sparseOf(t, filepath.Join(tree, "x"), 4713, 1)
	sparseOf(t, filepath.Join(dir, "theirs.xml"), 4712, 10)
	big := filepath.Join(filepath.Dir(dir), "big")
	sparseOf(t, big, 4712, 8*commons.Share.Bytes)
	if err := os.Link(big, filepath.Join(dir, ".big")); err != nil {
		t.Fatal(err)
	}
	var removed []int
	folder := DropFolder{dir}
	if err := errors.Join(folder.Shut(), commons.Relieve([]commons.Folder{folder}, func() bool { return false },
		func(h commons.Heap) { removed = append(removed, h.UID) })); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(removed) != "[4713 4711]" {
		t.Errorf("the files of %v go: want 4713, 4711", removed)
	}
	wantNames(t, dir, ".big", "refused", "theirs.xml")
	leave := func() error { return os.WriteFile(filepath.Join(dir, "y.xml"), nil, 0o644) }
	if err := needs.As(4714, leave); !errors.Is(err, os.ErrPermission) {
		t.Errorf("while it is shut an account leaves a file: %v", err)
	}
	if err := folder.Open(); err != nil {
		t.Fatal(err)
	}
	if err := needs.As(4714, leave); err != nil {
		t.Errorf("open again: %v", err)
	}
}

func TestDropFolder_OpensWhatItShutAndNothingElse(t *testing.T) {
	for _, mode := range []os.FileMode{0o733, 0o730, 0o700} {
		dir := t.TempDir()
		folder, mode := DropFolder{dir}, mode|os.ModeSticky
		if err := errors.Join(os.Chmod(dir, mode), folder.Shut(), folder.Shut()); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(dir); err != nil || st.Mode()&0o022 != 0 {
			t.Errorf("shut: %v, %v", st.Mode(), err)
		}
		if err := folder.Open(); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(dir); err != nil || st.Mode() != mode|os.ModeDir {
			t.Errorf("open again: %v, %v: want %v", st.Mode(), err, mode)
		}
	}
}
