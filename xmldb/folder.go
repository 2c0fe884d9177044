package xmldb

import (
	"os"
	"path/filepath"
	"sync/atomic"

	"jjm/internal/jjm"
	"jjm/xmldb/head"
)

// folder is the disk of a DB: the folder of the records. Reopen replaces its root while other goroutines use it.
type folder struct{ root atomic.Pointer[os.Root] }

var _ disk = (*folder)(nil)

func (f *folder) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	return f.root.Load().OpenFile(name, flag, perm)
}

func (f *folder) Mkdir(name string, perm os.FileMode) error { return f.root.Load().Mkdir(name, perm) }
func (f *folder) Chmod(name string, mode os.FileMode) error { return f.root.Load().Chmod(name, mode) }
func (f *folder) Link(oldname, newname string) error        { return f.root.Load().Link(oldname, newname) }
func (f *folder) Rename(oldname, newname string) error      { return f.root.Load().Rename(oldname, newname) }
func (f *folder) Remove(name string) error                  { return f.root.Load().Remove(name) }
func (f *folder) RemoveAll(name string) error               { return f.root.Load().RemoveAll(name) }
func (f *folder) Lstat(name string) (os.FileInfo, error)    { return f.root.Load().Lstat(name) }
func (f *folder) Close() error                              { return f.root.Load().Close() }

// Reopen opens the folder that the path of the records names now, after somebody replaced the folder. It drops what is
// cached about the files of the previous folder.
func (db *DB) Reopen() error {
	root, err := os.OpenRoot(db.dir)
	if err != nil {
		return jjm.Errorf(diskKind(err), "open records: %w", err)
	}
	if f, ok := db.fs.(*folder); ok {
		f.root.Store(root) // the old root is closed when it is no longer used
	}
	db.mu.Lock()
	grids := make([]jjm.GridID, 0, len(db.grids))
	for id := range db.grids {
		grids = append(grids, id)
	}
	db.mu.Unlock()
	for _, id := range grids {
		st := db.lock(id)
		db.forget(st)
		db.unlock(id, st)
	}
	return nil
}

// Has reports whether the record of a grid job with the given number of local jobs has its head and all its shards.
func (db *DB) Has(grid jjm.GridID, locals int) bool {
	names := []string{head.File}
	for n := 0; n*ShardSize < locals; n++ {
		names = append(names, head.ShardFile(n))
	}
	for _, name := range names {
		if st, err := db.fs.Lstat(filepath.Join(grid.String(), name)); err != nil || !st.Mode().IsRegular() {
			return false
		}
	}
	return true
}
