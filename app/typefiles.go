package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"jjm"
	"jjm/handlers"
	handlersall "jjm/handlers/all"
	"jjm/handlers/external"
	"jjm/jobfile"
)

// typeFiles returns the problems of files in the folder of job types that others may change: the files say what jobs
// run, and the programs among them run as the daemon's account. A missing folder is safe. account is the user id of
// this process.
func typeFiles(dir string, account int) (problems jjm.Problems) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return jjm.Problems{{Field: "job_types", Text: err.Error()}}
	}
	owners := ownersOf(dir, account)
	problems = unsafeFile("job_types", dir, owners)
	for _, e := range entries {
		problems = append(problems, unsafeFile("job_types", filepath.Join(dir, e.Name()), owners)...)
	}
	return problems
}

// ownersOf returns the accounts that may own a folder of files that say what jobs run: root and, unless the daemon is
// root, whoever owns the folder.
func ownersOf(dir string, account int) []uint32 {
	owners := []uint32{0}
	if info, err := os.Stat(dir); err == nil && account != 0 {
		owners = append(owners, ownerOf(info))
	}
	return owners
}

// typePrograms does the same for the programs of types, which may be in other folders.
func typePrograms(types []handlers.Handler, dir string, account int) (problems jjm.Problems) {
	owners := ownersOf(dir, account)
	for _, h := range types {
		if t, ok := h.(*external.Type); ok && filepath.Dir(t.Program()) != dir {
			problems = append(problems, unsafeFile("job_types", t.Program(), owners)...)
		}
	}
	return problems
}

// unsafeFile returns a problem of a setting if a file or folder can be changed by others than its permitted owners.
func unsafeFile(setting, path string, owners []uint32) jjm.Problems {
	info, err := os.Stat(path)
	switch {
	case err != nil: // removed meanwhile, or a broken link
		return nil
	case info.Mode().Perm()&0o022 != 0:
		return jjm.Problems{{Field: setting, Text: fmt.Sprintf(
			"%s: others than its owner may write it (%v), and so say what jobs run: chmod go-w %s", path, info.Mode(), path)}}
	case !slices.Contains(owners, ownerOf(info)):
		return jjm.Problems{{Field: setting, Text: fmt.Sprintf(
			"%s: it belongs to the account %d, which could change it and so say what jobs run: chown %d %s", path, ownerOf(info),
			owners[len(owners)-1], path)}}
	}
	return nil
}

// ownerOf returns the user id of a file's owner.
func ownerOf(info fs.FileInfo) uint32 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Uid
	}
	return ^uint32(0)
}

// Own describes the folder of job types, and names those of the registry that are the site's own.
func (c *Config) Own(types handlers.Registry) string {
	if _, err := os.Stat(c.JobTypes); err != nil {
		return fmt.Sprintf("job types: there is no folder %s, so those of jjm alone", c.JobTypes)
	}
	jjms := handlersall.Registry()
	names := slices.DeleteFunc(types.Types(), func(name string) bool { return jjms[name] != nil })
	if len(names) == 0 {
		return fmt.Sprintf("job types: %s declares none, so those of jjm alone", c.JobTypes)
	}
	return fmt.Sprintf("job types: %s declares %s", c.JobTypes, strings.Join(names, ", "))
}

// Lost returns a problem for each file that a type of the registry packs with the job of its example and that cannot be
// opened. A type whose program does not answer has none here: Untold and the test of the type tell of it.
func (c *Config) Lost(types handlers.Registry) (problems jjm.Problems) {
	open := func(path string) (io.ReadCloser, error) {
		return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe must not stop the check
	}
	site := handlers.Site{RecommendedCPU: c.Engine.RecommendedCPU, MaxCPU: c.Engine.MaxCPU,
		MaxLocalJobs: c.Engine.MaxLocalJobs, Open: open, Run: describe}
	for _, name := range types.Types() {
		for _, err := range handlers.Lost(addedToExample(types[name], site), open) {
			problems = append(problems, jjm.Problem{Field: "job_types",
				Text: fmt.Sprintf("%s: %v: put it there, or change what the type packs", name, err)})
		}
	}
	return problems
}

// addedToExample returns the files that a type adds to the job of its example, nil if it refuses that.
func addedToExample(h handlers.Handler, site handlers.Site) []jjm.Input {
	if _, adds := h.(handlers.Preparer); !adds || len(handlers.Learn(h)) > 0 {
		return nil
	}
	doc, problems := jobfile.Parse("example", []byte(h.Describe().Example))
	if len(problems) > 0 {
		return nil
	}
	spec, problems := handlers.Planned(h, &doc.Spec, site)
	if len(problems) > 0 {
		return nil
	}
	added, err := handlers.Added(h, spec, site)
	if err != nil {
		return nil
	}
	return added
}
