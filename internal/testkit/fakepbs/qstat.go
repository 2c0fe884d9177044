package main

import "time"

func (c *complex) qstat(q Request, o options) Response {
	switch {
	case o.has("B"):
		return Response{Stdout: c.serverText()}
	case o.has("Q"):
		return Response{Stdout: c.queuesText()}
	}
	var r Response
	if o.has("x") && !c.history {
		for _, x := range append(o.operands, operand{})[:max(1, len(o.operands))] {
			r.Stderr = append(r.Stderr, "qstat: PBS is not configured to maintain job history "+x.text+"\n"...)
		}
		r.Stdout = emptyListing(q.Args)
		return r
	}
	var rows []row
	if len(o.operands) == 0 {
		for _, j := range c.jobs {
			if !j.done() || o.has("x") {
				all := operand{job: j, tasks: j.tasks, first: -1}
				rows = append(rows, all.rows(o.has("t"))...)
			}
		}
	}
	r = c.onJobs(q, o, func(x operand) *refusal {
		if len(rows) == 0 || !c.fault("one-id") {
			rows = append(rows, x.rows(o.has("t"))...)
		}
		return nil
	})
	switch {
	case o.value("F") == "json":
		records := make([]pair, len(rows))
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

func zone(name string) *time.Location {
	if z, err := time.LoadLocation(name); err == nil && name != "" {
		return z
	}
	return time.Local
}

// rows returns the row of the operand's job, or the rows of the chosen elements of an array. With members set it also
// returns the rows of the elements if the operand is a whole array.
func (x operand) rows(members bool) (rows []row) {
	if x.first < 0 {
		rows = []row{x.job.row()}
	}
	for _, t := range x.tasks {
		if x.first >= 0 || x.job.array && members {
			rows = append(rows, row{x.job, t})
		}
	}
	return rows
}
