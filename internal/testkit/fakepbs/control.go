package main

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// operand is an identifier on a command line: 25, 25[], 25[3] or 25[3-7], with or without the
// server's name.
type operand struct {
	text        string
	bad         bool // it is none of these
	seq         int
	array       bool
	first, last int // elements; -1 for the whole job
}

var operandForm = regexp.MustCompile(`^(\d+)(\[(?:(\d+)(?:-(\d+))?)?\])?(?:\.` + server + `)?$`)

func operandOf(text string) operand {
	m := operandForm.FindStringSubmatch(text)
	if m == nil {
		return operand{text: text, bad: true, first: -1, last: -1}
	}
	x := operand{text: text, seq: number(m[1]), array: m[2] != "", first: -1, last: -1}
	if m[3] != "" {
		x.first, x.last = number(m[3]), number(cmp.Or(m[4], m[3]))
	}
	return x
}

func operandsOf(words []string) (all []operand) {
	for _, word := range words {
		all = append(all, operandOf(word))
	}
	return all
}

// target is the job, and the elements of an array, that an operand stands for.
type target struct {
	operand
	job   *job
	tasks []*task
}

// find returns what an operand stands for; job is nil if there is no such job or element.
func (c *complex) find(x operand) target {
	t := target{operand: x}
	for _, j := range c.jobs {
		if j.seq != x.seq || j.array != x.array {
			continue
		}
		for _, k := range j.tasks {
			if x.first < 0 || x.first <= k.index && k.index <= x.last {
				t.tasks = append(t.tasks, k)
			}
		}
		if len(t.tasks) > 0 {
			t.job = j
		}
	}
	return t
}

// onJobs calls act for every job that is named on a command line and that the caller may
// change. The exit code is that of the last error.
func (c *complex) onJobs(q request, list []operand, act func(target) *refusal) response {
	if len(list) == 0 {
		return response{Exit: 2, Stderr: []byte("usage: " + q.Verb + " job_identifier...\n")}
	}
	r := response{Die: c.fault(q.Verb + "-killed")}
	for _, x := range list {
		if x.bad {
			r.Exit = 1
			r.Stderr = fmt.Appendf(r.Stderr, "%s: illegally formed job identifier: %s\n", q.Verb, x.text)
			continue
		}
		var no *refusal
		switch t := c.find(x); {
		case t.job == nil:
			no = errUnknownJob
		case t.job.owner != q.User && q.User != "root", c.fault(q.Verb + "-denied"):
			no = errPermission
		default:
			no = act(t)
		}
		if no != nil {
			r.Exit = no.exit()
			r.Stderr = fmt.Appendf(r.Stderr, "%s: %s %s\n", q.Verb, no.text, named(q.Verb, x.text, no))
		}
	}
	return r
}

// named returns the identifier as it appears in a message: qdel repeats what it was given,
// the others write it in full.
func named(verb, id string, no *refusal) string {
	if strings.Contains(id, ".") || verb == "qdel" && no == errUnknownJob {
		return id
	}
	return id + "." + server
}

// qalter knows the option -r only (array_norerun).
func (c *complex) qalter(q request) response {
	if c.fault("qalter-lost") {
		return response{}
	}
	o := parse(q.Args, "r:")
	return c.onJobs(q, operandsOf(o.operands), func(t target) *refusal {
		if t.job.done() {
			return errHistory
		}
		t.job.rerunnable = o.value("r") != "n"
		return nil
	})
}

func (c *complex) qdel(q request) response {
	o := parse(q.Args, "x")
	list, fatal := joined(operandsOf(o.operands))
	r := c.onJobs(q, list, func(t target) *refusal { return c.del(t, o.has("x")) })
	if fatal && c.fault("qdel-crash") {
		_ = begin(c.dir, "refused")
	}
	return r
}

// keptRuns and fatalRuns are how many ranges of one array a qdel deletes, and how many end
// the server (qdel_several_operands).
const (
	keptRuns  = 2
	fatalRuns = 11
)

// joined joins the operands of a qdel that follow each other in one array, as its client
// does, and drops the ranges of an array after the first two. fatal is true if the server
// dies of their number.
func joined(list []operand) (kept []operand, fatal bool) {
	type runs struct {
		n    int // ranges of an array
		last int // the end of its last range
		at   int // the place of that in kept; -1 if it is lost
	}
	arrays := map[int]*runs{}
	for _, x := range list {
		if x.first < 0 {
			kept = append(kept, x)
			continue
		}
		if arrays[x.seq] == nil {
			arrays[x.seq] = &runs{}
		}
		r := arrays[x.seq]
		switch {
		case r.n > 0 && x.first == r.last+1 && r.at >= 0:
			kept[r.at].last = x.last
		case r.n > 0 && x.first == r.last+1:
		case r.n < keptRuns:
			r.n, r.at = r.n+1, len(kept)
			kept = append(kept, x)
		default:
			r.n, r.at = r.n+1, -1
		}
		r.last = x.last
		fatal = fatal || r.n >= fatalRuns
	}
	return kept, fatal
}

