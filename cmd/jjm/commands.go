package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// commands is the grammar of the command line, for package kong. Each command has one line here and its own file.
type commands struct {
	Submit submit `cmd:"" group:"gatekeepers" help:"Submit a grid job; prints its id." example:"jjm submit --key request-4711 job.toml"`
	Lookup lookup `cmd:"" group:"gatekeepers" help:"The status of grid jobs, one line each, for programs." example:"jjm lookup 17 18"`
	Kill   kill   `cmd:"" group:"gatekeepers" help:"End jobs; one that is over stays as it is." example:"jjm kill 17"`
	Renew  renew  `cmd:"" group:"gatekeepers" help:"Replace the proxy or token of a grid job's jobs by a newer one." example:"jjm renew 17 --proxy /tmp/x509up_u1000"`

	Status     status     `cmd:"" group:"people" help:"The details of jobs, or of the site." example:"jjm status 17 17.3"`
	List       list       `cmd:"" group:"people" help:"Grid jobs in a table, newest first." example:"jjm list --status finished"`
	Top        top        `cmd:"" group:"people" help:"A live screen of the clusters and the grid jobs that are not over." example:"jjm top"`
	Wait       wait       `cmd:"" group:"people" help:"Wait for the end, showing progress; exit 0 if all are done." example:"jjm wait 17 && jjm output 17"`
	Hold       hold       `cmd:"" group:"people" help:"Hold jobs until they are released; running ones go on." example:"jjm hold 17 --reason full-disk"`
	Release    release    `cmd:"" group:"people" help:"Release held jobs; others stay as they are." example:"jjm release 17.3"`
	Set        set        `cmd:"" group:"people" help:"Change the resources and the priority of waiting local jobs." example:"jjm set 17 --walltime 12h"`
	Resubmit   resubmit   `cmd:"" group:"people" help:"Run failed local jobs again; reopens a grid job that is over." example:"jjm resubmit 17 && jjm wait 17"`
	Resplit    resplit    `cmd:"" group:"people" help:"Cut the work of failed local jobs into smaller local jobs." example:"jjm resplit 17 --into 4"`
	Force      forceState `cmd:"" name:"force-status" group:"people" help:"Force local jobs to failed or completed, whatever the evidence says." example:"jjm force-status 17.3 failed --why 'node7 is gone'"`
	Freeze     freeze     `cmd:"" group:"people" help:"Freeze local jobs that are over: nothing changes them until jjm unfreeze." example:"jjm freeze 17.3-7"`
	Unfreeze   unfreeze   `cmd:"" group:"people" help:"Unfreeze local jobs: completed or failed, as they were." example:"jjm unfreeze 17"`
	Copy       copyJob    `cmd:"" group:"people" help:"A new grid job of what an old one asked for, with edits." example:"jjm copy 17 --set params.events=500 --set name=again"`
	Remove     remove     `cmd:"" group:"people" help:"Remove grid jobs that are over, with their outputs, records and rows." example:"jjm remove 17 18"`
	Output     output     `cmd:"" group:"people" help:"Fetch the tar of the outputs, or one file of it, and check it." example:"jjm output 17 -o results.tar"`
	Cat        cat        `cmd:"" group:"people" help:"Show the standard output of a local job, or another file of it." example:"jjm cat 17.3 histogram.txt"`
	Verify     verify     `cmd:"" group:"people" help:"Was every event, row, file or section done exactly once?" example:"jjm verify 17 --recovery missing.json"`
	Retract    retract    `cmd:"" group:"people" help:"Declare outputs lost, so that they are made again." example:"jjm retract 17 mc.17.3.out.root --reason 'disk 7 is gone' --dry-run"`
	Split      splitJob   `cmd:"" passthrough:"" group:"people" help:"Show the local jobs that a job file would make." example:"jjm split --preview job.toml --limit 5"`
	Run        runPart    `cmd:"" passthrough:"" group:"people" help:"Run one local job of a job file on this machine." example:"jjm run job.toml --part 0"`
	Record     record     `cmd:"" group:"people" help:"Show the XML record of a grid job, or a part of it." example:"jjm record 17 --path /gridjob/counts/@completed"`
	History    history    `cmd:"" group:"people" help:"Every change of a job: when, from what to what, and why." example:"jjm history 17.3"`
	Explain    explain    `cmd:"" group:"people" help:"By which rule an attempt was judged, and what the others say." example:"jjm explain 17.3 --attempt 1"`
	Why        whyJobs    `cmd:"" group:"people" help:"What jobs that have not ended wait for, and what to do." example:"jjm why 17 17.3"`
	Find       find       `cmd:"" group:"people" help:"The jobs behind a batch id, a host and time, a file, a tag, a user or a DN." example:"jjm find --batch-id 4711"`
	Report     reportJob  `cmd:"" group:"people" help:"A grid job on one page: ends, failures, totals, hosts; text or HTML." example:"jjm report 17 -o report.html"`
	Log        logs       `cmd:"" group:"people" help:"jjm's own log of a grid job." example:"jjm log 17"`
	Rules      rules      `cmd:"" group:"people" help:"The rules by which jjm judges how attempts end." example:"jjm rules"`
	JobTypes   jobTypes   `cmd:"" group:"people" help:"The job types of this site; new ones."`
	Models     models     `cmd:"" group:"people" help:"The models of job files of this site, or the file of one." example:"jjm models default"`
	Clusters   clusters   `cmd:"" group:"people" help:"The state of each batch system."`
	Dataset    dataset    `cmd:"" group:"people" help:"Datasets: their files, add some, close, mark lost ones."`
	Version    versions   `cmd:"" group:"people" help:"The versions of this program and of the daemon." example:"jjm version"`
	Completion completion `cmd:"" group:"people" help:"Print the completion script of a shell: bash, zsh, fish." example:"jjm completion bash"`

	Health    siteHealth `cmd:"" group:"site" help:"Is the site well? In the words and exit codes of Nagios." example:"jjm health"`
	Trace     traceJob   `cmd:"" group:"site" help:"Send a tiny job through a gatekeeper's path, and name the hop that fails." example:"jjm trace --via blahp"`
	Drain     drain      `cmd:"" group:"site" help:"Accept no new grid jobs; or announce a maintenance window." example:"jjm drain cluster slurm --from 17:30 --for 4h --reason disks"`
	Pause     pause      `cmd:"" group:"site" help:"Submit no more local jobs; running ones go on." example:"jjm pause user alice --for 2h --reason full-disk"`
	Resume    resume     `cmd:"" group:"site" help:"End a drain, a pause or a maintenance window." example:"jjm resume cluster slurm"`
	Ban       ban        `cmd:"" group:"site" help:"Ban an account or a DN, and kill its grid jobs." example:"jjm ban mallory --reason stolen-key"`
	Unban     unban      `cmd:"" group:"site" help:"End a ban." example:"jjm unban mallory"`
	Bans      bans       `cmd:"" group:"site" help:"The bans in force: whom, since when, by whom and why." example:"jjm bans"`
	Exclude   exclude    `cmd:"" group:"site" help:"Keep jobs off hosts of a batch system; or show the excluded hosts." example:"jjm exclude wn13 --for 12h --reason eats-jobs"`
	Include   include    `cmd:"" group:"site" help:"Let jobs start on excluded hosts again." example:"jjm include wn13"`
	Advertise advertise  `cmd:"" group:"site" help:"The ad that brokers read, and whether each collector has it." example:"jjm advertise"`
	Serve     serve      `cmd:"" passthrough:"" group:"site" help:"Run the daemon in the foreground." example:"jjm serve --config /etc/jjm/jjm.toml"`
	Config    config     `cmd:"" group:"site" help:"Check the configuration and report every mistake."`
}

