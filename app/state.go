package app

import (
	"fmt"
	"os"
	"path/filepath"
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
	return lock(filepath.Join(dir, "lock"))
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

// lockWait is how long the lock is waited for. When a daemon is killed while it
// starts a process, the child holds the lock for the moment until its exec.
const lockWait = 2 * time.Second

// lock takes an exclusive lock that the kernel gives back when we die.
func lock(path string) (func() error, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "state folder cannot be written: %w: make it writable for this account, "+
			"or set state to another folder", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for end := time.Now().Add(lockWait); err != nil && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		holder := make([]byte, 32)
		n, _ := f.ReadAt(holder, 0)
		f.Close()
		return nil, jjm.Errorf(jjm.Conflict, "another daemon (process %s) uses %s: stop it first, or choose another state folder",
			strings.TrimSpace(string(holder[:n])), filepath.Dir(path))
	}
	if err := f.Truncate(0); err == nil {
		_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
		if err != nil {
			f.Close()
			return nil, jjm.Errorf(jjm.Busy, "write %s: %w", path, err)
		}
	}
	return f.Close, nil
}
