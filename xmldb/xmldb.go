// Package xmldb is the XML monitoring database of a site: one record per grid
// job, for people, programs and gatekeepers to read without asking the daemon.
//
// A record is a folder with a head (DIR/17/record.xml, at most 64 KiB: states,
// counts, links) and shards of 1000 local jobs (DIR/17/jobs-0000.xml).
// [DB.Publish] replaces files atomically, shards first, and only those it is
// given, so a reader sees whole files, never older than the head says.
// docs/RECORDS.md describes the format, docs/record.xsd is its schema.
//
// # What others write
//
// Records are extensible. Elements and attributes that others put into a file
// stay when jjm rewrites it. The safer way for a running grid job is a
// fragment: a small file that names a job and holds elements for it
// ([ParseFragment], [DB.AddFragment]), brought through a drop folder ([Drop]).
//
// # What it promises
//
// The store is the authority and records are its print: they can be published
// anew at any time, so nothing is fsynced, and a file on disk that cannot be
// read is set aside (*.bad), never a reason to stop. Foreign content lives
// only here. It survives restarts of the daemon; a crash of the machine can
// take the last seconds of it.
package xmldb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"syscall"
	"time"

	"jjm"
	"jjm/xmldb/head"
)

// Head is the aggregate of a grid job; package head reads it back.
type Head = head.Head

// Input is a dataset that a grid job reads.
type Input = head.Input

// ShardSize is the number of local jobs in a shard.
const ShardSize = 1000

// Shard is the Nth thousand of local jobs of a grid job: 1000*N to 1000*N+999,
// in order; the last may be shorter.
type Shard struct {
	N    int
	Jobs []jjm.LocalJob
}

// Options of a DB.
type Options struct {
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Warn reports trouble that stops nothing: a file set aside, a fragment
	// dropped. The arguments are those of slog.Logger.Warn.
	Warn func(msg string, args ...any)
	// Readers are accounts that may read every record, besides root, the
	// daemon's own and each record's owner. A change concerns records that are
	// written from then on.
	Readers []int
}

// DB is the records below one folder. One process may write to it; any number
// may read. Its methods may be called from many goroutines: for one grid job
// they wait for each other, for different ones they run at once.
type DB struct {
	dir  string
	fs   disk
	now  func() time.Time
	warn func(msg string, args ...any)

	own      int   // the daemon's account
	readers  []int // administrators
	unshared sync.Once

	mu     sync.Mutex
	grids  map[jjm.GridID]*gridState
	cached int // bytes of extras kept in memory, over all grid jobs

	queries sync.Mutex // held while a document is a tree in memory
}

// disk is what DB needs of a file system; *os.Root satisfies it.
type disk interface {
	OpenFile(name string, flag int, perm os.FileMode) (*os.File, error)
	Mkdir(name string, perm os.FileMode) error
	Chmod(name string, mode os.FileMode) error
	Link(oldname, newname string) error
	Rename(oldname, newname string) error
	Remove(name string) error
	RemoveAll(name string) error
	Lstat(name string) (os.FileInfo, error)
	Close() error
}

var _ disk = (*os.Root)(nil)

// Folders that everybody may pass through; who may read a record is said by the
// folder of its grid job, see access.go.
const (
	dirMode  = 0o755
	fileMode = 0o644
)

