package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"jjm/internal/jjm"
)

// daemonName is the name of the daemon's program. It is a separate program, so that jjm is small and starts quickly.
const daemonName = "jjm-daemon"

// serve runs the daemon.
type serve struct {
	Args []string `arg:"" optional:"" name:"FLAGS"`
}

// config are the commands about the configuration.
type config struct {
	Check checkConfig `cmd:"" passthrough:"" help:"Report every mistake in the configuration." example:"jjm config check --config /etc/jjm/jjm.toml"`
}

// checkConfig checks the configuration.
type checkConfig struct {
	Args []string `arg:"" optional:"" name:"FLAGS"`
}

// splitJob shows how a job file would be split. The daemon's program contains the job types
// and splitters.
type splitJob struct {
	Args []string `arg:"" optional:"" name:"FLAGS" takes:"file"`
}

// runPart runs one local job of a job file.
type runPart struct {
	Args []string `arg:"" optional:"" name:"FLAGS" takes:"file"`
}

// Run passes the arguments to the daemon's program.
func (r *runPart) Run() error { return becomeDaemon("run", r.Args) }

// testCluster tests a cluster. The daemon's program contains the adapters.
type testCluster struct {
	Args []string `arg:"" optional:"" name:"NAME" takes:"name"`
}

// Run passes the arguments to the daemon's program.
func (s *serve) Run() error { return becomeDaemon("serve", s.Args) }

// Run passes the arguments to the daemon's program.
func (s *checkConfig) Run() error {
	return becomeDaemon("config", append([]string{"check"}, s.Args...))
}

// Run passes the arguments to the daemon's program.
func (s *splitJob) Run() error { return becomeDaemon("split", s.Args) }

// Run passes the arguments to the daemon's program.
func (s *testCluster) Run() error {
	return becomeDaemon("clusters", append([]string{"test"}, s.Args...))
}

// becomeDaemon replaces this process by the daemon's program, with the same arguments. It returns only if that fails.
// It looks for the program beside this program and in ../libexec/jjm, and not on PATH, which could contain another
// version.
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
