package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"jjm/internal/jjm"
)

// FS is a rooted file system; *os.Root implements it. Names are slash-separated and relative to the root; a name that
// leads out of the root is an error.
type FS interface {
	OpenFile(name string, flag int, perm os.FileMode) (*os.File, error)
	Mkdir(name string, perm os.FileMode) error
	MkdirAll(name string, perm os.FileMode) error
	Link(oldname, newname string) error
	Symlink(oldname, newname string) error
	Rename(oldname, newname string) error
	Remove(name string) error
	RemoveAll(name string) error
	Chmod(name string, perm os.FileMode) error
	Stat(name string) (os.FileInfo, error)
	Lstat(name string) (os.FileInfo, error)
	Close() error
}

var _ FS = (*os.Root)(nil)

const (
	dirMode  = 0o700
	fileMode = 0o600
	execMode = 0o700
)

// Area is the work area of one owner.
type Area struct {
	root string
	fs   FS
}

// OpenArea opens the area below an absolute path. It creates the folder with mode 0700 if it is missing. The folder
// above must exist: if that folder is not mounted, nothing is created in its place. The error is of kind Invalid if the
// path is not absolute.
func OpenArea(root string) (*Area, error) {
	if !filepath.IsAbs(root) {
		return nil, jjm.Errorf(jjm.Invalid, "sandbox: work area %q: want an absolute path", root)
	}
	root = filepath.Clean(root)
	if err := os.Mkdir(root, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, wrap(err, "make work area")
	}
	r, err := os.OpenRoot(root + "/.") // never opens a pipe, which would wait for its other end
	if err != nil {
		return nil, wrap(err, "open work area")
	}
	return NewArea(root, r), nil
}

// NewArea returns an area on an FS. root is the absolute path of the area for the owner's processes and for the
// workers.
func NewArea(root string, fs FS) *Area { return &Area{root: root, fs: fs} }

// Root returns the absolute path of the area.
func (a *Area) Root() string { return a.root }

// MakeAttempt creates the folder of an attempt.
func (a *Area) MakeAttempt(id jjm.AttemptID) error {
	return a.wrap(a.fs.MkdirAll(AttemptDir(id), dirMode), "make %s", AttemptDir(id))
}

// Close releases the directory handle.
func (a *Area) Close() error { return a.fs.Close() }

// RemoveBulk removes the folder of a bulk, which may contain any number of files. If ctx ends, RemoveBulk stops with an
// error of kind Busy, and another call removes the remaining files. If a helper process removes the files, ctx is
// ignored.
func (a *Area) RemoveBulk(ctx context.Context, tag jjm.Tag) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	if _, ok := a.fs.(remote); !ok {
		a.empty(ctx, BulkDir(tag), mostDeep)
		if err := ctx.Err(); err != nil {
			return jjm.Errorf(jjm.Busy, "sandbox: remove bulk %s: %w", tag, err)
		}
	}
	return a.wrap(a.fs.RemoveAll(BulkDir(tag)), "remove bulk %s", tag)
}

// mostDeep is the number of nested folders that empty and openUp enter.
const mostDeep = 16

// empty removes as much of a folder's content as possible, until ctx ends. It ignores errors, because the caller then
// calls RemoveAll, which removes the rest.
func (a *Area) empty(ctx context.Context, dir string, deep int) {
	if deep == 0 {
		return
	}
	d, err := a.openDir(dir)
	if err != nil {
		return
	}
	defer d.Close()
	for ctx.Err() == nil {
		names, err := d.Readdirnames(1024)
		for _, name := range names {
			if ctx.Err() != nil {
				return
			}
			if path := dir + "/" + name; a.fs.Remove(path) != nil {
				a.empty(ctx, path, deep-1)
			}
		}
		if err != nil {
			return
		}
	}
}

// RemoveTars removes the tars of a grid job, including partly written tars, except the tars whose names are in keep.
func (a *Area) RemoveTars(grid jjm.GridID, keep ...string) error {
	if len(keep) == 0 {
		return a.wrap(a.fs.RemoveAll(TarDir(grid)), "remove tars of grid job %s", grid)
	}
	d, err := a.openDir(TarDir(grid))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return a.wrap(err, "remove tars of grid job %s", grid)
	}
	defer d.Close()
	for {
		names, err := d.Readdirnames(1024)
		for _, name := range names {
			if slices.Contains(keep, name) {
				continue
			}
			if err := a.fs.RemoveAll(TarDir(grid) + "/" + name); err != nil {
				return a.wrap(err, "remove tars of grid job %s", grid)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return a.wrap(err, "remove tars of grid job %s", grid)
		}
	}
}

// HasGrid reports whether the folder of a grid job exists. It also returns true if an error prevents the check.
func (a *Area) HasGrid(grid jjm.GridID) bool {
	_, err := a.fs.Stat(GridDir(grid))
	return !errors.Is(err, fs.ErrNotExist)
}

