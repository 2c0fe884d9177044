package main

import (
	"fmt"
	"time"
)

// qstat shows jobs as JSON, or the queues or the server as text.
func (c *complex) qstat(q request, o options) response {
	switch {
	case o.has("B"):
		return response{Stdout: c.serverText()}
	case o.has("Q"):
		return response{Stdout: c.queuesText()}
	}
	var r response
	if o.has("x") && !c.history {
		for _, x := range append(o.operands, operand{})[:max(1, len(o.operands))] {
			r.Stderr = append(r.Stderr, "qstat: PBS is not configured to maintain job history "+x.text+"\n"...)
		}
		r.Stdout = emptyListing(q.Args)
		return r
	}
	rows := c.rows(o, &r)
	switch {
	case o.value("F") == "json":
		records := make([]record, len(rows))
		for i, w := range rows {
			records[i] = w.record(zone(q.Zone))
		}
		r.Stdout = jsonText(records)
	case len(rows) > 0:
		r.Stdout = []byte("fakepbs shows jobs with -F json only\n")
	}
	r.Endless = len(o.operands) == 0 && o.has("t") && c.fault("endless")
	return r
}

// zone returns the time zone of a command.
func zone(name string) *time.Location {
	if z, err := time.LoadLocation(name); err == nil && name != "" {
		return z
	}
	return time.Local
}

// rows returns the rows of the jobs that the identifiers name, or of all jobs if there are no
// identifiers. It writes complaints about the identifiers to r.
func (c *complex) rows(o options, r *response) (rows []row) {
	if len(o.operands) == 0 {
		for _, j := range c.jobs {
			if !j.done() || o.has("x") {
				rows = append(rows, j.rows(o.has("t"))...)
			}
		}
		return rows
	}
	oneID := c.fault("one-id")
	for _, x := range o.operands {
		t, no := c.find(x)
		text := ""
		switch {
		case no != nil:
			text = no.text + " " + named("qstat", x.text, no)
		case t.job.done() && !o.has("x"):
			no = errHistory
			text = named("qstat", x.text, no) + " Job has finished, use -x or -H to obtain historical job information"
		case oneID && len(rows) > 0:
		case t.first < 0:
			rows = append(rows, t.job.rows(o.has("t"))...)
		default:
			for _, k := range t.tasks {
				rows = append(rows, row{t.job, k})
			}
		}
		if no != nil {
			r.Exit, r.Stderr = no.exit(), fmt.Appendf(r.Stderr, "qstat: %s\n", text)
		}
	}
	return rows
}

// rows returns the row of a job. With members set it also returns the rows of an array's elements.
func (j *job) rows(members bool) []row {
	rows := []row{j.row()}
	for _, t := range j.tasks {
		if j.array && members {
			rows = append(rows, row{j, t})
		}
	}
	return rows
}
