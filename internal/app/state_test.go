package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
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

// An older daemon locks the file in the state folder itself.
func TestOpenState_AnOlderDaemonIsNotStartedBeside(t *testing.T) {
	dir := t.TempDir()
	// The lock is held by a separate process, as by that daemon.
	older := exec.Command("sh", "-c", `exec 7>"$1/lock" && flock 7 && echo $$ >&7 && echo held && exec sleep 600`, "sh",
		dir)
	out, err := older.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := older.Start(); err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() { _ = older.Process.Kill(); _ = older.Wait() })
	defer end()
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	_, err = openState(dir)
	if jjm.KindOf(err) != jjm.Conflict || !strings.Contains(err.Error(), strconv.Itoa(older.Process.Pid)) {
		t.Errorf("%v: want a conflict that names process %d", err, older.Process.Pid)
	}
	end()
	release, err := openState(dir)
	if err != nil {
		t.Fatalf("after its end: %v", err)
	}
	defer release()
	// The older daemon does not start beside a new one either.
	f, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		t.Error("an older daemon would start beside this one")
	}
}

// An account that could open the old lock file holds its lock, and the id in it was once a daemon's.
func TestOpenState_AReadersLockChangesNothing(t *testing.T) {
	for _, number := range []string{"", "1\n", strconv.Itoa(os.Getppid()) + "\n", "999999999\n", "x"} {
		t.Run(strings.TrimSpace(number), func(t *testing.T) {
			t.Parallel() // each waits for the lock
			readersLock(t, number)
		})
	}
}

func readersLock(t *testing.T, number string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	if err := os.WriteFile(path, []byte(number), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	release, err := openState(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, filepath.Join(dir, lockFolder, lockFile)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v: want it closed to readers", path, info, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, lockFolder)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info, err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
