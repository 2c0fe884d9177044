package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"jjm"
	"jjm/gate/client"
	"jjm/wire"
)

// commands is the grammar: one file each, one line here.
type commands struct {
	Submit submit `cmd:"" group:"gatekeepers" help:"Hand over a grid job; prints its id." example:"jjm submit --key request-4711 job.toml"`
	Lookup lookup `cmd:"" group:"gatekeepers" help:"The status of grid jobs, one line each, for programs." example:"jjm lookup 17 18"`
	Kill   kill   `cmd:"" group:"gatekeepers" help:"Stop jobs; of a finished one, no change." example:"jjm kill 17"`
	Renew  renew  `cmd:"" group:"gatekeepers" help:"Give the jobs of a grid job a newer proxy or token." example:"jjm renew 17 --proxy /tmp/x509up_u1000"`

	Status     status     `cmd:"" group:"people" help:"The detail of jobs, or of the site." example:"jjm status 17 17.3"`
	List       list       `cmd:"" group:"people" help:"Grid jobs in a table, newest first." example:"jjm list --all --status failed"`
	Wait       wait       `cmd:"" group:"people" help:"Wait for the end, showing progress; exit 0 if all are done." example:"jjm wait 17 && jjm output 17"`
	Release    release    `cmd:"" group:"people" help:"Let held jobs go on; of what is not held, no change." example:"jjm release 17.3"`
	Output     output     `cmd:"" group:"people" help:"Fetch the tar of outputs, checked, or nothing." example:"jjm output 17 -o results.tar"`
	Cat        cat        `cmd:"" group:"people" help:"Show the standard output of a local job, or another file of it." example:"jjm cat 17.3 --stderr -f"`
	Verify     verify     `cmd:"" group:"people" help:"Was every event, row, file, section done exactly once?" example:"jjm verify 17 --recovery missing.json"`
	Retract    retract    `cmd:"" group:"people" help:"Say that outputs were lost, so that they are made again." example:"jjm retract 17 mc.17.3.out.root --reason 'disk 7 is gone' --dry-run"`
	Split      splitJob   `cmd:"" passthrough:"" group:"people" help:"Print the local jobs that a job file would make; no daemon needed." example:"jjm split --preview job.toml --limit 5"`
	Run        runPart    `cmd:"" passthrough:"" group:"people" help:"Run one local job of a job file, here and now; no daemon needed." example:"jjm run job.toml --part 0"`
	Record     record     `cmd:"" group:"people" help:"Show the XML record of a grid job, or a part of it." example:"jjm record 17 --path /gridjob/counts/@completed"`
	History    history    `cmd:"" group:"people" help:"Every change of a job: when, from what to what, and why." example:"jjm history 17.3"`
	Log        logs       `cmd:"" group:"people" help:"jjm's own log of a grid job." example:"jjm log 17"`
	JobTypes   jobTypes   `cmd:"" group:"people" help:"The job types of this site; new ones."`
	Clusters   clusters   `cmd:"" group:"people" help:"The batch systems: well or not, and how busy."`
	Dataset    dataset    `cmd:"" group:"people" help:"Datasets: their files, add some, close, mark lost ones."`
	Version    versions   `cmd:"" group:"people" help:"The versions of this program and of the daemon." example:"jjm version"`
	Completion completion `cmd:"" group:"people" help:"What makes a shell complete the commands: bash, zsh, fish." example:"jjm completion bash"`

	Drain     drain     `cmd:"" group:"site" help:"Take no new grid jobs; accepted ones go on." example:"jjm drain cluster slurm --reason maintenance"`
	Pause     pause     `cmd:"" group:"site" help:"Submit nothing more; what runs goes on." example:"jjm pause user alice --for 2h --reason full-disk"`
	Resume    resume    `cmd:"" group:"site" help:"End a drain or a pause." example:"jjm resume cluster slurm"`
	Ban       ban       `cmd:"" group:"site" help:"Take no grid jobs of somebody, kill those they have." example:"jjm ban mallory --reason stolen-key"`
	Unban     unban     `cmd:"" group:"site" help:"Take grid jobs of somebody again." example:"jjm unban mallory"`
	Bans      bans      `cmd:"" group:"site" help:"Who is kept out, since when, by whom and why." example:"jjm bans"`
	Advertise advertise `cmd:"" group:"site" help:"What brokers are told of this site, and whether they have it." example:"jjm advertise"`
	Serve     serve     `cmd:"" passthrough:"" group:"site" help:"Run the daemon in the foreground." example:"jjm serve --config /etc/jjm/jjm.toml"`
	Config    config    `cmd:"" group:"site" help:"Check the configuration and name every mistake."`
}

// place holds the flags that say where the daemon is.
type place struct {
	Socket string `placeholder:"PATH" help:"The daemon's socket is at this path."`
	State  string `placeholder:"DIR" help:"The daemon keeps its state in this folder."`
}

func (p place) at(c *cli) client.Place {
	return client.Place{State: p.State, Socket: p.Socket, Getenv: c.getenv}
}

func (p place) client(c *cli) *client.Client {
	return &client.Client{Socket: p.at(c).SocketPath()}
}

// ask puts one request and returns its answer.
func ask[Req wire.Request, Ans wire.Answer](c *cli, p place, v wire.Verb[Req, Ans], req Req) (Ans, error) {
	return client.Call(context.Background(), p.client(c), v, req)
}

// interruptible returns a context that SIGINT and SIGTERM end, to a command that
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
	if _, err := wire.ParseRefs("arguments", plain, grid); err != nil {
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
