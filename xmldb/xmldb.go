// Package xmldb is the XML monitoring database of a site: one record for each grid job, which people, programs and
// gatekeepers can read without contacting the daemon.
//
// A record is a folder with a head (DIR/17/record.xml, at most 64 KiB: states, counts, links) and shards of 1000 local
// jobs (DIR/17/jobs-0000.xml). [DB.Publish] replaces files atomically, first the given shards and then the head;
// readers therefore see complete files that are never older than the head's counts. docs/RECORDS.md describes the
// format, docs/record.xsd is its schema.
//
// # What others write
//
// When jjm rewrites a file of a record, it keeps elements and attributes that others put into the file. While a grid
// job runs, a fragment is safer: a small file that names a job and contains elements for the job ([ParseFragment],
// [DB.AddFragment]), delivered through a drop folder ([Drop]).
//
// # What it promises
//
// The store is the authority. Records can be published again from the store at any time, so nothing is fsynced. An
// unreadable file is set aside (*.bad) and never stops jjm. Only foreign content exists nowhere else. It survives
// restarts of the daemon; a crash of the machine can lose its last seconds.
//
// # What it leaves to others
//
// Other packages decide when to publish which files, and who may write about which job.
package xmldb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"syscall"
	"time"

	"jjm/internal/jjm"
	"jjm/xmldb/head"
)

// Head is the summary of a grid job; package head parses it.
type Head = head.Head

// Input is a dataset that a grid job reads.
type Input = head.Input

// ShardSize is the number of local jobs in a shard.
const ShardSize = head.ShardSize

// Shard is the Nth thousand of local jobs of a grid job: 1000*N to 1000*N+999, in order; the last shard may be shorter.
type Shard struct {
	N    int
	Jobs []jjm.LocalJob
}

// Options are the settings of a DB; the zero value is usable.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Warn reports trouble after which the DB continues, for example a file that was set aside or a fragment that was
	// dropped. Warn takes the arguments of slog.Logger.Warn; if Warn is nil, nothing is reported.
	Warn func(msg string, args ...any)
	// Readers are the uids of accounts that may read every record, in addition to root, the daemon's own account and
	// each record's owner. A change affects the records that are written afterwards.
	Readers []int
}

// DB is the set of records below one folder. One process may write to it; any number may read. Its methods may be
// called from many goroutines: calls for one grid job wait for each other, calls for different grid jobs run at the
// same time.
type DB struct {
	dir  string
	fs   disk
	now  func() time.Time
	warn func(msg string, args ...any)

	own      int   // uid of the daemon's account
	readers  []int // uids of the administrators
	unshared sync.Once

	mu     sync.Mutex
	grids  map[jjm.GridID]*gridState
	cached int // bytes of extras kept in memory for all grid jobs together

	queries sync.Mutex // held while a document is in memory as a tree
}

// disk is the part of a file system that DB needs; *os.Root implements it.
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

// All accounts may pass through folders of this mode; the folder of each grid job determines who may read its record
// (see access.go).
const (
	dirMode  = 0o755
	fileMode = 0o644
)

// Open opens the records below dir. It creates the folder if it is missing. The error is of kind Invalid if dir is not
// an absolute path; otherwise it is an error of the file system.
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
	f := &folder{}
	f.root.Store(root)
	return newDB(dir, f, o), nil
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

// Close closes the folder.
func (db *DB) Close() error { return db.fs.Close() }

// List returns the grid jobs that have a record, in order of their ids. The error means that the folder cannot be read.
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

// Remove removes the record of a grid job with its foreign content. It succeeds if there is no record.
func (db *DB) Remove(grid jjm.GridID) error {
	st := db.lock(grid)
	defer db.unlock(grid, st)
	db.forget(st)
	// The head is removed first, because without the head the remaining files are not a record.
	err := db.fs.Remove(filepath.Join(grid.String(), head.File))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = db.fs.RemoveAll(grid.String())
	}
	if err != nil {
		return jjm.Errorf(diskKind(err), "remove record of grid job %d: %w", grid, err)
	}
	return nil
}

// gridState holds the cached content of one grid job's files, and the lock for these files.
type gridState struct {
	mu   sync.Mutex
	refs int // number of holders and waiters; DB.mu guards it
	// shared is set when the folder exists and its owner has access.
	shared bool
	files  map[string]remembered
}

// remembered is what jjm knows of a file since it last wrote the file. While the stamp of the file stays the same,
// nobody else has changed the file, and jjm need not read it again.
type remembered struct {
	stamp stamp
	// x is the foreign content of the file: the elements that other programs added. It is nil if there is none. known is
	// false if maxCached prevented keeping x in memory; the file must then be read again.
	x     *extras
	known bool
}

// stamp identifies a version of a file.
type stamp struct {
	size  int64
	mtime int64 // the time of the last write, in nanoseconds
	inode uint64
}

// stampOf returns the stamp of a file from its status.
func stampOf(st os.FileInfo) stamp {
	s := stamp{size: st.Size(), mtime: st.ModTime().UnixNano()}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		s.inode = sys.Ino
	}
	return s
}

// lock locks the records of a grid job for the caller.
func (db *DB) lock(grid jjm.GridID) *gridState {
	db.mu.Lock()
	st := db.grids[grid]
	if st == nil {
		st = &gridState{files: make(map[string]remembered)}
		db.grids[grid] = st
	}
	st.refs++
	db.mu.Unlock()
	st.mu.Lock()
	return st
}

// unlock ends the lock of a grid job's records. It drops the state if nobody uses the state and no file is cached.
func (db *DB) unlock(grid jjm.GridID, st *gridState) {
	idle := len(st.files) == 0
	st.mu.Unlock()
	db.mu.Lock()
	defer db.mu.Unlock()
	if st.refs--; st.refs == 0 && idle {
		delete(db.grids, grid)
	}
}

// maxCached is the maximum size, in bytes, of the foreign content that is kept in memory for all files together. The
// foreign content of further files is read from disk when the file is written next.
const maxCached = 64 << 20

// remember notes the stamp of a file and, if maxCached permits, the foreign content of the file.
func (db *DB) remember(st *gridState, name string, s stamp, x *extras) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if old := st.files[name].x; old != nil {
		db.cached -= old.cost
	}
	m := remembered{stamp: s, known: true}
	if !x.empty() {
		x.cost = x.bytes
		m.known = db.cached+x.cost <= maxCached
		if m.known {
			m.x, db.cached = x, db.cached+x.cost
		}
	}
	st.files[name] = m
}

// forgetFile drops the content of one file from memory.
func (db *DB) forgetFile(st *gridState, name string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if x := st.files[name].x; x != nil {
		db.cached -= x.cost
	}
	delete(st.files, name)
}

// forget drops the content of a grid job's files from memory.
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

// diskKind returns the kind of an error of the file system: Gone if the file does not exist, Denied if jjm lacks the
// permission, otherwise Busy, because a later call may succeed, for instance when the disk has space again.
func diskKind(err error) jjm.Kind {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return jjm.Gone
	case errors.Is(err, fs.ErrPermission):
		return jjm.Denied
	}
	return jjm.Busy
}
