package declared

import (
	"cmp"
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

// The suffixes of files in a folder of job types: declarations, and job files, which may be in the same folder.
const (
	suffix    = ".toml"
	jobSuffix = "-job.toml"
)

// maxFile is the largest size of a file, in bytes.
const maxFile = 1 << 20

// Folder reads a folder of files that declare job types.
type Folder struct {
	// Dir is the absolute path of the folder. A missing folder has no types.
	Dir string
	// Known are the job types that the site has without this folder. A file must not declare one of their names.
	Known handlers.Registry
	// Call runs the programs of types that have one.
	Call external.Caller
	// Held returns the reason why the daemon must not trust a path, because others can change it. If Held is nil, all
	// paths are trusted.
	Held func(path string) error
}

// Loaded holds the types that a folder declares, and the mistakes in its files.
type Loaded struct {
	// Types are the types by name. They include the types whose files have mistakes, which are off.
	Types handlers.Registry
	// Off are the files with mistakes that are not in Types, because another file or jjm itself already has a type of that
	// name, or because the name is not a valid type name. Their field Type is the name of the file, so that each name is
	// unique.
	Off []handlers.Off
	// Loose are mistakes that do not belong to a single type.
	Loose jjm.Problems
}

// Load reads the job types in a folder: one for each file *.toml, except for job files *-job.toml, which may be in the
// same folder. A mistake in a file turns off only the type of that file, and all mistakes are reported with their
// places. If two files declare the same type, Load uses the file with the name of the type, or otherwise the first file
// by name. Load returns an error if it cannot read the folder.
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

// helper is another file or folder in the folder of declarations. Other accounts can change it, so a type must not read
// it.
type helper struct {
	path string
	why  jjm.Problem
}

// turnOff turns off the types that may read the helper: it adds the helper's problem to each of them. It reports
// whether such types exist, or the helper is the program of a type.
func (h helper) turnOff(found []candidate) (used bool) {
	program := slices.ContainsFunc(found, func(c candidate) bool { return c.program == h.path })
	for i := range found {
		if c := &found[i]; h.servesTo(c.handler, program) {
			if len(c.why) == 0 {
				c.mend = h.path
			}
			c.why, c.distrusted, used = append(c.why, h.why), true, true
		}
	}
	return used || program
}

// servesTo reports whether a type may read the helper. A declared type reads the files that it sends along with jobs.
// The program of an external type may load any file in its own folder, except programs of types and declarations.
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

// held returns the problem with a path that others can change.
func (f Folder) held(path string) jjm.Problems {
	if f.Held == nil {
		return nil
	}
	if err := f.Held(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // removed meanwhile, or a broken link
		return jjm.Problems{{Where: path, Text: err.Error()}}
	}
	return nil
}

// candidate is a file that declares a type, and the type that it declares. why contains the file's mistakes. mend is
// set if the first mistake is that others can change another file, which the type reads; it is the path of that file.
type candidate struct {
	path, name, program string
	mend                string
	named, distrusted   bool
	handler             handlers.Handler
	why                 jjm.Problems
}

// read reads a file that declares a type. It does not open the file if others can change it.
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
	if t, ok := h.(*Type); ok {
		t.held = f.Held
	}
	if t, ok := h.(*external.Type); ok {
		c.program = t.Program()
		for _, p := range f.held(c.program) {
			c.why, c.mend = append(c.why, p), c.program
		}
	}
	c.distrusted = len(c.why) > 0
	return c
}

// inFolder returns a problem whose place is given by the whole path of the file instead of only its name.
func inFolder(p jjm.Problem, dir string) jjm.Problem {
	if p.Where != "" && !filepath.IsAbs(p.Where) {
		p.Where = filepath.Join(dir, p.Where)
	}
	return p
}

// name decides for each type name which of the files declares it, and adds the types and the mistakes to out.
func (f Folder) name(found []candidate, out *Loaded) {
	has := map[string]string{} // maps types to the paths of their files
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
		off := handlers.Off{Type: c.name, File: cmp.Or(c.mend, c.path), Restart: true, Distrusted: c.distrusted, Why: c.why}
		switch {
		case len(c.why) == 0:
			out.Types[c.name] = c.handler
		case free:
			out.Types[c.name] = newOff(off, c.path, c.program)
		default:
			off.Type = filepath.Base(c.path)
			out.Off = append(out.Off, off)
		}
	}
}

// Unread returns what to do about a type that the daemon does not know, if its file was added to the folder after the
// daemon had read the folder. It returns "" if the folder has no file of that name, or if the file declares another
// type.
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

// Read returns the job type that one file declares, or the mistakes in the file. call runs the file's program, if it
// names one.
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
