// Package wary examines objects that a hostile account provides (an open descriptor, a name in a folder of its own)
// without calling the file system behind them. This may be a file system of the account (FUSE) that never answers, and
// a process that waits for such a file system cannot even be killed.
//
// These calls cannot block:
//
//   - readlink(2) of /proc/self/fd/N: the kernel makes the text from its own names.
//   - /proc/self/fdinfo/N has the flags and the mount (proc_pid_fdinfo(5), mnt_id since
//     Linux 3.15). For descriptors without a path, such as an epoll instance or a pipe, this
//     read may wait for a lock; so the link is read first, and such descriptors are refused.
//   - openat(2) with O_PATH: "the file itself is not opened". If the name is a mount point,
//     the result is the root of the mount, and the mount's file system is not called.
//   - statx(2) with AT_STATX_DONT_SYNC: "just take whatever the system has cached". FUSE
//     obeys since Linux 4.20. This package calls it only when the mount is known to be the
//     expected mount.
//
// These calls can block: fstat(2), fstatfs(2), read(2), fgetxattr(2), ioctl(2), adding the descriptor to a poller, and
// close(2), which sends a FLUSH to FUSE.
package wary

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Mount is the mount on which a descriptor's file is. The kernel knows it without calling a file system.
type Mount struct {
	// ID is the number of the mount (proc_pid_mountinfo(5)).
	ID int
	// Flags are the flags with which the descriptor was opened (open(2)).
	Flags int
}

// MountOf returns the mount of a descriptor. It returns an error if the descriptor has no path, for example a pipe.
func MountOf(fd int) (Mount, error) {
	n := strconv.Itoa(fd)
	to, err := os.Readlink("/proc/self/fd/" + n)
	if err != nil {
		return Mount{}, err
	}
	if !strings.HasPrefix(to, "/") {
		return Mount{}, fmt.Errorf("it is %.60q: want a regular file or a folder", to)
	}
	info, err := unix.Open("/proc/self/fdinfo/"+n, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Mount{}, &fs.PathError{Op: "open", Path: "/proc/self/fdinfo/" + n, Err: err}
	}
	defer unix.Close(info)
	var text [1024]byte // long enough for the needed lines, which come first
	got, err := unix.Read(info, text[:])
	if err != nil {
		return Mount{}, err
	}
	return parseInfo(string(text[:got]))
}

// parseInfo parses the lines "flags:\t0100000" (octal) and "mnt_id:\t25".
func parseInfo(text string) (m Mount, err error) {
	found := 0
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		var n int64
		switch key {
		case "flags":
			n, err = strconv.ParseInt(value, 8, 64)
			m.Flags = int(n)
		case "mnt_id":
			n, err = strconv.ParseInt(value, 10, 32)
			m.ID = int(n)
		default:
			continue
		}
		if err != nil {
			return Mount{}, err
		}
		found++
	}
	if found != 2 {
		return Mount{}, errors.New("the kernel does not show its flags and its mount")
	}
	return m, nil
}

// Look holds the attributes of a file as the kernel has cached them, so that reading them does not call the file
// system.
type Look struct {
	Mode uint32 // permissions and type, see stat(2)
	UID  int
}

// At returns the cached attributes of a descriptor's file. The caller must have checked with [MountOf] that the file is
// on the expected mount.
func At(fd int) (Look, error) {
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_MODE|unix.STATX_UID,
		&st)
	return Look{Mode: uint32(st.Mode), UID: int(st.Uid)}, err
}

// Kind returns the type of the file, in the bits of stat(2).
func (l Look) Kind() uint32 { return l.Mode & unix.S_IFMT }

