package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
)

func TestOpenState_OneDaemonPerFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	release, err := openState(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = openState(dir)
	if jjm.KindOf(err) != jjm.Conflict || !strings.Contains(err.Error(), "process") ||
		!strings.Contains(err.Error(), dir) {
		t.Errorf("the second one: %v: want a conflict that names the holder and the folder", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	again, err := openState(dir)
	if err != nil {
		t.Fatalf("after the first one stopped: %v", err)
	}
	if err := again(); err != nil {
		t.Error(err)
	}
}

func TestRefuseNetwork_NamesTheFileSystemAndTheRemedy(t *testing.T) {
	for magic, name := range map[int64]string{unix.NFS_SUPER_MAGIC: "NFS", unix.SMB2_SUPER_MAGIC: "SMB2",
		unix.AFS_SUPER_MAGIC: "AFS", unix.CEPH_SUPER_MAGIC: "CephFS", unix.V9FS_MAGIC: "9P"} {
		err := refuseNetwork("/state", magic)
		if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), name) ||
			!strings.Contains(err.Error(), "set state to") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, magic := range []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC} {
		if err := refuseNetwork("/state", magic); err != nil {
			t.Errorf("%#x: %v", magic, err)
		}
	}
}

func TestOpenState_ReadOnlyFolderIsNamed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file in place of the folder
		t.Fatal(err)
	}
	if _, err := openState(dir); jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v: want an error that names %s", err, dir)
	}
}

// Every process that can open a lock file can lock it, so only the daemon's account can open it.
func TestOpenState_OthersCannotOpenTheLock(t *testing.T) {
	dir := t.TempDir()
	release, err := openState(dir)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{lockFolder: 0o700, filepath.Join(lockFolder, lockFile): 0o600} {
		if info, err := os.Stat(filepath.Join(dir, path)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v: want mode %v", path, info, err, want)
		}
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
