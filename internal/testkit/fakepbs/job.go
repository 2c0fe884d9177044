package main

import (
	"fmt"
	"slices"
	"time"

	jjmrun "jjm/internal/sys/run"
)

// job is the job of one qsub: a plain job with one task, or an array.
type job struct {
	seq     int
	array   bool
	indices string // of an array, as submitted
	tasks   []*task

	name, owner, queue string
	rerunnable         bool
	holds              string // letters of u, o, s
	shell              string
	silent             bool   // its output goes to /dev/null
	args               string // Submit_arguments
	home               string
	vars               []pair // Variable_List
	limits             limits

	ctime   time.Time
	mtime   time.Time
	endedAt time.Time
	ready   time.Time // when the scheduler looks at it
	// comment is the comment of an array: its latest event, or the comment that a listing showed for
	// one of its elements (see row.facts).
	comment string
}

// facts holds the state of a run, or of an array as a whole, that listings show.
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

	proc    *jjmrun.Process
	deleted bool
	rerun   bool
	limit   string // the resource whose limit was exceeded
	dying   bool   // TERM was sent
}

// over reports whether a task has ended.
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
	switch j := w.job; {
	case !j.array:
		return fmt.Sprintf("%d.%s", j.seq, server)
	case w.task == nil:
		return fmt.Sprintf("%d[].%s", j.seq, server)
	default:
		return fmt.Sprintf("%d[%d].%s", j.seq, w.task.index, server)
	}
}

// letter returns the state that a listing shows. Ended elements of an array with live ones
// are X.
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
		return t.state // of an element also while its array is held
	case j.holds != "":
		return 'H'
	}
	return 'Q'
}