// AttemptDir returns the folder of an attempt below the area: "jobs/17/3xxx/3117/attempt.0". The element 3xxx limits
// folders to a thousand entries.
func AttemptDir(id jjm.AttemptID) string {
	b := make([]byte, 0, 48)
	b = append(append(b, GridDir(id.Grid)...), '/')
	b = append(strconv.AppendInt(b, int64(id.N/1000), 10), "xxx/"...)
	b = append(strconv.AppendInt(b, int64(id.N), 10), "/attempt."...)
	return string(strconv.AppendInt(b, int64(id.Attempt), 10))
}

// TarDir returns the folder of a grid job's tars below the area: "jobs/17/output".
func TarDir(grid jjm.GridID) string { return GridDir(grid) + "/output" }

// BulkDir returns the folder of a bulk below the area: "bulks/<tag>".
func BulkDir(tag jjm.Tag) string { return "bulks/" + string(tag) }

// OutputPath returns the path, below the area, of a file that an attempt reports as its output. The error is of kind
// Invalid if the name would lead out of the attempt's folder.
func OutputPath(id jjm.AttemptID, name string) (string, error) {
	if !fs.ValidPath(name) || name == "." {
		return "", jjm.Errorf(jjm.Invalid, "sandbox: output %.100q of %s: want a relative path without . or ..", name,
			id.LocalID)
	}
	return AttemptDir(id) + "/" + name, nil
}

// GridDir returns the folder of a grid job below the area: "jobs/17".
func GridDir(grid jjm.GridID) string { return "jobs/" + grid.String() }

// checkTag returns an error of kind Invalid unless tag is valid, because tags become parts of paths.
func checkTag(tag jjm.Tag) error {
	if !tag.Valid() {
		return jjm.Errorf(jjm.Invalid, "sandbox: tag %.40q: want a letter and at most 14 of a-z, 0-9", string(tag))
	}
	return nil
}

// makeBulk creates the folders of a bulk, in the area or on a worker that does not see the area.
func (a *Area) makeBulk(tag jjm.Tag) error {
	for _, dir := range []string{"claims", "done", string(progress), string(fragments)} {
		if err := a.fs.MkdirAll(BulkDir(tag)+"/"+dir, dirMode); err != nil {
			return a.wrap(err, "make folders of bulk %s", tag)
		}
	}
	return nil
}

// posFile returns the path of the file for a position, in the subfolder kind of a bulk.
func posFile(tag jjm.Tag, kind string, pos int32, suffix string) string {
	return BulkDir(tag) + "/" + kind + "/" + strconv.Itoa(int(pos)) + suffix
}

// wrap returns an error in this area with the attempted action and a kind; nil stays nil. It makes the path in the
// error absolute, because people who read the error do not know the area's directory handle.
func (a *Area) wrap(err error, format string, args ...any) error {
	if at, ok := err.(*fs.PathError); ok && !filepath.IsAbs(at.Path) && strings.Contains(at.Path, "/") {
		err = &fs.PathError{Op: at.Op, Path: filepath.Join(a.root, at.Path), Err: at.Err}
	}
	return wrap(err, format, args...)
}

// wrap returns an error with the attempted action and a kind; nil stays nil.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return jjm.Errorf(kindOf(err), "sandbox: %s: %w", fmt.Sprintf(format, args...), err)
}

// kindOf returns the kind of an error of the file system. The kind is Busy if a retry can help: a full disk, an
// exceeded quota or file size, an error of a network file system.
func kindOf(err error) jjm.Kind {
	if k := jjm.KindOf(err); k != jjm.Unclassified {
		return k
	}
	for _, e := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EROFS,
		syscall.EIO, syscall.ESTALE, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return jjm.Busy
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return jjm.Gone
	case errors.Is(err, fs.ErrPermission):
		return jjm.Denied
	}
	return jjm.Unclassified
}

// openRegular opens a file that a job may have made. It does not block on a FIFO, and returns an error if the file is
// not regular.
func (a *Area) openRegular(name string) (*os.File, os.FileInfo, error) {
	f, err := a.fs.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		f.Close()
		return nil, nil, &fs.PathError{Op: "open", Path: name, Err: notRegular(info)}
	}
	return f, info, nil
}

// notRegular returns an error that names the kind of a file that is not regular.
func notRegular(info os.FileInfo) error {
	return fmt.Errorf("is a %s, not a regular file", jjm.FileKind(info.Mode()))
}

// readBounded reads a regular file of at most limit bytes.
func (a *Area) readBounded(name string, limit int64) ([]byte, error) {
	f, info, err := a.openRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readLimited(f, info.Size(), limit)
}

// readLimited reads f to its end, at most limit bytes. size is the length of f when it was opened; f may grow.
func readLimited(f *os.File, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, tooBig(f.Name(), limit)
	}
	b := make([]byte, 0, size+512)
	for {
		n, err := f.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if int64(len(b)) > limit {
			return nil, tooBig(f.Name(), limit)
		}
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
	}
}

// tooBig returns the error for a file that exceeds its limit.
func tooBig(name string, limit int64) error {
	return jjm.Errorf(jjm.Invalid, "%s is longer than %d bytes", path.Base(name), limit)
}
