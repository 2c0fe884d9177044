package main

import (
	"fmt"
	"strconv"
	"time"
)

// qstat shows jobs as JSON, or the queues or the server as text.
func (c *complex) qstat(q request) response {
	o := parse(q.Args, "fxtBQF:")
	switch {
	case o.bad != "":
		return response{Exit: 2, Stderr: []byte("qstat: invalid option -- '" + o.bad + "'\n")}
	case o.has("B"):
		return response{Stdout: plainText("Server", []record{c.serverRecord()})}
	case o.has("Q"):
		return response{Stdout: plainText("Queue", c.queueRecords())}
	}
	var r response
	if o.has("x") && !c.history {
		for _, id := range append(o.operands, "")[:max(1, len(o.operands))] {
			r.Stderr = append(r.Stderr, "qstat: PBS is not configured to maintain job history "+id+"\n"...)
		}
		r.Stdout = emptyListing(q.Args)
		return r
	}
	rows := c.rows(o, &r)
	switch {
	case o.value("F") == "json":
		records := make([]record, len(rows))
		for i, w := range rows {
			records[i] = w.record(zoneOf(q.Env))
		}
		r.Stdout = jsonText(records)
	case len(rows) > 0:
		r.Stdout = []byte("fakepbs shows jobs with -F json only\n")
	}
	r.Endless = len(o.operands) == 0 && o.has("t") && c.fault("endless")
	return r
}

// zoneOf returns the time zone of a command.
func zoneOf(env map[string]string) *time.Location {
	if z, err := time.LoadLocation(env["TZ"]); err == nil && env["TZ"] != "" {
		return z
	}
	return time.Local
}

// rows returns what the identifiers stand for, or everything, and writes complaints about
// them to r.
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
	for _, id := range o.operands {
		found, no := c.named(id, o)
		if no != nil {
			r.Exit = no.exit()
			r.Stderr = fmt.Appendf(r.Stderr, "qstat: %s\n", no.text)
		}
		if !oneID || len(rows) == 0 {
			rows = append(rows, found...)
		}
	}
	return rows
}

// rows returns the row of a job, and with members those of an array's elements.
func (j *job) rows(members bool) []row {
	rows := []row{j.row()}
	if j.array && members {
		for _, t := range j.tasks {
			rows = append(rows, row{j, t})
		}
	}
	return rows
}

// named returns what one identifier stands for, or a complaint about it.
func (c *complex) named(id string, o options) (rows []row, no *refusal) {
	if _, err := strconv.Atoi(id[:1]); err != nil {
		return nil, &refusal{code: errUnknownQueue.code, text: "Unknown queue destination " + id}
	}
	x, full := operandOf(id), named("qstat", id, nil)
	t := c.find(x)
	switch {
	case x.bad:
		return nil, &refusal{code: 1, text: "illegally formed job identifier: " + id}
	case t.job == nil:
		return nil, &refusal{code: errUnknownJob.code, text: errUnknownJob.text + " " + full}
	case t.job.done() && !o.has("x"):
		const finished = " Job has finished, use -x or -H to obtain historical job information"
		return nil, &refusal{code: errHistory.code, text: full + finished}
	case x.first < 0:
		return t.job.rows(o.has("t")), nil
	}
	for _, k := range t.tasks {
		rows = append(rows, row{t.job, k})
	}
	return rows, nil
}
