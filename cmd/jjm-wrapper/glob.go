package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"jjm/internal/jjm"
	"jjm/sandbox"
)

// maxLooked is the greatest number of names that the wrapper examines for one pattern. Links can make the number huge,
// for example for "*/*/*/*/*" in a folder with a hundred links to itself.
const maxLooked = 1 << 20

// globbing finds the files in work/ that match a pattern. Unlike fs.Glob, it opens only folders, so that no pipe or
// device blocks the search, and it reports the folders that could not be listed. looked is the number of names that
// were examined for the pattern.
type globbing struct {
	a      *attempt
	ctx    context.Context
	looked int
	// unread are the folders on the way to files that may match, with the reasons why they could not be listed.
	unread []wanted
	// stopped is the reason why the search ended early, "" if the search did not end early.
	stopped jjm.LeftReason
}

// match returns the names below work/ that match a pattern, in lexical order within each folder. The pattern is a clean
// path with meta characters. The error means that the pattern is malformed, or that the search ended early; stopped
// then has the reason.
func (g *globbing) match(pattern string) ([]string, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, err
	}
	found := []string{""}
	elements := strings.Split(pattern, "/")
	for i, element := range elements {
		var next []string
		for _, dir := range found {
			names, err := g.element(dir, element, i == len(elements)-1)
			if err != nil {
				return nil, err
			}
			next = append(next, names...)
		}
		found = next
	}
	return found, nil
}

// element returns the names in a folder below work/ that match one element of a pattern. last is set for the last
// element: then a name without meta characters matches also if the file exists but cannot be examined.
func (g *globbing) element(dir, element string, last bool) (names []string, err error) {
	if !hasMeta(element) {
		name := path.Join(dir, element)
		_, err := g.a.lstat(path.Join(sandbox.WorkName, name))
		if err == nil || last && !missing(err) {
			names = append(names, name)
		}
		return names, g.look(1)
	}
	all, err := g.list(dir)
	if err != nil {
		return nil, err
	}
	for _, n := range all {
		if ok, err := path.Match(element, n); err != nil {
			return nil, err
		} else if ok {
			names = append(names, path.Join(dir, n))
		}
	}
	return names, nil
}

// list returns the names in a folder below work/, in lexical order. If dir is an input or not a folder, it returns no
// names. If the folder cannot be listed, list adds it to unread and returns no error. The error means that the search
// must end (see look).
func (g *globbing) list(dir string) (names []string, err error) {
	at := path.Join(sandbox.WorkName, dir)
	if dir != "" && g.a.isInput(dir) {
		return nil, nil
	}
	f, err := g.a.openDir(at)
	if err != nil {
		if !missing(err) {
			g.unread = append(g.unread, wanted{name: at, absent: cause(err), left: leftBy(err)})
		}
		return nil, nil
	}
	defer f.Close()
	for {
		some, err := f.Readdirnames(1024)
		names = append(names, some...)
		if lerr := g.look(len(some)); lerr != nil {
			return nil, lerr
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			g.unread = append(g.unread, wanted{name: at, absent: cause(err), left: leftBy(err)})
			break
		}
	}
	slices.Sort(names)
	return names, nil
}

// look counts n examined names. It returns an error if too many names were examined for the pattern, or if the time is
// over.
func (g *globbing) look(n int) error {
	if g.looked += n; g.looked > maxLooked {
		g.stopped = jjm.LeftTooMany
		return fmt.Errorf("more than %d names to look at for this pattern", maxLooked)
	}
	if g.ctx.Err() != nil {
		g.stopped = jjm.LeftTime
		return errors.New("there was no time left to look for files")
	}
	return nil
}

// missing reports whether an error means that the name, or a folder on the way to it, does not exist.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// hasMeta reports whether a part of a pattern has meta characters, so that it is not a plain name.
func hasMeta(p string) bool { return strings.ContainsAny(p, `*?[\`) }

// openDir opens a folder below the attempt's folder. It returns an error for files that are not folders, and never
// waits for their other end.
func (a *attempt) openDir(name string) (*os.File, error) {
	f, err := a.root.OpenFile(name, reading|syscall.O_DIRECTORY, 0)
	if escapes(err) {
		if err := a.relink(name); err != nil {
			return nil, err
		}
		f, err = a.root.OpenFile(name, reading|syscall.O_DIRECTORY, 0)
	}
	return f, err
}

// lstat returns the attributes of a name below the attempt's folder, without following a link at the end of the name.
func (a *attempt) lstat(name string) (os.FileInfo, error) {
	info, err := a.root.Lstat(name)
	if escapes(err) {
		if err := a.relink(name); err != nil {
			return nil, err
		}
		info, err = a.root.Lstat(name)
	}
	return info, err
}
