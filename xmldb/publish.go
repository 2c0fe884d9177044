package xmldb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"syscall"

	"jjm/internal/jjm"
	"jjm/xmldb/head"
)

// Publish writes the given shards of a grid job's record, and then its head; other shards stay unchanged. Each file is
// replaced atomically and keeps its foreign content; fragments that wait for these files are merged.
//
// After an error the head and the shards that were not yet written are still the old ones; another Publish repairs
// that. The error is of kind Internal if a shard contains foreign local jobs or has gaps, Denied or Busy for trouble of
// the file system, and Ambiguous if ctx ended during the call.
func (db *DB) Publish(ctx context.Context, h Head, shards iter.Seq[Shard]) error {
	grid := h.Grid.ID
	st := db.lock(grid)
	defer db.unlock(grid, st)
	if h.Written == 0 {
		h.Written = jjm.At(db.now())
	}
	if err := db.makeFolder(st, grid, h.Grid.Owner.UID); err != nil {
		return err
	}
	var buf []byte // all files are encoded in this buffer
	for s := range shards {
		if ctx.Err() != nil {
			return jjm.Errorf(jjm.Ambiguous, "publish record of grid job %d: shard %d: %w", grid, s.N,
				jjm.Plainly(ctx.Err()))
		}
		if err := checkShard(grid, s); err != nil {
			return jjm.Errorf(jjm.Internal, "publish record of grid job %d: %w", grid, err)
		}
		f := file{name: head.ShardFile(s.N), root: "localjobs", layout: shardLayout, pending: pendingFile(s.N)}
		f.encode = func(b []byte, x *extras) ([]byte, error) {
			return appendShard(b, grid, s, h.Written, x), nil
		}
		if err := db.rewrite(grid, st, f, &buf); err != nil {
			return err
		}
	}
	f := file{name: head.File, root: "gridjob", layout: headLayout, pending: pendingFile(headShard)}
	f.encode = func(b []byte, x *extras) ([]byte, error) { return encodeHead(b, &h, x) }
	if err := db.rewrite(grid, st, f, &buf); err != nil {
		return err
	}
	if h.Grid.Status.Final() {
		db.forget(st) // memory must not grow with the number of ended grid jobs
	}
	return nil
}

// checkShard returns an error if a shard contains foreign local jobs or has gaps.
func checkShard(grid jjm.GridID, s Shard) error {
	if s.N < 0 || len(s.Jobs) > ShardSize {
		return fmt.Errorf("shard %d of %d local jobs: want 0 or more, of at most %d", s.N, len(s.Jobs), ShardSize)
	}
	for i := range s.Jobs {
		want := jjm.LocalID{Grid: grid, N: int32(s.N*ShardSize + i)}
		if s.Jobs[i].ID != want {
			return fmt.Errorf("shard %d: local job %v at the place of %v", s.N, s.Jobs[i].ID, want)
		}
	}
	return nil
}

// errTooLong means that a head does not fit into its maximum size, whatever is cut.
var errTooLong = fmt.Errorf("the head exceeds %d bytes even after all cuts: its paths are too long", head.MaxBytes)

// encodeHead encodes a head within its maximum size. It cuts long texts and lists only as far as necessary for jjm's
// own content alone to fit. It then removes foreign elements, the oldest first, until everything fits. The error is
// errTooLong if jjm's own content cannot be made to fit.
func encodeHead(b []byte, h *head.Head, x *extras) ([]byte, error) {
	for _, lim := range headLimits() {
		if own := appendHead(nil, h, nil, lim); len(own)+len(` truncated="true"`) > head.MaxBytes {
			continue
		}
		full := appendHead(b, h, x, lim)
		if len(full) <= head.MaxBytes {
			return full, nil
		}
		x.shrink(len(full) - head.MaxBytes + len(` truncated="true"`))
		if full = appendHead(b, h, x, lim); len(full) <= head.MaxBytes {
			return full, nil
		}
		x.shrink(x.bytes + 1)
		return appendHead(b, h, x, lim), nil
	}
	return nil, errTooLong
}

// file describes one file of a record that is to be written: its place, its structure, and how its content is encoded.
type file struct {
	name    string // name within the folder of the grid job
	root    string
	layout  func() *element
	pending string // name of the file with the fragments that wait for this file
	encode  func(b []byte, x *extras) ([]byte, error)
}

// rewrite writes a file of a record and keeps the foreign content of the file. After an error the old file is intact.
func (db *DB) rewrite(grid jjm.GridID, st *gridState, f file, buf *[]byte) error {
	err := db.tryRewrite(st, grid.String(), f, buf)
	if err == nil {
		return nil
	}
	// The content in memory may be newer than the content on disk.
	db.forgetFile(st, f.name)
	kind := diskKind(err)
	if errors.Is(err, errTooLong) {
		kind = jjm.Internal
	}
	return jjm.Errorf(kind, "publish record of grid job %d: %s: %w%s (the file published before is intact)",
		grid, filepath.Join(db.dir, grid.String(), f.name), err, remedy(err))
}

// maxTries is the number of attempts to write a file before a concurrent change is overwritten, because an editor that
// writes all the time must not block the record.
const maxTries = 3

