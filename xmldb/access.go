package xmldb

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"jjm"
	"jjm/internal/acl"
)

// gridMode keeps everybody out of the folder of a grid job but the daemon and
// those whom its access list names: its owner, whose clients read the head while
// the daemon is down, and the site's administrators. What lies in the folder is
// reached through it alone, so its files need no lists of their own.
const gridMode = 0o700

// makeFolder makes the folder of a grid job and lets its owner in. A folder that
// is there already was perhaps left half made, so it is looked after once in the
// life of a daemon.
func (db *DB) makeFolder(st *gridState, grid jjm.GridID, owner int) error {
	name := grid.String()
	err := db.fs.Mkdir(name, gridMode)
	if errors.Is(err, fs.ErrExist) && st.shared {
		return nil
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = db.fs.Chmod(name, gridMode) // whatever the umask is, or an older jjm made
	}
	if err != nil {
		return jjm.Errorf(diskKind(err), "publish record of grid job %d in %s: %w", grid, db.dir, err)
	}
	if err := db.share(name, owner); err != nil {
		db.complain(err)
		return nil // it stays closed, which is safe
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

// complain says once that owners cannot read their records themselves.
func (db *DB) complain(err error) {
	db.unshared.Do(func() {
		db.warn("records can be read through the daemon only: their owners cannot be let in", "folder", db.dir, "error", err)
	})
}
