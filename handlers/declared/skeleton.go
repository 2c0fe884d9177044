package declared

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"jjm"
)

// skeleton holds types that run, a folder each: their files, with NAME in the place of the
// name.
//
//go:embed skeleton
var skeleton embed.FS

// The kinds of types that Begin writes.
const (
	KindTOML   = "toml"   // a declaration, and the script that its local jobs run
	KindPython = "python" // a program that is asked, which its local jobs run too
)

// Begin writes the files of a new type of a kind into a folder, with a job file. It returns
// their paths. Kinds of errors: Invalid for a name that no type can have, Conflict if a
// file is there already; then none is written.
func Begin(dir, name, kind string) (paths []string, err error) {
	if !typeName.MatchString(name) {
		return nil, jjm.Errorf(jjm.Invalid, "%.40q: want a name of small letters, digits, - and _, such as zmumu", name)
	}
	defer func() {
		if err != nil {
			for _, path := range paths {
				_ = os.Remove(path)
			}
			paths = nil
		}
	}()
	entries, err := skeleton.ReadDir("skeleton/" + kind)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := skeleton.ReadFile("skeleton/" + kind + "/" + e.Name())
		if err != nil {
			return paths, err
		}
		path := filepath.Join(dir, strings.ReplaceAll(e.Name(), "NAME", name))
		mode := fs.FileMode(0o644)
		if !strings.HasSuffix(path, suffix) {
			mode = 0o755
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			return paths, jjm.Errorf(jjm.Conflict, "%s is there already: choose another name, or another folder", path)
		}
		if err != nil {
			return paths, err
		}
		paths = append(paths, path)
		_, err = f.WriteString(strings.ReplaceAll(string(text), "NAME", name))
		if err = errors.Join(err, f.Close()); err != nil {
			return paths, err
		}
	}
	return paths, nil
}
