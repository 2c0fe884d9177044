package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// operand is an identifier on a command line: 25, 25[], 25[3] or 25[3-7], with or without the
// server's name.
type operand struct {
	text        string
	seq         int // -1 if the text has none of these forms
	array       bool
	first, last int // elements; -1 for the whole job
}

var operandForm = regexp.MustCompile(`^(\d+)(\[(?:(\d+)(?:-(\d+))?)?\])?(?:\.` + server + `)?$`)

func operandOf(text string) operand {
	x := operand{text: text, seq: -1, first: -1, last: -1}
	m := operandForm.FindStringSubmatch(text)
	if m == nil {
		return x
	}
	x.seq, x.array = number(m[1]), m[2] != ""
	if m[3] != "" {
		x.first, x.last = number(m[3]), number(cmp.Or(m[4], m[3]))
	}
	return x
}

// target is the job, and the elements of an array, that an operand stands for.
type target struct {
	operand
	job   *job
	tasks []*task
}

// find returns the job and the elements for which an operand stands. It returns an error if the operand is malformed,
// or the job or element does not exist.
func (c *complex) find(x operand) (target, *refusal) {
	if x.seq < 0 {
		return target{}, errMalformed
	}
	for _, j := range c.jobs {
		if j.seq != x.seq || j.array != x.array {
			continue
		}
		t := target{operand: x, job: j}
		for _, k := range j.tasks {
			if x.first < 0 || x.first <= k.index && k.index <= x.last {
				t.tasks = append(t.tasks, k)
			}
		}
		if len(t.tasks) > 0 {
			return t, nil
		}
	}
	return target{}, errUnknownJob
}

// onJobs calls act for every job that is named on a command line and that the caller may
// change. The exit code is that of the last error.
func (c *complex) onJobs(q request, list []operand, act func(target) *refusal) (r response) {
	for _, x := range list {
		t, no := c.find(x)
		switch {
		case no != nil:
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

// named returns the identifier as it appears in a message: qdel repeats an unknown identifier as it was
// given, the other commands write it in full.
func named(verb, id string, no *refusal) string {
	if strings.Contains(id, ".") || no == errMalformed || verb == "qdel" && no == errUnknownJob {
		return id
	}
	return id + "." + server
}

// qalter carries out qalter -r; no other option is known (recorded in array_norerun).
func (c *complex) qalter(q request, o options) response {
	if c.fault("qalter-lost") {
		return response{}
	}
	return c.onJobs(q, o.operands, func(t target) *refusal {
		if t.job.done() {
			return errHistory
		}
		t.job.rerunnable = o.value("r") != "n"
		return nil
	})
}

func (c *complex) qdel(q request, o options) response {
	list, fatal := joined(o.operands)
	r := c.onJobs(q, list, func(t target) *refusal { return c.del(t, o.has("x")) })
	if fatal && c.fault("qdel-crash") {
		_ = begin(c.dir, "refused")
	}
	return r
}

// joined joins the operands of a qdel that follow each other in one array, as its client
// does, and drops the ranges of an array after the first two. fatal is true if the server
// dies of their number, which is 11 or more (qdel_several_operands).
func joined(list []operand) (kept []operand, fatal bool) {
	arrays := map[int][]operand{}
	for _, x := range list {
		runs := arrays[x.seq]
		switch n := len(runs); {
		case x.first < 0:
			kept = append(kept, x)
		case n > 0 && x.first == runs[n-1].last+1:
			runs[n-1].last = x.last
		default:
			arrays[x.seq] = append(runs, x)
		}
	}
	for _, seq := range slices.Sorted(maps.Keys(arrays)) {
		runs := arrays[seq]
		kept = append(kept, runs[:min(len(runs), 2)]...)
		fatal = fatal || len(runs) >= 11
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

// qhold carries out qhold and qrls. Both refuse elements of an array.
func (c *complex) qhold(q request, o options) response {
	letters := cmp.Or(o.value("h"), "u")
	return c.onJobs(q, o.operands, func(t target) *refusal {
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

// qselect prints the ids of the jobs that match the options, without -x only jobs that are not done. It is not an error
// if none matches.
func (c *complex) qselect(q request, o options) response {
	after, ok := modified(o.value("t"), zone(q.Zone))
	if o.has("t") && !ok {
		return response{Exit: 2, Stderr: []byte("qselect: illegal -t value\n")}
	}
	if o.has("x") && !c.history {
		// With exit 0, and nothing on stdout.
		return response{Stderr: []byte("qselect: PBS is not configured to maintain job history\n")}
	}
	var r response
	for _, j := range c.jobs {
		w := j.row()
		changed := w.facts().mtime.Truncate(time.Second)
		if (!j.done() || o.has("x")) && o.fits("N", j.name) && o.fits("u", j.owner) &&
			o.fits("s", string(w.letter())) && !(o.has("t") && changed.Before(after)) {
			r.Stdout = append(r.Stdout, w.id()+"\n"...)
		}
	}
	return r
}

// modified parses the form of -t that this fake knows: m.ge.CCYYMMDDhhmm.SS, in the zone of
// the command (qselect.c, cvtdate.c).
func modified(value string, zone *time.Location) (time.Time, bool) {
	text, ok := strings.CutPrefix(value, "m.ge.")
	at, err := time.ParseInLocation("200601021504.05", text, zone)
	return at, ok && err == nil && at.Unix() >= 0
}

// qmgr changes one of a few settings: set server NAME = VALUE, set queue QUEUE NAME = VALUE.
func (c *complex) qmgr(_ request, o options) response {
	setting, value, _ := strings.Cut(strings.ReplaceAll(o.value("c"), " ", ""), "=")
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
		return response{Exit: 1, Stderr: []byte("qmgr: fakepbs does not know: " + o.value("c") + "\n")}
	}
	return response{}
}
