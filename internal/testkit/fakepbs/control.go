package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// onJobs calls act for every job that is named on a command line and that the caller may
// change. The exit code is that of the last error.
func (c *complex) onJobs(q request, o options, act func(target) int) response {
	if o.bad != "" || len(o.operands) == 0 {
		return response{Exit: 2, Stderr: []byte("usage: " + q.Verb + " job_identifier...\n")}
	}
	r := response{Die: c.fault(q.Verb + "-killed")}
	for _, id := range o.operands {
		t, bad := c.parseTarget(id)
		if bad || q.Verb == "qdel" && !c.torque && elementList.MatchString(id) {
			r.Exit = 1
			r.Stderr = fmt.Appendf(r.Stderr, "%s: illegally formed job identifier: %s\n", q.Verb, id)
			continue
		}
		code := errUnknownJob
		switch {
		case t.job == nil:
		case t.job.owner != q.User && q.User != "root", c.fault(q.Verb + "-denied"):
			code = errPermission
		default:
			code = act(t.narrow(o.value("t")))
		}
		if code != 0 {
			r.Exit = code & 0xFF
			r.Stderr = fmt.Appendf(r.Stderr, "%s: %s %s\n", q.Verb, texts[code], named(q.Verb, id, code))
		}
	}
	return r
}

// named returns the identifier as it appears in a message: qdel repeats what it was given,
// the others write it in full.
func named(verb, id string, code int) string {
	if strings.Contains(id, ".") || verb == "qdel" && code == errUnknownJob {
		return id
	}
	return id + "." + server
}

func (c *complex) qdel(q request) response {
	o, crash := parse(q.Args, "t:x"), false
	if !c.torque {
		o.operands, crash = c.joined(o.operands)
	}
	r := c.onJobs(q, o, func(t target) int { return c.del(t, o.has("x") && !c.torque) })
	if crash {
		_ = os.WriteFile(filepath.Join(c.dir, "faults", "refused"), nil, 0o666)
	}
	return r
}

// narrow applies Torque's option -t to an array.
func (t target) narrow(span string) target {
	list, _, err := indexList(span)
	if err != nil || !t.job.array {
		return t
	}
	t.many, t.tasks = true, t.job.these(list)
	return t
}

// del deletes a job, or elements of an array. Deleting a whole array or a range of it makes
// the server forget how its ended elements ended.
func (c *complex) del(t target, purge bool) int {
	j := t.job
	switch {
	case j.done() && purge:
		c.forget(func(other *job) bool { return other == j })
		return 0
	case j.done():
		return errHistory
	case len(t.tasks) == 1 && !t.many && t.tasks[0].over():
		return errSubjobEnded
	}
	tasks := t.tasks
	if tasks == nil {
		tasks = j.tasks
	}
	for _, k := range tasks {
		switch {
		case k.over() && j.array && !c.torque:
			k.began = false
		case k.over() || k.state == 'E':
		case k.state == 'Q':
			k.state, k.substate, k.deleted, k.mtime = 'F', 91, true, time.Now()
			if c.torque {
				k.exit, k.hasExit = 271, true
			}
		case c.fault("mom-down"):
			return errNoMom
		default:
			k.deleted = true
			c.terminate(k)
		}
	}
	c.closeJob(j)
	return 0
}

// qhold is qhold and qrls. OpenPBS has neither for elements of an array.
func (c *complex) qhold(q request) response {
	o := parse(q.Args, "h:t:")
	letters := cmp.Or(o.value("h"), "u")
	return c.onJobs(q, o, func(t target) int {
		j := t.job
		switch {
		case letters != "u" && q.User != "root":
			return errPermission
		case t.tasks != nil && !c.torque:
			return errInvalid
		case j.done():
			return errHistory
		case t.tasks != nil:
			return c.holdTasks(t, q.Verb == "qhold")
		}
		j.holds, j.comment = strings.Trim(j.holds, letters), ""
		if q.Verb == "qrls" {
			c.attend(j)
			j.each(func(k *task) { k.held, k.comment = false, "" })
			return 0
		}
		j.holds += letters
		text := "Job held by " + q.User + " on " + time.Now().Format(stamp)
		j.each(func(k *task) { k.comment = text })
		return 0
	})
}

func (j *job) each(f func(*task)) {
	for _, t := range j.tasks {
		f(t)
	}
}

// holdTasks holds or releases single elements, which only Torque can. Releasing one element
// of a held array leaves the others held.
func (c *complex) holdTasks(t target, hold bool) int {
	if t.job.holds != "" {
		t.job.holds = ""
		t.job.each(func(k *task) { k.held = true })
	}
	for _, k := range t.tasks {
		k.held = hold
	}
	return 0
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
	if o.has("x") && !c.torque && !c.history {
		// With exit 0, and nothing on stdout.
		return response{Stderr: []byte("qselect: PBS is not configured to maintain job history\n")}
	}
	var r response
	for _, j := range c.jobs {
		if (!j.done() || o.has("x") || c.torque) && o.fits("N", j.name) && o.fits("u", j.owner) && o.fits("A", j.account) &&
			o.fits("P", j.project) && (!o.has("s") || strings.IndexByte(o.value("s"), c.letter(j.row())) >= 0) &&
			(!o.has("t") || !j.changed().Before(after)) {
			r.Stdout = append(r.Stdout, j.id()+"\n"...)
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

// changed returns the mtime of a job as the server shows it: for a plain job that of its
// run.
func (j *job) changed() time.Time {
	at := j.mtime
	if !j.array && j.tasks[0].mtime.After(at) {
		at = j.tasks[0].mtime
	}
	return at.Truncate(time.Second)
}

// qmgr knows a few settings: set server NAME = VALUE, set queue QUEUE NAME = VALUE.
func (c *complex) qmgr(q request) response {
	text := parse(q.Args, "c:").value("c")
	setting, value, _ := strings.Cut(strings.ReplaceAll(text, " ", ""), "=")
	switch n := number(value); setting {
	case "setserverjob_history_enable":
		if c.history = value == "true"; !c.history {
			c.forget((*job).done)
		}
	case "setservermax_array_size":
		c.maxArray = n
	case "setservermax_queued":
		c.maxQueued = n
	case "setqueueworkqstarted":
		c.queue["workq"].started = value == "true"
	case "setfakenext": // not a setting of PBS: the next job's number
		c.next = n
	default:
		return response{Exit: 1, Stderr: []byte("qmgr: fakepbs does not know: " + text + "\n")}
	}
	return response{}
}
