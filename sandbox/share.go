package sandbox

import (
	"os"
	"slices"
	"strings"
	"syscall"

	"jjm/internal/sys/acl"
)

// Share allows accounts to read one file of the area and to pass through the folders that lead to the file; the
// accounts still cannot list these folders. Share may be repeated. Root and this process's own account need no
// permission and are left out. Files and folders that do not belong to the area's owner get no access list. The error
// wraps [acl.ErrUnsupported] if the file system has no access lists; in that case no account gets access.
func (a *Area) Share(name string, uids ...int) error {
	own := os.Geteuid()
	uids = slices.DeleteFunc(slices.Clone(uids), func(uid int) bool { return uid == 0 || uid == own })
	if len(uids) == 0 {
		return nil
	}
	if err := a.grant(name, false, acl.Read, uids); err != nil {
		return a.wrap(err, "let others read %s", name)
	}
	for dir := name; dir != "."; { // the folders come last, so that the file is unreachable until then
		dir = parent(dir)
		if err := a.grant(dir, true, acl.Search, uids); err != nil {
			return a.wrap(err, "let others pass through %s", dir)
		}
	}
	return nil
}

// granter is implemented by an FS that sets access lists itself, because only the helper process of the FS has the
// rights of the area's owner.
type granter interface {
	Grant(name string, folder bool, perm acl.Perm, uids ...int) error
}

// grant sets the rights of accounts to a file or folder of the area.
func (a *Area) grant(name string, folder bool, perm acl.Perm, uids []int) error {
	if g, ok := a.fs.(granter); ok {
		return g.Grant(name, folder, perm, uids...)
	}
	flag := syscall.O_NONBLOCK
	if folder {
		flag = syscall.O_DIRECTORY
	}
	f, err := a.fs.OpenFile(name, os.O_RDONLY|flag, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return acl.GrantOwn(f, perm, uids...)
}

// parent returns the folder of a name below the area, "." for a name at the root.
func parent(name string) string {
	if i := strings.LastIndexByte(name, '/'); i > 0 {
		return name[:i]
	}
	return "."
}

// OpenTar opens a tar of a grid job by the name that was passed to WriteTar. It returns an error if the file is not
// regular.
func (a *Area) OpenTar(name string) (*os.File, error) {
	f, _, err := a.openRegular(name)
	return f, a.wrap(err, "open tar %s", name)
}

// OpenCollected opens a file that an attempt left, by its path below the area, and returns its size in bytes. It
// returns an error if the file is not regular.
func (a *Area) OpenCollected(name string) (*os.File, int64, error) {
	f, info, err := a.openRegular(name)
	if err != nil {
		return nil, 0, a.wrap(err, "open %s", name)
	}
	return f, info.Size(), nil
}

// RemoveTar removes one tar. Processes that have the tar open can still read it.
func (a *Area) RemoveTar(name string) error { return a.wrap(a.fs.Remove(name), "remove tar %s", name) }
