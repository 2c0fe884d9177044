package sandbox

import (
	"os"
	"slices"
	"strings"
	"syscall"

	"jjm/internal/acl"
)

// Share lets accounts read one file of the area, and pass through the folders
// that lead to it, which they still cannot list. It may be repeated. Accounts
// that need no leave - root, this process's own - are left out. What is not the
// area's owner's own gets no access list. The error wraps
// [acl.ErrUnsupported] where the file system keeps no access lists; then nobody
// was let in.
func (a *Area) Share(name string, uids ...int) error {
	own := os.Geteuid()
	uids = slices.DeleteFunc(slices.Clone(uids), func(uid int) bool { return uid == 0 || uid == own })
	if len(uids) == 0 {
		return nil
	}
	if err := a.grant(name, false, acl.Read, uids); err != nil {
		return wrap(err, "let others read %s", name)
	}
	for dir := name; dir != "."; { // the file first: who cannot pass reads nothing
		dir = parent(dir)
		if err := a.grant(dir, true, acl.Search, uids); err != nil {
			return wrap(err, "let others pass through %s", dir)
		}
	}
	return nil
}

// granter is an FS that sets access lists by itself: only the one behind it has
// the rights of the area's owner.
type granter interface {
	Grant(name string, folder bool, perm acl.Perm, uids ...int) error
}

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

// parent is the folder of a name below the area, "." at last.
func parent(name string) string {
	if i := strings.LastIndexByte(name, '/'); i > 0 {
		return name[:i]
	}
	return "."
}

// OpenTar opens a tar of a grid job by the name that WriteTar was given.
func (a *Area) OpenTar(name string) (*os.File, error) {
	f, _, err := a.openRegular(name)
	return f, wrap(err, "open tar %s", name)
}

// RemoveTar removes one tar; who has it open reads on.
func (a *Area) RemoveTar(name string) error { return wrap(a.fs.Remove(name), "remove tar %s", name) }
