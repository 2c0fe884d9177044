package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"jjm"
	"jjm/gatekeeper/arc"
	"jjm/run"
)

// delegations are the credentials that A-REX keeps for jobs, by job: what it noted
// itself, in a list that it alone writes. It is read once a pass, and only if a job
// may have one.
type delegations struct {
	control string
	once    sync.Once
	of      map[string][]string
	err     error
}

// keptFor are the credentials that A-REX keeps for a job; known is false if that
// cannot be told, or A-REX keeps no list.
func (d *delegations) keptFor(job string) (ids []string, known bool) {
	d.read()
	return d.of[job], d.of != nil
}

func (d *delegations) read() {
	d.once.Do(func() { d.of, d.err = readDelegations(d.control) })
}

// newest is the file of the credential of a job that was written last, "" for none.
func (d *delegations) newest(job string) (string, error) {
	d.read()
	var file string
	var at time.Time
	for _, id := range d.of[job] {
		name := arc.DelegationFile(id)
		if name == "" {
			continue
		}
		info, err := os.Lstat(filepath.Join(d.control, name))
		if err == nil && info.Mode().IsRegular() && (file == "" || info.ModTime().After(at)) {
			file, at = filepath.Join(d.control, name), info.ModTime()
		}
	}
	return file, d.err
}

// readDelegations asks the daemon's program, which can read A-REX's database. A site
// without delegations has none.
func readDelegations(control string) (map[string][]string, error) {
	if _, err := os.Stat(filepath.Join(control, "delegations", "list")); err != nil {
		return nil, nil
	}
	program, err := daemonProgram()
	if err != nil {
		return nil, err
	}
	out, err := run.Run(context.Background(),
		run.Cmd{Argv: []string{program, "arc", "delegations", control}, Env: []string{"PATH=/usr/bin:/bin"}})
	if err != nil {
		return nil, err
	}
	if out.Exit != 0 {
		return nil, jjm.Errorf(jjm.Busy, "%s: %s", program, strings.TrimSpace(string(out.Stderr)))
	}
	of := map[string][]string{}
	for line := range strings.Lines(string(out.Stdout)) {
		var job, id string
		if _, err := fmt.Sscanf(line, "%q %q", &job, &id); err == nil {
			of[job] = append(of[job], id)
		}
	}
	return of, nil
}

// daemonProgram is jjm-daemon beside this program, or in ../libexec/jjm.
func daemonProgram() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(self)
	for _, path := range []string{filepath.Join(dir, "jjm-daemon"),
		filepath.Join(filepath.Dir(dir), "libexec", "jjm", "jjm-daemon")} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", jjm.Errorf(jjm.Internal, "the daemon's program is not beside %s: install it there", self)
}