// del deletes a job, or elements of an array. Deleting a whole array or a range of it makes
// the server forget how its ended elements ended.
func (c *complex) del(t target, purge bool) *refusal {
	switch {
	case t.job.done() && purge:
		c.forget(func(other *job) bool { return other == t.job })
		return nil
	case t.job.done():
		return errHistory
	case t.first >= 0 && t.first == t.last && t.tasks[0].over():
		return errSubjobEnded
	}
	for _, k := range t.tasks {
		switch {
		case k.over() && t.array:
			k.began = false
		case k.over() || k.state == 'E':
		case k.state == 'Q':
			k.state, k.substate, k.deleted, k.mtime = 'F', 91, true, time.Now()
		case c.fault("mom-down"):
			return errNoMom
		default:
			k.deleted = true
			k.terminate()
		}
	}
	c.closeJob(t.job)
	return nil
}

// qhold is qhold and qrls. There is neither for elements of an array.
func (c *complex) qhold(q request) response {
	o := parse(q.Args, "h:")
	letters := cmp.Or(o.value("h"), "u")
	return c.onJobs(q, operandsOf(o.operands), func(t target) *refusal {
		j, comment := t.job, ""
		switch {
		case letters != "u" && q.User != "root":
			return errPermission
		case t.first >= 0:
			return errInvalid
		case j.done():
			return errHistory
		}
		j.holds = strings.Trim(j.holds, letters)
		if q.Verb == "qrls" {
			c.attend(j)
		} else {
			j.holds += letters
			comment = "Job held by " + q.User + " on " + time.Now().Format(stamp)
		}
		j.comment = ""
		for _, k := range j.tasks {
			k.comment = comment
		}
		return nil
	})
}

const qselectUsage = `usage: qselect [-a [op]date_time] [-A account_string] [-c [op]interval]
	[-h hold_list] [-H] [-J] [-l resource_list] [-N name] [-p [op]priority]
	[-q destination] [-r y|n] [-s states] [-t subopt[op]date_time] [-T] [-P project_name]
	[-x] [-u user_name]
       qselect --version
`

// qselect lists jobs. It is no error if none matches.
func (c *complex) qselect(q request) response {
	o := parse(q.Args, "A:N:P:s:t:xu:")
	after, ok := modified(o.value("t"), q.Env["TZ"])
	wrong := ""
	switch {
	case o.bad != "":
		wrong = "invalid option -- '" + o.bad + "'"
	case o.has("N") && !jobName.MatchString(o.value("N")):
		wrong = "illegal -N value"
	case o.has("t") && !ok:
		wrong = "illegal -t value"
	}
	if wrong != "" {
		return response{Exit: 2, Stderr: []byte("qselect: " + wrong + "\n" + qselectUsage)}
	}
	if o.has("x") && !c.history {
		// With exit 0, and nothing on stdout.
		return response{Stderr: []byte("qselect: PBS is not configured to maintain job history\n")}
	}
	var r response
	for _, j := range c.jobs {
		w := j.row()
		changed := w.facts().mtime.Truncate(time.Second)
		if (!j.done() || o.has("x")) && o.fits("N", j.name) && o.fits("u", j.owner) && o.fits("A", j.account) &&
			o.fits("P", j.project) && o.fits("s", string(w.letter())) && !(o.has("t") && changed.Before(after)) {
			r.Stdout = append(r.Stdout, w.id()+"\n"...)
		}
	}
	return r
}

// modified parses the form of -t that this fake knows: m.ge.CCYYMMDDhhmm.SS, in the zone of
// the command (qselect.c, cvtdate.c).
func modified(value, zone string) (time.Time, bool) {
	text, ok := strings.CutPrefix(value, "m.ge.")
	where, err := time.LoadLocation(zone)
	if !ok || err != nil {
		return time.Time{}, false
	}
	at, err := time.ParseInLocation("200601021504.05", text, where)
	return at, err == nil && at.Unix() >= 0
}

// qmgr knows a few settings: set server NAME = VALUE, set queue QUEUE NAME = VALUE.
func (c *complex) qmgr(q request) response {
	text := parse(q.Args, "c:").value("c")
	setting, value, _ := strings.Cut(strings.ReplaceAll(text, " ", ""), "=")
	switch setting {
	case "setserverjob_history_enable":
		if c.history = value == "true"; !c.history {
			c.forget((*job).done)
		}
	case "setservermax_array_size":
		c.maxArray = number(value)
	case "setservermax_queued":
		c.maxQueued = number(value)
	case "setqueueworkqstarted":
		c.queue["workq"].stopped = value != "true"
	case "setfakenext": // not a setting of PBS: the next job's number
		c.next = number(value)
	default:
		return response{Exit: 1, Stderr: []byte("qmgr: fakepbs does not know: " + text + "\n")}
	}
	return response{}
}
