package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// record is one object as a listing shows it. A dot in a name groups.
type record struct {
	id    string
	attrs []pair
	zone  *time.Location // of times
}

// put adds an attribute that has a value.
func (r *record) put(name, value string) {
	if value != "" {
		r.attrs = append(r.attrs, pair{name, value})
	}
}

// when adds a time that is known.
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

// record returns what a listing shows of a row, in the order of PBS.
func (w row) record(zone *time.Location) record {
	j, f := w.job, w.facts()
	r := record{id: w.id(), zone: zone}
	r.put("Job_Name", j.name)
	r.put("Job_Owner", j.owner+"@"+server)
	w.putUsed(&r)
	r.put("job_state", string(w.letter()))
	r.put("queue", j.queue)
	r.put("server", server)
	r.put("Account_Name", j.account)
	if !w.subjob() {
		r.put("Checkpoint", "u")
	}
	r.when("ctime", j.ctime)
	r.put("Error_Path", cmp.Or(j.error, j.defaultPath("e")))
	if w.own() && w.task.state != 'Q' {
		r.put("exec_host", server+"/0")
		r.put("exec_vnode", "("+j.limits.vnode()+")")
	}
	if !w.subjob() {
		r.put("Hold_Types", cmp.Or(j.holds, "n"))
	}
	r.put("Join_Path", "n")
	r.put("Keep_Files", "n")
	r.put("Mail_Points", "a")
	r.when("mtime", f.mtime)
	r.put("Output_Path", cmp.Or(j.output, j.defaultPath("o")))
	r.put("Priority", "0")
	r.when("qtime", j.ctime)
	r.put("Rerunable", title(j.rerunnable))
	for _, name := range slices.Sorted(maps.Keys(j.resources)) {
		r.put("Resource_List."+name, j.resources[name])
	}
	r.when("stime", f.stime)
	r.when("obittime", f.obit)
	w.recordEnd(&r, f)
	return r
}

// recordEnd writes the second half of a record.
func (w row) recordEnd(r *record, f facts) {
	j, t := w.job, w.task
	if w.own() {
		r.put("jobdir", j.home)
	}
	r.put("substate", strconv.Itoa(f.substate))
	for _, v := range j.vars {
		r.attrs = append(r.attrs, pair{"Variable_List." + v.name, v.value})
	}
	r.put("comment", f.comment)
	if j.holds == "" {
		r.when("etime", j.ctime)
	}
	if w.own() {
		r.put("run_count", strconv.Itoa(t.runs))
	}
	if w.own() && t.over() || !w.own() && !f.obit.IsZero() {
		r.put("Stageout_status", "1")
	}
	r.put("Exit_status", f.exit)
	if w.subjob() {
		r.put("array_id", j.row().id())
		r.put("array_index", strconv.Itoa(t.index))
	} else {
		r.put("Submit_arguments", j.args)
	}
	if t == nil {
		r.put("array", "True")
		r.put("array_state_count", j.counts())
		r.put("array_indices_submitted", j.indices)
		r.put("array_indices_remaining", j.remaining())
	} else if j.array && !w.own() {
		return // the rest is only for the array
	}
	if j.done() {
		r.put("history_timestamp", strconv.FormatInt(j.endedAt.Unix(), 10))
	}
	r.put("project", cmp.Or(j.project, "_pbs_project_default"))
	r.put("Submit_Host", server)
}

// facts returns those of a row. An element of an array without a record of its own is shown
// with those of its array.
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
		f.comment = j.epitaph()
	} else {
		f.substate = 10
	}
	return f
}

// facts are those of an array as a whole.
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

// epitaph returns the comment of an ended element without a record of its own. It says
// "finished" even of those that were deleted while they waited. While the array is alive it
// is also the comment of the array, and so of its elements that wait
// (deleted_waiting_subjob).
func (j *job) epitaph() string {
	const text = "Subjob finished"
	if !j.done() {
		j.comment = text
	}
	return text
}

// putUsed writes what a run of its own has used.
func (w row) putUsed(r *record) {
	if !w.own() {
		return
	}
	end := w.task.obit
	if end.IsZero() {
		end = time.Now()
	}
	memory := strconv.FormatInt(w.task.rss, 10) + "kb"
	r.put("resources_used.cpupercent", "0")
	r.put("resources_used.cput", clock(w.task.cpu))
	r.put("resources_used.mem", memory)
	r.put("resources_used.ncpus", strconv.Itoa(w.job.limits.cores))
	r.put("resources_used.vmem", memory)
	r.put("resources_used.walltime", clock(end.Sub(w.task.stime)))
}

// counts returns array_state_count. Once the array has ended, elements without a record
// count as expired for good.
func (j *job) counts() string {
	n := map[byte]int{}
	for _, t := range j.tasks {
		switch {
		case !j.done():
			n[row{j, t}.letter()]++
		case !t.began:
			n['X']++
		}
	}
	return fmt.Sprintf("Queued:%d Running:%d Exiting:%d Expired:%d", n['Q'], n['R'], n['E'], n['X'])
}

// defaultPath returns the path of an output file, which lies in the folder of qsub.
func (j *job) defaultPath(letter string) string {
	return fmt.Sprintf("%s:%s/%s.%s%d", server, j.dir, j.name, letter, j.seq)
}

func title(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// serverRecord is the object of qstat -B: what a client can make use of.
func (c *complex) serverRecord() record {
	r := record{id: server}
	r.put("total_jobs", strconv.Itoa(len(c.jobs)))
	r.put("default_queue", "workq")
	r.put("max_queued", perUser(c.maxQueued))
	r.put("max_array_size", strconv.Itoa(c.maxArray))
	r.put("job_history_enable", title(c.history))
	r.put("query_other_jobs", "True")
	return r
}

// queueRecords are the objects of qstat -Q.
func (c *complex) queueRecords() (all []record) {
	for _, name := range slices.Sorted(maps.Keys(c.queue)) {
		x, r := c.queue[name], record{id: name}
		r.put("enabled", title(!x.disabled))
		r.put("started", title(!x.stopped))
		r.put("max_queued", perUser(x.maxQueued))
		if x.maxWall > 0 {
			r.put("resources_max.walltime", clock(time.Duration(x.maxWall)*time.Second))
		}
		all = append(all, r)
	}
	return all
}

// perUser returns max_queued; "" for no limit.
func perUser(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("[u:PBS_GENERIC=%d]", n)
}

// pbsnodes shows the only node.
func (c *complex) pbsnodes(request) response {
	state := "free"
	if c.fault("mom-down") {
		state = "down"
	}
	cores := strconv.Itoa(c.slots)
	out := []byte(server + "\n")
	for _, l := range []pair{
		{"Mom", server}, {"ntype", "PBS"}, {"state", state}, {"pcpus", cores}, {"resources_available.mem", "16gb"},
		{"resources_available.ncpus", cores}, {"resources_assigned.ncpus", strconv.Itoa(c.slots - c.free)},
	} {
		out = fmt.Appendf(out, "     %s = %s\n", l.name, l.value)
	}
	return response{Stdout: append(out, '\n')}
}
