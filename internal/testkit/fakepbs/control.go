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

// options holds the options of a command line, each with its values, and the operands.
type options struct {
	values   map[string][]string
	operands []operand
}

// parse parses options in the same way as getopt(3). In known, a colon follows each letter that takes a value. bad is
// the letter of an option that is unknown or lacks its value; "" if there is none.
func parse(args []string, known string) (o options, bad string) {
	o.values = map[string][]string{}
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		word := args[0][1:]
		args = args[1:]
		for word != "" {
			letter := word[:1]
			word = word[1:]
			_, after, ok := strings.Cut(known, letter)
			takes := strings.HasPrefix(after, ":")
			if takes && word == "" && len(args) > 0 {
				word, args = args[0], args[1:]
			}
			if !ok || letter == ":" || takes && word == "" {
				return o, letter
			}
			value := ""
			if takes {
				value, word = word, ""
			}
			o.values[letter] = append(o.values[letter], value)
		}
	}
	for _, word := range args {
		o.operands = append(o.operands, operandOf(word))
	}
	return o, ""
}

func (o options) has(letter string) bool { return len(o.values[letter]) > 0 }

// value returns the last value of an option; "" if the option is not given.
func (o options) value(letter string) string {
	all := append([]string{""}, o.values[letter]...)
	return all[len(all)-1]
}

// fits reports whether an option is not given, or is given with this value.
func (o options) fits(letter, value string) bool { return !o.has(letter) || o.value(letter) == value }

// operand is an identifier on a command line: 25, 25[], 25[3] or 25[3-7], with or without the server's name.
type operand struct {
	text        string
	seq         int // sequence number; -1 if the text has none of these forms
	array       bool
	first, last int // indices of the elements; -1 for the whole job
	job         *job
	tasks       []*task
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

// find sets the job and the elements of an operand. It returns an error if the operand is malformed, or if the job or
// element does not exist.
func (c *complex) find(x *operand) *refusal {
	for _, j := range c.jobs {
		if j.seq != x.seq || j.array != x.array {
			continue
		}
		for _, k := range j.tasks {
			if x.first < 0 || x.first <= k.index && k.index <= x.last {
				x.job, x.tasks = j, append(x.tasks, k)
			}
		}
	}
	switch {
	case x.seq < 0:
		return errMalformed
	case x.job == nil:
		return errUnknownJob
	}
	return nil
}

// onJobs calls act for every operand whose job the caller may see or change. Ended jobs are permitted only if -x is
// set. The exit code is the code of the last error.
func (c *complex) onJobs(q Request, o options, act func(operand) *refusal) (r Response) {
	for _, x := range o.operands {
		no := c.find(&x)
		switch {
		case no != nil:
		case q.Verb != "qstat" && x.job.owner != q.User && q.User != "root", c.fault(q.Verb + "-denied"):
			no = errPermission
		case x.job.done() && !o.has("x"):
			no = errHistory
		default:
			no = act(x)
		}
		if no != nil {
			r.Exit = no.code & 0xFF
			r.Stderr = fmt.Appendf(r.Stderr, "%s: %s\n", q.Verb, no.about(q.Verb, x.text))
		}
	}
	return r
}

// about returns the text of an error about an identifier. qdel repeats an unknown identifier as it was given; the other
// commands write the full identifier. qstat has a text of its own for jobs in the history.
func (r *refusal) about(verb, id string) string {
	if !strings.Contains(id, ".") && r != errMalformed && (verb != "qdel" || r != errUnknownJob) {
		id += "." + server
	}
	if verb == "qstat" && r == errHistory {
		return id + " Job has finished, use -x or -H to obtain historical job information"
	}
	return r.text + " " + id
}

// qalter carries out qalter -r; no other option is known (recorded in array_norerun).
func (c *complex) qalter(q Request, o options) Response {
	return c.onJobs(q, o, func(x operand) *refusal {
		if !c.fault("qalter-lost") {
			x.job.rerunnable = o.value("r") != "n"
		}
		return nil
	})
}

func (c *complex) qdel(q Request, o options) Response {
	kept, fatal := joined(o.operands)
	o.operands = kept
	r := c.onJobs(q, o, c.del)
	if fatal && c.fault("qdel-crash") {
		_ = begin(c.dir, "refused")
	}
	return r
}

// joined returns the operands of a qdel as the client of PBS changes them: it joins consecutive operands that belong to
// one array, and drops the ranges of an array after the first two. fatal is true if there are 11 or more ranges,
// because they end the server (qdel_several_operands).
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

// del deletes a job, or elements of an array. When a whole array or a range of it is deleted, the server forgets how
// the ended elements ended.
func (c *complex) del(x operand) *refusal {
	switch {
	case x.job.done(): // qdel -x
		c.forget(func(other *job) bool { return other == x.job })
		return nil
	case x.first >= 0 && x.first == x.last && x.tasks[0].over():
		return &refusal{15159, "Request invalid for finished array subjob"}
	}
	for _, k := range x.tasks {
		switch {
		case k.over() && x.array:
			k.began = false
		case k.over() || k.state == 'E':
		case k.state == 'Q':
			k.state, k.substate, k.why, k.mtime = 'F', 91, "qdel", time.Now()
		case c.fault("mom-down"):
			return &refusal{15070, "Server could not connect to MOM"}
		default:
			k.terminate("qdel")
		}
	}
	c.closeJob(x.job)
	return nil
}

// qhold carries out qhold and qrls. Both commands refuse single elements of an array.
func (c *complex) qhold(q Request, o options) Response {
	letters := cmp.Or(o.value("h"), "u")
	return c.onJobs(q, o, func(x operand) *refusal {
		j, comment := x.job, ""
		switch {
		case letters != "u" && q.User != "root":
			return errPermission
		case x.first >= 0:
			return &refusal{15004, "Invalid request"}
		}
		j.holds = strings.Trim(j.holds, letters)
		if q.Verb == "qrls" {
			j.attend()
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

// qselect prints the ids of the jobs that match the options. It is no error if no job matches.
func (c *complex) qselect(q Request, o options) Response {
	// For -t the fake accepts only the form m.ge.CCYYMMDDhhmm.SS, in the time zone of the command (qselect.c, cvtdate.c).
	after, err := time.ParseInLocation("m.ge.200601021504.05", o.value("t"), zone(q.Zone))
	if o.has("t") && err != nil {
		return Response{Exit: 2, Stderr: []byte("qselect: illegal -t value\n")}
	}
	if o.has("x") && !c.history {
		return Response{Stderr: []byte("qselect: PBS is not configured to maintain job history\n")}
	}
	var r Response
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

// qmgr changes one of a few settings: set server NAME = VALUE, set queue QUEUE NAME = VALUE.
func (c *complex) qmgr(_ Request, o options) Response {
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
	case "setfakenext": // the number of the next job; PBS has no such setting
		c.next = number(value)
	default:
		return Response{Exit: 1, Stderr: []byte("qmgr: fakepbs does not know: " + o.value("c") + "\n")}
	}
	return Response{}
}
