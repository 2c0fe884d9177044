package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
)

// network contains the magic numbers of network file systems (statfs(2) and linux/magic.h; Lustre, GPFS and BeeGFS from
// their own headers). On these file systems, SQLite's locks and write-ahead log are not safe.
var network = map[int64]string{
	0x6969:     "NFS",
	0x517b:     "SMB",
	0xff534d42: "CIFS",
	0xfe534d42: "SMB2",
	0x5346414f: "AFS",
	0x6b414653: "kAFS",
	0x00c36400: "CephFS",
	0x0bd00bd0: "Lustre",
	0x47504653: "GPFS",
	0x19830326: "BeeGFS",
	0x01021997: "9P",
	0x01161970: "GFS2",
	0x7461636f: "OCFS2",
	0x73757245: "Coda",
}

// openState makes the state folder, refuses a folder on a network file system, and takes the lock that prevents a
// second daemon.
func openState(dir string) (release func() error, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "state folder: %w", err)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return nil, fmt.Errorf("state folder %s: %w", dir, err)
	}
	if err := refuseNetwork(dir, int64(fs.Type)&0xffffffff); err != nil {
		return nil, err
	}
	return lockState(dir)
}

// refuseNetwork returns an error if a file system cannot hold the state.
func refuseNetwork(dir string, magic int64) error {
	name, bad := network[magic]
	if !bad {
		return nil
	}
	return jjm.Errorf(jjm.Invalid, "state folder %s is on %s: the store needs the locks and the "+
		"shared memory of a local disk; set state to a folder on one (work may stay on the network)", dir, name)
}

// The lock is in a folder that only the daemon can enter, because every account that can open a file for reading can
// lock it (flock(2)).
const (
	lockFolder = "daemon"
	lockFile   = "lock"
)

// lockWait is how long to wait for a lock. If a daemon is killed while it starts a process, the child (of root or of
// the daemon's own account) holds the lock until its exec a moment later. A daemon that has just taken the lock also
// writes its process id only a moment later.
const lockWait = 2 * time.Second

// lockState takes the lock that prevents a second daemon.
func lockState(dir string) (release func() error, err error) {
	folder := filepath.Join(dir, lockFolder)
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, unwritable(err)
	}
	if err := os.Chmod(folder, 0o700); err != nil { // whatever the umask is
		return nil, unwritable(err)
	}
	held, err := lock(filepath.Join(folder, lockFile), dir)
	if err != nil {
		return nil, err
	}
	return held.Close, nil
}

// unwritable returns the error for a state folder that cannot be written.
func unwritable(err error) error {
	return jjm.Errorf(jjm.Invalid, "state folder cannot be written: %w: make it writable for this account, "+
		"or set state to another folder", err)
}

// lock takes an exclusive lock. The kernel releases the lock when this process ends.
func lock(path, dir string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, unwritable(err)
	}
	if !tryLock(f) {
		defer f.Close()
		return nil, taken(readPID(f), dir)
	}
	return f, writePID(f)
}

// tryLock tries to lock a file for at most lockWait.
func tryLock(f *os.File) bool {
	for end := time.Now().Add(lockWait); ; time.Sleep(20 * time.Millisecond) {
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// writePID writes the id of this process to a lock file. If it fails, it closes the file.
func writePID(f *os.File) error {
	err := f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	if err != nil {
		f.Close()
		return jjm.Errorf(jjm.Busy, "write %s: %w", f.Name(), err)
	}
	return nil
}

// readPID returns the process id in a lock file, 0 if there is none.
func readPID(f *os.File) int {
	text := make([]byte, 32)
	n, _ := f.ReadAt(text, 0)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	return pid
}

// taken returns the error for a state folder that another daemon uses; pid is that daemon's process id, 0 if unknown.
func taken(pid int, dir string) error {
	return jjm.Errorf(jjm.Conflict, "another daemon (process %d) uses %s: stop it first, or choose another state folder",
		pid, dir)
}
