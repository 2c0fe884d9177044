package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
)

// tmpPrefix begins the names of unfinished files, which are still being written and will then be renamed to entries.
const tmpPrefix = ".tmp-"

// Put adds an entry for the caller's account and returns when the entry will survive a crash. If the error is of kind
// Busy, no entry was added and the caller may try again. The error is of kind Invalid if the note is longer than
// MaxEntry.
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
	boxes, err := in.ensureBoxes(os.Geteuid())
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

// next returns the name of a new entry, which is ordered after all entries of the same handle. It returns an error if
// the account has reached a limit.
func next(boxes []*Box, name Name, size int) (Name, error) {
	count, bytes := 0, int64(size)
	for _, b := range boxes {
		names, others, more, err := b.List(MaxEntries)
		if err != nil {
			return Name{}, jjm.Errorf(jjm.Busy, "%w", err)
		}
		count += len(names) + len(others)
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

// write writes and syncs the text under a temporary name, renames the file, and syncs the folder. If the daemon reads
// the box through the box's group (shared), the file is readable by all, because the file's own group is the account's.
// Only the account and the daemon's group can enter the box.
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
	err = writeSynced(f, text, shared)
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

// writeSynced writes the text and syncs it. If shared is set, others may read the file.
func writeSynced(f *os.File, text []byte, shared bool) error {
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

// ensureBoxes returns the boxes of an account. If the account has no box, ensureBoxes makes a box.
func (in *In) ensureBoxes(uid int) ([]*Box, error) {
	boxes, err := in.BoxesOf(uid)
	if err != nil || len(boxes) > 0 {
		return boxes, err
	}
	b, err := in.make(uid)
	return []*Box{b}, err
}

// Writable returns nil if the caller can add entries now, or the reason why not.
func Writable(dir string) error {
	const write, enter = 2, 1 // W_OK, X_OK of access(2)
	return syscall.Access(filepath.Join(dir, inName), write|enter)
}

// Readable reports whether the members of a group can read the entries. This is the case if the daemon is not root.
func Readable(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, inName))
	return err == nil && info.Mode()&fs.ModeSetgid != 0
}

// Make makes the folders of the spool. The daemon calls it when it starts. mode is the mode of the daemon's socket:
//
//	mode | who may leave entries
//	0666 | every account
//	0660 | the members of group (-1: the daemon's own group)
//	0600 | the daemon's own account
//
// A daemon that is not root reads the boxes of other accounts as a member of its own group. This group should therefore
// have no other member.
func Make(dir string, mode fs.FileMode, group int) error {
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
	return nil
}

// makeFolder creates a folder, or checks that the existing folder belongs to this account, and sets its group (unless
// negative) and mode.
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
	return os.Chmod(dir, perm) // regardless of the umask
}
