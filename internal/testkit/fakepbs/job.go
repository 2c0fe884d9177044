package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	jjmrun "jjm/internal/sys/run"
)

// job is the job of one qsub: a plain job with one task, or an array.
type job struct {
	seq     int
	array   bool
	indices string // indices of an array, as submitted
	tasks   []*task

	name, owner, queue string
	rerunnable         bool
	holds              string // letters of u, o, s
	shell              string
	silent             bool   // the job's output goes to /dev/null
	args               string // Submit_arguments
	home               string
	vars               []pair // Variable_List
	limits             limits

	ctime   time.Time
	mtime   time.Time
	endedAt time.Time
	ready   time.Time // time from which the scheduler may start the job
	comment string    // comment of an array: its latest event, or the comment of an element in a listing (see row.facts)
}

// facts holds the state of a run, or of an array as a whole, for listings.
type facts struct {
	substate int
	exit     string // "" if there is none
	comment  string
	stime    time.Time
	obit     time.Time
	mtime    time.Time
}

// task is a plain job's only run, or one element of an array.
type task struct {
	facts
	index int
	state byte // Q, R, E or F
	runs  int
	cpu   time.Duration
	rss   int64 // kB
	began bool  // PBS has a record of this element

	proc *jjmrun.Process
	why  string // why the task is ended: qdel, rerun, or the exceeded resource; "" if it ends by itself
}

func (t *task) over() bool { return t.state == 'F' }

// done reports whether the whole job has ended.
func (j *job) done() bool { return !j.endedAt.IsZero() }

// begun reports whether an element has ever run.
func (j *job) begun() bool {
	return slices.ContainsFunc(j.tasks, func(t *task) bool { return !t.stime.IsZero() })
}

// row is one entry of a listing: a job as a whole, or one task of it.
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

// id returns 25.pbshost, 25[].pbshost for an array, or 25[3].pbshost for an element.
func (w row) id() string {
	element := only(w.job.array, "[]")
	if w.job.array && w.task != nil {
		element = fmt.Sprintf("[%d]", w.task.index)
	}
	return fmt.Sprintf("%d%s.%s", w.job.seq, element, server)
}

// letter returns the state for a listing. Ended elements of an array with live elements are X.
func (w row) letter() byte {
	j, t := w.job, w.task
	switch {
	case j.done():
		return 'F'
	case t != nil && t.over():
		return 'X'
	case t == nil && j.begun():
		return 'B'
	case t != nil && (j.array || t.state != 'Q'):
		return t.state // the state of an element, even while its array is held
	case j.holds != "":
		return 'H'
	}
	return 'Q'
}

const stamp = "Mon Jan _2 15:04:05 2006"

// record returns what a listing shows of a row: the attributes that jjm reads, in the order of PBS, and Variable_List
// and Submit_arguments, into which users can put any text. Attributes without a value are left out.
func (w row) record(zone *time.Location) pair {
	j, t, f := w.job, cmp.Or(w.task, &task{}), w.facts()
	at := func(when time.Time) string { return only(!when.IsZero(), when.In(zone).Format(stamp)) }
	subjob := t.began && j.array // an element of an array with a record of its own
	attrs := []pair{{"Job_Name", j.name}, {"Job_Owner", j.owner + "@" + server}}
	if t.began {
		used := []pair{{"cput", clock(t.cpu)}, {"mem", strconv.FormatInt(t.rss, 10) + "kb"}}
		attrs = append(attrs, pair{"resources_used", used})
	}
	attrs = append(attrs, []pair{
		{"job_state", string(w.letter())},
		{"ctime", at(j.ctime)},
		{"exec_host", only(t.began && t.state != 'Q', server+"/0")},
		{"Hold_Types", only(!subjob, cmp.Or(j.holds, "n"))},
		{"mtime", at(f.mtime)},
		{"Rerunable", title[j.rerunnable]},
		{"stime", at(f.stime)},
		{"obittime", at(f.obit)},
		{"substate", strconv.Itoa(f.substate)},
		{"Variable_List", j.vars},
		{"comment", f.comment},
		{"run_count", only(t.began, strconv.Itoa(t.runs))},
		{"Exit_status", f.exit},
		{"array_id", only(subjob, j.row().id())},
		{"array_index", only(subjob, strconv.Itoa(t.index))},
		{"Submit_arguments", only(!subjob, j.args)},
		{"array_indices_submitted", only(w.task == nil, j.indices)},
		{"history_timestamp", only(j.done() && (w.task == nil || t.began || !j.array),
			strconv.FormatInt(j.endedAt.Unix(), 10))},
	}...)
	return pair{w.id(), slices.DeleteFunc(attrs, func(a pair) bool { return a.value == "" })}
}

