package sandbox

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"strconv"

	"jjm/internal/jjm"
)

// RemoveGrid removes the folder of a grid job with all its tars. The folder may contain any number of files, so
// RemoveGrid stops with an error of kind Busy when ctx ends, and another call removes the remaining files.
func (a *Area) RemoveGrid(ctx context.Context, grid jjm.GridID) error {
	dir := GridDir(grid)
	for name, err := range a.names(dir) { // each folder here has up to a thousand local jobs; there are few files
		if ctx.Err() != nil {
			return jjm.Errorf(jjm.Busy, "sandbox: remove grid job %s: %w", grid, ctx.Err())
		}
		if err == nil {
			err = a.removeTree(ctx, dir+"/"+name)
		}
		if err != nil {
			return a.wrap(err, "remove grid job %s", grid)
		}
	}
	return a.wrap(a.removeTree(ctx, dir), "remove grid job %s", grid)
}

// removeTree removes a file or folder. Applications may leave folders without write permission, which the owner can
// change.
func (a *Area) removeTree(ctx context.Context, name string) error {
	err := a.fs.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	a.openUp(ctx, name, mostDeep)
	return a.fs.RemoveAll(name)
}

// openUp grants the owner all permissions on a folder and the folders below, as far as possible.
func (a *Area) openUp(ctx context.Context, dir string, deep int) {
	info, err := a.fs.Lstat(dir)
	if err != nil || !info.IsDir() || deep == 0 || ctx.Err() != nil {
		return
	}
	if info.Mode().Perm()&dirMode != dirMode && a.fs.Chmod(dir, dirMode) != nil {
		return
	}
	for name, err := range a.names(dir) {
		if err != nil {
			return
		}
		a.openUp(ctx, dir+"/"+name, deep-1)
	}
}

// names yields the names in a folder, no names if the folder does not exist. It ends after an error.
func (a *Area) names(dir string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		d, err := a.openDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield("", err)
			return
		}
		defer d.Close()
		for {
			names, err := d.Readdirnames(1024)
			for _, name := range names {
				if !yield(name, nil) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield("", err)
				return
			}
		}
	}
}

// RemovePackages removes the packages that no grid job's job.json names. No package may be created meanwhile. If a
// job.json cannot be read, the error is of kind Invalid, and nothing is removed, because that grid job may need any
// package.
func (a *Area) RemovePackages(ctx context.Context) error {
	used := map[string]bool{}
	for name, err := range a.names("jobs") {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return a.wrap(err, "find the packages in use")
		}
		id, err := strconv.ParseInt(name, 10, 64)
		if err != nil || id < 1 {
			continue
		}
		job, err := a.ReadJob(jjm.GridID(id))
		switch {
		case jjm.KindOf(err) == jjm.Gone: // the grid job ended before its job.json was written
		case err != nil:
			return a.wrap(err, "find the packages in use")
		default:
			used[job.Package] = true
		}
	}
	for name, err := range a.names("packages") {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return a.wrap(err, "remove packages that are no longer used")
		}
		if used[name] || isTmp(name) {
			continue
		}
		if err := a.removeTree(ctx, "packages/"+name); err != nil {
			return a.wrap(err, "remove package %.12s, which is no longer used", name)
		}
	}
	return nil
}
