package asuser

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
	"jjm/internal/sys/acl"
	"jjm/internal/sys/diskuse"
	"jjm/internal/sys/rights"
	"jjm/internal/sys/wary"
)

// Files is the file system below one folder. The account's helper carries out its operations. Files implements
// sandbox.FS. Names never lead out of the folder, even if the account changes the folder meanwhile. The errors are the
// errors of os.Root, or of kind Busy if the helper does not answer.
type Files struct {
	user *User
	root string

	mu    sync.Mutex
	known int // the mount on which the folder was when it was last opened
}

// Remote tells package sandbox that this process must not open the files itself; only the helper may.
func (f *Files) Remote() {}

// Area creates the folder at an absolute path, with mode 0700 and owned by the account, and returns the file system
// below the folder. All folders above must belong to root and be writable only by root, so that no account can replace
// the folder. The error is of kind Denied if the account is unknown, Invalid if others can write a folder above,
// Conflict if the folder belongs to another account, and Busy in all other cases.
func (u *User) Area(root string) (*Files, error) {
	fail := func(kind jjm.Kind, err error) (*Files, error) {
		return nil, jjm.Errorf(kind, "work area %s of %s: %w", root, u.owner.User, err)
	}
	if err := checkParents(filepath.Dir(root)); err != nil {
		return fail(jjm.Invalid, err)
	}
	if _, err := lookup(context.Background(), u.owner); err != nil {
		return fail(jjm.KindOf(err), err)
	}
	if err := os.Mkdir(root, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fail(jjm.Busy, err)
	}
	f := &Files{user: u, root: root}
	home, look, err := f.openRoot()
	if err != nil {
		return fail(jjm.Busy, err)
	}
	defer home.Close()
	switch look.UID {
	case u.owner.UID:
		return f, nil
	case 0: // just created, or created by a daemon that died before the chown
		name := fmt.Sprintf("/proc/self/fd/%d", home.Fd()) // the checked folder, even if the path now leads to another folder
		if err := errors.Join(os.Chmod(name, 0o700), os.Chown(name, u.owner.UID, u.owner.GID)); err != nil {
			return fail(jjm.Busy, err)
		}
		return f, nil
	}
	return fail(jjm.Conflict, fmt.Errorf(
		"it belongs to uid %d: with run_as = \"owner\" it must be the owner's; let the old grid jobs end and remove it",
		look.UID))
}

// openRoot opens the folder with O_PATH, which never calls the folder's file system, because the account may have
// mounted a file system there.
func (f *Files) openRoot() (*os.File, wary.Look, error) {
	fd, err := unix.Open(f.root, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, wary.Look{}, &fs.PathError{Op: "open", Path: f.root, Err: err}
	}
	home := os.NewFile(uintptr(fd), f.root)
	look, err := f.noteMount(fd)
	if err != nil {
		home.Close()
		return nil, wary.Look{}, &fs.PathError{Op: "open", Path: f.root, Err: err}
	}
	return home, look, nil
}

// noteMount stores the mount on which the folder is. It returns an error if an account made the mount.
func (f *Files) noteMount(fd int) (wary.Look, error) {
	m, err := wary.MountOf(fd)
	if err != nil {
		return wary.Look{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if m.ID != f.known {
		if err := wary.CheckMount(m.ID); err != nil {
			return wary.Look{}, err
		}
		f.known = m.ID
	}
	return wary.At(fd)
}

// mount returns the mount that noteMount stored last.
func (f *Files) mount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known
}

// checkParents returns an error unless only root can replace dir and each folder above it.
func checkParents(dir string) error {
	return rights.Held(dir, rights.Holders{NoLinks: true})
}

// ask sends one request about files to the helper and waits for its answer. If the answer takes longer than Limits.Act
// (30 times that for removeall), ask ends the helper and returns an error of kind Busy. The caller closes
// the files of the answer, also after an error.
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
			l.end(jjm.Errorf(jjm.Busy, "the helper of %s takes longer than %s for %s", l.who, jjm.HowLong(limit), req.Op), true)
		}
		return answer{}, jjm.Errorf(jjm.Busy, "%s %s: %w", req.Op, req.Name, err)
	}
	return a, a.Err.err()
}

// OpenFile opens a regular file, or a folder with O_DIRECTORY.
func (f *Files) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	mount := f.mount()
	g, err := f.open(name, flag, perm, mount)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return g, err
	}
	home, _, herr := f.openRoot() // there may be another mount on the folder now
	if herr != nil {
		return nil, jjm.Errorf(jjm.Busy, "work area of %s: %w: %w", f.user.owner.User, herr, err)
	}
	home.Close()
	if now := f.mount(); now != mount {
		return f.open(name, flag, perm, now)
	}
	return nil, err
}

