package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// record is one object as a listing shows it. A dot in a name groups.
type record struct {
	id    string
	attrs []pair
	// vars are the members of Variable_List, whose place is in attrs.
	vars []pair
	// zone is that of times; without one they are seconds since 1970.
	zone *time.Location
	// names are the attributes that are shown, by their names in OpenPBS; nil for all.
	names map[string]string
}

// torqueNames are the attributes that Torque shows.
var torqueNames = map[string]string{
	"Job_Name": "Job_Name", "Job_Owner": "Job_Owner", "job_state": "job_state", "queue": "queue", "server": "server",
	"resources_used.cput": "resources_used.cput", "resources_used.mem": "resources_used.mem",
	"resources_used.vmem": "resources_used.vmem", "resources_used.walltime": "resources_used.walltime",
	"Account_Name": "Account_Name", "Checkpoint": "Checkpoint", "ctime": "ctime", "Error_Path": "Error_Path",
	"exec_host": "exec_host", "Hold_Types": "Hold_Types", "mtime": "mtime", "qtime": "qtime", "Rerunable": "Rerunable",
	"Variable_List": "Variable_List", "etime": "etime", "Exit_status": "exit_status", "stime": "start_time",
	"run_count": "start_count", "obittime": "comp_time", "array_index": "job_array_id",
	"array_indices_submitted": "job_array_request", "Submit_arguments": "submit_args",
}

// put adds an attribute that has a value.
func (r *record) put(name, value string) {
	if r.names != nil && !strings.HasPrefix(name, "Resource_List.") {
		name = r.names[name]
	}
	if name != "" && value != "" {
		r.attrs = append(r.attrs, pair{name, value})
	}
}

func (r *record) when(name string, at time.Time) {
	switch {
	case at.IsZero():
	case r.zone == nil:
		r.put(name, strconv.FormatInt(at.Unix(), 10))
	default:
		r.put(name, at.In(r.zone).Format(stamp))
	}
}

const stamp = "Mon Jan _2 15:04:05 2006"

// record returns what a listing shows of a row.
func (c *complex) record(w row, zone *time.Location) record {
	j, t := w.job, w.task
	r := record{id: w.id(), vars: j.vars, zone: zone}
	if c.torque {
		r.names = torqueNames
	}
	state, s := string(c.letter(w)), c.summaryOf(w)
	r.put("Job_Name", c.taskName(w))
	r.put("Job_Owner", j.owner+"@"+server)
	if s.own {
		t.putUsed(&r, j)
	}
	r.put("job_state", state)
	r.put("queue", j.queue)
	r.put("server", server)
	r.put("Account_Name", j.account)
	if !s.subjob {
		r.put("Checkpoint", "u")
	}
	r.when("ctime", j.ctime)
	r.put("Error_Path", j.shownPath(j.error, "e"))
	if s.own && state != "Q" {
		r.put("exec_host", server+"/0")
		r.put("exec_vnode", "("+j.vnode()+")")
	}
	if !s.subjob || c.torque {
		r.put("Hold_Types", w.holds())
	}
	r.put("Join_Path", "n")
	r.put("Keep_Files", "n")
	r.put("Mail_Points", "a")
	r.when("mtime", s.mtime)
	r.put("Output_Path", j.shownPath(j.output, "o"))
	r.put("Priority", "0")
	r.when("qtime", j.qtime)
	r.put("Rerunable", title(j.rerunnable))
	for _, x := range j.resources {
		r.put("Resource_List."+x.name, x.value)
	}
	r.when("stime", s.stime)
	r.when("obittime", s.obit)
	if s.own {
		r.put("jobdir", j.home)
	}
	c.recordEnd(&r, w, s)
	return r
}

// recordEnd writes the second half of a record.
func (c *complex) recordEnd(r *record, w row, s summary) {
	j, t := w.job, w.task
	r.put("substate", strconv.Itoa(s.substate))
	r.put("Variable_List", list(r.vars))
	r.put("comment", s.comment)
	if j.holds == "" {
		r.when("etime", j.qtime)
	}
	if s.own {
		r.put("run_count", strconv.Itoa(t.runs))
	}
	if s.own && t.over() || !s.own && !s.obit.IsZero() {
		r.put("Stageout_status", "1")
	}
	if s.hasExit {
		r.put("Exit_status", strconv.Itoa(s.exit))
	}
	if s.subjob || c.torque && j.array && t != nil {
		r.put("array_id", j.id())
		r.put("array_index", strconv.Itoa(t.index))
	}
	if !s.subjob {
		r.put("Submit_arguments", j.args)
	}
	if t == nil {
		r.put("array", "True")
		r.put("array_state_count", c.counts(j))
		r.put("array_indices_submitted", j.indices)
		r.put("array_indices_remaining", j.remaining())
	} else if j.array && !s.own {
		return // the rest is only for the array
	}
	if j.done() {
		r.put("history_timestamp", strconv.FormatInt(j.endedAt.Unix(), 10))
	}
	r.put("project", max(j.project, "_pbs_project_default"))
	r.put("Submit_Host", server)
}

