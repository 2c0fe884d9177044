package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
)

// record is one object as qstat -f shows it. A dot in a name groups.
type record struct {
	id    string
	attrs []pair
	// vars are the members of Variable_List, whose place is in attrs.
	vars []pair
	zone *time.Location
}

// statOptions are the options of one qstat.
type statOptions struct {
	full, wide, history, expand bool
	server, queues              bool
	format, delimiter           string
	zone                        *time.Location
}

func statOptionsOf(opts []option, env map[string]string) statOptions {
	o := statOptions{delimiter: "|", zone: time.Local}
	if z, err := time.LoadLocation(env["TZ"]); err == nil && env["TZ"] != "" {
		o.zone = z
	}
	for _, x := range opts {
		switch x.letter {
		case "f":
			o.full = true
		case "w":
			o.wide = true
		case "x", "H":
			o.history = true
		case "t":
			o.expand = true
		case "B":
			o.server = true
		case "Q":
			o.queues = true
		case "F":
			o.format = x.value
		case "D":
			o.delimiter = x.value
		}
	}
	return o
}

// qstat shows jobs, queues or the server.
func (c *complex) qstat(q request) response {
	known := "fwxHtBQF:D:"
	if c.torque {
		known = "fxtBQ1n"
	}
	opts, ids, bad := getopt(q.Args, known)
	if bad != "" {
		return response{Exit: 2, Stderr: []byte("qstat: invalid option -- '" + bad + "'\n")}
	}
	o := statOptionsOf(opts, q.Env)
	switch {
	case o.server:
		return c.statServer(o)
	case o.queues:
		return c.statQueues(o)
	}
	var r response
	if o.history && !c.torque && !c.history {
		if len(ids) == 0 {
			ids = []string{""}
		}
		for _, id := range ids {
			r.Stderr = append(r.Stderr, "qstat: PBS is not configured to maintain job history "+id+"\n"...)
		}
		if o.format == "json" {
			r.Stdout = []byte(jsonHead(time.Now()) + "\n}")
		}
		return r
	}
	rows := c.rows(ids, o, &r)
	if len(ids) > 1 && len(rows) > 0 && o.format == "json" && c.fault("one-id") {
		first := rows[0]
		rows = slices.DeleteFunc(rows, func(w row) bool { return w != first && (w.job != first.job || first.task != nil) })
	}
	r.Stdout = c.show(rows, o)
	r.Endless = len(ids) == 0 && o.expand && c.fault("endless")
	return r
}

// row is one line of a listing: a job as a whole, or one task of it.
type row struct {
	job  *job
	task *task // nil for an array as a whole
}

