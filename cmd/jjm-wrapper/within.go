package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"jjm/internal/jjm"
)

// This file opens files that the application may have replaced by links, pipes or devices. Nothing here waits for the
// other end of a pipe, and nothing leaves the attempt's folder by a symbolic link.

// reading are the flags with which the wrapper opens files that an application may have made. With these flags an open
// does not wait for the other end of a pipe, and a terminal does not become the wrapper's terminal.
const reading = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY

// openFolder opens a folder by its path. If a pipe is in place of the folder, openFolder returns an error, whereas
// os.OpenRoot would wait for the other end of the pipe.
func openFolder(dir string) (*os.Root, error) {
	if dir == "" {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrNotExist}
	}
	return os.OpenRoot(dir + "/.")
}

// openRegular opens a regular file below the attempt's folder. It returns an error for files of other kinds, and never
// waits for their other end.
func (a *attempt) openRegular(name string) (*os.File, error) {
	info, err := a.root.Stat(name)
	if err != nil {
		return nil, err
	}
	if err := regular(info); err != nil { // a device must not be opened
		return nil, err
	}
	f, err := a.root.OpenFile(name, reading, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = regular(info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// noContent is the error for a file that has no content to collect: a folder, device, pipe or socket.
type noContent string

func (n noContent) Error() string { return string(n) }

// regular returns an error of type noContent unless the file is a regular file.
func regular(info os.FileInfo) error {
	switch {
	case info.IsDir():
		return noContent("is a directory")
	case !info.Mode().IsRegular():
		return noContent("is a " + jjm.FileKind(info.Mode()) + ", not a regular file")
	}
	return nil
}

// makeAnew creates an empty file below the attempt's folder, for reading and writing. If the application put a file
// under this name, makeAnew removes that file without opening it.
func (a *attempt) makeAnew(name string) (*os.File, error) {
	if err := a.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return a.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// escapes reports whether an error of an os.Root means that a link leads out of the folder of the root.
func escapes(err error) bool {
	var p *fs.PathError // package os has no error value for it
	return errors.As(err, &p) && p.Err != nil && p.Err.Error() == "path escapes from parent"
}

// errLeadsOut is the error for a file whose path contains a symbolic link out of the attempt's folder.
var errLeadsOut = errors.New("a symbolic link leads out of the job's directory")

// maxLinks is the greatest number of links on a path: the kernel's limit (path_resolution(7)).
const maxLinks = 40

// relink prepares a path below the attempt's folder for os.Root, which accepts no absolute links. It replaces each
// absolute link on the path that leads into the folder by a relative link. Absolute links would also break on the
// daemon's machine and in the parcel, where the folder has another path. relink returns errLeadsOut if a link leads out
// of the folder.
func (a *attempt) relink(name string) error {
	at, rest := "", strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		element := rest[0]
		rest = rest[1:]
		switch element {
		case "", ".":
			continue
		case "..":
			if at == "" {
				return errLeadsOut
			}
			at = strings.TrimPrefix(path.Dir("/"+at), "/")
			continue
		}
		here := path.Join(at, element)
		target, err := a.root.Readlink(here)
		if err != nil {
			at = here // here is not a link, or is missing
			continue
		}
		if links++; links > maxLinks {
			return syscall.ELOOP
		}
		if path.IsAbs(target) {
			if target, err = a.makeRelative(at, here, target); err != nil {
				return err
			}
		}
		rest = slices.Concat(strings.Split(target, "/"), rest)
	}
	return nil
}

// makeRelative replaces an absolute link by a relative link to the same file, and returns the new target. at is the
// folder of the link, without links in its path. If the target is outside of the attempt's folder, makeRelative returns
// errLeadsOut.
func (a *attempt) makeRelative(at, link, target string) (string, error) {
	for _, dir := range a.paths() {
		below, ok := strings.CutPrefix(path.Clean(target)+"/", dir+"/")
		if !ok {
			continue
		}
		up := 0
		if at != "" {
			up = strings.Count(at, "/") + 1
		}
		relative := path.Clean(strings.Repeat("../", up) + below)
		return relative, a.replaceLink(link, relative)
	}
	return "", errLeadsOut
}

// replaceLink replaces a link atomically by a link with another target.
func (a *attempt) replaceLink(link, target string) error {
	next := path.Join(path.Dir(link), ".jjm-link")
	if err := a.root.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := a.root.Symlink(target, next); err != nil {
		return err
	}
	if err := a.root.Rename(next, link); err != nil {
		return errors.Join(err, a.root.Remove(next))
	}
	return nil
}

// paths returns the absolute paths that lead to the attempt's folder: the path that the daemon wrote, and the path
// after each replacement of the first link in it by the target of the link. The last path has no links; it is the path
// that getcwd(3) returns to the application.
func (a *attempt) paths() []string {
	if a.aliases != nil {
		return a.aliases
	}
	a.aliases = []string{a.dir}
	for dir := a.dir; len(a.aliases) <= maxLinks; a.aliases = append(a.aliases, dir) {
		next, ok := followFirst(dir)
		if !ok {
			break
		}
		dir = next
	}
	return a.aliases
}

// followFirst returns an absolute path with its first link replaced by the target of the link. It returns false if no
// element of the path is a link.
func followFirst(dir string) (string, bool) {
	for i := 1; i <= len(dir); i++ {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		target, err := os.Readlink(dir[:i])
		if err != nil {
			continue
		}
		if !path.IsAbs(target) {
			target = filepath.Join(filepath.Dir(dir[:i]), target)
		}
		return filepath.Join(target, dir[i:]), true
	}
	return dir, false
}
