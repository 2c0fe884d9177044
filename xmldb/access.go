package xmldb

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"jjm/internal/jjm"
	"jjm/internal/sys/acl"
)

// gridMode closes the folder of a grid job to all but the daemon and those in its access
// list: its owner, whose clients read the head while the daemon is down, and the site's
// administrators. The files in the folder need no lists of their own, because they are
// reached only through it.
const gridMode = 0o700

// makeFolder makes the folder of a grid job and lets its owner in. An existing folder may
// have been left without access list, so the list is set once in the life of a daemon.
func (db *DB) makeFolder(st *gridState, grid jjm.GridID, owner int) error {
	name := grid.String()
	err := db.fs.Mkdir(name, gridMode)
	if errors.Is(err, fs.ErrExist) && st.shared {
		return nil
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = db.fs.Chmod(name, gridMode) // whatever the umask is, or somebody changed
	}
	if err != nil {
		return jjm.Errorf(diskKind(err), "publish record of grid job %d in %s: %w", grid, db.dir, err)
	}
	if err := db.share(name, owner); err != nil {
		db.warnUnshared(err)
		return nil // the folder stays closed, which is safe
	}
	st.shared = true
	return nil
}

// share lets the owner and the administrators read below a folder.
func (db *DB) share(name string, owner int) error {
	readers := slices.DeleteFunc(append([]int{owner}, db.readers...), func(uid int) bool {
		return uid == 0 || uid == db.own
	})
	if len(readers) == 0 {
		return nil
	}
	f, err := db.fs.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return acl.Grant(f, acl.Read|acl.Search, readers...)
}

// warnUnshared warns once that owners cannot read their records themselves.
func (db *DB) warnUnshared(err error) {
	db.unshared.Do(func() {
		db.warn("owners cannot read their records themselves: their access lists cannot be set",
			"folder", db.dir, "error", err)
	})
}