// only returns the text if the condition holds, and otherwise "".
func only(so bool, text string) string {
	if so {
		return text
	}
	return ""
}

// facts returns the facts of a row. For an element of an array without a record of its own these are the facts of the
// array.
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
	if !t.over() {
		f.substate = 10
		return f
	}
	// PBS sets this comment even for an element that was deleted while it waited. From then on, as long as the array is
	// alive, it is also the comment of the array, and therefore of the array's waiting elements (deleted_waiting_subjob).
	f.comment = "Subjob finished"
	if !j.done() {
		j.comment = f.comment
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
		if t.stime.IsZero() { // an element that never ran has no exit status
			continue
		}
		f.substate, f.obit = 70, j.endedAt
		if f.stime.IsZero() || t.stime.Before(f.stime) {
			f.stime = t.stime
		}
		if t.over() {
			f.exit = max(f.exit, "0")
			if t.exit != "0" || t.why == "qdel" {
				f.exit = "1"
			}
		}
	}
	if j.done() {
		f.substate = map[string]int{"": 91, "0": 92, "1": 93}[f.exit]
	}
	return f
}

var title = map[bool]string{true: "True", false: "False"}

// clock returns a duration of less than a day in the form of PBS, "00:05:00".
func clock(d time.Duration) string { return time.Time{}.Add(d).Format(time.TimeOnly) }

// object returns the text about a server, a queue or a node: its name and the attributes that have a value.
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
		x := c.queue[name]
		wall := clock(time.Duration(x.maxWall) * time.Second)
		out = append(out, object("Queue: "+name, "    ", pair{"enabled", title[!x.disabled]},
			pair{"started", title[!x.stopped]}, pair{"max_queued", perUser(x.maxQueued)},
			pair{"resources_max.walltime", only(x.maxWall > 0, wall)})...)
	}
	return out
}

// perUser returns the value of max_queued for a limit of n jobs for each user, or "" for no limit.
func perUser(n int) string { return only(n > 0, fmt.Sprintf("[u:PBS_GENERIC=%d]", n)) }

func (c *complex) pbsnodes(Request, options) Response {
	state := "free"
	if c.fault("mom-down") {
		state = "down"
	}
	return Response{Stdout: object(server, "     ", pair{"state", state},
		pair{"resources_available.mem", "16gb"}, pair{"resources_available.ncpus", strconv.Itoa(c.slots)})}
}

// pair is an attribute or a variable. Its value is a string, or a group of pairs.
type pair struct {
	name  string
	value any
}

// jsonText returns jobs in the JSON of qstat 23.06.06. If there are no jobs, the member Jobs and the last newline are
// missing.
func jsonText(jobs []pair) []byte {
	now := strconv.FormatInt(time.Now().Unix(), 10)
	all := []pair{{"timestamp", now}, {"pbs_version", version}, {"pbs_server", server}}
	if len(jobs) == 0 {
		return []byte(jsonValue(all, "\n"))
	}
	return []byte(jsonValue(append(all, pair{"Jobs", jobs}), "\n") + "\n")
}

// quotedNumber matches texts that strtod(3) reads as numbers but that PBS nevertheless quotes.
var quotedNumber = regexp.MustCompile(`^[+-]?0[0-9xX]|_`)

// escaped escapes the same characters as PBS. It is safe for concurrent use.
var escaped = strings.NewReplacer(`"`, `\"`, "\n", `\n`, "\t", `\t`)

// jsonValue returns v in the JSON that PBS prints. Texts that strtod(3) would read completely, including +5, .5 and
// nan, are not quoted. indent begins the lines of a group.
func jsonValue(v any, indent string) string {
	if group, is := v.([]pair); is {
		var members []string
		for _, a := range group {
			members = append(members, indent+`    "`+a.name+`":`+jsonValue(a.value, indent+"    "))
		}
		return "{" + strings.Join(members, ",") + indent + "}"
	}
	text, _ := v.(string)
	_, err := strconv.ParseFloat(text, 64)
	if (err == nil || errors.Is(err, strconv.ErrRange)) && !quotedNumber.MatchString(text) {
		return text
	}
	return `"` + escaped.Replace(text) + `"`
}
