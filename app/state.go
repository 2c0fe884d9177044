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

	"jjm"
)

// network are the magic numbers of file systems on a network (statfs(2) and
// linux/magic.h; Lustre, GPFS and BeeGFS from their own headers). SQLite's
// locks and write-ahead log are not safe there.
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

// openState makes the state folder, refuses one that is on a network, and
// takes the lock that keeps a second daemon out.
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

// refuseNetwork says why a file system may not hold the state.
func refuseNetwork(dir string, magic int64) error {
	name, bad := network[magic]
	if !bad {
		return nil
	}
	return jjm.Errorf(jjm.Invalid, "state folder %s is on %s: the store needs the locks and the "+
		"shared memory of a local disk; set state to a folder on one (work may stay on the network)", dir, name)
}

// The lock lies in a folder that only the daemon enters: whoever can open a file
// for reading can lock it (flock(2)). Until then it lay open to readers, in the
// state folder itself.
const (
	lockFolder = "daemon"
	lockFile   = "lock"
)

// lockWait is how long a lock is waited for. When a daemon is killed while it
// starts a process, the child, which is root's or the daemon's own account's, holds
// the lock for the moment until its exec; and who has just taken it writes its
// number a moment later.
const lockWait = 2 * time.Second

// lockState takes the lock that keeps a second daemon out, and the one that an
// older daemon would take.
func lockState(dir string) (release func() error, err error) {
	folder := filepath.Join(dir, lockFolder)
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, unwritable(err)
	}
	if err := os.Chmod(folder, 0o700); err != nil { // whatever the umask is
		return nil, unwritable(err)
	}
	ours, err := lock(filepath.Join(folder, lockFile), dir)
	if err != nil {
		return nil, err
	}
	older, err := lockOlder(filepath.Join(dir, lockFile), dir)
	if err != nil {
		ours.Close()
		return nil, err
	}
	return func() error { return errors.Join(older.Close(), ours.Close()) }, nil
}

func unwritable(err error) error {
	return jjm.Errorf(jjm.Invalid, "state folder cannot be written: %w: make it writable for this account, "+
		"or set state to another folder", err)
}

// lock takes an exclusive lock that the kernel gives back when we die.
func lock(path, dir string) (*os.File, error) {
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	if !locks(f, func() bool { return false }) {
		defer f.Close()
		return nil, taken(holder(f), dir)
	}
	return f, sign(f)
}

// lockOlder takes the lock of daemons of before, so that none starts beside this
// one. Such a daemon has written its number there, where nobody else can write, and
// has the file open: it is not started beside. Any other lock there is that of an
// account that could read the file, and means nothing; from now on none can.
func lockOlder(path, dir string) (*os.File, error) {
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	older := func() bool { return hasOpen(holder(f), f) }
	if locks(f, older) {
		return f, sign(f)
	}
	if older() {
		defer f.Close()
		return nil, taken(holder(f), dir)
	}
	return f, nil
}

// openLock opens a lock file, and closes it to everybody else.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, unwritable(err)
	}
	if err := f.Chmod(0o600); err != nil {
		f.Close()
		return nil, unwritable(err)
	}
	return f, nil
}

// locks tries to lock a file, for lockWait at most; not longer than until it is
// known to be in vain.
func locks(f *os.File, vain func() bool) bool {
	for end := time.Now().Add(lockWait); ; time.Sleep(20 * time.Millisecond) {
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			return true
		}
		if vain() || time.Now().After(end) {
			return false
		}
	}
}

// sign writes our number into a lock file. After an error the file is closed.
func sign(f *os.File) error {
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

// holder is the number that a lock file has; 0 for none.
func holder(f *os.File) int {
	text := make([]byte, 32)
	n, _ := f.ReadAt(text, 0)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	return pid
}

func taken(pid int, dir string) error {
	return jjm.Errorf(jjm.Conflict, "another daemon (process %d) uses %s: stop it first, or choose another state folder",
		pid, dir)
}

// hasOpen reports whether a process of root or of this account has a file open, or
// that it lives and cannot be asked. Another account's does not count: its number
// may be that of a daemon that ended.
func hasOpen(pid int, f *os.File) bool {
	if pid <= 1 || pid == os.Getpid() || !trusted(pid) {
		return false
	}
	want, err := f.Stat()
	if err != nil {
		return true
	}
	base := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(base)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ESRCH)
	}
	for _, e := range entries {
		if link, err := os.Readlink(filepath.Join(base, e.Name())); err != nil || filepath.Base(link) != lockFile {
			continue
		}
		if got, err := os.Stat(filepath.Join(base, e.Name())); err == nil && os.SameFile(got, want) {
			return true
		}
	}
	return false
}

// trusted reports whether a process is wholly root's or this account's: the real,
// effective, saved and file system user of proc_pid_status(5).
func trusted(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		ids, ok := strings.CutPrefix(line, "Uid:")
		if !ok {
			continue
		}
		for _, id := range strings.Fields(ids) {
			if id != "0" && id != strconv.Itoa(os.Geteuid()) {
				return false
			}
		}
		return true
	}
	return false
}
