package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	jjmrun "jjm/internal/sys/run"
)

// job is what one qsub made: a plain job with one task, or an array.
type job struct {
	seq     int
	array   bool
	indices string // of an array, as submitted
	tasks   []*task

	name, owner, queue string
	account, project   string
	rerunnable         bool
	holds              string // letters of u, o, s
	shell              string
	output, error      string
	args               string // Submit_arguments
	dir, home          string
	env                map[string]string // of qsub
	vars               []pair            // Variable_List
	resources          []pair            // Resource_List, in its order
	cores              int
	walltime           int   // seconds; 0 for none
	memory             int64 // bytes; 0 for none
	after              time.Time
	script             []byte

	ctime, qtime, mtime time.Time
	endedAt             time.Time
	ready               time.Time // when the scheduler looks at it
	// comment is an array's: the last thing that happened to it, or that a listing said
	// about one of its elements (see epitaph).
	comment string
}

type pair struct{ name, value string }

// task is a plain job's only run, or one element of an array.
type task struct {
	index    int
	state    byte // Q R E F X, and H W by the job
	substate int
	exit     int
	hasExit  bool
	comment  string
	runs     int
	cpu      time.Duration
	rss      int64 // kB
	stime    time.Time
	obit     time.Time
	mtime    time.Time
	began    bool // PBS has a record of this element
	held     bool // held alone, in Torque

	proc    *jjmrun.Process
	deleted bool
	rerun   bool
	limit   string // the resource whose limit was exceeded
	dying   chan struct{}
}

// id returns the job's identifier: 25.pbshost, or 25[].pbshost for an array.
func (j *job) id() string {
	if j.array {
		return fmt.Sprintf("%d[].%s", j.seq, server)
	}
	return fmt.Sprintf("%d.%s", j.seq, server)
}

func (j *job) taskID(t *task) string {
	if j.array {
		return fmt.Sprintf("%d[%d].%s", j.seq, t.index, server)
	}
	return j.id()
}

// over reports whether a task has ended.
func (t *task) over() bool { return t.state == 'F' || t.state == 'X' }

// done reports whether the whole job has ended.
func (j *job) done() bool { return !j.endedAt.IsZero() }

// letter returns the state that a listing shows. Ended elements of an array with live ones
// are X.
func (c *complex) letter(w row) byte {
	j, t := w.job, w.task
	ended := t == nil && j.done() || t != nil && t.over()
	switch {
	case ended && c.torque:
		return 'C'
	case ended && !j.done():
		return 'X'
	case ended:
		return 'F'
	case t == nil && j.begun():
		return map[bool]byte{false: 'B', true: 'R'}[c.torque]
	case t == nil:
		return j.waitLetter()
	case t.state == 'Q' && t.held:
		return 'H'
	case t.state == 'Q' && j.array && !c.torque:
		return 'Q' // whatever holds the array
	case t.state == 'Q':
		return j.waitLetter()
	}
	return t.state
}

// begun reports whether an element has ever run.
func (j *job) begun() bool {
	return slices.ContainsFunc(j.tasks, func(t *task) bool { return !t.stime.IsZero() })
}

func (j *job) waitLetter() byte {
	switch {
	case j.holds != "":
		return 'H'
	case time.Now().Before(j.after):
		return 'W'
	}
	return 'Q'
}

// these returns the array's elements with some indices.
func (j *job) these(indices []int) (found []*task) {
	for _, i := range indices {
		if k := slices.IndexFunc(j.tasks, func(t *task) bool { return t.index == i }); k >= 0 {
			found = append(found, j.tasks[k])
		}
	}
	return found
}

func (j *job) resource(name string) string {
	for _, r := range j.resources {
		if r.name == name {
			return r.value
		}
	}
	return ""
}

// remaining returns the array's elements that wait, "9-18", or "-".
func (j *job) remaining() string {
	var list []int
	for _, t := range j.tasks {
		if t.state == 'Q' {
			list = append(list, t.index)
		}
	}
	if len(list) == 0 {
		return "-"
	}
	return ranges(list)
}

func ranges(list []int) string {
	var out []string
	for i := 0; i < len(list); {
		k := i
		for k+1 < len(list) && list[k+1] == list[k]+1 {
			k++
		}
		if k > i {
			out = append(out, fmt.Sprintf("%d-%d", list[i], list[k]))
		} else {
			out = append(out, strconv.Itoa(list[i]))
		}
		i = k + 1
	}
	return strings.Join(out, ",")
}

// find returns the job with a sequence number.
func (c *complex) find(seq int) *job {
	for _, j := range c.jobs {
		if j.seq == seq {
			return j
		}
	}
	return nil
}

// target is what an identifier on a command line stands for.
type target struct {
	text  string // as the server names it in messages
	job   *job
	tasks []*task // elements meant; nil for the whole job
	many  bool    // a range, or a list
}

// parseTarget parses 25, 25.pbshost, 25[], 25[3], 25[1-4,7].pbshost. bad is true for
// anything else.
func (c *complex) parseTarget(text string) (t target, bad bool) {
	t.text = text
	id, host, hasHost := strings.Cut(text, ".")
	if hasHost && host != server {
		return t, true
	}
	number, rest, isArray := strings.Cut(id, "[")
	seq, err := strconv.Atoi(number)
	if err != nil || isArray && !strings.HasSuffix(rest, "]") {
		return t, true
	}
	j := c.find(seq)
	if j == nil || isArray != j.array {
		return t, false
	}
	inner := strings.TrimSuffix(rest, "]")
	if inner == "" {
		t.job = j
		return t, false
	}
	list, many, err := indexList(inner)
	if err != nil {
		return t, true
	}
	t.many, t.tasks = many, j.these(list)
	if len(t.tasks) > 0 {
		t.job = j
	}
	return t, false
}

// indexList parses "1-4,7" and "0-9:3".
func indexList(text string) (list []int, many bool, err error) {
	for part := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(part, ":")
		first, last, isRange := strings.Cut(span, "-")
		a, err := strconv.Atoi(first)
		if err != nil {
			return nil, false, err
		}
		b, by := a, 1
		if isRange {
			if b, err = strconv.Atoi(last); err != nil {
				return nil, false, err
			}
		}
		if stepped {
			if by, err = strconv.Atoi(step); err != nil || by < 1 {
				return nil, false, fmt.Errorf("step %q", step)
			}
		}
		for i := a; i <= b; i += by {
			list = append(list, i)
		}
		many = many || isRange
	}
	return list, many || len(list) > 1, nil
}

// sigOf returns the exit status for a wait status: PBS adds 256 for a job whose own shell
// was killed.
func sigOf(ws syscall.WaitStatus) int {
	if ws.Signaled() {
		return 256 + int(ws.Signal())
	}
	return ws.ExitStatus()
}
