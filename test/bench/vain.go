package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// These limit the report about a wait that took too long.
const (
	vainJobs = 5  // unfinished grid jobs with details
	vainLog  = 40 // lines of the daemon's log
)

// untilOf waits in the same way as until, for something that a daemon does. If the wait takes too long, it reports the
// state of the daemon and keeps the daemon's folder.
func (b *bench) untilOf(j *realDaemon, what string, within time.Duration, done func() (bool, error)) error {
	err := until(b.ctx, what, within, done)
	if !errors.Is(err, errVain) {
		return err
	}
	b.keep = append(b.keep, j.state)
	b.say("%v\n%s", err, b.unfinished(j))
	return fmt.Errorf("%w; the daemon's folder stays: %s", err, j.state)
}

// unfinished describes the unfinished jobs of a daemon: the daemon's view, the batch system's view, and the end of the
// daemon's log.
func (b *bench) unfinished(j *realDaemon) string {
	var out strings.Builder
	tell := func(title, text string) { fmt.Fprintf(&out, "--- %s\n%s\n", title, strings.TrimRight(text, "\n")) }
	a, err := client.Call(b.ctx, &j.client, wire.VerbList(), wire.ListRequest{List: &wire.List{}})
	if err != nil {
		tell("no list of the grid jobs", err.Error())
	}
	for i, s := range a.Status {
		id := s.Lookup.ID
		if i == vainJobs {
			fmt.Fprintf(&out, "--- and %d more, up to the limit of a list\n", len(a.Status)-i)
			break
		}
		tell("grid job "+id.String(), b.detail(j, id))
	}
	tell("the clusters", b.jjm(j, "clusters"))
	if j.bed != nil {
		tell("the batch system", j.bed.jobs(b))
	}
	log, err := os.ReadFile(j.logPath())
	if err != nil {
		tell("no log", err.Error())
	}
	tell("the end of "+j.logPath(), lastLines(string(log), vainLog))
	return out.String()
}

// detail returns the status and the log of a grid job and the status of its local jobs, as people see them.
func (b *bench) detail(j *realDaemon, id jjm.GridID) string {
	return b.jjm(j, "status", id.String(), id.String()+".*") + b.jjm(j, "log", id.String())
}

// jjm runs the command jjm and returns its output, or a text about its error.
func (b *bench) jjm(j *realDaemon, args ...string) string {
	cmd := exec.CommandContext(b.ctx, filepath.Join(b.bin, "jjm"), args...)
	cmd.Env = append(os.Environ(), "JJM_STATE="+j.state)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("jjm %s: %v: %s\n", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// jobs returns the batch system's own view of the account's jobs.
func (d *bed) jobs(b *bench) string {
	argv := map[string][]string{
		"slurm":  {"squeue", "-r", "-o", "%A %F_%K %T %j %S %r", "-u", d.user},
		"condor": {"condor_q", "-allusers", "-nobatch"},
	}[d.name]
	if argv == nil {
		return "of " + d.name + " nothing is known here"
	}
	out, _, err := d.run(b, "", argv...)
	if err != nil {
		return err.Error()
	}
	return out
}

// lastLines returns the last n lines of a text.
func lastLines(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[max(len(lines)-n-1, 0):], "")
}
