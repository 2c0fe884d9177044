package main

import (
	"errors"
	"flag"
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
type serve struct{}

func serveCommand() command {
	return command{
		name: "serve", args: "[FLAGS]", summary: "Run the daemon in the foreground",
		example: "jjm serve --config /etc/jjm/jjm.toml",
		make:    func() verb { return serve{} },
	}
}

func (serve) flags(*flag.FlagSet) {}

func (serve) run(*cli) error { return nil }

func (serve) pass(_ *cli, args []string) error { return becomeDaemon("serve", args) }

// config checks the daemon's configuration.
type config struct{}

func configCommand() command {
	return command{
		name: "config", args: "check [FLAGS]", summary: "Check the configuration and name every mistake",
		example: "jjm config check --config /etc/jjm/jjm.toml",
		make:    func() verb { return config{} },
	}
}

func (config) flags(*flag.FlagSet) {}

func (config) run(*cli) error { return nil }

func (config) pass(_ *cli, args []string) error {
	if len(args) == 0 || args[0] != "check" && args[0] != "--help" && args[0] != "-h" {
		return usage("want: jjm config check [FLAGS]")
	}
	return becomeDaemon("config", args)
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
