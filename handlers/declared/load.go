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

// Folder describes how a folder of job types is read.
type Folder struct {
	// Dir is its absolute path. A missing folder has no types.
	Dir string
	// Known are the types that the site already has.
	Known handlers.Registry
	// Call runs the programs of types that have one.
	Call external.Caller
	// Held returns the reason why the daemon must not trust a path, because others can change it. nil trusts all.
	Held func(path string) error
}

// Loaded holds the types that a folder declares, and the mistakes in its files.
type Loaded struct {
	// Types are the types by their names. Types whose files have mistakes are among them: they are off.
	Types handlers.Registry
	// Off are files with mistakes that turn off no type in Types: another file or jjm itself has the type of that name,
	// or the name is no valid name of a type. Their Type is the name of the file, so that each name has one entry.
	Off []handlers.Off
	// Loose are mistakes that belong to no type.
	Loose jjm.Problems
}

// Load reads the job types in a folder: one for each file *.toml, except for job files *-job.toml, which may lie beside
// them. A mistake in a file turns off only the type of that file, and all mistakes are reported with their places. If
// two files declare the same type, the file with the name of the type counts, or else the first file in the order of
// names. An error means that the folder cannot be read.
func (f Folder) Load() (Loaded, error) {
	out := Loaded{Types: handlers.Registry{}}
	entries, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	var files []string
	var beside []helper
	for _, entry := range entries {
		path := filepath.Join(f.Dir, entry.Name())
		switch name := entry.Name(); {
		case strings.HasSuffix(name, suffix) && !strings.HasSuffix(name, jobSuffix) && name[0] != '.':
			files = append(files, path)
		default:
			if why := f.held(path); len(why) > 0 {
				beside = append(beside, helper{path: path, why: why[0]})
			}
		}
	}
	found := make([]candidate, 0, len(files))
	for _, path := range files {
		found = append(found, f.read(path))
	}
	for _, h := range beside {
		if !h.turnOff(found) {
			out.Loose = append(out.Loose, h.why)
		}
	}
	f.name(found, &out)
	return out, nil
}

// helper is a file or folder beside the declarations that other accounts can change.
type helper struct {
	path string
	why  jjm.Problem
}

// turnOff turns off the types that may read the helper: it adds its problem to them. It reports whether there are such
// types, or the helper is the program of a type.
func (h helper) turnOff(found []candidate) (used bool) {
	program := slices.ContainsFunc(found, func(c candidate) bool { return c.program == h.path })
	for i := range found {
		if c := &found[i]; h.servesTo(c.handler, program) {
			c.why, c.distrusted, used = append(c.why, h.why), true, true
		}
	}
	return used || program
}

// servesTo reports whether a type may read the helper: the type packs it, or the program of the type lies in the same
// folder and may load it, because the helper is neither a program of a type nor a declaration.
func (h helper) servesTo(t handlers.Handler, program bool) bool {
	switch t := t.(type) {
	case *external.Type:
		return !program && !strings.HasSuffix(h.path, suffix) && filepath.Dir(t.Program()) == filepath.Dir(h.path)
	case *Type:
		return slices.ContainsFunc(t.inputs, func(in jjm.Input) bool {
			return in.Path == h.path || strings.HasPrefix(in.Path, h.path+"/")
		})
	}
	return false
}

// held returns the problem of a path that others can change.
func (f Folder) held(path string) jjm.Problems {
	if f.Held == nil {
		return nil
	}
	if err := f.Held(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // removed meanwhile, or a broken link
		return jjm.Problems{{Where: path, Text: err.Error()}}
	}
	return nil
}

// candidate is the type of one file. why are the mistakes of the file.
type candidate struct {
	path, name, program string
	named, distrusted   bool
	handler             handlers.Handler
	why                 jjm.Problems
}

// read reads the file of a type. A file that others can change is not opened.
func (f Folder) read(path string) candidate {
	c := candidate{path: path}
	if c.why = f.held(path); len(c.why) > 0 {
		c.distrusted = true
		c.name, c.named = nameOf(path, nil)
		return c
	}
	text, err := readFile(path)
	if err != nil {
		c.name, c.named = nameOf(path, nil)
		if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
			err = fmt.Errorf("cannot be read: %w: let the daemon's account read it", cause.Err)
		}
		c.why = jjm.Problems{{Where: path, Text: err.Error()}}
		return c
	}
	h, problems := Parse(path, f.Dir, text, f.Call)
	for _, p := range problems {
		c.why = append(c.why, inFolder(p, f.Dir))
	}
	if len(c.why) > 0 {
		c.name, c.named = nameOf(path, text)
		return c
	}
	c.handler, c.name, c.named = h, h.Type(), true
	if t, ok := h.(*external.Type); ok {
		c.program = t.Program()
		for _, p := range f.held(c.program) {
			c.why = append(c.why, jjm.Problem{Where: path, Field: "program", Text: p.Text})
		}
	}
	c.distrusted = len(c.why) > 0
	return c
}

// inFolder returns a problem whose place begins with the path of the file instead of its name.
func inFolder(p jjm.Problem, dir string) jjm.Problem {
	if p.Where != "" && !filepath.IsAbs(p.Where) {
		p.Where = filepath.Join(dir, p.Where)
	}
	return p
}

// name decides which file has which name, and puts the types and the mistakes into out.
func (f Folder) name(found []candidate, out *Loaded) {
	has := map[string]string{} // the path of the file by the type
	for _, c := range found {
		if stem := strings.TrimSuffix(filepath.Base(c.path), suffix); c.named && (has[c.name] == "" || stem == c.name) {
			has[c.name] = c.path
		}
	}
	for _, c := range found {
		other := has[c.name]
		if f.Known[c.name] != nil {
			other = "a type of jjm itself"
		}
		free := c.named && other == c.path
		if c.named && !free && (c.handler != nil || f.Known[c.name] == nil) {
			c.why = append(c.why, jjm.Problem{Where: c.path, Field: "name",
				Text: fmt.Sprintf("%q is the name of %s: choose another", c.name, other)})
		}
		off := handlers.Off{Type: c.name, File: c.path, Restart: true, Distrusted: c.distrusted, Why: c.why}
		switch {
		case len(c.why) == 0:
			out.Types[c.name] = c.handler
		case free:
			out.Types[c.name] = newOff(off, c.program)
		default:
			off.Type = filepath.Base(c.path)
			out.Off = append(out.Off, off)
		}
	}
}

// Unread returns how to make a type known that was declared in a folder after the folder was read; "" if the folder has
// no file of that name now, or that file declares another type.
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
		return fmt.Sprintf("%s is there now, with mistakes that \"jjm config check\" names: mend them, and start the daemon again",
			path)
	case h.Type() != name:
		return ""
	}
	return fmt.Sprintf("%s has declared it since the daemon started: start the daemon again", path)
}

// Read reads one file. call runs its program, if it has one.
func Read(path string, call external.Caller) (handlers.Handler, jjm.Problems) {
	bad := func(err error) (handlers.Handler, jjm.Problems) {
		return nil, jjm.Problems{{Where: filepath.Base(path), Text: err.Error()}}
	}
	text, err := readFile(path)
	if err != nil {
		return bad(err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return bad(err)
	}
	return Parse(path, dir, text, call)
}

// readFile returns the text of a file.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("want a regular file of at most %d bytes", maxFile)
	}
	return os.ReadFile(path)
}
