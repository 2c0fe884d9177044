package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
)

// Examine returns the configuration, the path of its file, and every problem that would prevent the start of a daemon
// with these options: mistakes in the file, and settings that do not suit this machine and account. A daemon calls
// Examine when it starts. "jjm config check" reports the same problems, and also the mistakes in job types, which do
// not prevent the start.
func Examine(opts Options) (Config, string, jjm.Problems) {
	c, path, places, problems := read(opts.Config, opts.Getenv)
	if os.Geteuid() == 0 && filepath.IsAbs(path) {
		problems = append(problems, unheld("--config", path, holdersOf("", 0))...)
	}
	problems = append(problems, problems.Unsaid(c.preflight(opts.Executable))...)
	if opts.Getenv("JJM_STATE") != "" { // the mistake is in the environment and not in the file
		for i := range problems {
			if problems[i].Field == "state" {
				problems[i].Field, problems[i].Where = "$JJM_STATE", ""
				problems[i].Text += " ($JJM_STATE is set, and outranks state in the configuration)"
			}
		}
	}
	return c, path, places.Locate(problems)
}

// preflight returns the problems of settings that do not suit this machine and account. It makes no changes.
func (c *Config) preflight(executable string) (problems jjm.Problems) {
	for _, dir := range []struct{ field, path string }{{"state", c.State}, {"work", c.Work}} {
		if err := checkWritable(dir.path); filepath.IsAbs(dir.path) && err != nil {
			problems = append(problems, jjm.Problem{Field: dir.field, Text: fmt.Sprintf(
				"%v: make it a folder that this account can write, or set %s to another one", err, dir.field)})
		}
	}
	if log := c.Accounting.Blah; filepath.IsAbs(log) {
		if err := checkFolder(filepath.Dir(log)); err != nil {
			problems = append(problems, jjm.Problem{Field: "accounting.blah", Text: fmt.Sprintf(
				"%v: make it a folder that this account can write, or set accounting.blah to a file in another one", err)})
		}
	}
	if socket := c.Metrics.Listen; c.Metrics.Socket() {
		if err := checkFolder(filepath.Dir(socket)); err != nil {
			problems = append(problems, jjm.Problem{Field: "metrics.listen", Text: fmt.Sprintf(
				"%v: make it a folder that this account can write, or set metrics.listen to a socket in another one", err)})
		}
	}
	problems = append(problems, c.preflightWeb()...)
	problems = append(problems, c.preflightNotify()...)
	if err := checkLocal(c.State); err != nil {
		problems = append(problems, jjm.Problem{Field: "state", Text: err.Error()})
	}
	problems = append(problems, c.unheldPrograms(os.Geteuid(), executable)...)
	if _, err := Wrapper(c.Wrapper, executable); err != nil {
		problems = append(problems, jjm.Problem{Field: "wrapper", Text: err.Error()})
	}
	return problems
}

// nearestExisting returns the path itself, or the nearest existing folder above it if the path does not exist.
func nearestExisting(path string) (string, fs.FileInfo, error) {
	for {
		info, err := os.Stat(path)
		if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return path, info, err
		}
		path = filepath.Dir(path)
	}
}

// checkWritable returns an error unless path is a folder that this account can write to, or can create.
func checkWritable(path string) error {
	there, info, err := nearestExisting(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", there)
	}
	if err := unix.Faccessat(unix.AT_FDCWD, there, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("%s cannot be written: %w", there, err)
	}
	return nil
}

// checkFolder returns an error unless path is a folder that exists and that this account can write to.
func checkFolder(path string) error {
	if missing(path) {
		return fmt.Errorf("%s is not there", path)
	}
	return checkWritable(path)
}

// checkLocal returns an error if a path is on a network file system, or would be once it is created.
func checkLocal(path string) error {
	there, _, err := nearestExisting(path)
	if err != nil {
		return nil // checkWritable reports it
	}
	var on unix.Statfs_t
	if err := unix.Statfs(there, &on); err != nil {
		return nil
	}
	return refuseNetwork(path, int64(on.Type)&0xffffffff)
}
