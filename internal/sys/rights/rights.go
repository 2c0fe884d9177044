// Package rights opens files with the rights of an account, in a process that has more rights. It promises to refuse
// every file that the account itself could not read, for every form of path, and even if the path is changed meanwhile.
//
// How a path is followed:
//
//   - Every folder is opened, and its permissions are checked on the open handle. Symbolic
//     links are followed by this package, never by the kernel. So nothing is decided from a
//     name that could mean something else a moment later.
//   - A file is opened for reading only when it is known to be a regular one: opening a
//     device may have an effect, and opening a FIFO would wait.
//   - A file system that an ordinary account mounted (FUSE) is not entered, because it may
//     never answer.
package rights

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"jjm/internal/sys/acl"
	"jjm/internal/sys/wary"
)

// Who is an account.
type Who struct {
	// UID is the account's number. 0 is root, who may read every file.
	UID int
	// GIDs are all groups of the account, its primary group first.
	GIDs []int
}

// Of returns the account with a number and a primary group, and looks up its other groups. An account that the
// machine does not know has no other groups.
func Of(uid, gid int) Who {
	who := Who{UID: uid, GIDs: []int{gid}}
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return who
	}
	ids, _ := u.GroupIds()
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil && n != gid {
			who.GIDs = append(who.GIDs, n)
		}
	}
	return who
}

// maxLinks is the number of symbolic links that a path may contain (path_resolution(7)).
const maxLinks = 40

// Open opens a regular file for reading if the account may read it. path must be absolute.
// If the account has no permission, the error wraps fs.ErrPermission and names the folder
// or file.
func Open(path string, who Who) (*os.File, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%s: want an absolute path", path)
	}
	w := walk{who: who}
	defer w.close()
	if err := w.to(path); err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f, err := reopen(w.at[len(w.at)-1], path, who)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return f, nil
}

// reopen opens the file of an O_PATH handle for reading.
func reopen(h *os.File, path string, who Who) (*os.File, error) {
	info, err := h.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, unix.EISDIR
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if err := may(h, acl.Read, who); err != nil {
		return nil, err
	}
	// /proc/self/fd leads to the file of the handle, even if the file's path now means another file.
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(int(h.Fd())),
		unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// may returns an error if an account does not have the permission want.
func may(f *os.File, want acl.Perm, who Who) error {
	if who.UID == 0 {
		return nil
	}
	ok, err := acl.Allows(f, want, who.UID, who.GIDs)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%s: uid %d has no right to it: %w", f.Name(), who.UID, fs.ErrPermission)
	}
	return nil
}

// walk follows a path. The last handle is the current folder or file. The other handles are its parents, for "..".
type walk struct {
	who   Who
	at    []*os.File
	links int
	mount int // id of the mount that was entered last, 0 if none
}

// enter returns an error if fd is on a file system that an ordinary account mounted, because such a file system may
// never answer. File systems that root mounted are trusted.
func (w *walk) enter(fd int) error {
	m, err := wary.MountOf(fd)
	if err != nil || m.ID == w.mount {
		return err
	}
	if err := wary.CheckMount(m.ID); err != nil {
		return err
	}
	w.mount = m.ID
	return nil
}

func (w *walk) close() {
	for _, f := range w.at {
		f.Close()
	}
}

// to follows an absolute path, including links.
func (w *walk) to(path string) error {
	left := strings.Split(path, "/")
	if err := w.root(); err != nil {
		return err
	}
	for len(left) > 0 {
		name := left[0]
		left = left[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			w.up()
			continue
		}
		target, err := w.step(name)
		if err != nil {
			return err
		}
		if target == "" {
			continue
		}
		if w.links++; w.links > maxLinks {
			return unix.ELOOP
		}
		if strings.HasPrefix(target, "/") {
			if err := w.root(); err != nil {
				return err
			}
		}
		left = append(strings.Split(target, "/"), left...)
	}
	return nil
}

// root goes to the root of the file system.
func (w *walk) root() error {
	w.close()
	w.at = nil
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	w.at = append(w.at, os.NewFile(uintptr(fd), "/"))
	return nil
}

// up goes to the parent. The parent of the root is the root.
func (w *walk) up() {
	if n := len(w.at); n > 1 {
		w.at[n-1].Close()
		w.at = w.at[:n-1]
	}
}

// step goes to an entry of the current folder. If the entry is a symbolic link, step stays in the folder and returns
// the link's target.
func (w *walk) step(name string) (target string, err error) {
	dir := w.at[len(w.at)-1]
	if err := may(dir, acl.Search, w.who); err != nil {
		return "", err
	}
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	next := os.NewFile(uintptr(fd), filepath.Join(dir.Name(), name))
	if err := w.enter(fd); err != nil {
		next.Close()
		return "", err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		next.Close()
		return "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		w.at = append(w.at, next)
		return "", nil
	}
	defer next.Close()
	buf := make([]byte, 4096) // PATH_MAX of Linux, limits.h
	n, err := unix.Readlinkat(fd, "", buf)
	if err != nil {
		return "", err
	}
	if n == 0 {
		return "", unix.ENOENT
	}
	return string(buf[:n]), nil
}

// Regular opens a regular file for reading with the rights of this process. It follows links. It returns an error for a
// FIFO or a device without opening it.
func Regular(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	h := os.NewFile(uintptr(fd), path)
	defer h.Close()
	f, err := reopen(h, path, Who{})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return f, nil
}
