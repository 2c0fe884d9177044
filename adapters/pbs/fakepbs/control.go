package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// eachTarget calls act for every identifier on a command line. The exit code is that of the
// last error.
func (c *complex) eachTarget(q request, ids []string, act func(target) int) response {
	var r response
	for _, id := range ids {
		t, bad := c.parseTarget(id)
		if bad || q.Verb == "qdel" && !c.torque && elementList.MatchString(id) {
			r.Exit = 1
			r.Stderr = fmt.Appendf(r.Stderr, "%s: illegally formed job identifier: %s\n", q.Verb, id)
			continue
		}
		code := errUnknownJob
		if t.job != nil {
			code = act(t)
		}
		if code == 0 {
			continue
		}
		r.Exit = code & 0xFF
		r.Stderr = fmt.Appendf(r.Stderr, "%s: %s %s\n", q.Verb, texts[code], named(q.Verb, id, code))
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
	opts, ids, bad := getopt(q.Args, "t:W:xam:p")
	if bad != "" || len(ids) == 0 {
		return response{Exit: 2, Stderr: []byte("usage: qdel [-W force|suppress_email=X] [-x] job_identifier...\n")}
	}
	force, purge, span := false, false, ""
	for _, o := range opts {
		force = force || o.letter == "W" && strings.Contains(o.value, "force")
		purge = purge || o.letter == "x" && !c.torque
		if o.letter == "t" {
			span = o.value
		}
	}
	crash := false
	if !c.torque {
		ids, crash = c.joined(ids)
	}
	r := c.eachTarget(q, ids, func(t target) int {
		if t.job.owner != q.User && q.User != "root" {
			return errPermission
		}
		if span != "" {
			t = t.narrow(span)
		}
		return c.del(t, force, purge)
	})
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
	t.tasks, t.many = nil, true
	for _, i := range list {
		if k := t.job.task(i); k != nil {
			t.tasks = append(t.tasks, k)
		}
	}
	return t
}

// del deletes a job, or elements of an array. Deleting a whole array or a range of it makes
// the server forget how its ended elements ended.
func (c *complex) del(t target, force, purge bool) int {
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
		case c.fault("mom-down") && force:
			// The server records the end; the node ends the process later.
			k.deleted = true
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
	opts, ids, bad := getopt(q.Args, "h:t:")
	if bad != "" || len(ids) == 0 {
		return response{Exit: 2, Stderr: []byte("usage: " + q.Verb + " [-h hold_list] job_identifier...\n")}
	}
	span, letters := "", "u"
	for _, o := range opts {
		if o.letter == "t" {
			span = o.value
		} else {
			letters = o.value
		}
	}
	return c.eachTarget(q, ids, func(t target) int {
		switch {
		case t.job.owner != q.User && q.User != "root":
			return errPermission
		case letters != "u" && q.User != "root":
			return errPermission
		case t.tasks != nil && !c.torque:
			return errInvalid
		case t.job.done():
			return errHistory
		}
		if span != "" || t.tasks != nil {
			if span != "" {
				t = t.narrow(span)
			}
			return c.holdTasks(t, q.Verb == "qhold")
		}
		if q.Verb == "qrls" {
			t.job.holds = strings.Trim(t.job.holds, letters)
			c.attend(t.job)
			t.job.comment = ""
			t.job.each(func(k *task) { k.held, k.comment = false, "" })
		} else {
			t.job.holds = strings.Trim(t.job.holds, letters) + letters
			text := "Job held by " + q.User + " on " + time.Now().Format(stamp)
			t.job.comment = ""
			t.job.each(func(k *task) { k.comment = text })
		}
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
	opts, _, bad := getopt(q.Args, "a:A:c:h:HJl:N:p:q:r:s:t:TP:xu:")
	if bad != "" {
		return response{Exit: 2, Stderr: []byte("qselect: invalid option -- '" + bad + "'\n" + qselectUsage)}
	}
	var r response
	var tests []func(*job) bool
	all := false
	for _, o := range opts {
		if o.letter == "x" || o.letter == "H" {
			all = !c.torque
		}
		test, ok := c.selection(o, q.Env["TZ"])
		if !ok {
			return response{Exit: 2, Stderr: []byte("qselect: illegal -" + o.letter + " value\n" + qselectUsage)}
		}
		if test != nil {
			tests = append(tests, test)
		}
	}
	if all && !c.history {
		// With exit 0, and nothing on stdout.
		return response{Stderr: []byte("qselect: PBS is not configured to maintain job history\n")}
	}
	for _, j := range c.jobs {
		match := !j.done() || all || c.torque
		for _, t := range tests {
			match = match && t(j)
		}
		if match {
			r.Stdout = append(r.Stdout, j.id()+"\n"...)
		}
	}
	return r
}

// selection returns a test for the jobs that an option of qselect selects, nil for all; ok
// is false if the option's value is illegal.
func (c *complex) selection(o option, zone string) (test func(*job) bool, ok bool) {
	v := o.value
	switch o.letter {
	case "H":
		return (*job).done, true
	case "t":
		after, ok := modified(v, zone)
		return func(j *job) bool { return !j.changed().Before(after) }, ok
	case "N":
		return func(j *job) bool { return j.name == v }, jobName.MatchString(v)
	case "u":
		return func(j *job) bool { return j.owner == v }, true
	case "A":
		return func(j *job) bool { return j.account == v }, true
	case "P":
		return func(j *job) bool { return j.project == v }, true
	case "s":
		return func(j *job) bool { return strings.IndexByte(v, j.letter(c.torque)) >= 0 }, true
	}
	return nil, true
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

// qmgr supports a few settings: set server ..., set queue NAME ....
func (c *complex) qmgr(q request) response {
	opts, _, bad := getopt(q.Args, "c:")
	if bad != "" || len(opts) != 1 {
		return response{Exit: 2, Stderr: []byte("usage: qmgr -c command\n")}
	}
	words := strings.Fields(strings.ReplaceAll(opts[0].value, "=", " = "))
	if len(words) == 5 && words[0] == "set" && (words[1] == "server" || words[1] == "fake") {
		n, _ := strconv.Atoi(words[4])
		switch words[2] {
		case "job_history_enable":
			c.history = strings.EqualFold(words[4], "true")
			if !c.history {
				c.forget(func(j *job) bool { return j.done() })
			}
			return response{}
		case "max_array_size":
			c.maxArray = n
			return response{}
		case "next": // not a setting of PBS: the next job's number
			c.next = n
			return response{}
		case "max_queued":
			c.maxQueued = n
			return response{}
		}
	}
	if len(words) == 6 && words[1] == "queue" && c.queue[words[2]] != nil {
		switch words[3] {
		case "enabled":
			c.queue[words[2]].enabled = strings.EqualFold(words[5], "true")
			return response{}
		case "started":
			c.queue[words[2]].started = strings.EqualFold(words[5], "true")
			return response{}
		}
	}
	return response{Exit: 1, Stderr: []byte("qmgr: fakepbs does not know: " + opts[0].value + "\n")}
}
