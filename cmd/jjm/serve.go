package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"jjm"
)

// daemonName is the program that serves. It is kept apart because this one
// must start in a millisecond.
const daemonName = "jjm-daemon"

// serve becomes the daemon.
type serve struct {
	Args []string `arg:"" optional:"" name:"FLAGS"`
}

// config are the commands about the configuration.
type config struct {
	Check checkConfig `cmd:"" passthrough:"" help:"Name every mistake in the configuration." example:"jjm config check --config /etc/jjm/jjm.toml"`
}

// checkConfig checks the configuration.
type checkConfig struct {
	Args []string `arg:"" optional:"" name:"FLAGS"`
}

// splitJob shows how a job file would be cut: the daemon's program has job types and
// splitters.
type splitJob struct {
	Args []string `arg:"" optional:"" name:"FLAGS"`
}

// runPart runs one local job of a job file.
type runPart struct {
	Args []string `arg:"" optional:"" name:"FLAGS"`
}

// Run hands the arguments on.
func (r *runPart) Run() error { return becomeDaemon("run", r.Args) }

// testCluster tries out a cluster: the daemon's program has the adapters.
type testCluster struct {
	Args []string `arg:"" optional:"" name:"NAME"`
}

// Run hands the arguments on.
func (s *serve) Run() error { return becomeDaemon("serve", s.Args) }

// Run hands the arguments on.
func (s *checkConfig) Run() error {
	return becomeDaemon("config", append([]string{"check"}, s.Args...))
}

// Run hands the arguments on.
func (s *splitJob) Run() error { return becomeDaemon("split", s.Args) }

// Run hands the arguments on.
func (s *testCluster) Run() error {
	return becomeDaemon("clusters", append([]string{"test"}, s.Args...))
}

// becomeDaemon replaces this process by the daemon, with the same arguments.
// The daemon is looked for beside this program and in ../libexec/jjm, never on
// PATH: another version must not be started by accident.
func becomeDaemon(command string, args []string) error {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return jjm.Errorf(jjm.Internal, "find %s: %w", daemonName, err)
	}
	dir := filepath.Dir(self)
	places := []string{filepath.Join(dir, daemonName), filepath.Join(filepath.Dir(dir), "libexec", "jjm", daemonName)}
	for _, path := range places {
		err := syscall.Exec(path, append([]string{daemonName, command}, args...), os.Environ())
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("start %s: %w", path, err)
		}
	}
	return jjm.Errorf(jjm.Internal, "the daemon's program is neither %s nor %s: install it there", places[0], places[1])
}
