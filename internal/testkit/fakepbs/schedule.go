package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	jjmrun "jjm/internal/sys/run"
)

// These are the minimum time of a job in state E, the time between SIGTERM and SIGKILL of a deleted job (10 s in PBS),
// and the delay with which limits are enforced (about 8 s in PBS). All of them are longer in PBS.
const (
	exiting = 10 * time.Millisecond
	grace   = 300 * time.Millisecond // provoked: MOM gives processes this time before SIGKILL
	late    = 200 * time.Millisecond
)

// schedule starts the jobs that can start, in the order of submission. It skips a job that needs more cores than are
// free, so smaller jobs may start before it. The caller must hold the lock.
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

// attend sets the time from which the scheduler may start a job to FAKEPBS_WAIT from now.
func (j *job) attend() { j.ready = time.Now().Add(setting("FAKEPBS_WAIT", "0s")) }

// setting returns the duration in an environment variable, or the duration other if the variable is not set.
func setting(name, other string) time.Duration {
	d, _ := time.ParseDuration(cmp.Or(os.Getenv(name), other))
	return d
}

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
	t.proc = p
	c.all.Go(func() {
		exit, used := 254, &syscall.Rusage{} // exit code of a job whose shell could not start
		if err == nil {
			exit, used = outcome(p)
		}
		c.end(j, t, exit, used)
	})
}

// launch starts the script through the job's shell. The shell leads the session, like the login shell in PBS: a job
// killed by signal n ends with 128+n, and only a killed shell ends with 256+n.
func (c *complex) launch(j *job, t *task) (*jjmrun.Process, error) {
	env := []string{
		"HOME=" + j.home, "USER=" + j.owner, "LOGNAME=" + j.owner, "SHELL=/bin/bash",
		"PATH=/usr/local/bin:/usr/bin:/bin", "PBS_JOBID=" + row{j, t}.id(),
	}
	if j.array {
		env = append(env, "PBS_ARRAY_INDEX="+strconv.Itoa(t.index))
	}
	for _, v := range j.vars {
		env = append(env, fmt.Sprintf("%s=%s", v.name, v.value))
	}
	return jjmrun.Detach(jjmrun.Detached{
		Argv: []string{j.shell, "-c", `"$0" "$1"; exit $?`, j.shell, c.scriptPath(j)}, Dir: j.home, Env: env,
	})
}

func (c *complex) scriptPath(j *job) string { return filepath.Join(c.dir, j.row().id()+".SC") }

// outcome waits for the end of a job's process, and then kills the remaining processes, as MOM does. It returns the
// exit status and the used resources. It waits for the grace time before the kill, because the processes may have
// received a SIGTERM.
func outcome(p *jjmrun.Process) (exit int, used *syscall.Rusage) {
	status, used, err := p.Wait()
	if err != nil {
		fmt.Fprintf(os.Stderr, "process %d: %v\n", p.PID, err)
		used = &syscall.Rusage{}
	}
	for end := time.Now().Add(grace); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if left, _ := session(p.PID); len(left) == 0 {
			break
		}
	}
	killSession(p.PID, syscall.SIGKILL)
	_ = p.Close()
	if status.Signaled() {
		return 256 + int(status.Signal()), used
	}
	return status.ExitStatus(), used
}

// enforce ends the tasks that exceed a limit, including mem, like a node with "$enforce mem". The caller must hold the
// lock.
func (c *complex) enforce() {
	for j, t := range c.running {
		switch l := j.limits; {
		case t.why != "":
		// provoked: the job exceeds its walltime
		case l.walltime > 0 && time.Since(t.stime) > time.Duration(l.walltime)*time.Second+late:
			t.terminate("walltime")
		case l.memory > 0:
			if _, used := session(t.proc.PID); used > l.memory {
				t.terminate("mem")
			}
		}
	}
}

// terminate sends SIGTERM to the session of a task, and SIGKILL after the grace time. The caller must hold the lock.
func (t *task) terminate(why string) {
	again := t.why != ""
	if t.why = why; again || t.proc == nil {
		return
	}
	pid := t.proc.PID
	killSession(pid, syscall.SIGTERM)
	time.AfterFunc(grace, func() { killSession(pid, syscall.SIGKILL) })
}

// end records the end of a task: first state E, in which PBS would copy the output, then state F. The fake copies no
// output. If the destination of the output is not /dev/null, E lasts as long as for a destination that cannot be
// reached. A task that must run again goes back to state Q, unless it was deleted.
func (c *complex) end(j *job, t *task, exit int, ru *syscall.Rusage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.schedule()
	defer func() { c.free += j.limits.cores }()
	t.proc = nil
	if t.why == "rerun" { // the task runs again under the same id, and the exit status of the lost run stays
		t.why, t.state, t.substate, t.exit = "", 'Q', 10, "-4"
		return
	}
	t.state, t.substate, t.obit, t.mtime = 'E', 50, time.Now(), time.Now()
	t.cpu += time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	t.rss = max(t.rss, ru.Maxrss)
	copying := exiting
	if !j.silent {
		copying += setting("FAKEPBS_STUCK", "300ms")
	}
	c.mu.Unlock()
	time.Sleep(copying)
	c.mu.Lock()
	c.finish(j, t, exit)
}

var overLimit = map[string]int{"walltime": -29, "mem": -27}

var endWords = map[int]string{91: " and terminated", 92: " and finished", 93: " and failed"}

// finish sets the final state of a task. After the last task it also ends the job. The caller must hold the lock.
func (c *complex) finish(j *job, t *task, exit int) {
	t.state, t.mtime, t.substate = 'F', time.Now(), 93
	how := ""
	switch {
	case t.why == "qdel":
		t.substate = 91
		if exit < 256 {
			exit = 271
		}
	case t.why != "":
		exit, how = overLimit[t.why], " and exceeded resource "+t.why
	case exit == 0:
		t.substate = 92
	}
	t.exit = strconv.Itoa(exit)
	if t.comment != "" {
		t.comment += cmp.Or(how, endWords[t.substate])
	}
	if !c.history && j.array {
		t.began = false // PBS has lost the record of this element
	}
	c.closeJob(j)
}

// closeJob ends a job if all its tasks have ended. If there is no history, the job is removed immediately.
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

// session returns the live processes of a session, and their memory in bytes.
func session(sid int) (pids []int, memory int64) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		// Most processes belong to other sessions. Getsid takes one system call; reading the state takes three, and more
		// text.
		pid := number(filepath.Base(folder))
		if of, err := unix.Getsid(pid); err != nil || of != sid {
			continue
		}
		text, _ := os.ReadFile(filepath.Join(folder, "stat"))
		// The state follows the name, which ends with the last ")"; 21 fields later comes the number of resident pages.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) > 21 && fields[0][0] != 'Z' {
			pids = append(pids, pid)
			memory += int64(number(string(fields[21])) * os.Getpagesize())
		}
	}
	return pids, memory
}

// killSession sends a signal to every process of a session. It repeats SIGKILL until no process is left, because the
// processes may fork.
func killSession(sid int, signal syscall.Signal) {
	for range 100 {
		pids, _ := session(sid)
		for _, pid := range pids {
			_ = syscall.Kill(pid, signal)
		}
		if len(pids) == 0 || signal != syscall.SIGKILL {
			return
		}
	}
}
