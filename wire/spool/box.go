package spool

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Box is the folder of one account, or the spool itself, where entries of all
// accounts lay before each had a box. It is for one goroutine at a time.
type Box struct {
	// UID is whose it is; -1: entries are whoever's file they are.
	UID int
	dir *os.File
}

// anybody is the UID of a box with the entries of all accounts.
const anybody = -1

// Old opens the spool itself as a box.
func Old(dir string) (*Box, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	return &Box{UID: anybody, dir: f}, nil
}

// Close lets go of the folder.
func (b *Box) Close() error { return b.dir.Close() }

// Name is the name of the box.
func (b *Box) Name() string { return filepath.Base(b.dir.Name()) }

// Path is where the box was when it was opened.
func (b *Box) Path() string { return b.dir.Name() }

// Changed is when an entry last came or went. It can be compared for equality with
// what it was before; settled is false while a further change might have the same
// time.
func (b *Box) Changed() (at time.Time, settled bool) { return changed(b.dir) }

// changed is the time of change of a folder, which its owner cannot set. The kernel
// takes it from its coarse clock: later changes differ once that has gone on.
func changed(dir *os.File) (at time.Time, settled bool) {
	var now unix.Timespec
	var st unix.Stat_t
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) != nil || unix.Fstat(int(dir.Fd()), &st) != nil {
		return time.Time{}, false
	}
	at = time.Unix(st.Ctim.Unix())
	return at, time.Unix(now.Unix()).After(at)
}

// chunk is how many names are read at once.
const chunk = 1024

// List returns the entries in order, and what else lies there; files that are being
// written are neither, unless there are too many of all or they take more than an
// account may have. It reads some limit names at most: more reports that there
// are others, and then the order is that of those read.
func (b *Box) List(limit int) (names []Name, strange []string, more bool, err error) {
	if _, err := b.dir.Seek(0, io.SeekStart); err != nil {
		return nil, nil, false, fmt.Errorf("spool: %w", err)
	}
	var begun []string
	for !more {
		all, err := b.dir.Readdirnames(chunk)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, false, fmt.Errorf("spool: %w", err)
		}
		for _, s := range all {
			switch n, ok := ParseName(s); {
			case ok:
				names = append(names, n)
			case b.UID == anybody && s == inName:
			case strings.HasPrefix(s, tmpPrefix):
				begun = append(begun, s)
			default:
				strange = append(strange, s)
			}
		}
		more = len(names)+len(strange)+len(begun) > limit
	}
	if more || b.tooMuch(begun) {
		strange = append(strange, begun...)
	}
	slices.SortFunc(names, func(a, b Name) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Handle, b.Handle), cmp.Compare(a.Verb, b.Verb))
	})
	return names, strange, more, nil
}

// tooMuch reports whether files that were begun take more than an account may have.
func (b *Box) tooMuch(begun []string) bool {
	var sum int64
	for _, name := range begun {
		bytes, _ := b.weigh(name)
		sum += bytes
	}
	return sum > MaxBytes
}

// Read reads an entry, and who owns it. The error is a [Strange] if it is none, or
// none that the daemon may read; one that wraps fs.ErrNotExist if it was taken
// away; and another if it cannot be read just now.
func (b *Box) Read(name Name) (Note, Owner, error) {
	f, err := openat(b.dir, name.String(), os.O_RDONLY|syscall.O_NONBLOCK)
	switch {
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.EXDEV):
		return Note{}, Owner{}, strange("%s is not a file", name)
	case errors.Is(err, fs.ErrPermission):
		return Note{}, Owner{}, strange("%s may not be read: %v", name, err)
	case err != nil:
		return Note{}, Owner{}, err
	}
	defer f.Close()
	owner, err := check(f, name)
	if err != nil {
		return Note{}, owner, err
	}
	if b.UID != anybody && owner.UID != b.UID {
		return Note{}, owner, strange("%s is a file of account %d in the box of account %d", name, owner.UID, b.UID)
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxEntry+1))
	if err != nil {
		return Note{}, owner, err
	}
	note, err := parse(name, owner.UID, text)
	return note, owner, err
}

// Remove takes away what lies under a name: a file, a link, an empty folder. That
// it is gone already is no error.
func (b *Box) Remove(name string) error { return removeAt(b.dir, name) }

// size is what the entries take, in bytes.
func (b *Box) size(names []Name) (sum int64) {
	for _, n := range names {
		bytes, _ := b.weigh(n.String())
		sum += bytes
	}
	return sum
}

func removeAt(dir *os.File, name string) error {
	err := unix.Unlinkat(int(dir.Fd()), name, 0)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
		err = unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("spool: remove %s: %w", name, err)
	}
	return nil
}

// openat opens a name in a folder, and nothing that a link or a mount leads to.
func openat(dir *os.File, name string, flags int) (*os.File, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV}
	for {
		fd, err := unix.Openat2(int(dir.Fd()), name, &how)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN) && flags&unix.O_NONBLOCK == 0:
			continue
		case errors.Is(err, unix.ENOSYS): // before Linux 5.6
			fd, err = unix.Openat(int(dir.Fd()), name, int(how.Flags), 0)
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: dir.Name() + "/" + name, Err: err}
		}
		return os.NewFile(uintptr(fd), dir.Name()+"/"+name), nil
	}
}

// openBox opens a folder as the box of an account. The error is a [Strange] if it
// is somebody else's or no folder.
func openBox(in *os.File, name string, uid int) (*Box, error) {
	found, err := openat(in, name, unix.O_PATH)
	if errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.ELOOP) {
		return nil, strange("%s is no folder of this file system", name)
	}
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(found.Fd()), &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != uid {
		return nil, strange("%s is no folder of account %d", name, uid)
	}
	f, err := openat(in, name, os.O_RDONLY|syscall.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	var now unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &now); err != nil || now.Ino != st.Ino || int(now.Uid) != uid {
		return nil, errors.Join(fmt.Errorf("%s was exchanged", name), err, f.Close())
	}
	return &Box{UID: uid, dir: f}, nil
}
