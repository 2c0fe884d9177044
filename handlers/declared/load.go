package declared

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"jjm/handlers"
	"jjm/handlers/external"
	"jjm/internal/jjm"
)

// The endings of files in a folder of job types: declarations, and job files that may lie
// beside them.
const (
	suffix    = ".toml"
	jobSuffix = "-job.toml"
)

// maxFile is the largest size of a file, in bytes.
const maxFile = 1 << 20

// Load returns the job types in a folder: one for each file *.toml, in the order of their
// names, except for job files *-job.toml, which may lie beside them. A missing folder has
// none. The problems name every mistake in every file, and each type that is declared
// twice; known are the types that the site already has. call runs the programs of types
// that have one.
func Load(dir string, known handlers.Registry, call external.Caller) ([]handlers.Handler, jjm.Problems) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, jjm.Problems{{Where: dir, Text: err.Error()}}
	}
	var types []handlers.Handler
	var problems jjm.Problems
	from := map[string]string{}
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasSuffix(name, suffix) || strings.HasSuffix(name, jobSuffix) || name[0] == '.' {
			continue
		}
		h, more := Read(filepath.Join(dir, entry.Name()), call)
		if problems = append(problems, more...); len(more) > 0 {
			continue
		}
		other := from[h.Type()]
		if known[h.Type()] != nil {
			other = "a type of jjm itself"
		}
		if other != "" {
			problems = append(problems, jjm.Problem{Where: entry.Name(), Field: "name",
				Text: fmt.Sprintf("%q is the name of %s: choose another", h.Type(), other)})
			continue
		}
		from[h.Type()] = entry.Name()
		types = append(types, h)
	}
	return slices.Clip(types), problems
}

// Unread returns what is to be done so that a type is known which was not declared in a folder when its files were
// read: "" if the folder has no file of that name now, or one that declares another type.
func Unread(dir, name string) string {
	if !typeName.MatchString(name) {
		return ""
	}
	path := filepath.Join(dir, name+suffix)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	h, problems := Read(path, nil)
	switch {
	case len(problems) > 0:
		return fmt.Sprintf("%s is there now, with mistakes that \"jjm config check\" names: mend them, and start the daemon anew",
			path)
	case h.Type() != name:
		return ""
	}
	return fmt.Sprintf("%s has declared it since the daemon started: start the daemon anew", path)
}

// Read reads one file. call runs its program, if it has one.
func Read(path string, call external.Caller) (handlers.Handler, jjm.Problems) {
	bad := func(err error) (handlers.Handler, jjm.Problems) {
		return nil, jjm.Problems{{Where: filepath.Base(path), Text: err.Error()}}
	}
	info, err := os.Stat(path)
	if err != nil {
		return bad(err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return bad(fmt.Errorf("want a regular file of at most %d bytes", maxFile))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return bad(err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return bad(err)
	}
	return Parse(path, dir, text, call)
}
