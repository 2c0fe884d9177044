package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"jjm/internal/gatekeeper/arc"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// delegations are the credentials that A-REX keeps for the jobs of a control folder. They are read from A-REX's own
// list, which only A-REX can write, and not from the files of the users. The list is read at most once in each pass of
// a scan, and only if a credential is looked up. of has the ids of the credentials by A-REX's ids of the jobs; it is
// nil if there is no list or if the list cannot be read, and err is then the error of reading.
type delegations struct {
	control string
	once    sync.Once
	of      map[string][]string
	err     error
}

// credentialsOf returns the ids of the credentials that A-REX keeps for a job. known is false if the site has no list
// of credentials, or if the list cannot be read.
func (d *delegations) credentialsOf(job string) (ids []string, known bool) {
	d.read()
	return d.of[job], d.of != nil
}

func (d *delegations) read() {
	d.once.Do(func() { d.of, d.err = readDelegations(d.control) })
}

// newest returns the path of the job's credential that was written last, or "" if A-REX keeps no credential for the
// job. The error means that the list could not be read.
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

// readDelegations returns the ids of the credentials by job. It runs jjm-daemon, which can read A-REX's database,
// because this program must stay small. It returns nil without an error if the site has no list of credentials.
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

// daemonProgram returns the path of the program jjm-daemon, in the folder of this program or in ../libexec/jjm.
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
