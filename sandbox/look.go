package sandbox

import (
	"errors"
	"io"
	"io/fs"

	"jjm/internal/jjm"
)

// maxBulks is the largest number of names that are read in the folder of bulks.
const maxBulks = 50_000

// Bulks returns the tags of the bulks that have a folder in the area. It reads at most maxBulks names.
func (a *Area) Bulks() ([]jjm.Tag, error) {
	dir, err := a.openDir("bulks")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, a.wrap(err, "list bulks")
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxBulks)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, a.wrap(err, "list bulks")
	}
	tags := make([]jjm.Tag, 0, len(names))
	for _, name := range names {
		if tag := jjm.Tag(name); tag.Valid() {
			tags = append(tags, tag)
		}
	}
	return tags, nil
}

// PackedPath returns the absolute path of a file or folder of a package, for processes of the owner.
func (a *Area) PackedPath(pkg, name string) string {
	return a.root + "/" + PackageDir(pkg) + "/" + name
}

// PackageDir returns the folder of a package below the area.
func PackageDir(pkg string) string { return "packages/" + pkg }

// OpenPacked opens a file of a package by its name in the job's directory. The error is of kind Invalid if a name is
// not a valid path.
func (a *Area) OpenPacked(pkg, name string) (io.ReadCloser, error) {
	if !fs.ValidPath(pkg) || !fs.ValidPath(name) {
		return nil, jjm.Errorf(jjm.Invalid, "sandbox: file %.100q of package %.80q: bad name", name, pkg)
	}
	f, _, err := a.openRegular(PackageDir(pkg) + "/" + name)
	if err != nil {
		return nil, a.wrap(err, "open %s of package %.12s", name, pkg)
	}
	return f, nil
}
