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
		if j.done() || j.holds != "" || !c.queue[j.queue].started {
			continue
		}
		if time.Now().Before(j.after) || time.Now().Before(j.ready) {
			continue
		}
		for _, t := range j.tasks {
			if c.free == 0 {
				return
			}
			if t.state != 'Q' || t.held {
				continue
			}
			if j.cores > c.free {
				t.comment = "Not Running: Not enough free nodes available"
				break
			}
			c.start(j, t)
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

// start runs one task.
func (c *complex) start(j *job, t *task) {
	now := time.Now()
	c.free -= j.cores
	t.comment = fmt.Sprintf("Job run at %s on (%s)", now.Format("Mon Jan 02 at 15:04"), j.vnode())
	if !j.begun() {
		j.comment = "Job Array Began at " + now.Format("Mon Jan 02 at 15:04")
	}
	t.state, t.substate, t.began, t.runs = 'R', 42, true, t.runs+1
	t.stime, t.mtime = now, now
	p, err := c.launch(j, t)
	c.all.Add(1)
	if err != nil {
		go c.end(j, t, 254, &syscall.Rusage{}) // its shell could not start
		return
	}
	t.proc = p
	go c.wait(j, t, p)
	if j.memory > 0 || j.walltime > 0 {
		go c.limit(j, t, p)
	}
}

// overLimit has the exit statuses of jobs over a limit, in OpenPBS and in Torque.
var overLimit = map[bool]map[string]int{
	false: {"walltime": -29, "mem": -27}, true: {"walltime": -11, "mem": -10},
}

func (j *job) vnode() string {
	s := fmt.Sprintf("%s:ncpus=%d", server, j.cores)
	if j.memory > 0 {
		s += fmt.Sprintf(":mem=%dkb", j.memory>>10)
	}
	return s
}

// launch starts the script through the job's shell, which leads the session, as the login
// shell does in PBS: a job killed by signal n ends with 128+n, and only a killed shell with
// 256+n.
func (c *complex) launch(j *job, t *task) (*jjmrun.Process, error) {
	path := filepath.Join(c.dir, "jobs", j.id()+".SC")
	if _, err := os.Stat(path); err != nil {
		if err := os.WriteFile(path, j.script, 0o700); err != nil {
			return nil, err
		}
	}
	out, errs, err := c.openSpool(j, t)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	defer errs.Close()
	shell := j.shell
	if shell == "" {
		shell = "/bin/bash"
	}
	return jjmrun.Detach(jjmrun.Detached{
		Argv: []string{shell, "-c", `"$1" "$2"; exit $?`, "pbs", interpreter(j.script, shell), path},
		Dir:  j.home, Env: c.jobEnv(j, t), Stdout: out, Stderr: errs,
	})
}

// interpreter returns the one named in the first line, or the shell.
func interpreter(script []byte, shell string) string {
	line, _, _ := bytes.Cut(script, []byte("\n"))
	if name, ok := bytes.CutPrefix(line, []byte("#!")); ok {
		return strings.TrimLeft(string(name), " ")
	}
	return shell
}

func (c *complex) jobEnv(j *job, t *task) []string {
	env := []string{
		"HOME=" + j.home, "USER=" + j.owner, "LOGNAME=" + j.owner, "SHELL=/bin/bash",
		"PATH=/usr/local/bin:/usr/bin:/bin", "PBS_JOBID=" + j.taskID(t), "PBS_JOBNAME=" + c.taskName(row{j, t}),
		"PBS_QUEUE=" + j.queue, "PBS_ENVIRONMENT=PBS_BATCH", "NCPUS=" + strconv.Itoa(j.cores),
	}
	switch {
	case j.array && c.torque:
		env = append(env, "PBS_ARRAYID="+strconv.Itoa(t.index))
	case j.array:
		env = append(env, "PBS_ARRAY_INDEX="+strconv.Itoa(t.index), "PBS_ARRAY_ID="+j.id())
	}
	for _, v := range j.vars {
		env = append(env, v.name+"="+v.value)
	}
	return env
}

// taskName returns the name of a task in qstat: Torque appends the index to names of
// elements.
func (c *complex) taskName(w row) string {
	if c.torque && w.job.array && w.task != nil {
		return fmt.Sprintf("%s-%d", w.job.name, w.task.index)
	}
	return w.job.name
}

func (c *complex) wait(j *job, t *task, p *jjmrun.Process) {
	ws, ru, err := p.Wait()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", j.taskID(t), err)
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
	c.end(j, t, sigOf(ws), ru)
}

// limit kills a task that is over one of its limits; mem is enforced as by a node with
// "$enforce mem".
func (c *complex) limit(j *job, t *task, p *jjmrun.Process) {
	end := time.Now().Add(time.Duration(j.walltime)*time.Second + late)
	for {
		time.Sleep(50 * time.Millisecond)
		exceeded := ""
		switch {
		case j.walltime > 0 && time.Now().After(end):
			exceeded = "walltime"
		case j.memory > 0 && resident(p.PID) > j.memory:
			exceeded = "mem"
		}
		c.mu.Lock()
		over := t.proc != p
		if !over && !t.deleted && exceeded != "" {
			t.limit = exceeded
			c.terminate(t)
			over = true
		}
		c.mu.Unlock()
		if over {
			return
		}
	}
}

// terminate sends TERM to the session of a task, and KILL after the grace time. The lock is
// held.
func (c *complex) terminate(t *task) {
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

// end records the end of a task: E while its output is delivered, then F.
func (c *complex) end(j *job, t *task, exit int, ru *syscall.Rusage) {
	defer c.all.Done()
	c.mu.Lock()
	t.proc, t.dying = nil, nil
	if t.rerun && !t.deleted {
		// Run again under the same id; the exit status of the lost run stays.
		t.rerun = false
		t.state, t.substate, t.exit, t.hasExit = 'Q', 10, -4, true
		c.free += j.cores
		c.schedule()
		c.mu.Unlock()
		return
	}
	t.state, t.substate, t.obit, t.mtime = 'E', 50, time.Now(), time.Now()
	t.cpu += time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	t.rss = max(t.rss, ru.Maxrss)
	c.mu.Unlock()

	time.Sleep(exiting)
	if !c.deliver(j, t) {
		time.Sleep(c.stuck)
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	c.free += j.cores
	c.finish(j, t, exit)
	c.schedule()
}

// finish gives a task its final state, and also its job if it was the last one. The lock is
// held.
func (c *complex) finish(j *job, t *task, exit int) {
	now := time.Now()
	t.state, t.mtime, t.hasExit, t.exit = 'F', now, true, exit
	how := ""
	switch {
	case t.deleted:
		t.substate = 91
		if t.exit < 256 {
			t.exit = 271
		}
	case t.limit != "":
		t.substate, t.exit, how = 93, overLimit[c.torque][t.limit], " and exceeded resource "+t.limit
	case t.exit == 0:
		t.substate = 92
	default:
		t.substate = 93
	}
	how = cmp.Or(how, endWords[t.substate])
	if t.comment != "" {
		t.comment += how
	}
	if !c.history && j.array && !c.torque {
		t.began = false // its record is gone
	}
	c.closeJob(j)
}

// endWords maps substates to the end of a comment.
var endWords = map[int]string{91: " and terminated", 92: " and finished", 93: " and failed"}

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
		j.comment += endWords[j.summary().substate]
	}
	_ = os.Remove(filepath.Join(c.dir, "jobs", j.id()+".SC"))
	if !c.history {
		c.forget(func(other *job) bool { return other == j })
	}
}