// place holds the flags for the place of the daemon: its socket and its state folder.
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

// ask sends a request to the daemon and returns its answer. Its errors are those of client.Call.
func ask[Req wire.Request, Ans wire.Answer](c *cli, p place, v wire.Verb[Req, Ans], req Req) (Ans, error) {
	return client.Call(context.Background(), p.client(c), v, req)
}

// interruptible returns a context that ends on SIGINT and SIGTERM. It is for commands that may run for long, so it also
// turns on garbage collection.
func interruptible() (context.Context, context.CancelFunc) {
	debug.SetGCPercent(100)
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// forEach calls show for each id, also after an error. It returns the first error, and prints each further error
// immediately.
func (c *cli) forEach(ids []string, show func(id string) error) error {
	var first error
	for _, id := range ids {
		err := show(id)
		switch {
		case err == nil:
		case first == nil:
			first = err
		default:
			c.say("%v", err)
		}
	}
	return first
}

// printJSON prints v as JSON on one line.
func (c *cli) printJSON(v any) error {
	line, err := wire.Line(v)
	if err != nil {
		return err
	}
	if c.outFile != nil && isTerminal(c.outFile) {
		line = escaped(line)
	}
	_, err = c.out.Write(line)
	return err
}

// escaped returns equivalent JSON in which characters that do not print are written as \u escapes, so that they cannot
// change what a terminal shows. In valid JSON, such characters, except the newline, occur only within strings.
func escaped(line []byte) []byte {
	if !bytes.ContainsFunc(line, concealed) {
		return line
	}
	out := make([]byte, 0, len(line)+64)
	for _, r := range string(line) {
		switch {
		case !concealed(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, "\\u%04x\\u%04x", high, low)
		default:
			out = fmt.Appendf(out, "\\u%04x", r)
		}
	}
	return out
}

// concealed reports whether a terminal does not show a character as itself: control characters, direction marks, and
// other characters that do not print.
func concealed(r rune) bool { return r != '\n' && r != ' ' && !unicode.IsPrint(r) }

// gridID returns the grid job that an id means. The id was checked before.
func gridID(s string) jjm.GridID {
	ref, _ := jjm.ParseRef(s)
	return ref.Grid
}