// tryRewrite loads the foreign content of a file, merges the waiting fragments into it, and writes the file. If another
// program replaced the file meanwhile, tryRewrite starts again, so that this program's change is kept; at the attempt
// maxTries it overwrites the change.
func (db *DB) tryRewrite(st *gridState, dir string, f file, buf *[]byte) error {
	for try := 1; ; try++ {
		x, seen, err := db.load(st, dir, f)
		if err != nil {
			return err
		}
		waiting := db.readPending(dir, f.pending)
		x = db.mergePending(x, waiting, f)
		if *buf, err = f.encode((*buf)[:0], x); err != nil {
			return err
		}
		same := func() bool { return try >= maxTries || db.stamp(filepath.Join(dir, f.name)) == seen }
		s, done, err := db.replace(dir, f.name, *buf, same)
		if err != nil {
			return err
		}
		if !done {
			db.forgetFile(st, f.name)
			continue
		}
		db.remember(st, f.name, s, x)
		db.dropPending(dir, f.pending, waiting)
		return nil
	}
}

// remedy returns the remedy for an error, for people; "" if none is known.
func remedy(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ": make room there"
	case errors.Is(err, syscall.EROFS):
		return ": mount it writable"
	case errors.Is(err, fs.ErrPermission):
		return ": give the folder to the daemon's account"
	}
	return ""
}

// load returns the foreign content of the file on disk, and the file's stamp. If the file is not a readable record,
// load keeps a copy of it as *.bad and returns no foreign content, so that the file is replaced.
func (db *DB) load(st *gridState, dir string, f file) (*extras, stamp, error) {
	path := filepath.Join(dir, f.name)
	seen := db.stamp(path)
	if seen == (stamp{}) {
		return nil, seen, nil
	}
	if m := st.files[f.name]; m.known && m.stamp == seen {
		return m.x, seen, nil
	}
	data, seen, err := db.read(path, head.MaxShard)
	var x *extras
	if err == nil {
		x, err = loadExtras(data, f.root, f.layout())
	}
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return x, seen, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EIO):
		return nil, seen, err
	}
	db.warn("a file of a record cannot be read: it is replaced, and a copy is kept",
		"file", filepath.Join(db.dir, path), "copy", f.name+".bad", "error", err)
	return nil, seen, db.setAside(path)
}

// stamp returns the stamp of a file; zero if there is none.
func (db *DB) stamp(path string) stamp {
	st, err := db.fs.Lstat(path)
	if err != nil {
		return stamp{}
	}
	return stampOf(st)
}

// read reads a regular file of at most limit bytes, and returns its stamp. Opening a fifo does not wait for its other
// end. The error wraps fs.ErrNotExist if there is no file.
func (db *DB) read(path string, limit int64) ([]byte, stamp, error) {
	before, err := db.fs.Lstat(path)
	if err != nil {
		return nil, stamp{}, err
	}
	seen := stampOf(before)
	if !before.Mode().IsRegular() {
		return nil, seen, fmt.Errorf("%s: not a regular file", path)
	}
	f, err := db.fs.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, seen, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, seen, err
	}
	if seen = stampOf(st); !st.Mode().IsRegular() || st.Size() > limit {
		return nil, seen, fmt.Errorf("%s: not a regular file of at most %d bytes", path, limit)
	}
	data := make([]byte, st.Size())
	_, err = io.ReadFull(f, data)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%s: the file was truncated while it was read", path)
	}
	return data, seen, err
}

// setAside keeps a copy of a file as *.bad, in place of an older copy. If the copy can be made by a link, the file also
// stays at its place until it is replaced.
func (db *DB) setAside(path string) error {
	bad := path + ".bad"
	if err := db.fs.RemoveAll(bad); err != nil {
		return err
	}
	if st, err := db.fs.Lstat(path); err == nil && st.Mode().IsRegular() && db.fs.Link(path, bad) == nil {
		return nil
	}
	return db.fs.Rename(path, bad)
}

// replace writes a file under a temporary name and then renames it. Immediately before the rename it calls same. If
// same returns false, another program has changed the file at that path since it was read; replace then leaves that
// file as it is, and done is false. No temporary file is left. s is the stamp of the new file.
func (db *DB) replace(dir, name string, b []byte, same func() bool) (s stamp, done bool, err error) {
	tmp := filepath.Join(dir, "."+name+".tmp")
	defer func() {
		if !done {
			_ = db.fs.Remove(tmp)
		}
	}()
	if err := db.fs.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, false, err
	}
	f, err := db.fs.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return s, false, err
	}
	_, err = f.Write(b)
	st, errStat := f.Stat()
	if err = errors.Join(err, errStat, f.Close()); err != nil {
		return s, false, err
	}
	if st.Mode().Perm() != fileMode { // the umask removed permissions
		if err := db.fs.Chmod(tmp, fileMode); err != nil {
			return s, false, err
		}
	}
	if !same() {
		return s, false, nil
	}
	if err := db.fs.Rename(tmp, filepath.Join(dir, name)); err != nil {
		return s, false, err
	}
	return stampOf(st), true, nil
}
