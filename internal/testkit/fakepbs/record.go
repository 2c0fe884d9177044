package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// pair is an attribute or a variable.
type pair struct{ name, value string }

// record is one job as a listing shows it. A dot in a name groups.
type record struct {
	id    string
	attrs []pair
	zone  *time.Location // of times
}

// put adds an attribute, unless its value is empty.
func (r *record) put(name, value string) {
	if value != "" {
		r.attrs = append(r.attrs, pair{name, value})
	}
}

// when adds a time, unless it is zero.
func (r *record) when(name string, at time.Time) {
	if !at.IsZero() {
		r.put(name, at.In(r.zone).Format(stamp))
	}
}

const stamp = "Mon Jan _2 15:04:05 2006"

// own reports whether PBS has a record of the row's run.
func (w row) own() bool { return w.task != nil && w.task.began }

// subjob reports whether it is an element of an array with a record of its own.
func (w row) subjob() bool { return w.own() && w.job.array }

// record returns the record of a row in a listing, in the order of PBS: the attributes that jjm reads,
// Variable_List and Submit_arguments, which may hold any text.
func (w row) record(zone *time.Location) record {
	j, t, f := w.job, w.task, w.facts()
	r := record{id: w.id(), zone: zone}
	r.put("Job_Name", j.name)
	r.put("Job_Owner", j.owner+"@"+server)
	if w.own() {
		r.put("resources_used.cput", clock(t.cpu))
		r.put("resources_used.mem", strconv.FormatInt(t.rss, 10)+"kb")
	}
	r.put("job_state", string(w.letter()))
	r.when("ctime", j.ctime)
	if w.own() && t.state != 'Q' {
		r.put("exec_host", server+"/0")
	}
	if !w.subjob() {
		r.put("Hold_Types", cmp.Or(j.holds, "n"))
	}
	r.when("mtime", f.mtime)
	r.put("Rerunable", title[j.rerunnable])
	r.when("stime", f.stime)
	r.when("obittime", f.obit)
	r.put("substate", strconv.Itoa(f.substate))
	for _, v := range j.vars {
		r.attrs = append(r.attrs, pair{"Variable_List." + v.name, v.value})
	}
	r.put("comment", f.comment)
	if w.own() {
		r.put("run_count", strconv.Itoa(t.runs))
	}
	r.put("Exit_status", f.exit)
	if w.subjob() {
		r.put("array_id", j.row().id())
		r.put("array_index", strconv.Itoa(t.index))
	} else {
		r.put("Submit_arguments", j.args)
	}
	if t == nil {
		r.put("array_indices_submitted", j.indices)
	}
	if j.done() && (t == nil || t.began || !j.array) {
		r.put("history_timestamp", strconv.FormatInt(j.endedAt.Unix(), 10))
	}
	return r
}

// facts returns the facts of a row. An element of an array that has no record of its own shows the facts
// of its array.
func (w row) facts() facts {
	j, t := w.job, w.task
	switch {
	case t == nil:
		return j.facts()
	case t.began || !j.array:
		return t.facts
	}
	f := j.facts()
	f.mtime = t.mtime
	if t.over() {
		// It says so even of an element that was deleted while it waited. While the array is alive
		// it is from then on also the comment of the array, and so of its elements that wait
		// (deleted_waiting_subjob).
		f.comment = "Subjob finished"
		if !j.done() {
			j.comment = f.comment
		}
	} else {
		f.substate = 10
	}
	return f
}

// facts returns the facts of an array as a whole.
func (j *job) facts() facts {
	f := facts{substate: 10, comment: cmp.Or(j.comment, j.tasks[0].comment), mtime: j.mtime}
	if j.holds != "" {
		f.substate = 20
	}
	for _, t := range j.tasks {
		if t.stime.IsZero() { // one that never ran leaves no status
			continue
		}
		f.substate, f.obit = 70, j.endedAt
		if f.stime.IsZero() || t.stime.Before(f.stime) {
			f.stime = t.stime
		}
		if t.over() {
			f.exit = cmp.Or(f.exit, "0")
			if t.exit != "0" || t.deleted {
				f.exit = "1"
			}
		}
	}
	switch {
	case !j.done():
	case f.stime.IsZero():
		f.substate = 91
	case f.exit != "0":
		f.substate = 93
	default:
		f.substate = 92
	}
	return f
}

// title has the words for an attribute that is true or false.
var title = map[bool]string{true: "True", false: "False"}

// clock writes a duration as PBS does, "00:05:00".
func clock(d time.Duration) string {
	s := int(d.Seconds())
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

// object returns the text of the server, a queue or a node: its name and the attributes with a value.
func object(head, indent string, attrs ...pair) []byte {
	out := []byte(head + "\n")
	for _, a := range attrs {
		if a.value != "" {
			out = fmt.Appendf(out, "%s%s = %s\n", indent, a.name, a.value)
		}
	}
	return append(out, '\n')
}

// serverText returns the output of qstat -B -f.
func (c *complex) serverText() []byte {
	return object("Server: "+server, "    ", pair{"default_queue", "workq"}, pair{"max_queued", perUser(c.maxQueued)},
		pair{"max_array_size", strconv.Itoa(c.maxArray)}, pair{"job_history_enable", title[c.history]},
		pair{"query_other_jobs", "True"})
}

// queuesText returns the output of qstat -Q -f.
func (c *complex) queuesText() (out []byte) {
	for _, name := range slices.Sorted(maps.Keys(c.queue)) {
		x, wall := c.queue[name], ""
		if x.maxWall > 0 {
			wall = clock(time.Duration(x.maxWall) * time.Second)
		}
		out = append(out, object("Queue: "+name, "    ", pair{"enabled", title[!x.disabled]},
			pair{"started", title[!x.stopped]}, pair{"max_queued", perUser(x.maxQueued)},
			pair{"resources_max.walltime", wall})...)
	}
	return out
}

// perUser returns the value of max_queued for a limit of n jobs for each user, or "" for no limit.
func perUser(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("[u:PBS_GENERIC=%d]", n)
}

// pbsnodes shows the only node.
func (c *complex) pbsnodes(request, options) response {
	state := "free"
	if c.fault("mom-down") {
		state = "down"
	}
	return response{Stdout: object(server, "     ", pair{"state", state},
		pair{"resources_available.mem", "16gb"}, pair{"resources_available.ncpus", strconv.Itoa(c.slots)})}
}
