package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jjm"
)

// tmpPrefix begins the names of entries that are being written.
const tmpPrefix = ".tmp-"

// Put adds an entry of the caller's account and returns once it will survive a
// crash. The error is of kind Busy: nothing was added, or nothing that the daemon
// would take.
func Put(dir string, n Note, now time.Time) error {
	text, err := json.Marshal(n)
	if err != nil {
		return jjm.Errorf(jjm.Internal, "spool: %w", err)
	}
	if len(text) > MaxEntry {
		return jjm.Errorf(jjm.Invalid, "spool: the %s is %d bytes long: at most %d", n.Verb, len(text), MaxEntry)
	}
	in, err := Open(dir)
	if err != nil {
		return jjm.Errorf(jjm.Busy, "%w", err)
	}
	defer in.Close()
	boxes, err := in.mine(os.Geteuid())
	if err != nil {
		return jjm.Errorf(jjm.Busy, "spool: %w", err)
	}
	defer closeAll(boxes)
	name, err := next(boxes, Name{Seq: now.UnixNano(), Handle: n.Handle, Verb: n.Verb}, len(text))
	if err != nil {
		return err
	}
	if err := boxes[0].write(name, text, in.shared()); err != nil {
		return jjm.Errorf(jjm.Busy, "spool: %w", err)
	}
	return nil
}

// next puts a new entry behind those of its handle, if there is room for it.
func next(boxes []*Box, name Name, size int) (Name, error) {
	count, bytes := 0, int64(size)
	for _, b := range boxes {
		names, strange, more, err := b.List(MaxEntries)
		if err != nil {
			return Name{}, jjm.Errorf(jjm.Busy, "%w", err)
		}
		count += len(names) + len(strange)
		bytes += b.size(names)
		if more || count >= MaxEntries || bytes > MaxBytes {
			return Name{}, jjm.Errorf(jjm.Busy,
				"spool: %d entries of %d MB wait in %s, at most %d of %d MB may: wait until the daemon has taken them in",
				count, bytes>>20, b.Path(), MaxEntries, MaxBytes>>20)
		}
		for _, other := range names {
			if other.Handle == name.Handle && other.Seq >= name.Seq {
				name.Seq = other.Seq + 1 // the clock was set back
			}
		}
	}
	if name.Seq > maxSeq {
		return Name{}, jjm.Errorf(jjm.Busy, "spool: an entry about %s in %s has the largest sequence there is: remove it",
			name.Handle, boxes[0].Path())
	}
	return name, nil
}

// write makes the file: written and synced under another name, renamed, and the
// folder synced. In a box that the daemon enters by its group, and nobody else
// does, the file's own group is the account's: all may read it.
func (b *Box) write(name Name, text []byte, shared bool) error {
	word, err := random()
	if err != nil {
		return err
	}
	tmp, dir := tmpPrefix+word, int(b.dir.Fd())
	fd, err := unix.Openat(dir, tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("make an entry in %s: %w", b.Path(), err)
	}
	f := os.NewFile(uintptr(fd), filepath.Join(b.Path(), tmp))
	err = settle(f, text, shared)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = unix.Renameat(dir, tmp, dir, name.String())
	}
	if err != nil {
		_ = unix.Unlinkat(dir, tmp, 0)
		return err
	}
	return b.dir.Sync()
}

// settle writes an entry, which others may read if it is shared, to the disk.
func settle(f *os.File, text []byte, shared bool) error {
	if _, err := f.Write(text); err != nil {
		return err
	}
	if shared {
		if err := f.Chmod(0o644); err != nil {
			return err
		}
	}
	return f.Sync()
}

// mine returns the boxes of an account, one that is made now if it has none.
func (in *In) mine(uid int) ([]*Box, error) {
	boxes, err := in.Mine(uid)
	if err != nil || len(boxes) > 0 {
		return boxes, err
	}
	b, err := in.make(uid)
	return []*Box{b}, err
}

// Writable reports why nothing can be added just now.
func Writable(dir string) error {
	const write, enter = 2, 1 // W_OK, X_OK of access(2)
	return syscall.Access(filepath.Join(dir, inName), write|enter)
}

// Readable reports whether a group can read the entries: of a daemon that is not
// root.
func Readable(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, inName))
	return err == nil && info.Mode()&fs.ModeSetgid != 0
}

// abandoned is when a file that was begun is not going to be an entry any more.
const abandoned = 24 * time.Hour

// Make makes the folders, for the account of the daemon. mode is that of the
// daemon's socket: 0666 lets every account leave entries, 0660 the members of
// group (-1: the daemon's own), 0600 the daemon's own account alone. A daemon that
// is not root reads the boxes of others as a member of its own group, which
// should have no other member.
// What was begun and given up long ago is removed.
func Make(dir string, mode fs.FileMode, group int, now time.Time) error {
	outer, inner := fs.FileMode(0o700), fs.FileMode(0o777|fs.ModeSticky)
	switch {
	case mode&0o066 == 0o066:
		outer = 0o711
	case mode&0o060 == 0o060:
		outer = 0o710
	default:
		inner = 0o700
	}
	if outer != 0o700 && os.Geteuid() != 0 {
		inner |= fs.ModeSetgid
	}
	if err := makeFolder(dir, outer, group); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	if err := makeFolder(filepath.Join(dir, inName), inner, os.Getegid()); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return sweep(dir, now.Add(-abandoned))
}

func makeFolder(dir string, perm fs.FileMode, group int) error {
	err := os.Mkdir(dir, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a folder of this account: remove it", dir)
	}
	if group >= 0 {
		if err := os.Chown(dir, -1, group); err != nil {
			return err
		}
	}
	return os.Chmod(dir, perm) // whatever the umask is
}

// sweep removes files that were begun before a time, of an older jjm.
func sweep(dir string, before time.Time) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), tmpPrefix) && info.ModTime().Before(before) {
			_ = os.Remove(filepath.Join(dir, e.Name())) // found again by the next start
		}
	}
	return nil
}
