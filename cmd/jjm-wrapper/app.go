package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/formats/glf"
)

// exitUnknown is the exit code in the result if the kernel did not report the exit status of the application.
const exitUnknown = 255

// execute runs the application to its end, and sets the exit code, the signal and the used resources in the result. If
// the application cannot be started, the exit code is the one that a shell would return.
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
	r.Exit, r.Signal = a.finish(pid, signals)
	r.WallMS = max(0, now().Sub(started).Milliseconds())
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ru); err != nil {
		a.note(fmt.Errorf("getrusage: %w", err))
		return
	}
	r.UserMS, r.SysMS, r.RSSKB = ru.Utime.Nano()/1e6, ru.Stime.Nano()/1e6, ru.Maxrss
}

// finish waits for the end of a program that launch started, and kills all processes that the program left behind. It
// returns the exit code of the program and the signal that ended it, 0 if none did. After signal n the exit code is
// 128+n.
func (a *attempt) finish(pid int, signals *signalBox) (exit, signal int) {
	signals.forwardTo(pid)
	awaitEnd(pid)
	signals.killGroup()
	status, err := reap(pid)
	a.note(err)
	a.note(endStragglers())
	switch {
	case err != nil:
		return exitUnknown, 0 // not 0, although an empty status would mean 0
	case status.Signaled():
		return 128 + int(status.Signal()), int(status.Signal())
	}
	return status.ExitStatus(), 0
}

// start starts the application with its limit of processor time, and returns its process id. After an error, exit is
// the exit code that a shell would return.
func (a *attempt) start() (pid, exit int, err error) {
	files, err := a.standardFiles()
	defer closeAll(files)
	if err != nil {
		return 0, exitNotExecutable, fmt.Errorf("start the application: %w", err)
	}
	argv := a.assign.Argv
	if len(argv) == 0 {
		argv = []string{""}
	}
	unlimit, err := limitCPU(a.job.CPUTime.D())
	if err != nil {
		return 0, exitNotExecutable, fmt.Errorf("limit the processor time of the application: %w", err)
	}
	defer unlimit()
	return a.launch(argv, files)
}

// launch starts a program in work/ as the leader of a new process group, with the application's environment and three
// standard files. It returns the process id. After an error, exit is the exit code that a shell would return.
func (a *attempt) launch(argv []string, files []*os.File) (pid, exit int, err error) {
	env := a.environment(os.Environ())
	program, exit, err := lookup(argv[0], a.workDir(), lastOf(env, "PATH"))
	if err != nil {
		return 0, exit, err
	}
	// The kernel kills the program when the thread that started the program ends (prctl(2), PR_SET_PDEATHSIG). Therefore
	// the thread must live as long as the wrapper.
	runtime.LockOSThread()
	// Orphans of the program become children of this process, which then finds and kills them (prctl(2)). If the kernel
	// refuses, the orphans become children of init.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
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

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// limitCPU limits the processor time of each process that is started until unlimit is called. It sets the limit of this
// process, which its children inherit; unlimit restores the old limit. A process that exceeds the limit gets SIGXCPU
// every second (setrlimit(2)). A smaller limit that is already set stays. If limit is 0, limitCPU changes nothing.
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

// standardFiles opens the three standard files of the application: /dev/null, stdout and stderr. After an error, it
// returns the files that it opened, which the caller must close.
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

// lastOf returns the last value of a variable in an environment, "" if there is none.
func lastOf(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}
