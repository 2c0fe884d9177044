package areas

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"jjm/internal/jjm"
	"jjm/internal/sys/rights"
	"jjm/internal/sys/run"
	"jjm/internal/sys/tree"
	"jjm/sandbox"
)

// Users opens files and runs commands with the rights of their owners. If an owner's helper process or file system does
// not answer, a method returns an error of kind Busy within seconds, and calls for other owners are not delayed.
type Users interface {
	// Area returns the owner's work area, at the absolute path root, as a file system. It creates the folder if the
	// folder is missing.
	Area(o jjm.Owner, root string) (sandbox.FS, error)
	// Open opens a regular file that the owner may read.
	Open(o jjm.Owner, path string) (io.ReadCloser, error)
	// OpenTree opens a folder that the owner may read. most limits the number of entries and the bytes in the folder.
	OpenTree(o jjm.Owner, path string, most tree.Most) (*tree.Source, error)
	// Runner returns a runner of commands as the owner.
	Runner(o jjm.Owner) run.Runner
}

// openArea opens a work area with the rights of its owner, or without Users with the rights of the daemon's account.
func (as *Areas) openArea(o jjm.Owner, name string) (*sandbox.Area, error) {
	root := filepath.Join(as.work, name)
	if as.users == nil {
		return sandbox.OpenArea(root)
	}
	fs, err := as.users.Area(o, root)
	if err != nil {
		return nil, err
	}
	return sandbox.NewArea(root, fs), nil
}

// OpenAs opens a file with the owner's rights and no others.
func (as *Areas) OpenAs(owner jjm.Owner, path string) (io.ReadCloser, error) {
	switch {
	case as.users != nil:
		return as.users.Open(owner, path)
	case owner.UID == 0 || owner.UID == os.Geteuid():
		return rights.Regular(path)
	}
	return rights.Open(path, rights.Of(owner.UID, owner.GID))
}

// OpenTree opens a folder with the owner's rights and no others. The error is of kind Invalid if the daemon cannot do
// so: if there are no Users and the owner is not the daemon's account.
func (as *Areas) OpenTree(owner jjm.Owner, path string, most tree.Most) (*tree.Source, error) {
	switch {
	case as.users != nil:
		return as.users.OpenTree(owner, path, most)
	case owner.UID == os.Geteuid():
		return tree.Read(path, most)
	}
	return nil, jjm.Errorf(jjm.Invalid, "%s is a folder, and this daemon, which runs jobs as its own account, cannot read it as %s: "+
		"pack it in an archive", path, owner.User)
}

// As returns a context in which package run starts commands as the account.
func (as *Areas) As(ctx context.Context, account jjm.Owner) context.Context {
	if as.users == nil {
		return ctx
	}
	return run.WithRunner(ctx, as.users.Runner(account))
}
