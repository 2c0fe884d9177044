package run

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
)

// Detached describes a command that keeps running when its starter ends.
type Detached struct {
	// Argv is the command and its arguments. Argv[0] is a path: PATH is not searched.
	Argv []string
	// Path is the program to execute if Argv[0] is only the name that ps(1) shows.
	Path string
	// Dir is the working directory, "" for jjm's own.
	Dir string
	// Env is the whole environment; nothing is inherited.
	Env []string
	// Stdin, Stdout and Stderr become descriptors 0, 1 and 2; nil means /dev/null.
	Stdin, Stdout, Stderr *os.File
	// Extra become descriptors 3, 4, and so on.
	Extra []*os.File
	// As is the account as which the command runs; only root can set it. Dir, Argv[0] and Log are then resolved with the
	// rights of this account. nil means the account of this process.
	As *Account
	// Log is a file that receives standard output and standard error instead of Stdout and Stderr. It is opened as the
	// account; "" means no file. Log is ignored if As is nil.
	Log string
}

// Detach starts d in a new session and returns when the kernel has executed the program. The process keeps running when
// jjm ends, and receives no signal of jjm's terminal. The caller owns the files and may close them immediately. With
// As, only the program that becomes the account has been executed when Detach returns; AwaitStart waits for the
// command.
//
// The error is of kind Invalid if the command cannot be executed, and Busy if the machine temporarily lacks a resource.
//
// Detach calls fork(2) directly and starts no goroutine, because a daemon that starts thousands
// of short jobs pays for every system call.
func Detach(d Detached) (*Process, error) {
	if len(d.Argv) == 0 || d.Argv[0] == "" {
		return nil, jjm.Errorf(jjm.Invalid, "detach: empty command")
	}
	files, closeNull, err := descriptors(d)
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "detach %s: %w", d.Argv[0], err)
	}
	defer closeNull()
	env := d.Env
	if env == nil {
		env = []string{}
	}
	path := d.Path
	if path == "" {
		path = d.Argv[0]
	}
	p := &Process{child: true, done: make(chan struct{})}
	attr := &syscall.ProcAttr{Dir: d.Dir, Env: env, Files: files}
	argv := d.Argv
	if d.As != nil {
		theirs, err := p.expect(d)
		if err != nil {
			return nil, jjm.Errorf(jjm.Busy, "detach %s: %w", d.Argv[0], err)
		}
		defer theirs.Close()
		path, argv, attr = startAs(d, path, files, theirs)
	}
	pidfd := -1
	attr.Sys = &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd}
	if p.PID, err = syscall.ForkExec(path, argv, attr); err != nil {
		if p.begin != nil {
			p.begin.pipe.Close()
		}
		return nil, jjm.Errorf(startKind(err), "detach %s: %w", d.Argv[0], err)
	}
	p.fd = pollable(pidfd)
	return p, nil
}

// expect creates the pipe through which step 2 of a start as another account reports errors (see start.go). It returns
// the writing end, which the new process gets.
func (p *Process) expect(d Detached) (theirs *os.File, err error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.begin = &beginning{pipe: ours, name: d.Argv[0], log: d.Log}
	return theirs, nil
}

// startKind returns Busy for a temporary error of the machine, and Invalid for an error of the command.
func startKind(err error) jjm.Kind {
	for _, e := range []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EIO,
		syscall.ETXTBSY, syscall.ESTALE, syscall.ENOSPC} {
		if errors.Is(err, e) {
			return jjm.Busy
		}
	}
	return jjm.Invalid
}

// descriptors returns the child's descriptors in order, with /dev/null instead of each nil file. The caller must call
// done after the fork.
func descriptors(d Detached) (fds []uintptr, done func(), err error) {
	var null *os.File
	done = func() {
		if null != nil {
			null.Close()
		}
	}
	for _, f := range [...]*os.File{d.Stdin, d.Stdout, d.Stderr} {
		if f == nil && null == nil {
			if null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
				return nil, done, err
			}
		}
		if f == nil {
			f = null
		}
		fds = append(fds, f.Fd())
	}
	for _, f := range d.Extra {
		fds = append(fds, f.Fd())
	}
	return fds, done, nil
}

// Process is a process that Detach started or that Adopt found.
type Process struct {
	// PID is the process id. For a process that Detach started it is also the id of the session and of the process group.
	PID int

	begin *beginning // nil unless the process was started as another account
	child bool
	fd    *os.File // a pidfd; nil on kernels before 5.3, which lack pidfds
	done  chan struct{}
}

// ErrNotChild is returned by Wait for a process that has ended and was not a child of this
// process, so that its exit status is unknown.
var ErrNotChild = errors.New("the process has ended, and was not a child of this one")

// pollInterval is the longest time between two checks of a process on a kernel without pidfd_open(2). A young process
// is checked more often.
const pollInterval = 250 * time.Millisecond

