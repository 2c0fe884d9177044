package main

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// row is one line of a listing: a job as a whole, or one task of it.
type row struct {
	job  *job
	task *task // nil for an array as a whole
}

func (j *job) row() row {
	if j.array {
		return row{j, nil}
	}
	return row{j, j.tasks[0]}
}

func (w row) id() string {
	if w.task == nil {
		return w.job.id()
	}
	return w.job.taskID(w.task)
}

// holds returns Hold_Types.
func (w row) holds() string {
	if w.task != nil && w.task.held {
		return "u"
	}
	return max(w.job.holds, "n")
}

// qstat shows jobs, queues or the server.
func (c *complex) qstat(q request) response {
	known := "fxtBQF:"
	if c.torque {
		known = "fxtBQ"
	}
	o := parse(q.Args, known)
	switch {
	case o.bad != "":
		return response{Exit: 2, Stderr: []byte("qstat: invalid option -- '" + o.bad + "'\n")}
	case o.has("B"):
		return response{Stdout: plainText("Server", []record{c.serverRecord()})}
	case o.has("Q"):
		return response{Stdout: plainText("Queue", c.queueRecords())}
	}
	var r response
	if o.has("x") && !c.torque && !c.history {
		for _, id := range append(o.operands, "")[:max(1, len(o.operands))] {
			r.Stderr = append(r.Stderr, "qstat: PBS is not configured to maintain job history "+id+"\n"...)
		}
		r.Stdout = emptyListing(q.Args)
		return r
	}
	rows := c.rows(o, &r)
	if len(o.operands) > 1 && len(rows) > 0 && o.has("F") && c.fault("one-id") {
		first := rows[0]
		rows = slices.DeleteFunc(rows, func(w row) bool { return w != first && (w.job != first.job || first.task != nil) })
	}
	r.Stdout = c.show(rows, o, zoneOf(q.Env))
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
func (c *complex) rows(o options, r *response) []row {
	var rows []row
	ended := o.has("x") || c.torque
	add := func(j *job) {
		if !j.array || !c.torque || !o.has("t") {
			rows = append(rows, j.row())
		}
		if j.array && o.has("t") {
			for _, t := range j.tasks {
				rows = append(rows, row{j, t})
			}
		}
	}
	if len(o.operands) == 0 {
		for _, j := range c.jobs {
			if !j.done() || ended {
				add(j)
			}
		}
	}
	complain := func(code int, format string, args ...any) {
		r.Exit = code & 0xFF
		r.Stderr = fmt.Appendf(r.Stderr, "qstat: "+format+"\n", args...)
	}
	for _, id := range o.operands {
		if id[0] < '0' || id[0] > '9' {
			complain(errUnknownQueue, "Unknown queue destination %s", id)
			continue
		}
		t, bad := c.parseTarget(id)
		switch {
		case bad:
			complain(1, "illegally formed job identifier: %s", id)
		case t.job == nil:
			complain(errUnknownJob, "%s %s", texts[errUnknownJob], named("qstat", id, 0))
		case t.job.done() && !ended:
			complain(errHistory, "%s Job has finished, use -x or -H to obtain historical job information", named("qstat", id, 0))
		case t.tasks != nil:
			for _, k := range t.tasks {
				rows = append(rows, row{t.job, k})
			}
		default:
			add(t.job)
		}
	}
	return rows
}

func (c *complex) show(rows []row, o options, zone *time.Location) []byte {
	asXML := c.torque && o.has("x")
	if !asXML && !o.has("f") {
		return c.table(rows)
	}
	if asXML {
		zone = nil
	}
	records := make([]record, len(rows))
	for i, w := range rows {
		records[i] = c.record(w, zone)
	}
	switch {
	case asXML:
		return xmlText(records)
	case o.has("F"):
		return jsonText(records)
	}
	return plainText("Job Id", records)
}

// table is qstat without -f.
func (c *complex) table(rows []row) []byte {
	if len(rows) == 0 {
		return nil
	}
	out := []byte("Job id            Name             User              Time Use S Queue\n" +
		"----------------  ---------------- ----------------  -------- - -----\n")
	for _, w := range rows {
		name, used := c.taskName(w), "0"
		if w.task != nil && w.task.began && w.task.state != 'Q' {
			used = clock(w.task.cpu)
		}
		if len(name) > 16 {
			name = name[:15] + "*"
		}
		out = fmt.Appendf(out, "%-17s %-16s %-16s %9s %c %-16s\n", w.id(), name, w.job.owner, used, c.letter(w), w.job.queue)
	}
	return out
}

func memoryKB() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 1 << 20
	}
	var kb int64
	if _, err := fmt.Sscanf(string(text), "MemTotal: %d kB", &kb); err != nil {
		return 1 << 20
	}
	return kb
}
