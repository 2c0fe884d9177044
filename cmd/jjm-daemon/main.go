// Command jjm-daemon carries out "jjm serve", "jjm config check", "jjm clusters test", "jjm job-types new" and
// "test", "jjm split" and "jjm run". The command jjm replaces its process by this program for them. jjm-gatekeeper runs
// the further command "arc delegations". The program is separate because linking only the store would already double
// the time in which jjm starts.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"jjm/internal/app"
	"jjm/internal/jjm"
	"jjm/internal/sys/asuser"
	"jjm/internal/sys/fetch"
	starts "jjm/internal/sys/run"
	"jjm/internal/version"
)

// commands is the grammar of the command line, for package kong.
type commands struct {
	Serve    serve         `cmd:"" help:"Run the daemon."`
	Config   configGroup   `cmd:"" help:"Work with the configuration."`
	Clusters clustersGroup `cmd:"" help:"Work with the clusters."`
	Split    splitJob      `cmd:"" help:"Show the local jobs that a job file would make."`
	Run      runPart       `cmd:"" help:"Run one local job of a job file on this machine."`
	JobTypes jobTypesGroup `cmd:"" help:"Write job types."`
	ARC      arcGroup      `cmd:"" name:"arc" hidden:"" help:"For jjm's scripts of A-REX."`
}

type serve struct {
	Config string `help:"Configuration file (default: $$JJM_CONFIG, else ${config}, else none)." placeholder:"FILE"`
	Adopt  bool   `help:"Let a store that does not fit its folders go on above the highest id that they know."`
}

type configGroup struct {
	Check check `cmd:"" help:"Report every mistake in a configuration."`
}

type check struct {
	File   string `arg:"" optional:"" help:"Configuration file (default: $$JJM_CONFIG, else ${config})."`
	Config string `help:"The same." placeholder:"FILE"`
}

// Help returns the text of --help below the usage.
func (serve) Help() string {
	return `Without a configuration it runs the embedded batch system of this machine.

Its state is in $JJM_STATE, else where the configuration says (an installed one says
/var/lib/jjm), else in $XDG_STATE_HOME/jjm, else in ~/.local/state/jjm. The commands
read no configuration: if the state is in another folder, or if there is a /var/lib/jjm
and this is not its daemon, set JJM_STATE for them too.

A store that does not fit its work area, records or spool is refused. After
a loss, --adopt takes these folders over and gives out ids above all that they
know; what it did is in the log. It is for one start.

SIGHUP and changes of the file reload what can be; SIGTERM stops it, and running
local jobs go on.

Example:
  $ jjm serve --config /etc/jjm/jjm.toml`
}

// Help returns the text of --help below the usage.
func (check) Help() string {
	return `It names the configuration and the state folder that "jjm serve" would use if it were
started from here, and why: $JJM_STATE outranks the configuration in both. A service is
started without this variable: if it is set and changes the state folder, a note says so.

It names the folder of job types, and what is declared there. A mistake in a file of
this folder does not stop a daemon: it turns the type of that file off.

Exit code 0 if all is right, 5 if not. Where this account may read the state, it is
looked at too: a store that is not the one of its folder is told. Nothing is changed.

Example:
  $ jjm config check /etc/jjm/jjm.toml`
}

// The exit codes. They are the same as those of the command jjm.
const (
	exitOK       = 0
	exitNo       = 1
	exitUsage    = 2
	exitBusy     = 4
	exitInvalid  = 5
	exitInternal = 8
	exitSome     = 9
)

