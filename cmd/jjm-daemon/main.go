// Command jjm-daemon is what "jjm serve", "jjm config check", "jjm clusters test" and
// "jjm split" become.
//
// It is a program of its own because the jjm command is exec'ed thousands of
// times by gatekeepers: linking the store alone would double the cost of every
// lookup.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"

	"jjm"
	"jjm/app"
	starts "jjm/run"
	"jjm/run/asuser"
)

// version is set by the linker.
var version = "development"

// commands is the grammar.
type commands struct {
	Serve    serve         `cmd:"" help:"Run the daemon."`
	Config   configGroup   `cmd:"" help:"Work with the configuration."`
	Clusters clustersGroup `cmd:"" help:"Work with the clusters."`
	Split    splitJob      `cmd:"" help:"See how a job file would be cut."`
	Run      runPart       `cmd:"" help:"Run one local job of a job file, here and now."`
	JobTypes jobTypesGroup `cmd:"" help:"Write job types."`
	ARC      arcGroup      `cmd:"" name:"arc" hidden:"" help:"For jjm's scripts of A-REX."`
}

type serve struct {
	Config string `help:"Configuration file (default: $$JJM_CONFIG, else ${config}, else none)." placeholder:"FILE"`
}

type configGroup struct {
	Check check `cmd:"" help:"Check a configuration and say every mistake in it."`
}

type check struct {
	File   string `arg:"" optional:"" help:"Configuration file (default: $$JJM_CONFIG, else ${config})."`
	Config string `help:"The same." placeholder:"FILE"`
}

// Help is the rest of its help.
func (serve) Help() string {
	return `Without a configuration it runs the embedded batch system of this machine, with
its state in $JJM_STATE, else $XDG_STATE_HOME/jjm, else ~/.local/state/jjm.
SIGHUP and changes of the file reload what can be; SIGTERM stops it, and running
local jobs go on.

Example:
  $ jjm serve --config /etc/jjm/jjm.toml`
}

// Help is the rest of its help.
func (check) Help() string {
	return `Exit code 0 if it is right, 5 if not.

Example:
  $ jjm config check /etc/jjm/jjm.toml`
}

// The exit codes are those of the jjm command.
const (
	exitOK       = 0
	exitNo       = 1
	exitUsage    = 2
	exitInvalid  = 5
	exitInternal = 8
)

func main() {
	switch {
	case asuser.IsHelper(os.Args):
		os.Exit(asuser.Main(os.Args))
	case starts.IsStarter(os.Args):
		os.Exit(starts.Start(os.Args))
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	var c commands
	parser, err := kong.New(&c, kong.Name("jjm"), kong.Vars{"config": app.DefaultPath},
		kong.Description("jjm's daemon: see jjm --help for everything else."),
		kong.Writers(stdout, stderr), kong.BindTo(stdout, (*io.Writer)(nil)))
	if err != nil {
		fmt.Fprintln(stderr, "jjm:", err)
		return exitInternal
	}
	k, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintln(stderr, "jjm:", err)
		return exitUsage
	}
	if err := k.Run(stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "jjm:", err)
		if own := (*exit)(nil); errors.As(err, &own) {
			return own.code
		}
		if k := jjm.KindOf(err); k == jjm.Invalid || k == jjm.Conflict {
			return exitInvalid
		}
		return exitInternal
	}
	return exitOK
}

// Run serves until SIGTERM or SIGINT.
func (s *serve) Run(stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := starts.KeepDescriptors(); err != nil {
		return fmt.Errorf("keep what is open from the programs that are started: %w", err)
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("where am I: %w", err)
	}
	a, err := app.New(ctx, app.Options{Config: s.Config, Version: versionText(), Getenv: os.Getenv,
		Stderr: os.Stderr, Executable: exe})
	if err != nil {
		return err
	}
	return errors.Join(a.Run(ctx), a.Close())
}

// Run checks the file.
func (c *check) Run(stdout io.Writer) error {
	config, path, err := app.Load(cmp.Or(c.File, c.Config), os.Getenv)
	if err != nil {
		return err
	}
	types, _ := config.Types() // what is wrong with the files is told already
	if problems := app.Untold(types); len(problems) > 0 {
		return problems.Err()
	}
	if path == "" {
		path = "no configuration file: the defaults"
	}
	fmt.Fprintln(stdout, path+": ok")
	return nil
}

// versionText is the linker's version, or what the Go tool knows.
func versionText() string {
	if version != "development" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return version
}
