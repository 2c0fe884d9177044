package xmldb

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"jjm/internal/jjm"
	"jjm/internal/sys/acl"
)

// gridMode is the mode of the folder of a grid job. Only the daemon and the accounts in the folder's access list may
// enter: the owner, whose clients read the head while the daemon is down, and the site's administrators. The files in
// the folder need no access lists of their own, because they are reached only through the folder.
const gridMode = 0o700

// makeFolder creates the folder of a grid job and gives its owner access. An existing folder may lack its access list,
// so each daemon process sets the list once.
func (db *DB) makeFolder(st *gridState, grid jjm.GridID, owner int) error {
	name := grid.String()
	err := db.fs.Mkdir(name, gridMode)
	if errors.Is(err, fs.ErrExist) && st.shared {
		return nil
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = db.fs.Chmod(name, gridMode) // sets the mode whatever the umask is, and after changes by others
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

// share allows the owner and the administrators to read below a folder.
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

// warnUnshared logs that owners cannot read their records without the daemon. It logs this only once.
func (db *DB) warnUnshared(err error) {
	db.unshared.Do(func() {
		db.warn("owners cannot read their records themselves: their access lists cannot be set",
			"folder", db.dir, "error", err)
	})
}
