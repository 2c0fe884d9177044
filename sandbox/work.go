package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"os"

	"jjm/internal/jjm"
)

// The limits of a listing of an attempt: the number of files, and the depth below its work folder.
const (
	MaxListed   = 1000
	deepestList = 16
)

// OpenWorkFile opens a regular file below the folder in which the application of an attempt runs or ran. It returns an
// error for a name that leads out of the folder, directly or through a link. A link may be created after that check,
// but no link leads out of the area. The error is of kind Gone if the file does not exist. The caller closes the file.
func (a *Area) OpenWorkFile(id jjm.AttemptID, name string) (*os.File, error) {
	if !fs.ValidPath(name) || name == "." {
		return nil, jjm.Errorf(jjm.Invalid, "file %.100q: want a path below the work folder, without . or ..", name)
	}
	at := AttemptDir(id)
	elements := append([]string{WorkName}, strings.Split(name, "/")...)
	for i, element := range elements {
		at += "/" + element
		info, err := a.fs.Lstat(at)
		switch last := i == len(elements)-1; {
		case err != nil:
			return nil, a.wrap(err, "open %s", at)
		case last && !info.Mode().IsRegular() || !last && !info.IsDir():
			return nil, jjm.Errorf(jjm.Invalid, "file %.100q: %s is a %s: want a regular file in the work folder itself", name,
				element, jjm.FileKind(info.Mode()))
		}
	}
	f, _, err := a.openRegular(at)
	return f, a.wrap(err, "open %s", at)
}

// ListWork returns the files below the folder in which the application of an attempt runs or ran, sorted by name. more
// is set if there are more than MaxListed files. Links are not followed. The error is of kind Gone if the folder does
// not exist.
func (a *Area) ListWork(id jjm.AttemptID) (all []jjm.JobFile, more bool, err error) {
	work := AttemptDir(id) + "/" + WorkName
	l := listing{area: a, root: work + "/"}
	if err := l.folder(work, deepestList); err != nil {
		return nil, false, a.wrap(err, "list %s", work)
	}
	slices.SortFunc(l.all, func(a, b jjm.JobFile) int { return strings.Compare(a.Name, b.Name) })
	return l.all, l.more, nil
}

// listing is the state of ListWork.
type listing struct {
	area *Area
	root string
	all  []jjm.JobFile
	more bool
}

// folder adds the files below a folder. It enters nested folders down to the depth deep. At MaxListed files it stops
// and sets more.
func (l *listing) folder(dir string, deep int) error {
	d, err := l.area.openDir(dir)
	if err != nil {
		return err
	}
	names, err := d.Readdirnames(MaxListed + 1)
	_ = d.Close()
	if len(names) == 0 && err != nil {
		return nil // the folder is empty, or was removed meanwhile
	}
	for _, name := range names {
		if len(l.all) >= MaxListed {
			l.more = true
			return nil
		}
		at := dir + "/" + name
		info, err := l.area.fs.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // the file was removed meanwhile
		case err != nil:
			return err
		case info.IsDir() && deep > 0:
			if l.folder(at, deep-1) == nil {
				continue
			}
		}
		l.add(at, info)
	}
	return nil
}

// add adds one file to the listing.
func (l *listing) add(at string, info fs.FileInfo) {
	one := jjm.JobFile{Name: strings.TrimPrefix(at, l.root), From: jjm.FromWork, Modified: jjm.At(info.ModTime())}
	if info.Mode().IsRegular() {
		one.Bytes = info.Size()
	} else {
		one.Kind = jjm.FileKind(info.Mode())
	}
	l.all = append(l.all, one)
}

// WorkDir returns the absolute path of the folder in which the application of an attempt runs or ran.
func (a *Area) WorkDir(id jjm.AttemptID) string {
	return fmt.Sprintf("%s/%s/%s", a.root, AttemptDir(id), WorkName)
}
