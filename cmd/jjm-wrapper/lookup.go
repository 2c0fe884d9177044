package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// The exit codes of a shell for a command that it cannot start (POSIX.1, Shell Command Language, 2.8.2).
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// lookup returns the path of the application's program. It looks for a plain name in work/ first and then in the
// folders of path, the value of PATH. A name with a slash is a path; a relative path starts at work/. If no program is
// found, it returns an error, and the exit code that a shell would return.
func lookup(name, workDir, path string) (program string, exit int, err error) {
	if name == "" {
		return "", exitNotFound, errors.New("no command")
	}
	here := name
	if !filepath.IsAbs(name) {
		here = filepath.Join(workDir, name)
	}
	hereErr := executable(here)
	if hereErr == nil {
		return here, 0, nil
	}
	if !strings.Contains(name, "/") {
		for _, dir := range filepath.SplitList(path) {
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(workDir, dir)
			}
			if file := filepath.Join(dir, name); executable(file) == nil {
				return file, 0, nil
			}
		}
	}
	if errors.Is(hereErr, fs.ErrNotExist) {
		if strings.Contains(name, "/") {
			return "", exitNotFound, hereErr
		}
		return "", exitNotFound, fmt.Errorf("%s: not among the inputs and not on PATH", name)
	}
	return "", exitNotExecutable, hereErr
}

// executable returns the reason why a file cannot be executed, or nil if it can.
func executable(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a file", file)
	}
	const mayExecute = 1 // the X_OK of access(2)
	if err := syscall.Access(file, mayExecute); err != nil {
		return fmt.Errorf("%s: not executable: set executable = true for this input: %w", file, err)
	}
	return nil
}

// startError explains why the kernel did not start a program: it returns the exit code that a shell would return, and
// an error for people.
func startError(program string, err error) (int, error) {
	switch {
	case errors.Is(err, syscall.ENOENT):
		return exitNotFound, fmt.Errorf("start %s: its interpreter does not exist (first line, #!): %w", program, err)
	case errors.Is(err, syscall.ENOEXEC):
		return exitNotExecutable, fmt.Errorf(
			"start %s: neither a program for this machine nor a script with a first line #!: %w", program, err)
	case errors.Is(err, syscall.E2BIG):
		return exitNotExecutable, fmt.Errorf("start %s: command line and environment are longer than the kernel takes: %w",
			program, err)
	}
	return exitNotExecutable, fmt.Errorf("start %s: %w", program, err)
}
