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
// that need no leave - root, this process's own - are left out. The error wraps
// [acl.ErrUnsupported] where the file system keeps no access lists; then nobody
// was let in.
func (a *Area) Share(name string, uids ...int) error {
	own := os.Geteuid()
	uids = slices.DeleteFunc(slices.Clone(uids), func(uid int) bool { return uid == 0 || uid == own })
	if len(uids) == 0 {
		return nil
	}
	if err := a.grant(name, syscall.O_NONBLOCK, acl.Read, uids); err != nil {
		return wrap(err, "let others read %s", name)
	}
	for dir := name; dir != "."; { // the file first: who cannot pass reads nothing
		dir = parent(dir)
		if err := a.grant(dir, syscall.O_DIRECTORY, acl.Search, uids); err != nil {
			return wrap(err, "let others pass through %s", dir)
		}
	}
	return nil
}

func (a *Area) grant(name string, flag int, perm acl.Perm, uids []int) error {
	f, err := a.fs.OpenFile(name, os.O_RDONLY|flag, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return acl.Grant(f, perm, uids...)
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
