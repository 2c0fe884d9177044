package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"jjm/handlers"
	handlersall "jjm/handlers/all"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/sys/rights"
)

// typeFolder returns the problems of the folder of job types as a whole: it cannot be read, or other accounts can
// change it. The files in the folder define the commands of jobs, and programs among these files run as the daemon's
// account. A missing folder is safe. account is the user id of this process.
func typeFolder(dir string, account int) jjm.Problems {
	_, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return jjm.Problems{{Field: "job_types", Text: err.Error() +
			": make it a folder that this account can read, or correct the path"}}
	}
	return unheld("job_types", dir, holdersOf(dir, account))
}

// holdersOf returns the accounts that may change files below dir that define the commands of jobs. If the daemon is
// root, only root may; otherwise root, the owner of dir, the daemon's account and members of the daemon's group.
func holdersOf(dir string, account int) rights.Holders {
	by := rights.Holders{Instead: "decide what jobs run, or what the daemon does"}
	if account == 0 {
		return by
	}
	by.UIDs, by.Group = []int{account}, os.Getegid()
	if info, err := os.Stat(dir); err == nil {
		by.UIDs = append([]int{int(ownerOf(info))}, account)
	}
	return by
}

// unheld returns a problem of a setting if an account other than the holders can change the file or folder at path, or
// can replace it through a folder above it. It returns nil for a missing file.
func unheld(setting, path string, by rights.Holders) jjm.Problems {
	full, err := filepath.Abs(path)
	if err == nil {
		err = rights.Held(full, by)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) { // the file was removed meanwhile, or is a broken link
		return nil
	}
	return jjm.Problems{{Field: setting, Text: fmt.Sprintf("%s: %v", path, err)}}
}

// unheldPrograms returns the problems of the other files that a root daemon executes or reads commands from: the
// wrapper, the commands that advertise the site, the programs for notices, and the absolute paths in the sections of
// batch systems (folders of commands, hooks, descriptions and token commands).
func (c *Config) unheldPrograms(account int, executable string) (problems jjm.Problems) {
	if account != 0 {
		return nil
	}
	if wrapper, err := Wrapper(c.Wrapper, executable); err == nil {
		problems = unheld("wrapper", wrapper, holdersOf("", account))
	}
	if filepath.IsAbs(c.Advertise.Bin) {
		problems = append(problems, unheld("advertise.bin", c.Advertise.Bin, holdersOf("", account))...)
	}
	for field, argv := range c.noticePrograms() {
		problems = append(problems, unheld(field, argv[0], holdersOf("", account))...)
	}
	for i, section := range c.Cluster {
		for _, key := range []string{"bin", "hook", "description", "token_command"} {
			for _, path := range pathsIn(section[key]) {
				problems = append(problems, unheld(clusterField(i, key), path, holdersOf("", account))...)
			}
		}
	}
	return problems
}

// pathsIn returns the absolute paths in a value of the configuration, which is a text, a list, or a table.
func pathsIn(value any) (paths []string) {
	switch v := value.(type) {
	case string:
		if filepath.IsAbs(v) {
			paths = append(paths, v)
		}
	case []any:
		for _, one := range v {
			paths = append(paths, pathsIn(one)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			paths = append(paths, pathsIn(v[key])...)
		}
	}
	return paths
}

// ownerOf returns the user id of a file's owner.
func ownerOf(info fs.FileInfo) uint32 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Uid
	}
	return ^uint32(0)
}

// Own returns a line for people about the folder of job types: which types of the registry it declares.
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

// Lost returns the problems with files that job types send along with their jobs: for each type it plans the job of the
// type's example, and reports each file that cannot be opened. A type whose program does not answer is skipped, because
// Untold reports it.
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

// addedToExample returns the files that a type adds to the job of its example, nil if the type refuses the example.
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
