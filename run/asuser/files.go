package asuser

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"jjm"
)

// Files is a rooted file system that the account's helper works on: what
// sandbox.FS wants. Names lead nowhere but below the root, whatever the account
// does to it meanwhile.
type Files struct {
	user *User
	root string
	devs [2]uint64 // of the folder, and of files in it
}

// Remote marks it for package sandbox: a file is opened by the helper, and by
// nobody else.
func (f *Files) Remote() {}

// Area makes the folder at an absolute path, mode 0700, the account's own, and
// gives the file system below it. All folders above belong to root and only root
// can write them, so nobody can put anything else in its place.
func (u *User) Area(root string) (*Files, error) {
	fail := func(kind jjm.Kind, err error) (*Files, error) {
		return nil, jjm.Errorf(kind, "work area %s of %s: %w", root, u.owner.User, err)
	}
	if err := trusted(filepath.Dir(root)); err != nil {
		return fail(jjm.Invalid, err)
	}
	if _, err := lookup(context.Background(), u.owner); err != nil {
		return fail(jjm.KindOf(err), err)
	}
	if err := os.Mkdir(root, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fail(jjm.Busy, err)
	}
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(jjm.Busy, err)
	}
	dir := os.NewFile(uintptr(fd), root)
	defer dir.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fail(jjm.Busy, err)
	}
	f := &Files{user: u, root: root, devs: [2]uint64{st.Dev, fileDev(dir, st.Dev)}}
	switch int(st.Uid) {
	case u.owner.UID:
		return f, nil
	case 0: // just made, perhaps by a daemon that died here
		if err := errors.Join(dir.Chmod(0o700), dir.Chown(u.owner.UID, u.owner.GID)); err != nil {
			return fail(jjm.Busy, err)
		}
		return f, nil
	}
	return fail(jjm.Conflict, fmt.Errorf("it belongs to uid %d: with run_as = \"owner\" it must be the owner's; let the old grid jobs end and remove it", st.Uid))
}

// fileDev is the device that files in a folder show: on an overlay it is not
// the folder's.
func fileDev(dir *os.File, dev uint64) uint64 {
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return dev
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return dev
	}
	return st.Dev
}

// trusted reports an error unless nobody but root can put something in the place
// of a folder or of one above it.
func trusted(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%q: want an absolute path", dir)
	}
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		info, err := os.Lstat(d)
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case !ok || !info.IsDir():
			return fmt.Errorf("%s is no folder: want the path without links", d)
		case st.Uid != 0:
			return fmt.Errorf("%s belongs to uid %d, who could put something else in its place: chown root it", d, st.Uid)
		case info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0:
			return fmt.Errorf("others can write %s, and put something else in its place: chmod go-w it", d)
		case d == dir && info.Mode().Perm()&0o022 != 0:
			return fmt.Errorf("others can write %s, and take names in it: chmod go-w it", d)
		}
		if d == "/" {
			return nil
		}
	}
}

// ask has the helper do one thing to files.
func (f *Files) ask(req request) (answer, error) {
	limit := f.user.pool.limits.Act
	if req.Op == "removeall" {
		limit *= 30
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	l, err := f.user.helper(ctx)
	if err != nil {
		return answer{}, err
	}
	id, call, err := l.open()
	if err != nil {
		return answer{}, err
	}
	defer l.close(id, call)
	req.ID, req.Root = id, f.root
	if err := l.write(req); err != nil {
		return answer{}, jjm.Errorf(jjm.Busy, "the helper of %s: %w", l.who, err)
	}
	a, err := l.await(ctx, call)
	if err != nil {
		if ctx.Err() != nil {
			l.end(jjm.Errorf(jjm.Busy, "the helper of %s takes longer than %v for %s", l.who, limit, req.Op), true)
		}
		return answer{}, jjm.Errorf(jjm.Busy, "%s %s: %w", req.Op, req.Name, err)
	}
	return a, a.Err.err()
}

// OpenFile opens a regular file or a folder.
func (f *Files) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	a, err := f.ask(request{Op: "open", Name: name, Flag: flag, Perm: perm})
	if err == nil && len(a.files) != 1 {
		err = jjm.Errorf(jjm.Busy, "the helper of %s gave %d files: want one", f.user.owner.User, len(a.files))
	}
	if err == nil {
		err = f.check(a.files[0])
	}
	if err != nil {
		closeAll(a.files)
		return nil, err
	}
	return named(a.files[0], filepath.Join(f.root, name)), nil
}

// named gives an open file the name that people know it by.
func named(file *os.File, name string) *os.File {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return file
	}
	file.Close()
	return os.NewFile(uintptr(fd), name)
}

// check refuses what would hold the daemon up, or is not the account's area.
func (f *Files) check(file *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return err
	}
	kind := st.Mode & unix.S_IFMT
	if kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return &fs.PathError{Op: "open", Path: file.Name(), Err: errors.New("is not a regular file")}
	}
	if st.Dev != f.devs[0] && st.Dev != f.devs[1] {
		return &fs.PathError{Op: "open", Path: file.Name(), Err: errors.New("lies on another file system than the work area")}
	}
	return nil
}

func (f *Files) act(req request) error {
	a, err := f.ask(req)
	closeAll(a.files)
	return err
}

func (f *Files) info(op, name string) (os.FileInfo, error) {
	a, err := f.ask(request{Op: op, Name: name})
	closeAll(a.files)
	if err != nil {
		return nil, err
	}
	if a.Info == nil || strings.Contains(a.Info.Base, "/") {
		return nil, jjm.Errorf(jjm.Busy, "the helper of %s says nothing about %s", f.user.owner.User, name)
	}
	return a.Info, nil
}

// Mkdir, MkdirAll, Link, Symlink, Rename, Remove, RemoveAll, Stat and Lstat are
// those of os.Root.
func (f *Files) Mkdir(name string, perm os.FileMode) error {
	return f.act(request{Op: "mkdir", Name: name, Perm: perm})
}
func (f *Files) MkdirAll(name string, perm os.FileMode) error {
	return f.act(request{Op: "mkdirall", Name: name, Perm: perm})
}
func (f *Files) Link(oldname, newname string) error {
	return f.act(request{Op: "link", Name: oldname, To: newname})
}
func (f *Files) Symlink(oldname, newname string) error {
	return f.act(request{Op: "symlink", Name: oldname, To: newname})
}
func (f *Files) Rename(oldname, newname string) error {
	return f.act(request{Op: "rename", Name: oldname, To: newname})
}
func (f *Files) Remove(name string) error               { return f.act(request{Op: "remove", Name: name}) }
func (f *Files) RemoveAll(name string) error            { return f.act(request{Op: "removeall", Name: name}) }
func (f *Files) Stat(name string) (os.FileInfo, error)  { return f.info("stat", name) }
func (f *Files) Lstat(name string) (os.FileInfo, error) { return f.info("lstat", name) }

// Close does nothing: the helper belongs to all areas of the account.
func (f *Files) Close() error { return nil }
