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
	"strconv"
	"syscall"

	"jjm"
)

// FS is what sandbox needs of a rooted file system. *os.Root is one. Names are
// slash-separated and relative to the root; one that leads out of it is
// refused.
type FS interface {
	OpenFile(name string, flag int, perm os.FileMode) (*os.File, error)
	Mkdir(name string, perm os.FileMode) error
	MkdirAll(name string, perm os.FileMode) error
	Link(oldname, newname string) error
	Symlink(oldname, newname string) error
	Rename(oldname, newname string) error
	Remove(name string) error
	RemoveAll(name string) error
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

// OpenArea opens the area below an absolute path, and makes the folder, mode
// 0700, if it is missing.
func OpenArea(root string) (*Area, error) {
	if !filepath.IsAbs(root) {
		return nil, jjm.Errorf(jjm.Invalid, "sandbox: work area %q: want an absolute path", root)
	}
	root = filepath.Clean(root)
	if err := os.MkdirAll(root, dirMode); err != nil {
		return nil, wrap(err, "make work area")
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, wrap(err, "open work area")
	}
	return NewArea(root, r), nil
}

// NewArea makes an area of an FS; root is the absolute path that its own
// processes and workers know it by.
func NewArea(root string, fs FS) *Area { return &Area{root: root, fs: fs} }

// Root is the absolute path of the area.
func (a *Area) Root() string { return a.root }

// Close releases the directory handle.
func (a *Area) Close() error { return a.fs.Close() }

// RemoveBulk removes everything about a bulk. Where this process does it by itself
// it ends with ctx, for there may be any number of files: what is left then is
// removed by another call.
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
	return wrap(a.fs.RemoveAll(BulkDir(tag)), "remove bulk %s", tag)
}

// mostDeep is how deep below a bulk folders are emptied name by name.
const mostDeep = 16

// empty removes what it can of a folder's content.
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

// RemoveTars removes the tars of a grid job, also what is half written of one.
func (a *Area) RemoveTars(grid jjm.GridID) error {
	return wrap(a.fs.RemoveAll(TarDir(grid)), "remove tars of grid job %s", grid)
}

// RemoveGrid removes everything about a grid job, its output tar included.
func (a *Area) RemoveGrid(grid jjm.GridID) error {
	return wrap(a.fs.RemoveAll(gridDir(grid)), "remove grid job %s", grid)
}

// AttemptDir is the folder of an attempt below the area:
// "jobs/17/3xxx/3117/attempt.0". The middle element keeps folders at a thousand
// entries.
func AttemptDir(id jjm.AttemptID) string {
	b := make([]byte, 0, 48)
	b = append(append(b, gridDir(id.Grid)...), '/')
	b = append(strconv.AppendInt(b, int64(id.N/1000), 10), "xxx/"...)
	b = append(strconv.AppendInt(b, int64(id.N), 10), "/attempt."...)
	return string(strconv.AppendInt(b, int64(id.Attempt), 10))
}

// TarDir is the folder of a grid job's tars below the area:
// "jobs/17/output".
func TarDir(grid jjm.GridID) string { return gridDir(grid) + "/output" }

// BulkDir is the folder of a bulk below the area: "bulks/<tag>".
func BulkDir(tag jjm.Tag) string { return "bulks/" + string(tag) }

// OutputPath is the path, below the area, of a file that an attempt reports as
// its output. A name that would leave the attempt's folder is refused.
func OutputPath(id jjm.AttemptID, name string) (string, error) {
	if !fs.ValidPath(name) || name == "." {
		return "", jjm.Errorf(jjm.Invalid, "sandbox: output %.100q of %s: want a relative path without . or ..", name,
			id.LocalID)
	}
	return AttemptDir(id) + "/" + name, nil
}

func gridDir(grid jjm.GridID) string { return "jobs/" + grid.String() }

// checkTag keeps anything but a tag from becoming part of a path.
func checkTag(tag jjm.Tag) error {
	if !tag.Valid() {
		return jjm.Errorf(jjm.Invalid, "sandbox: tag %.40q: want a letter and at most 14 of a-z, 0-9", string(tag))
	}
	return nil
}

// makeBulk makes the folders of a bulk, in the area or on a worker that does not see it.
func (a *Area) makeBulk(tag jjm.Tag) error {
	for _, dir := range []string{"claims", "done", string(progress), string(fragments)} {
		if err := a.fs.MkdirAll(BulkDir(tag)+"/"+dir, dirMode); err != nil {
			return wrap(err, "make folders of bulk %s", tag)
		}
	}
	return nil
}

func posFile(tag jjm.Tag, kind string, pos int32, suffix string) string {
	return BulkDir(tag) + "/" + kind + "/" + strconv.Itoa(int(pos)) + suffix
}

// wrap says what was attempted, and classifies the cause; nil stays nil.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return jjm.Errorf(kindOf(err), "sandbox: %s: %w", fmt.Sprintf(format, args...), err)
}

// kindOf classifies an error of the file system. A full disk, an exceeded
// quota or file size, and trouble of a network file system can pass; they
// left nothing behind.
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

// openRegular opens a file that a job may have made: without waiting for the
// other end of a FIFO, and only if it is a regular file.
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

// notRegular says what a file is instead.
func notRegular(info os.FileInfo) error {
	if info.IsDir() {
		return errors.New("is a directory, not a regular file")
	}
	return fmt.Errorf("is not a regular file but %s", info.Mode().Type())
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

// readLimited reads f to its end; size is a first guess of its length.
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

func tooBig(name string, limit int64) error {
	return jjm.Errorf(jjm.Invalid, "%s is longer than %d bytes", path.Base(name), limit)
}
