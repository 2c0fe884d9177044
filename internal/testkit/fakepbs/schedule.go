package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	jjmrun "jjm/internal/sys/run"
)

// What takes longer in PBS: the shortest time of a job in state E, the time between TERM and
// KILL of a deleted job (10 s), and how late limits are enforced (some 8 s).
const (
	exiting = 10 * time.Millisecond
	grace   = 300 * time.Millisecond
	late    = 200 * time.Millisecond
)

// schedule starts the jobs that can start, in the order of submission; smaller jobs may
// pass one that does not fit. The lock is held.
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

// attend makes the scheduler look at a job that can run, after FAKEPBS_WAIT.
func (c *complex) attend(j *job) {
	if c.pause == 0 {
		return
	}
	j.ready = time.Now().Add(c.pause)
	time.AfterFunc(c.pause, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.schedule()
	})
}

// run starts one task.
func (c *complex) run(j *job, t *task) {
	now := time.Now()
	const minute = "Mon Jan 02 at 15:04"
	c.free -= j.limits.cores
	t.comment = fmt.Sprintf("Job run at %s on (%s)", now.Format(minute), j.limits.vnode())
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
	if j.limits.memory > 0 || j.limits.walltime > 0 {
		go c.limit(j.limits, t, p)
	}
}

// launch starts the script through the job's shell, which leads the session, as the login
// shell does in PBS: a job killed by signal n ends with 128+n, and only a killed shell with
// 256+n.
func (c *complex) launch(j *job, t *task) (*jjmrun.Process, error) {
	path := c.scriptPath(j)
	if _, err := os.Stat(path); err != nil {
		if err := os.WriteFile(path, j.script, 0o700); err != nil {
			return nil, err
		}
	}
	shell := cmp.Or(j.shell, "/bin/bash")
	return jjmrun.Detach(jjmrun.Detached{
		Argv: []string{shell, "-c", `"$1" "$2"; exit $?`, "pbs", interpreter(j.script, shell), path},
		Dir:  j.home, Env: j.environment(t),
	})
}

// scriptPath is where the script of a job lies while it is alive.
func (c *complex) scriptPath(j *job) string { return filepath.Join(c.dir, "jobs", j.row().id()+".SC") }

// interpreter returns the one named in the first line, or the shell.
func interpreter(script []byte, shell string) string {
	line, _, _ := bytes.Cut(script, []byte("\n"))
	if name, ok := bytes.CutPrefix(line, []byte("#!")); ok {
		return strings.TrimLeft(string(name), " ")
	}
	return shell
}

func (j *job) environment(t *task) []string {
	env := []string{
		"HOME=" + j.home, "USER=" + j.owner, "LOGNAME=" + j.owner, "SHELL=/bin/bash",
		"PATH=/usr/local/bin:/usr/bin:/bin", "PBS_JOBID=" + row{j, t}.id(), "PBS_JOBNAME=" + j.name,
		"PBS_QUEUE=" + j.queue, "PBS_ENVIRONMENT=PBS_BATCH", "NCPUS=" + strconv.Itoa(j.limits.cores),
	}
	if j.array {
		env = append(env, "PBS_ARRAY_INDEX="+strconv.Itoa(t.index), "PBS_ARRAY_ID="+j.row().id())
	}
	for _, v := range j.vars {
		env = append(env, v.name+"="+v.value)
	}
	return env
}

func (c *complex) wait(j *job, t *task, p *jjmrun.Process) {
	ws, ru, err := p.Wait()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", row{j, t}.id(), err)
		ru = &syscall.Rusage{}
	}
	c.mu.Lock()
	dying := t.dying
	c.mu.Unlock()
	if dying != nil {
		<-dying
	}
	killSession(p.PID, true) // as MOM does with remaining processes
	_ = p.Close()
	exit := ws.ExitStatus()
	if ws.Signaled() {
		exit = 256 + int(ws.Signal())
	}
	c.end(j, t, exit, ru)
}

// limit kills a task that is over one of its limits; mem is enforced as by a node with
// "$enforce mem".
func (c *complex) limit(l limits, t *task, p *jjmrun.Process) {
	end := time.Now().Add(time.Duration(l.walltime)*time.Second + late)
	for over := false; !over; {
		time.Sleep(50 * time.Millisecond)
		exceeded := ""
		switch {
		case l.walltime > 0 && time.Now().After(end):
			exceeded = "walltime"
		case l.memory > 0 && resident(p.PID) > l.memory:
			exceeded = "mem"
		}
		c.mu.Lock()
		over = t.proc != p || t.limit != ""
		if !over && !t.deleted && exceeded != "" {
			t.limit = exceeded
			t.terminate()
		}
		c.mu.Unlock()
	}
}

// terminate sends TERM to the session of a task, and KILL after the grace time. The lock is
// held.
func (t *task) terminate() {
	if t.dying != nil {
		return
	}
	t.dying = make(chan struct{})
	pid, done := t.proc.PID, t.dying
	go func() {
		defer close(done)
		killSession(pid, false)
		for end := time.Now().Add(grace); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if len(sessionOf(pid)) == 0 {
				return
			}
		}
		killSession(pid, true)
	}()
}

// end records the end of a task: E while its output is copied, then F. The fake has thrown it
// away, and acts as if a destination outside of /dev/null could not be reached.
func (c *complex) end(j *job, t *task, exit int, ru *syscall.Rusage) {
	defer c.all.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.schedule()
	defer func() { c.free += j.limits.cores }()
	t.proc, t.dying = nil, nil
	if t.rerun && !t.deleted {
		// Run again under the same id; the exit status of the lost run stays.
		t.rerun, t.state, t.substate, t.exit = false, 'Q', 10, "-4"
		return
	}
	t.state, t.substate, t.obit, t.mtime = 'E', 50, time.Now(), time.Now()
	t.cpu += time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	t.rss = max(t.rss, ru.Maxrss)
	copying := exiting
	if nowhere := "localhost:" + os.DevNull; j.output != nowhere || j.error != nowhere {
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

// closeJob handles the end of a job's last task. Without history the job is gone at once.
func (c *complex) closeJob(j *job) {
	for _, t := range j.tasks {
		if !t.over() {
			return
		}
	}
	if j.done() {
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