func main() {
	switch {
	case asuser.IsHelper(os.Args):
		os.Exit(asuser.Main(os.Args))
	case fetch.IsChild(os.Args):
		os.Exit(fetch.Main(os.Stdin, os.Stdout))
	case starts.IsStarter(os.Args):
		os.Exit(starts.Start(os.Args))
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// errorOutput is the standard error of a command. kong passes values to Run by their types, and the type differs from
// that of standard output.
type errorOutput struct{ io.Writer }

func run(args []string, stdout, stderr io.Writer) int {
	var c commands
	parser, err := kong.New(&c, kong.Name("jjm"), kong.Vars{"config": app.DefaultPath},
		kong.Description("jjm's daemon: see jjm --help for everything else."),
		kong.Writers(stdout, stderr), kong.BindTo(stdout, (*io.Writer)(nil)), kong.Bind(errorOutput{stderr}))
	if err != nil {
		fmt.Fprintln(stderr, "jjm:", err)
		return exitInternal
	}
	k, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintln(stderr, usageText(err))
		return exitUsage
	}
	if err := k.Run(stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", k.Selected().FullPath(), err)
		if own := (*exit)(nil); errors.As(err, &own) {
			return own.code
		}
		return codeOf(err)
	}
	return exitOK
}

// codeOf returns the exit code for an error that is not of type exit.
func codeOf(err error) int {
	switch jjm.KindOf(err) {
	case jjm.Invalid, jjm.Conflict:
		return exitInvalid
	case jjm.Busy:
		return exitBusy
	}
	return exitInternal
}

// usageText returns the text for a mistake in the command line: the command, the mistake, its usage, and its example.
func usageText(err error) string {
	parse := (*kong.ParseError)(nil)
	if !errors.As(err, &parse) || parse.Context.Selected() == nil {
		return "jjm: " + err.Error()
	}
	command := parse.Context.Selected()
	mistake := strings.TrimPrefix(err.Error(), command.Path()+": ") // kong adds the prefix to the errors of Validate
	text := fmt.Sprintf("%s: %s\nUsage: jjm %s", command.FullPath(), mistake, command.Summary())
	if _, example, has := strings.Cut(command.Detail, "Example:\n"); has {
		text += "\nExample:\n" + example
	}
	return text
}

// Run runs the daemon until SIGTERM or SIGINT.
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
	a, err := app.New(ctx, app.Options{Config: s.Config, Version: version.Text(), Getenv: os.Getenv,
		Stderr: os.Stderr, Executable: exe, Adopt: s.Adopt})
	if err != nil {
		return err
	}
	return errors.Join(a.Run(ctx), a.Close())
}

// Run checks a configuration and prints every mistake.
func (c *check) Run(stdout io.Writer) error {
	if c.File != "" && c.Config != "" {
		return &exit{exitUsage, fmt.Errorf("want one file, not %s and %s", c.Config, c.File)}
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("where am I: %w", err)
	}
	opts := app.Options{Config: cmp.Or(c.File, c.Config), Getenv: os.Getenv, Executable: exe}
	config, path, problems := app.Examine(opts)
	printPlaces(stdout, opts, &config, path)
	unread := slices.ContainsFunc(problems, func(p jjm.Problem) bool { return p.Field == "" })
	site, _ := config.Types() // app.Examine reported the problems of the folder
	types := site.Registry
	problems = append(problems, site.Mistakes()...)
	problems = append(problems, app.Untold(types)...)
	problems = append(problems, config.Lost(types)...)
	problems = append(problems, config.CheckModels(types)...)
	for _, p := range config.Advice() {
		if !unread { // advice is about the values of the settings, which are not known here if unread
			fmt.Fprintf(stdout, "note: %s\n", p)
		}
	}
	if len(problems) > 0 {
		return problems.Err()
	}
	if err := config.CheckState(); err != nil {
		return err
	}
	for _, p := range config.Left() {
		fmt.Fprintf(stdout, "note: %s\n", p)
	}
	fmt.Fprintln(stdout, config.Own(types))
	if path == "" {
		path = "no configuration file: the defaults"
	}
	fmt.Fprintln(stdout, path+": ok")
	return nil
}

// printPlaces prints the configuration and the state folder that are checked, and why these are used.
func printPlaces(stdout io.Writer, opts app.Options, config *app.Config, path string) {
	fmt.Fprintf(stdout, "configuration: %s (%s)\n", cmp.Or(path, "none"), app.FileFrom(opts, path))
	fmt.Fprintf(stdout, "state: %s (%s)\n", config.State, config.StateFrom(opts.Getenv, path))
	if dir := config.WithoutVariable(opts.Getenv); dir != "" {
		fmt.Fprintf(stdout, "note: a daemon that is started without JJM_STATE, as a service is, has its state in %s: "+
			"\"%s\" checks that one\n", dir, strings.TrimSpace("env -u JJM_STATE jjm config check "+path))
	}
}