// Adopt returns a Process for a process that an earlier run of jjm started. After Adopt has returned, the caller must
// verify that the process with this pid is still the process of the earlier run. From then on Wait and Signal concern
// this process even if its number is reused (except on kernels before 5.3). The error wraps syscall.ESRCH if no process
// has the pid, and is of kind Invalid if the pid is below 2.
func Adopt(pid int) (*Process, error) {
	if pid <= 1 {
		return nil, jjm.Errorf(jjm.Invalid, "adopt process %d: not a process of a job", pid)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM): // EPERM: an old seccomp filter
		fd = -1
		err = syscall.Kill(pid, 0)
		if errors.Is(err, syscall.EPERM) {
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("adopt process %d: %w", pid, err)
	}
	return &Process{PID: pid, fd: pollable(fd), done: make(chan struct{})}, nil
}

// pollable registers a pidfd with the runtime's poller, so that waiting for a process occupies
// no thread.
func pollable(fd int) *os.File {
	if fd < 0 {
		return nil
	}
	if unix.SetNonblock(fd, true) != nil {
		unix.Close(fd)
		return nil
	}
	return os.NewFile(uintptr(fd), "pidfd")
}

// Wait waits until the process has ended. It returns the status, and the resources used by the process and by its
// children that were waited for. It may be called once. The error is ErrNotChild if the process ended and was not a
// child of this process, and os.ErrClosed after Close.
func (p *Process) Wait() (syscall.WaitStatus, *syscall.Rusage, error) {
	if p.fd == nil {
		return p.waitBlocking()
	}
	var ws syscall.WaitStatus
	var ru syscall.Rusage
	raw, err := p.fd.SyscallConn()
	if err != nil {
		return 0, nil, err
	}
	var result error
	err = raw.Read(func(fd uintptr) bool {
		var ended bool
		ended, result = p.look(int(fd), &ws, &ru)
		return ended
	})
	switch {
	case err != nil:
		return 0, nil, os.ErrClosed
	case result != nil:
		return 0, nil, result
	}
	return ws, &ru, nil
}

// look reports without waiting whether the process has ended. If the process has ended and is a child, look reaps it.
// An adopted process is a child of this process if an adapter was closed and opened again within one daemon.
func (p *Process) look(fd int, ws *syscall.WaitStatus, ru *syscall.Rusage) (ended bool, err error) {
	if !p.child {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(poll, 0); err != nil || n == 0 {
			return false, nil
		}
		// WNOWAIT leaves the process a zombie, so that no other process gets its pid before reap.
		err := unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err != nil {
			return true, ErrNotChild
		}
	}
	return reap(p.PID, syscall.WNOHANG, ws, ru)
}

// reap calls wait4(2), and repeats the call after EINTR.
func reap(pid, options int, ws *syscall.WaitStatus, ru *syscall.Rusage) (ended bool, err error) {
	for {
		got, err := syscall.Wait4(pid, ws, options, ru)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.ECHILD):
			return true, ErrNotChild
		case err != nil:
			return true, fmt.Errorf("wait for process %d: %w", pid, err)
		default:
			return got == pid, nil
		}
	}
}

// waitBlocking implements Wait by polling, on kernels without pidfd_open(2).
func (p *Process) waitBlocking() (syscall.WaitStatus, *syscall.Rusage, error) {
	var ws syscall.WaitStatus
	var ru syscall.Rusage
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, pollInterval) {
		ended, err := reap(p.PID, syscall.WNOHANG, &ws, &ru)
		if errors.Is(err, ErrNotChild) && !p.child && syscall.Kill(p.PID, 0) == nil {
			ended, err = false, nil
		}
		switch {
		case err != nil:
			return 0, nil, err
		case ended:
			return ws, &ru, nil
		}
		select {
		case <-p.done:
			return 0, nil, os.ErrClosed
		case <-time.After(pause):
		}
	}
}

// Signal sends sig to the process group that the process leads. If the process leads no group, Signal sends sig only to
// the process. The error is os.ErrProcessDone if the process has ended and was reaped, because another process may now
// have its number.
func (p *Process) Signal(sig syscall.Signal) error {
	if p.fd != nil && errors.Is(p.probe(), unix.ESRCH) {
		return os.ErrProcessDone
	}
	err := syscall.Kill(-p.PID, sig)
	if errors.Is(err, syscall.ESRCH) {
		err = syscall.Kill(p.PID, sig)
	}
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	if err != nil {
		return fmt.Errorf("send signal %d to process %d: %w", int(sig), p.PID, err)
	}
	return nil
}

// probe returns ESRCH if the process has been reaped.
func (p *Process) probe() error {
	raw, err := p.fd.SyscallConn()
	if err != nil {
		return unix.ESRCH
	}
	var sent error
	err = raw.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), 0, nil, 0) })
	return errors.Join(err, sent)
}

// Close releases the Process; the process itself keeps running. A running AwaitStart or Wait returns os.ErrClosed.
// Close may be called once, also after Wait.
func (p *Process) Close() error {
	close(p.done)
	if p.begin != nil {
		p.begin.pipe.Close()
	}
	if p.fd != nil {
		return p.fd.Close()
	}
	return nil
}
