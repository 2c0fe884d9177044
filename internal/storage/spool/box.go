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

// Box is the open folder of one account. Only one goroutine may use it at a time.
type Box struct {
	// UID is the owner.
	UID int
	dir *os.File
}

// Close closes the folder.
func (b *Box) Close() error { return b.dir.Close() }

// Name returns the name of the box's folder.
func (b *Box) Name() string { return filepath.Base(b.dir.Name()) }

// Path returns the path under which the box was opened. The box may have been renamed
// since.
func (b *Box) Path() string { return b.dir.Name() }

// Changed returns the time at which an entry was last added or removed. Compare it only for equality with an earlier
// result. settled is false while another change might still get the same time.
func (b *Box) Changed() (at time.Time, settled bool) { return changed(b.dir) }

// changed returns the time of the last change of a folder (st_ctime), which the folder's owner cannot set. settled is
// false while another change could still get the same time: the kernel takes the time from its coarse clock, so all
// changes within one tick have the same time.
func changed(dir *os.File) (at time.Time, settled bool) {
	var now unix.Timespec
	var st unix.Stat_t
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) != nil || unix.Fstat(int(dir.Fd()), &st) != nil {
		return time.Time{}, false
	}
	at = time.Unix(st.Ctim.Unix())
	return at, time.Unix(now.Unix()).After(at)
}

// chunk is the number of names that one system call reads.
const chunk = 1024

// List returns the entries of the box in order. others are the names that are not entries and may be removed. List
// stops after about limit names; more is set if it stopped there, and then more entries may exist that belong between
// the returned ones.
//
// Unfinished files, which an account is still writing, are normally in neither list. If List stopped at limit, or if
// the unfinished files take more than MaxBytes, they are also in others, so that an account cannot fill the disk with
// them.
func (b *Box) List(limit int) (names []Name, others []string, more bool, err error) {
	if _, err := b.dir.Seek(0, io.SeekStart); err != nil {
		return nil, nil, false, fmt.Errorf("spool: %w", err)
	}
	var unfinished []string
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
			case strings.HasPrefix(s, tmpPrefix):
				unfinished = append(unfinished, s)
			default:
				others = append(others, s)
			}
		}
		more = len(names)+len(others)+len(unfinished) > limit
	}
	if more || b.overLimit(unfinished) {
		others = append(others, unfinished...)
	}
	slices.SortFunc(names, func(a, b Name) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Handle, b.Handle), cmp.Compare(a.Verb, b.Verb))
	})
	return names, others, more, nil
}

// overLimit reports whether unfinished files take more bytes than an account may use.
func (b *Box) overLimit(unfinished []string) bool {
	var sum int64
	for _, name := range unfinished {
		bytes, _ := b.sizeOf(name)
		sum += bytes
	}
	return sum > MaxBytes
}

// Read returns an entry and its owner.
//
//	error                 | meaning
//	[*Rejected]           | it is not an entry, or the daemon may not read it
//	wraps fs.ErrNotExist  | it was removed meanwhile
//	any other             | it cannot be read now
func (b *Box) Read(name Name) (Note, Owner, error) {
	f, err := openat(b.dir, name.String(), os.O_RDONLY|syscall.O_NONBLOCK)
	switch {
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.EXDEV):
		return Note{}, Owner{}, reject("%s is not a file", name)
	case errors.Is(err, fs.ErrPermission):
		return Note{}, Owner{}, reject("%s: no permission to read it: %v", name, err)
	case err != nil:
		return Note{}, Owner{}, err
	}
	defer f.Close()
	owner, err := checkFile(f, name)
	if err != nil {
		return Note{}, owner, err
	}
	if owner.UID != b.UID {
		return Note{}, owner, reject("%s is a file of account %d in the box of account %d", name, owner.UID, b.UID)
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxEntry+1))
	if err != nil {
		return Note{}, owner, err
	}
	note, err := parse(name, owner.UID, text)
	return note, owner, err
}

// Remove removes a file, a link or an empty folder. It returns nil if the name does not
// exist.
func (b *Box) Remove(name string) error { return removeAt(b.dir, name) }

// size returns the number of bytes that the entries take.
func (b *Box) size(names []Name) (sum int64) {
	for _, n := range names {
		bytes, _ := b.sizeOf(n.String())
		sum += bytes
	}
	return sum
}

// removeAt removes a file, a link or an empty folder. It returns nil if the name does not exist.
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

// openat opens a name in a folder. It follows no links and enters no mounts. Kernels before Linux 5.6 lack openat2(2);
// there, openat only refuses a link as the last element.
func openat(dir *os.File, name string, flags int) (*os.File, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV}
	for {
		fd, err := unix.Openat2(int(dir.Fd()), name, &how)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN) && flags&unix.O_NONBLOCK == 0:
			continue // a signal, or a rename or mount during the look-up
		case errors.Is(err, unix.ENOSYS): // the kernel is older than Linux 5.6
			fd, err = unix.Openat(int(dir.Fd()), name, int(how.Flags), 0)
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: dir.Name() + "/" + name, Err: err}
		}
		return os.NewFile(uintptr(fd), dir.Name()+"/"+name), nil
	}
}

// openBox opens a folder as the box of an account. The error is a [*Rejected] if the name is not a folder or belongs to
// another account. The folder is checked before it is opened and again afterwards, because its owner may replace it in
// between.
func openBox(in *os.File, name string, uid int) (*Box, error) {
	found, err := openat(in, name, unix.O_PATH)
	if errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.ELOOP) {
		return nil, reject("%s is not a folder of this file system", name)
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
		return nil, reject("%s is not a folder of account %d", name, uid)
	}
	f, err := openat(in, name, os.O_RDONLY|syscall.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	var now unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &now); err != nil || now.Ino != st.Ino || int(now.Uid) != uid {
		return nil, errors.Join(fmt.Errorf("%s was replaced while it was opened", name), err, f.Close())
	}
	return &Box{UID: uid, dir: f}, nil
}
