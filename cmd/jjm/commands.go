package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"jjm"
	"jjm/gate/client"
	"jjm/internal/nearest"
	"jjm/wire"
)

// verb is a command with its flags.
type verb interface {
	flags(fs *flag.FlagSet)
	run(c *cli) error
}

// taker is a verb that has arguments besides flags; as many as its command
// allows.
type taker interface{ take(words []string) }

// passer is a verb that takes its arguments as they are.
type passer interface {
	pass(c *cli, args []string) error
}

// command is one line of the help.
type command struct {
	name, args string
	min, max   int // how many arguments; max -1: any number
	summary    string
	detail     string // more paragraphs, for its own help
	example    string
	make       func() verb
}

// group is commands under one heading.
type group struct {
	title    string
	commands []command
}

// groups lists the commands: one file each, one line here.
func groups() []group {
	return []group{
		{"For gatekeepers", []command{submitCommand(), lookupCommand(), killCommand(), renewCommand()}},
		{"For people", []command{
			statusCommand(), listCommand(), waitCommand(), releaseCommand(), outputCommand(), catCommand(), verifyCommand(), retractCommand(), splitCommand(),
			recordCommand(), historyCommand(), logCommand(), jobTypesCommand(), clustersCommand(), datasetCommand(), versionCommand(),
		}},
		{"For the site", []command{drainCommand(), pauseCommand(), resumeCommand(), banCommand(), unbanCommand(), bansCommand(), advertiseCommand(), serveCommand(), configCommand()}},
	}
}

// find gives a command by name; of an unknown one the error says which was
// probably meant.
func find(name string) (command, error) {
	var names []string
	for _, g := range groups() {
		for _, cmd := range g.commands {
			if cmd.name == name {
				return cmd, nil
			}
			names = append(names, cmd.name)
		}
	}
	if near := nearest.Of(name, names); near != "" {
		return command{}, usage("unknown command %.40q: did you mean %q? jjm --help lists all", name, near)
	}
	return command{}, usage("unknown command %.40q: want one of %s", name, strings.Join(names, ", "))
}

// help prints the overview.
func (c *cli) help() {
	p := func(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format, args...) }
	p("jjm - the job manager of a site\n\nUsage: jjm COMMAND [ARGUMENTS]; jjm COMMAND --help says more.\n")
	for _, g := range groups() {
		p("\n%s:\n", g.title)
		for _, cmd := range g.commands {
			p("  %-22s %s\n", cmd.name+" "+cmd.args, cmd.summary)
			p("  %-22s   $ %s\n", "", cmd.example)
		}
	}
	p("\nAn id is 12 (a grid job), 12.3 (one of its local jobs), 12.* (all) or 12.3-7;\na gatekeeper's handle may stand for the 12.\n" +
		"The daemon is found by --socket, $JJM_SOCKET, --state or $JJM_STATE; else in /var/lib/jjm\n" +
		"if jjm is installed there, else in ~/.local/state/jjm.\n\n" + exitHelp)
}

// place holds the flags that say where the daemon is.
type place struct{ Socket, State string }

func (p *place) flags(fs *flag.FlagSet) {
	fs.StringVar(&p.Socket, "socket", "", "The daemon's socket is at this `PATH`.")
	fs.StringVar(&p.State, "state", "", "The daemon keeps its state in this `DIR`.")
}

func (p place) at(c *cli) client.Place {
	return client.Place{State: p.State, Socket: p.Socket, Getenv: c.getenv}
}

func (p place) client(c *cli) *client.Client {
	return &client.Client{Socket: p.at(c).SocketPath()}
}

// ask puts one request and gives its answer.
func (p place) ask(c *cli, req wire.Request) (wire.Answer, error) {
	return p.client(c).Do(context.Background(), req)
}

// interruptible gives a context that SIGINT and SIGTERM end, to a command that
// may live long: so it collects its garbage.
func interruptible() (context.Context, context.CancelFunc) {
	debug.SetGCPercent(100)
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// checkRefs refuses what is neither an id nor a handle before the daemon is asked.
func checkRefs(refs []string, grid bool) error {
	plain := make([]string, len(refs))
	for i, ref := range refs {
		if plain[i] = ref; strings.HasPrefix(ref, "g") {
			if _, rest, ok := jjm.CutHandle(ref); ok {
				plain[i] = "1" + rest
			}
		}
	}
	r := wire.Request{Verb: "arguments", Refs: plain}
	if _, err := r.ParsedRefs(grid); err != nil {
		return &exit{exitUsage, err}
	}
	return nil
}

// printJSON writes v as one line.
func (c *cli) printJSON(v any) error {
	line, err := wire.Line(v)
	if err != nil {
		return err
	}
	_, err = c.out.Write(line)
	return err
}

// gridID reads the id of a grid job that was checked.
func gridID(s string) jjm.GridID {
	ref, _ := jjm.ParseRef(s)
	return ref.Grid
}