// open opens a file through the helper and checks that it is on the given mount.
func (f *Files) open(name string, flag int, perm os.FileMode, mount int) (*os.File, error) {
	a, err := f.ask(request{Op: "open", Name: name, Flag: flag, Perm: perm, Mount: mount})
	if err == nil {
		err = f.checkOne(a.files, mount, flag)
	}
	if err != nil {
		closeAll(a.files)
		return nil, err
	}
	return renamed(a.files[0], filepath.Join(f.root, name)), nil
}

// renamed returns the open file under the path that people know, for error texts.
func renamed(file *os.File, name string) *os.File {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return file
	}
	file.Close()
	return os.NewFile(uintptr(fd), name)
}

// checkOne checks the files of an answer that must have exactly one.
func (f *Files) checkOne(files []*os.File, mount, flag int) error {
	if len(files) != 1 {
		return jjm.Errorf(jjm.Busy, "the helper of %s passed %d files: want one", f.user.owner.User, len(files))
	}
	return f.check(files[0], mount, flag)
}

// check returns an error if an open file is not what was requested: if it is on another mount, was opened with other
// flags, has another type, or belongs to another account. check does not rely on the guard.
func (f *Files) check(file *os.File, mount, flag int) error {
	fail := func(format string, args ...any) error {
		return &fs.PathError{Op: "open", Path: file.Name(), Err: fmt.Errorf(format, args...)}
	}
	m, err := wary.MountOf(int(file.Fd()))
	if err != nil {
		return fail("%w", err)
	}
	if m.ID != mount {
		return fail("lies on another file system than the work area")
	}
	look, err := wary.At(int(file.Fd()))
	kind := look.Kind()
	switch {
	case err != nil:
		return fail("%w", err)
	case m.Flags&unix.O_PATH != 0 || m.Flags&unix.O_ACCMODE != flag&unix.O_ACCMODE:
		return fail("is opened with flags %#o: want %#o", m.Flags, flag)
	case flag&unix.O_DIRECTORY == 0 && kind != unix.S_IFREG:
		return fail("is not a regular file")
	case flag&unix.O_DIRECTORY != 0 && kind != unix.S_IFDIR:
		return fail("is no folder")
	case look.UID != f.user.owner.UID:
		return fail("belongs to uid %d: want a file of %s", look.UID, f.user.owner.User)
	}
	return nil
}

// Grant sets the rights of accounts to a file or folder. The helper sets the access list, so Grant fails for files of
// other accounts. The error is acl.ErrUnsupported if the file system has no access lists.
func (f *Files) Grant(name string, folder bool, access acl.Perm, uids ...int) error {
	err := f.act(request{Op: "grant", Name: name, Folder: folder, Access: access, UIDs: uids})
	if errors.Is(err, syscall.EOPNOTSUPP) {
		return acl.ErrUnsupported
	}
	return err
}

// Usage counts the files and bytes below a folder of the area and stops at the limits in most. It takes at most half of
// Limits.Act, so that the helper answers in time.
func (f *Files) Usage(dir string, most diskuse.Most) (diskuse.Use, error) {
	if half := f.user.pool.limits.Act / 2; most.Time == 0 || most.Time > half {
		most.Time = half
	}
	a, err := f.ask(request{Op: "usage", Name: dir, MaxBytes: most.Bytes, MaxFiles: most.Files, Limit: most.Time})
	closeAll(a.files)
	if err != nil {
		return diskuse.Use{}, err
	}
	if a.Use == nil {
		return diskuse.Use{}, jjm.Errorf(jjm.Busy, "the helper of %s returned no disk usage", f.user.owner.User)
	}
	return *a.Use, nil
}

// act sends a request whose answer has only an error.
func (f *Files) act(req request) error {
	a, err := f.ask(req)
	closeAll(a.files)
	return err
}

// info sends a request whose answer describes a file.
func (f *Files) info(op, name string) (os.FileInfo, error) {
	a, err := f.ask(request{Op: op, Name: name})
	closeAll(a.files)
	if err != nil {
		return nil, err
	}
	if a.Info == nil || strings.Contains(a.Info.Base, "/") {
		return nil, jjm.Errorf(jjm.Busy, "the helper of %s returned no file information about %s", f.user.owner.User, name)
	}
	return a.Info, nil
}

// Mkdir, MkdirAll, Link, Symlink, Rename, Remove, RemoveAll, Chmod, Stat and Lstat behave like the methods of os.Root.
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
func (f *Files) Remove(name string) error    { return f.act(request{Op: "remove", Name: name}) }
func (f *Files) RemoveAll(name string) error { return f.act(request{Op: "removeall", Name: name}) }
func (f *Files) Chmod(name string, perm os.FileMode) error {
	return f.act(request{Op: "chmod", Name: name, Perm: perm})
}
func (f *Files) Stat(name string) (os.FileInfo, error)  { return f.info("stat", name) }
func (f *Files) Lstat(name string) (os.FileInfo, error) { return f.info("lstat", name) }

// Close does nothing: the helper serves all areas of the account.
func (f *Files) Close() error { return nil }