// summary is what a row shows of its run. In OpenPBS an element of an array without a record
// of its own is shown with that of its array.
type summary struct {
	own      bool // PBS has a record of this run
	subjob   bool // and it is an element's
	substate int
	exit     int
	hasExit  bool
	comment  string
	stime    time.Time
	obit     time.Time
	mtime    time.Time
}

func (c *complex) summaryOf(w row) summary {
	j, t := w.job, w.task
	switch {
	case t == nil:
		s := j.summary()
		s.hasExit = s.hasExit && !c.torque
		return s
	case t.began || !j.array || c.torque:
		s := summary{own: t.began, subjob: t.began && j.array, substate: t.substate, exit: t.exit, hasExit: t.hasExit,
			comment: t.comment, stime: t.stime, obit: t.obit, mtime: t.mtime}
		if c.torque && t.over() {
			s.obit = t.mtime
		}
		s.hasExit = s.hasExit && (t.over() || !c.torque)
		return s
	}
	s := j.summary()
	s.mtime = t.mtime
	if t.over() {
		s.comment = j.epitaph()
	} else {
		s.substate = 10
	}
	return s
}

// summary is that of an array as a whole.
func (j *job) summary() summary {
	s := summary{substate: 10, comment: j.tasks[0].comment, mtime: j.mtime}
	if j.holds != "" {
		s.substate = 20
	}
	for _, t := range j.tasks {
		if !t.stime.IsZero() && (s.stime.IsZero() || t.stime.Before(s.stime)) {
			s.stime, s.substate = t.stime, 70
		}
		if t.over() && !t.stime.IsZero() { // an element that never ran leaves no status
			s.hasExit = true
			if t.exit != 0 || t.deleted {
				s.exit = 1
			}
		}
	}
	if j.comment != "" {
		s.comment = j.comment
	}
	if !s.stime.IsZero() {
		s.obit = j.endedAt
	}
	switch {
	case !j.done():
	case s.stime.IsZero():
		s.substate = 91
	case s.exit != 0:
		s.substate = 93
	default:
		s.substate = 92
	}
	return s
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

func (t *task) putUsed(r *record, j *job) {
	end := t.obit
	if end.IsZero() {
		end = time.Now()
	}
	memory := strconv.FormatInt(t.rss, 10) + "kb"
	r.put("resources_used.cpupercent", "0")
	r.put("resources_used.cput", clock(t.cpu))
	r.put("resources_used.mem", memory)
	r.put("resources_used.ncpus", strconv.Itoa(j.cores))
	r.put("resources_used.vmem", memory)
	r.put("resources_used.walltime", clock(end.Sub(t.stime)))
}

// counts returns array_state_count. Once the array has ended, elements without a record
// count as expired for good.
func (c *complex) counts(j *job) string {
	n := map[byte]int{}
	for _, t := range j.tasks {
		switch letter := c.letter(row{j, t}); {
		case !j.done():
			n[letter]++
		case !t.began:
			n['X']++
		}
	}
	return fmt.Sprintf("Queued:%d Running:%d Exiting:%d Expired:%d", n['Q']+n['H']+n['W'], n['R'], n['E'], n['X'])
}

// shownPath returns the path of an output file; by default it lies in the folder of qsub.
func (j *job) shownPath(path, letter string) string {
	if path != "" {
		return path
	}
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
	if c.torque {
		r.put("keep_completed", map[bool]string{true: "300", false: "0"}[c.history])
		r.put("max_job_array_size", strconv.Itoa(c.maxArray))
		return r
	}
	r.put("max_array_size", strconv.Itoa(c.maxArray))
	r.put("job_history_enable", title(c.history))
	r.put("query_other_jobs", "True")
	return r
}

// queueRecords are the objects of qstat -Q.
func (c *complex) queueRecords() (all []record) {
	for _, name := range slices.Sorted(maps.Keys(c.queue)) {
		x, r := c.queue[name], record{id: name}
		r.put("enabled", title(x.enabled))
		r.put("started", title(x.started))
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
func (c *complex) pbsnodes() response {
	state := "free"
	if c.fault("mom-down") {
		state = "down"
	}
	cores, memory := strconv.Itoa(c.slots), strconv.FormatInt(memoryKB(), 10)+"kb"
	lines := []pair{
		{"Mom", server}, {"ntype", "PBS"}, {"state", state}, {"pcpus", cores}, {"resources_available.mem", memory},
		{"resources_available.ncpus", cores}, {"resources_assigned.ncpus", strconv.Itoa(c.slots - c.free)},
	}
	if c.torque {
		lines = []pair{{"state", state}, {"np", cores}, {"ntype", "cluster"},
			{"status", "opsys=linux,ncpus=" + cores + ",physmem=" + memory + ",state=free"}}
	}
	out := []byte(server + "\n")
	for _, l := range lines {
		out = fmt.Appendf(out, "     %s = %s\n", l.name, l.value)
	}
	return response{Stdout: append(out, '\n')}
}