// rows returns what the identifiers stand for, or everything, and writes complaints about
// them to r.
func (c *complex) rows(ids []string, o statOptions, r *response) []row {
	var rows []row
	add := func(j *job) {
		if !j.array || !c.torque || !o.expand {
			rows = append(rows, j.row())
		}
		if j.array && o.expand {
			for _, t := range j.tasks {
				rows = append(rows, row{j, t})
			}
		}
	}
	if len(ids) == 0 {
		for _, j := range c.jobs {
			if !j.done() || o.history || c.torque {
				add(j)
			}
		}
	}
	complain := func(code int, format string, args ...any) {
		r.Exit = code & 0xFF
		r.Stderr = fmt.Appendf(r.Stderr, "qstat: "+format+"\n", args...)
	}
	for _, id := range ids {
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
		case t.job.done() && !o.history && !c.torque:
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

func (c *complex) show(rows []row, o statOptions) []byte {
	switch {
	case c.torque && o.history:
		return xmlJobs(c, rows)
	case o.full && o.format == "json":
		return jsonText("Jobs", c.records(rows, o.zone), time.Now())
	case o.full && o.format == "dsv":
		return dsvText(c.records(rows, o.zone), o.delimiter)
	case o.full:
		return plainText("Job Id", c.records(rows, o.zone), o.wide)
	}
	return table(c, rows)
}

func (c *complex) records(rows []row, zone *time.Location) []record {
	out := make([]record, len(rows))
	for i, w := range rows {
		out[i] = c.record(w, zone)
	}
	return out
}

const stamp = "Mon Jan _2 15:04:05 2006"

// record returns one job in OpenPBS's form. An element of an array without a record of its
// own is shown with that of its array, and a comment that says how it ended.
func (c *complex) record(w row, zone *time.Location) record {
	j, t := w.job, w.task
	r := record{id: w.id(), vars: j.vars, zone: zone}
	own := t != nil && t.began
	var s summary
	if t != nil && (own || !j.array) {
		s = summary{t.substate, t.exit, t.hasExit, t.comment, t.stime}
	} else {
		s = j.summary()
	}
	r.put("Job_Name", j.name)
	r.put("Job_Owner", j.owner+"@"+server)
	if own {
		r.attrs = append(r.attrs, t.used(j)...)
	}
	state := j.letter(false)
	if t != nil {
		state = j.taskLetter(t, false)
	}
	switch {
	case t == nil || !j.array || own:
	case t.over():
		s.comment = j.epitaph()
	default:
		s.substate = 10
	}
	subjob := own && j.array
	r.put("job_state", string(state))
	r.put("queue", j.queue)
	r.put("server", server)
	r.maybe("Account_Name", j.account)
	if !subjob {
		r.put("Checkpoint", "u")
	}
	r.when("ctime", j.ctime)
	r.put("Error_Path", c.shownPath(j, j.error, "e"))
	if own && state != 'Q' {
		r.put("exec_host", server+"/0")
		r.put("exec_vnode", "("+j.vnode()+")")
	}
	if !subjob {
		r.put("Hold_Types", max(j.holds, "n"))
	}
	r.put("Join_Path", j.join)
	r.put("Keep_Files", j.keep)
	r.put("Mail_Points", "a")
	r.when("mtime", s.latest(j, t))
	r.put("Output_Path", c.shownPath(j, j.output, "o"))
	r.put("Priority", "0")
	r.when("qtime", j.qtime)
	r.put("Rerunable", title(j.rerunnable))
	for _, x := range j.resources {
		r.put("Resource_List."+x.name, x.value)
	}
	r.when("stime", s.stime)
	if own {
		r.when("obittime", t.obit)
		r.put("jobdir", j.home)
	} else if !s.stime.IsZero() {
		r.when("obittime", j.endedAt)
	}
	c.recordEnd(&r, j, t, s)
	return r
}

// recordEnd writes the second half of a record.
func (c *complex) recordEnd(r *record, j *job, t *task, s summary) {
	own := t != nil && t.began
	r.put("substate", strconv.Itoa(s.substate))
	r.put("Variable_List", "")
	r.maybe("comment", s.comment)
	if j.holds == "" {
		r.when("etime", j.qtime)
	}
	if own {
		r.put("run_count", strconv.Itoa(t.runs))
	}
	if own && t.over() || !own && j.done() && !s.stime.IsZero() {
		r.put("Stageout_status", "1")
	}
	if s.hasExit {
		r.put("Exit_status", strconv.Itoa(s.exit))
	}
	if own && j.array {
		r.put("array_id", j.id())
		r.put("array_index", strconv.Itoa(t.index))
	} else {
		r.put("Submit_arguments", j.args)
	}
	switch {
	case t == nil:
		r.put("array", "True")
		r.put("array_state_count", j.counts())
		r.put("array_indices_submitted", j.indices)
		r.put("array_indices_remaining", j.remaining())
	case j.array && !own:
		return // the rest is only for the array
	}
	if j.done() {
		r.put("history_timestamp", strconv.FormatInt(j.endedAt.Unix(), 10))
	}
	r.put("project", max(j.project, "_pbs_project_default"))
	r.put("Submit_Host", server)
}

func (r *record) put(name, value string) { r.attrs = append(r.attrs, pair{name, value}) }

func (r *record) maybe(name, value string) {
	if value != "" {
		r.put(name, value)
	}
}

func (r *record) when(name string, at time.Time) {
	if !at.IsZero() {
		r.put(name, at.In(r.zone).Format(stamp))
	}
}

// summary is what an array shows about itself as a whole.
type summary struct {
	substate int
	exit     int
	hasExit  bool
	comment  string
	stime    time.Time
}

func (s summary) latest(j *job, t *task) time.Time {
	if t != nil && !t.mtime.IsZero() {
		return t.mtime
	}
	return j.mtime
}

func (j *job) summary() summary {
	s := summary{substate: 10, comment: j.tasks[0].comment}
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

// begun reports whether an element has ever run.
func (j *job) begun() bool {
	for _, t := range j.tasks {
		if !t.stime.IsZero() {
			return true
		}
	}
	return false
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

func (t *task) used(j *job) []pair {
	end := t.obit
	if end.IsZero() {
		end = time.Now()
	}
	kb := func(n int64) string { return strconv.FormatInt(n, 10) + "kb" }
	return []pair{
		{"resources_used.cpupercent", "0"}, {"resources_used.cput", clock(t.cpu)},
		{"resources_used.mem", kb(t.rss)}, {"resources_used.ncpus", strconv.Itoa(j.cores)},
		{"resources_used.vmem", kb(t.rss)}, {"resources_used.walltime", clock(end.Sub(t.stime))},
	}
}

func (j *job) counts() string {
	n := map[byte]int{}
	for _, t := range j.tasks {
		n[j.taskLetter(t, false)]++
	}
	if j.done() { // those without a record count as expired for good
		expired := 0
		for _, t := range j.tasks {
			if !t.began {
				expired++
			}
		}
		return fmt.Sprintf("Queued:0 Running:0 Exiting:0 Expired:%d", expired)
	}
	return fmt.Sprintf("Queued:%d Running:%d Exiting:%d Expired:%d", n['Q']+n['H']+n['W'], n['R'], n['E'], n['X'])
}

// shownPath returns the path of an output file; by default it lies in the folder of qsub.
func (c *complex) shownPath(j *job, path, letter string) string {
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

// table is qstat without -f.
func table(c *complex, rows []row) []byte {
	if len(rows) == 0 {
		return nil
	}
	out := []byte("Job id            Name             User              Time Use S Queue\n" +
		"----------------  ---------------- ----------------  -------- - -----\n")
	for _, w := range rows {
		name, used, state := w.job.name, "0", w.job.letter(c.torque)
		if w.task != nil {
			name, state = c.taskName(w.job, w.task), w.job.taskLetter(w.task, c.torque)
			if w.task.began && w.task.state != 'Q' {
				used = clock(w.task.cpu)
			}
		}
		if len(name) > 16 {
			name = name[:15] + "*"
		}
		out = fmt.Appendf(out, "%-17s %-16s %-16s %9s %c %-16s\n", w.id(), name, w.job.owner, used, state, w.job.queue)
	}
	return out
}

// statServer is qstat -B.
func (c *complex) statServer(o statOptions) response {
	n, total := c.countStates("")
	if !o.full {
		return response{Stdout: fmt.Appendf(nil,
			"Server             Max   Tot   Que   Run   Hld   Wat   Trn   Ext Status\n"+
				"---------------- ----- ----- ----- ----- ----- ----- ----- ----- -----------\n"+
				"%-16s %5d %5d %5d %5d %5d %5d %5d %5d %-10s\n", server, 0, total, n['Q'], n['R'], n['H'], n['W'], 0, n['E'],
			"Active")}
	}
	r := record{id: server, attrs: []pair{
		{"server_state", "Active"}, {"server_host", server}, {"scheduling", "True"},
		{"total_jobs", strconv.Itoa(total)}, {"state_count", countText(n)}, {"default_queue", "workq"},
	}}
	if c.maxQueued > 0 {
		r.attrs = append(r.attrs, pair{"max_queued", fmt.Sprintf("[u:PBS_GENERIC=%d]", c.maxQueued)})
	}
	if c.torque {
		r.attrs = append(r.attrs, pair{"keep_completed", map[bool]string{true: "300", false: "0"}[c.history]},
			pair{"max_job_array_size", strconv.Itoa(c.maxArray)}, pair{"pbs_version", "6.1.2"})
	} else {
		r.attrs = append(r.attrs, pair{"max_array_size", strconv.Itoa(c.maxArray)}, pair{"pbs_version", version},
			pair{"job_history_enable", title(c.history)}, pair{"query_other_jobs", "True"},
			pair{"max_job_sequence_id", "9999999"})
	}
	return response{Stdout: plainText("Server", []record{r}, o.wide)}
}

// countStates counts the jobs of a queue, or of all, by state.
func (c *complex) countStates(queue string) (map[byte]int, int) {
	n, total := map[byte]int{}, 0
	for _, j := range c.jobs {
		if queue == "" || j.queue == queue {
			n[j.letter(c.torque)]++
			total++
		}
	}
	return n, total
}

func countText(n map[byte]int) string {
	return fmt.Sprintf("Transit:0 Queued:%d Held:%d Waiting:%d Running:%d Exiting:%d Begun:%d ", n['Q'], n['H'], n['W'],
		n['R'], n['E'], n['B'])
}

// statQueues is qstat -Q.
func (c *complex) statQueues(o statOptions) response {
	if !o.full {
		out := []byte("Queue              Max   Tot Ena Str   Que   Run   Hld   Wat   Trn   Ext Type\n" +
			"---------------- ----- ----- --- --- ----- ----- ----- ----- ----- ----- ----\n")
		for _, name := range c.queueNames {
			x := c.queue[name]
			n, total := c.countStates(name)
			out = fmt.Appendf(out, "%-16s %5d %5d %3s %3s %5d %5d %5d %5d %5d %5d %s*\n", name, 0, total,
				yes(x.enabled), yes(x.started), n['Q'], n['R'], n['H'], n['W'], 0, n['E'], x.kind[:3])
		}
		return response{Stdout: out}
	}
	var rs []record
	for _, name := range c.queueNames {
		x := c.queue[name]
		n, total := c.countStates(name)
		r := record{id: name, attrs: []pair{{"queue_type", x.kind}, {"total_jobs", strconv.Itoa(total)},
			{"state_count", countText(n)}}}
		if x.acl != "" {
			r.attrs = append(r.attrs, pair{"acl_user_enable", "True"}, pair{"acl_users", x.acl + "@*"})
		}
		if x.maxQueued > 0 {
			r.attrs = append(r.attrs, pair{"max_queued", fmt.Sprintf("[u:PBS_GENERIC=%d]", x.maxQueued)})
		}
		if x.maxWall > 0 {
			r.attrs = append(r.attrs, pair{"resources_max.walltime", clock(time.Duration(x.maxWall) * time.Second)})
		}
		r.attrs = append(r.attrs, pair{"enabled", title(x.enabled)}, pair{"started", title(x.started)})
		rs = append(rs, r)
	}
	return response{Stdout: plainText("Queue", rs, o.wide)}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// pbsnodes shows the only node.
func (c *complex) pbsnodes(request) response {
	state := "free"
	switch {
	case c.fault("mom-down"):
		state = "down"
	case c.free <= 0 && c.torque:
		state = "job-exclusive"
	case c.free <= 0:
		state = "job-busy"
	}
	mem := memoryKB()
	if c.torque {
		return response{Stdout: fmt.Appendf(nil, "%s\n     state = %s\n     np = %d\n     ntype = cluster\n"+
			"     status = opsys=linux,ncpus=%d,physmem=%dkb,totmem=%dkb,state=free\n     mom_service_port = 15002\n\n",
			server, state, c.slots, c.slots, mem, mem)}
	}
	return response{Stdout: fmt.Appendf(nil, "%s\n     Mom = %s\n     ntype = PBS\n     state = %s\n     pcpus = %d\n"+
		"     resources_available.arch = linux\n     resources_available.host = %s\n     resources_available.mem = %dkb\n"+
		"     resources_available.ncpus = %d\n     resources_available.vnode = %s\n     resources_assigned.ncpus = %d\n"+
		"     resv_enable = True\n     sharing = default_shared\n     license = l\n\n",
		server, server, state, c.slots, server, mem, c.slots, server, c.slots-c.free)}
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
