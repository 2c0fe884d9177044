package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"jjm/internal/gatekeeper/trace"
)

// traceJob sends a tiny job on the way of a gatekeeper's jobs, and shows each step of the way (a hop).
type traceJob struct {
	Via     string        `required:"" placeholder:"PATH" enum:"gram,blahp,arc,spool,socket" help:"The path: gram, blahp, arc, spool or socket."`
	Cluster string        `placeholder:"NAME" help:"This cluster must take the job; the site's choice unless told."`
	Scripts string        `placeholder:"DIR" help:"The gatekeeper's scripts are in this folder; where the gatekeeper looks unless told."`
	Timeout time.Duration `placeholder:"TIME" default:"5m" help:"The time for all hops: 5m unless told."`
	Keep    bool          `help:"Leave the grid job and its folder."`
	JSON    bool          `name:"json" help:"One JSON object for each hop."`

	place
}

// Help returns the text of --help below the usage.
func (*traceJob) Help() string {
	return "Runs the installed scripts of the gatekeeper as the gatekeeper does, and shows each hop when its outcome is " +
		"known. At the first hop that fails it shows what was tried, on what, the error, and what to do. The job runs " +
		"as this account: runuser -u USER -- jjm trace --via blahp. At the end, and when it is interrupted, the job is " +
		"killed and removed. docs/SEEING.md describes the hops.\n\n" +
		"Exit codes: 0 all hops are good, 1 a hop failed, 130 interrupted."
}

// Run carries out jjm trace.
func (t *traceJob) Run(c *cli) error {
	if t.Timeout < time.Second {
		return usage("--timeout %v: want at least 1s", t.Timeout)
	}
	ctx, cancel := interruptible()
	defer cancel()
	good, err := trace.Run(ctx, trace.Config{Via: t.Via, Cluster: t.Cluster, Dir: t.Scripts, Place: t.at(c),
		Timeout: t.Timeout, Keep: t.Keep, Now: time.Now, Tell: func(h trace.Hop) error {
			if t.JSON {
				return errors.Join(c.printJSON(h), c.out.Flush())
			}
			return errors.Join(c.printHop(h), c.out.Flush())
		}})
	switch {
	case errors.Is(err, context.Canceled):
		return &exit{exitInterrupted, errors.New("interrupted")}
	case err == nil && !good:
		return &exit{code: exitNo}
	}
	return err
}

// printHop prints the line of a hop and, if the hop failed, what was tried, on what, and the remedy.
func (c *cli) printHop(h trace.Hop) error {
	word, text := "ok", h.Text
	if !h.Good {
		word, text = "FAILED", h.Fault.Text
	}
	title := fmt.Sprintf("%s %s %s", h.At.Time().Local().Format(time.TimeOnly), h.Name, word)
	rows := [][2]string{{fmt.Sprintf("%-*s", len("00:00:00 cluster FAILED"), title), text}}
	if h.Fault != nil {
		f := h.Fault
		rows = append(rows, [2]string{"  tried", f.Tried}, [2]string{"  on", f.On}, [2]string{"  do", f.Remedy})
	}
	return c.facts(rows)
}