// Open opens the records below dir, an absolute path; it is made if missing.
func Open(dir string, o Options) (*DB, error) {
	if !filepath.IsAbs(dir) {
		return nil, jjm.Errorf(jjm.Invalid, "open records: %q: want an absolute path", dir)
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, jjm.Errorf(diskKind(err), "open records: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, jjm.Errorf(diskKind(err), "open records: %w", err)
	}
	return newDB(dir, root, o), nil
}

func newDB(dir string, fs disk, o Options) *DB {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Warn == nil {
		o.Warn = func(string, ...any) {}
	}
	return &DB{dir: dir, fs: fs, now: o.Now, warn: o.Warn, own: os.Geteuid(), readers: o.Readers,
		grids: make(map[jjm.GridID]*gridState)}
}

// Close ends the use of the folder.
func (db *DB) Close() error { return db.fs.Close() }

// shardFile is the name of a shard within the folder of its grid job.
func shardFile(n int) string { return fmt.Sprintf("jobs-%04d.xml", n) }

// List returns the grid jobs that have a record, in order of their ids.
func (db *DB) List() ([]jjm.GridID, error) {
	d, err := db.fs.OpenFile(".", os.O_RDONLY, 0)
	if err != nil {
		return nil, jjm.Errorf(diskKind(err), "list records: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, jjm.Errorf(diskKind(err), "list records in %s: %w", db.dir, err)
	}
	var ids []jjm.GridID
	for _, name := range names {
		ref, err := jjm.ParseRef(name)
		if err != nil || ref.Locals {
			continue
		}
		if st, err := db.fs.Lstat(filepath.Join(name, head.File)); err == nil && st.Mode().IsRegular() {
			ids = append(ids, ref.Grid)
		}
	}
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	return ids, nil
}

// Remove removes the record of a grid job with all that others put into it.
// There being none is a success.
func (db *DB) Remove(grid jjm.GridID) error {
	st := db.lock(grid)
	defer db.unlock(grid, st)
	db.forget(st)
	// The head goes first: without it the rest is no record.
	err := db.fs.Remove(filepath.Join(grid.String(), head.File))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = db.fs.RemoveAll(grid.String())
	}
	if err != nil {
		return jjm.Errorf(diskKind(err), "remove record of grid job %d: %w", grid, err)
	}
	return nil
}

// gridState is what is remembered of the files of one grid job.
type gridState struct {
	mu   sync.Mutex
	refs int // holders and waiters, guarded by DB.mu
	// shared is set once its folder is there and its owner is let in.
	shared bool
	files  map[string]memo
}

// memo is what a file held when it was last written. While its stamp is
// unchanged, it need not be read again.
type memo struct {
	stamp stamp
	// x is its extras; nil if it has none. Known is false if they were too
	// many to keep in memory.
	x     *extras
	known bool
}

// stamp tells one version of a file from another.
type stamp struct {
	size  int64
	mtime int64 // nanoseconds
	inode uint64
}

func stampOf(st os.FileInfo) stamp {
	s := stamp{size: st.Size(), mtime: st.ModTime().UnixNano()}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		s.inode = sys.Ino
	}
	return s
}

// lock waits for the grid job.
func (db *DB) lock(grid jjm.GridID) *gridState {
	db.mu.Lock()
	st := db.grids[grid]
	if st == nil {
		st = &gridState{files: make(map[string]memo)}
		db.grids[grid] = st
	}
	st.refs++
	db.mu.Unlock()
	st.mu.Lock()
	return st
}

func (db *DB) unlock(grid jjm.GridID, st *gridState) {
	idle := len(st.files) == 0
	st.mu.Unlock()
	db.mu.Lock()
	defer db.mu.Unlock()
	if st.refs--; st.refs == 0 && idle {
		delete(db.grids, grid)
	}
}

// maxCached bounds the extras kept in memory; what exceeds it is read from
// disk at the next writing.
const maxCached = 64 << 20

// remember notes what a file holds.
func (db *DB) remember(st *gridState, name string, s stamp, x *extras) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if old := st.files[name].x; old != nil {
		db.cached -= old.cost
	}
	m := memo{stamp: s, known: true}
	if !x.empty() {
		x.cost = x.bytes
		m.known = db.cached+x.cost <= maxCached
		if m.known {
			m.x, db.cached = x, db.cached+x.cost
		}
	}
	st.files[name] = m
}

// forgetFile drops what is remembered of one file.
func (db *DB) forgetFile(st *gridState, name string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if x := st.files[name].x; x != nil {
		db.cached -= x.cost
	}
	delete(st.files, name)
}

// forget drops all that is remembered of a grid job.
func (db *DB) forget(st *gridState) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, m := range st.files {
		if m.x != nil {
			db.cached -= m.x.cost
		}
	}
	clear(st.files)
}

// diskKind classifies an error of the file system: one that more room or
// another mount can heal is Busy.
func diskKind(err error) jjm.Kind {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return jjm.Gone
	case errors.Is(err, fs.ErrPermission):
		return jjm.Denied
	}
	return jjm.Busy
}
