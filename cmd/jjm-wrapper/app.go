package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jjm/glf"
)

// exitUnknown is reported for an application whose end the kernel did not tell.
const exitUnknown = 255

// execute runs the application to its end and fills that part of the result.
func (a *attempt) execute(signals *signalBox) {
	r := &a.result
	started := now()
	pid, exit, err := a.start()
	if err != nil {
		r.Exit = exit
		a.note(err)
		a.logLine(glf.Info, err.Error())
		return
	}
	signals.forwardTo(pid)
	awaitEnd(pid)
	signals.killGroup()
	status, err := reap(pid)
	a.note(err)
	a.note(endStragglers())
	switch {
	case err != nil:
		r.Exit = exitUnknown // never the 0 of a status that nobody filled
	case status.Signaled():
		r.Signal = int(status.Signal())
		r.Exit = 128 + r.Signal
	default:
		r.Exit = status.ExitStatus()
	}
	r.WallMS = max(0, now().Sub(started).Milliseconds())
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ru); err != nil {
		a.note(fmt.Errorf("getrusage: %w", err))
		return
	}
	r.UserMS, r.SysMS, r.RSSKB = ru.Utime.Nano()/1e6, ru.Stime.Nano()/1e6, ru.Maxrss
}

// start starts the application in work/, as the leader of a process group.
func (a *attempt) start() (pid, exit int, err error) {
	env := a.environment(os.Environ())
	argv := a.assign.Argv
	if len(argv) == 0 {
		argv = []string{""}
	}
	program, exit, err := lookup(argv[0], a.workDir(), lastOf(env, "PATH"))
	if err != nil {
		return 0, exit, err
	}
	files, err := a.standardFiles()
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if err != nil {
		return 0, exitNotExecutable, fmt.Errorf("start %s: %w", program, err)
	}
	// The kernel kills the application when the thread that started it ends
	// (prctl(2), PR_SET_PDEATHSIG): that thread must last as long as the wrapper.
	runtime.LockOSThread()
	// Orphans of the application become children of this process, so that it
	// sees and ends them (prctl(2)). Where the kernel refuses, they are init's.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	unlimit, err := limitCPU(a.job.CPUTime.D())
	if err != nil {
		return 0, exitNotExecutable, fmt.Errorf("limit the processor time of %s: %w", program, err)
	}
	defer unlimit()
	pid, err = syscall.ForkExec(program, argv, &syscall.ProcAttr{
		Dir: a.workDir(), Env: env,
		Files: []uintptr{files[0].Fd(), files[1].Fd(), files[2].Fd()},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		exit, err = startError(program, err)
		return 0, exit, err
	}
	return pid, 0, nil
}

// limitCPU sets how much processor time each process of the application may use: this
// process's own limit, which they inherit, until unlimit is called. Of what is used
// beyond, the kernel tells by XCPU every second (setrlimit(2)). A smaller limit that is
// there already stays.
func limitCPU(limit time.Duration) (unlimit func(), err error) {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_CPU, &before); err != nil || limit <= 0 {
		return func() {}, err
	}
	now := before
	now.Cur = min(before.Cur, uint64((limit+time.Second-1)/time.Second))
	if err := syscall.Setrlimit(unix.RLIMIT_CPU, &now); err != nil {
		return nil, err
	}
	return func() { _ = syscall.Setrlimit(unix.RLIMIT_CPU, &before) }, nil
}

// standardFiles opens the application's three; those that were opened are
// returned with an error too.
func (a *attempt) standardFiles() ([]*os.File, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	files := []*os.File{null}
	for _, name := range []string{"stdout", "stderr"} {
		f, err := a.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND|os.O_TRUNC, 0o600)
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

// lastOf finds a variable in an environment.
func lastOf(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}
