package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of every descendant whose own parent has ended. Thus this process reaps
// daemons that tests leave behind, and the daemons' CPU time counts.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans (PR_SET_CHILD_SUBREAPER): %w", err)
	}
	return nil
}

// reaper waits for all children of this process, orphans included. Its methods may be called from several goroutines.
// No other code may wait for children while it runs.
type reaper struct {
	mu    sync.Mutex
	waits map[int]chan syscall.WaitStatus // waiting callers, by the process id of their commands
}

func newReaper() *reaper { return &reaper{waits: map[int]chan syscall.WaitStatus{}} }

// run runs a command and returns its exit status in the form of a shell. The command gets SIGTERM when this process
// ends for any reason. Linux sends the signal when the thread that started the command ends, so the caller must lock
// its goroutine to its thread.
func (r *reaper) run(cmd *exec.Cmd) (int, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	over := make(chan syscall.WaitStatus, 1)
	r.mu.Lock()
	err := cmd.Start()
	if err == nil {
		r.waits[cmd.Process.Pid] = over
	}
	r.mu.Unlock()
	if err != nil {
		return 0, err
	}
	go r.reap(cmd.Process.Pid)
	status := <-over
	if status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

// reap waits for children until the child with the given id has ended. If it sees the end of a command that another
// caller of run waits for, it passes the status on to that caller.
func (r *reaper) reap(until int) {
	for r.pending(until) {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err != nil { // EINTR, or ECHILD once another caller has seen the last end
			continue
		}
		r.mu.Lock()
		if over := r.waits[pid]; over != nil {
			delete(r.waits, pid)
			over <- status
		}
		r.mu.Unlock()
	}
}

func (r *reaper) pending(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waits[pid] != nil
}

// cost holds the wall time and the CPU time of a process, or the sum of several costs. The CPU time includes the CPU
// time of all descendants that have ended.
type cost struct {
	Wall, User, Sys time.Duration
}

func (c cost) cpu() time.Duration { return c.User + c.Sys }

func (c cost) plus(d cost) cost { return cost{c.Wall + d.Wall, c.User + d.User, c.Sys + d.Sys} }

// childrenCost returns the CPU time of this process' ended children and of their descendants.
func childrenCost() cost {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &r) // fails only for an unknown first argument
	return cost{User: time.Duration(r.Utime.Nano()), Sys: time.Duration(r.Stime.Nano())}
}

// packageVerb is the verb with which "go test -exec" calls this program, before a test program and its arguments.
const packageVerb = "package"

// costsVar names the file to which measurePackage adds a line.
const costsVar = "JJM_COSTS"

// threadsVar is the environment variable that limits the threads of a Go program. Steps whose test programs run through
// packageVerb compile with one thread for each package, because several steps compile at the same time, and the machine
// must not be overloaded by it. ownThreadsVar has the value for the test programs (see threads).
const (
	threadsVar    = "GOMAXPROCS"
	ownThreadsVar = "JJM_OWN_THREADS"
)

// ofProgram returns the environment of a test program, given the environment of the go command.
func ofProgram(env []string, ownThreads string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, threadsVar+"=") })
	if ownThreads != "" {
		env = append(env, threadsVar+"="+ownThreads)
	}
	return env
}

// measurePackage runs a test program once it has a slot, adds its cost to the file of costs, and
// returns the program's exit status.
func measurePackage(argv []string) int {
	slot, err := takeSlot(os.Getenv(slotsVar))
	if err != nil {
		fmt.Fprintln(os.Stderr, "tiers:", err)
		return 2
	}
	defer func() { _ = slot.Close() }()
	began := time.Now()
	if err := adoptOrphans(); err != nil {
		fmt.Fprintln(os.Stderr, "tiers:", err)
		return 2
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = ofProgram(os.Environ(), os.Getenv(ownThreadsVar))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	status, err := newReaper().run(cmd)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tiers:", err)
		return 2
	}
	c := childrenCost()
	c.Wall = time.Since(began)
	if err := addCost(os.Getenv(costsVar), c); err != nil {
		fmt.Fprintln(os.Stderr, "tiers:", err)
		return 2
	}
	return status
}

// addCost adds a line to the file of costs: the folder of the package, which is the working folder of a test program,
// and the times in nanoseconds.
func addCost(file string, c cost) error {
	if file == "" {
		return nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("file of costs: %w", err)
	}
	_, err = fmt.Fprintf(f, "%d %d %d %s\n", c.Wall, c.User, c.Sys, dir)
	return errors.Join(err, f.Close())
}