// CheckMount returns an error if the mount with this id is a FUSE file system that another account than root mounted,
// because such a file system may never answer. It also returns an error if the mount is unknown, for example because it
// belongs to another mount namespace.
func CheckMount(id int) error {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if head, _, _ := strings.Cut(lines.Text(), " "); head == strconv.Itoa(id) {
			return ofRoot(lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return fmt.Errorf("its mount %d is not a mount of this machine", id)
}

// ofRoot returns an error if a line of /proc/self/mountinfo describes a FUSE file system that another account than root
// mounted, such as "... - fuse.sshfs source rw,user_id=1000".
func ofRoot(line string) error {
	_, rest, _ := strings.Cut(line, " - ")
	f := strings.Fields(rest)
	if len(f) < 2 || !strings.HasPrefix(f[0], "fuse") {
		return nil
	}
	for _, option := range strings.Split(f[len(f)-1], ",") {
		if who, ok := strings.CutPrefix(option, "user_id="); ok && who != "0" {
			return fmt.Errorf("a file system of uid %s is mounted there (%s): unmount it", who, f[0])
		}
	}
	return nil
}

// Open opens the file or folder with a relative name below root. Only this process's account or root may be able to
// replace root; the folders and files below may belong to other accounts. Open follows no link, enters no other file
// system, and opens only regular files or, with O_DIRECTORY, folders. Neither a FIFO nor a lease can make Open wait.
func Open(root, name string, flag int) (*os.File, error) {
	d, err := In(root)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Open(name, flag)
}

// Dir is an open folder in which other accounts may have put files.
type Dir struct {
	h     *os.File
	mount int
}

// In opens a folder that only this process's account (or root) can replace.
func In(path string) (*Dir, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	m, err := MountOf(fd)
	if err != nil {
		unix.Close(fd)
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return &Dir{h: os.NewFile(uintptr(fd), path), mount: m.ID}, nil
}

// Close closes the folder.
func (d *Dir) Close() error { return d.h.Close() }

// Open opens a name below the folder in the same way as the function [Open].
func (d *Dir) Open(name string, flag int) (*os.File, error) {
	h, err := d.path(name)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	f, err := reopen(h, flag)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: h.Name(), Err: err}
	}
	return f, nil
}

// Lstat returns the attributes of a name below the folder. It follows no link. The error wraps [ErrElsewhere] if the
// name is on another file system.
func (d *Dir) Lstat(name string) (os.FileInfo, error) {
	h, err := d.path(name)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	info, err := h.Stat()
	if err != nil {
		return nil, err
	}
	return info, nil
}

// path returns an O_PATH handle of a name below the folder. Such a handle names a file of any type without opening it.
// The error wraps [ErrElsewhere] if a part of the name is on another file system.
func (d *Dir) path(name string) (*os.File, error) {
	at, path := int(d.h.Fd()), d.h.Name()
	for step := range strings.SplitSeq(name, "/") {
		path = filepath.Join(path, step)
		next, err := into(at, step, d.mount)
		if at != int(d.h.Fd()) {
			unix.Close(at)
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		at = next
	}
	return os.NewFile(uintptr(at), path), nil
}

// maxDepth is the maximum depth of nested folders for [Dir.RemoveAll].
const maxDepth = 100

// RemoveAll removes a name below the folder and, if it is a folder, everything below it. If the name does not exist,
// RemoveAll returns nil. It returns an error if another file system is mounted below the name, or if folders are nested
// deeper than maxDepth; these are not removed.
func (d *Dir) RemoveAll(name string) error {
	at := int(d.h.Fd())
	if parent, last, ok := cutLast(name); ok {
		h, err := d.path(parent)
		if errors.Is(err, unix.ENOENT) {
			return nil
		}
		if err != nil {
			return err
		}
		defer h.Close()
		at, name = int(h.Fd()), last
	}
	if err := removeAll(at, name, d.mount, 0); err != nil {
		return &fs.PathError{Op: "remove", Path: filepath.Join(d.h.Name(), name), Err: err}
	}
	return nil
}

// cutLast splits a name at its last slash. ok is false if the name has no slash; last is then the whole name.
func cutLast(name string) (parent, last string, ok bool) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}

// removeAll removes the entry name of the folder at, which must be on the given mount, and everything below it. depth
// is the number of folders between the entry and the folder of the first call.
func removeAll(at int, name string, mount, depth int) error {
	switch err := unix.Unlinkat(at, name, 0); {
	case err == nil, errors.Is(err, unix.ENOENT):
		return nil
	case !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM): // EPERM is POSIX's error for a folder
		return err
	case depth == maxDepth:
		return fmt.Errorf("folders are nested more than %d deep", maxDepth)
	}
	fd, err := into(at, name, mount)
	if err != nil {
		return err
	}
	h := os.NewFile(uintptr(fd), name)
	defer h.Close()
	dir, err := reopen(h, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(1000)
		for _, n := range names {
			if err := removeAll(int(dir.Fd()), n, mount, depth+1); err != nil {
				return err
			}
		}
		if len(names) == 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			break
		}
		if _, err := dir.Seek(0, io.SeekStart); err != nil { // the removal shifted the remaining names
			return err
		}
	}
	return unix.Unlinkat(at, name, unix.AT_REMOVEDIR)
}

// into opens an O_PATH handle of an entry of a folder. The error is ErrElsewhere if the entry is on another mount, and
// EINVAL for "", "." and "..".
func into(at int, name string, mount int) (int, error) {
	if name == "" || name == "." || name == ".." {
		return -1, unix.EINVAL
	}
	fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	m, err := MountOf(fd)
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	if m.ID != mount {
		unix.Close(fd)
		return -1, ErrElsewhere
	}
	return fd, nil
}

// ErrElsewhere means that a file is on another file system than its folder.
var ErrElsewhere = errors.New("another file system is mounted there")

// reopen opens the file of an O_PATH handle. It never waits for another process. The file must be a regular file, or
// with O_DIRECTORY a folder.
func reopen(h *os.File, flag int) (*os.File, error) {
	look, err := At(int(h.Fd()))
	if err != nil {
		return nil, err
	}
	want := uint32(unix.S_IFREG)
	if flag&unix.O_DIRECTORY != 0 {
		want = unix.S_IFDIR
	}
	if look.Kind() != want {
		return nil, errors.New(map[bool]string{true: "is not a folder", false: "is not a regular file"}[want == unix.S_IFDIR])
	}
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(int(h.Fd())), flag|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), h.Name()), nil
}
