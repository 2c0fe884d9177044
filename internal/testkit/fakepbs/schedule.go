package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	jjmrun "jjm/internal/sys/run"
)

// Times that are longer in PBS: the shortest time of a job in state E, the time between TERM and KILL
// of a deleted job (10 s), and the delay with which limits are enforced (some 8 s).
const (
	exiting = 10 * time.Millisecond
	grace   = 300 * time.Millisecond
	late    = 200 * time.Millisecond
)

// schedule starts the jobs that can start, in the order of submission. It passes over a job that needs more cores than
// are free, so smaller jobs may start before it. The lock is held.
func (c *complex) schedule() {
	if c.ended || c.fault("mom-down") {
		return
	}
	for _, j := range c.jobs {
		if j.done() || j.holds != "" || c.queue[j.queue].stopped || time.Now().Before(j.ready) {
			continue
		}
		for _, t := range j.tasks {
			if j.limits.cores > c.free {
				break
			}
			if t.state == 'Q' {
				c.run(j, t)
			}
		}
	}
}

// attend sets the time from which the scheduler may start a job: FAKEPBS_WAIT from now.
func (c *complex) attend(j *job) { j.ready = time.Now().Add(c.pause) }

// run starts one task.
func (c *complex) run(j *job, t *task) {
	now := time.Now()
	const minute = "Mon Jan 02 at 15:04"
	c.free -= j.limits.cores
	t.comment = fmt.Sprintf("Job run at %s on (%s:ncpus=%d)", now.Format(minute), server, j.limits.cores)
	if !j.begun() {
		j.comment = "Job Array Began at " + now.Format(minute)
	}
	t.state, t.substate, t.began, t.runs, t.stime, t.mtime = 'R', 42, true, t.runs+1, now, now
	p, err := c.launch(j, t)
	c.all.Add(1)
	if err != nil {
		go c.end(j, t, 254, &syscall.Rusage{}) // its shell could not start
		return
	}
	t.proc = p
	go c.wait(j, t, p)
}

// launch starts the script through the job's shell, which leads the session, as the login
// shell does in PBS: a job killed by signal n ends with 128+n, and only a killed shell with
// 256+n.
func (c *complex) launch(j *job, t *task) (*jjmrun.Process, error) {
	env := []string{
		"HOME=" + j.home, "USER=" + j.owner, "LOGNAME=" + j.owner, "SHELL=/bin/bash",
		"PATH=/usr/local/bin:/usr/bin:/bin", "PBS_JOBID=" + row{j, t}.id(),
	}
	if j.array {
		env = append(env, "PBS_ARRAY_INDEX="+strconv.Itoa(t.index))
	}
	for _, v := range j.vars {
		env = append(env, v.name+"="+v.value)
	}
	return jjmrun.Detach(jjmrun.Detached{
		Argv: []string{j.shell, "-c", `"$0" "$1"; exit $?`, j.shell, c.scriptPath(j)}, Dir: j.home, Env: env,
	})
}

// scriptPath is where the script of a job lies while it is alive.
func (c *complex) scriptPath(j *job) string { return filepath.Join(c.dir, j.row().id()+".SC") }

func (c *complex) wait(j *job, t *task, p *jjmrun.Process) {
	ws, ru, err := p.Wait()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", row{j, t}.id(), err)
		ru = &syscall.Rusage{}
	}
	// MOM kills the processes that remain. After a TERM they have the grace time as well.
	for end := time.Now().Add(grace); time.Now().Before(end) && len(sessionOf(p.PID)) > 0; {
		time.Sleep(5 * time.Millisecond)
	}
	killSession(p.PID, true)
	_ = p.Close()
	exit := ws.ExitStatus()
	if ws.Signaled() {
		exit = 256 + int(ws.Signal())
	}
	c.end(j, t, exit, ru)
}

// enforce ends the tasks that are over a limit; mem is enforced as by a node with "$enforce
// mem". The lock is held.
func (c *complex) enforce() {
	for j, t := range c.running {
		switch l := j.limits; {
		case t.dying:
			continue
		case l.walltime > 0 && time.Since(t.stime) > time.Duration(l.walltime)*time.Second+late:
			t.limit = "walltime"
		case l.memory > 0 && resident(t.proc.PID) > l.memory:
			t.limit = "mem"
		default:
			continue
		}
		t.terminate()
	}
}

// terminate sends TERM to the session of a task, and KILL after the grace time. The lock is
// held.
func (t *task) terminate() {
	if t.dying || t.proc == nil {
		return
	}
	t.dying = true
	pid := t.proc.PID
	killSession(pid, false)
	time.AfterFunc(grace, func() { killSession(pid, true) })
}

// end records the end of a task: state E while its output would be copied, then F. There is no output to copy; for a
// destination outside of /dev/null, E lasts as long as if the destination could not be reached. A task that is run
// again goes back to state Q instead, unless it was deleted.
func (c *complex) end(j *job, t *task, exit int, ru *syscall.Rusage) {
	defer c.all.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.schedule()
	defer func() { c.free += j.limits.cores }()
	t.proc, t.dying = nil, false
	if t.rerun && !t.deleted {
		// Run again under the same id; the exit status of the lost run stays.
		t.rerun, t.state, t.substate, t.exit = false, 'Q', 10, "-4"
		return
	}
	t.state, t.substate, t.obit, t.mtime = 'E', 50, time.Now(), time.Now()
	t.cpu += time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	t.rss = max(t.rss, ru.Maxrss)
	copying := exiting
	if !j.silent {
		copying += c.stuck
	}
	c.mu.Unlock()
	time.Sleep(copying)
	c.mu.Lock()
	c.finish(j, t, exit)
}

// overLimit has the exit statuses of jobs over a limit.
var overLimit = map[string]int{"walltime": -29, "mem": -27}

// endWords maps substates to the end of a comment.
var endWords = map[int]string{91: " and terminated", 92: " and finished", 93: " and failed"}

// finish gives a task its final state, and also its job if it was the last one. The lock is
// held.
func (c *complex) finish(j *job, t *task, exit int) {
	t.state, t.mtime, t.substate = 'F', time.Now(), 93
	how := ""
	switch {
	case t.deleted:
		t.substate = 91
		if exit < 256 {
			exit = 271
		}
	case t.limit != "":
		exit, how = overLimit[t.limit], " and exceeded resource "+t.limit
	case exit == 0:
		t.substate = 92
	}
	t.exit = strconv.Itoa(exit)
	if t.comment != "" {
		t.comment += cmp.Or(how, endWords[t.substate])
	}
	if !c.history && j.array {
		t.began = false // its record is gone
	}
	c.closeJob(j)
}

// closeJob ends a job if all its tasks have ended. Without history the job is gone immediately.
func (c *complex) closeJob(j *job) {
	if j.done() || slices.ContainsFunc(j.tasks, func(t *task) bool { return !t.over() }) {
		return
	}
	j.endedAt, j.mtime = time.Now(), time.Now()
	if j.comment != "" {
		j.comment += endWords[j.facts().substate]
	}
	_ = os.Remove(c.scriptPath(j))
	if !c.history {
		c.forget(func(other *job) bool { return other == j })
	}
}
