package run

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jjm"
)

// Detached is a command that outlives its starter.
type Detached struct {
	// Argv is the command and its arguments; Argv[0] is a path, it is not
	// looked up.
	Argv []string
	// Path is the program, if Argv[0] is only what people see.
	Path string
	// Dir is the working directory, "" for jjm's own.
	Dir string
	// Env is the whole environment; nothing is inherited.
	Env []string
	// Stdin, Stdout and Stderr are the child's; nil means /dev/null.
	Stdin, Stdout, Stderr *os.File
	// Extra are open in the child as descriptors 3, 4, ...
	Extra []*os.File
	// As runs the command as an account (root only): Dir is entered, Argv[0] and
	// Log are looked up with the account's rights. nil for none.
	As *Account
	// Log is a file that the account appends to, in the place of Stdout and Stderr;
	// "" for none. It concerns nobody without As.
	Log string
}

// Detach starts d in a session of its own and returns once the kernel has
// accepted the program. The process goes on when jjm ends or dies, and gets no
// signal of jjm's terminal. The caller owns the files and may close them at
// once. What starts as an account is under way by then, and no more: see Begun.
//
// It goes to fork(2) directly and starts no goroutine, because a daemon that
// starts thousands of short jobs pays for every system call.
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

// expect makes the pipe of a start as an account, and gives the end that the
// start writes to.
func (p *Process) expect(d Detached) (theirs *os.File, err error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.begin = &beginning{pipe: ours, name: d.Argv[0], log: d.Log}
	return theirs, nil
}

// startKind tells trouble of the machine, which passes, from trouble of the
// command.
func startKind(err error) jjm.Kind {
	for _, e := range []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EIO,
		syscall.ETXTBSY, syscall.ESTALE, syscall.ENOSPC} {
		if errors.Is(err, e) {
			return jjm.Busy
		}
	}
	return jjm.Invalid
}

// descriptors lists the child's files in order, with /dev/null where none is
// given.
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

// Process is a detached process: one that Detach started, or one that Adopt
// found again.
type Process struct {
	// PID is its process id, and the id of its session and process group.
	PID int

	begin *beginning // nil for one that is its command from the start
	child bool
	fd    *os.File // of pidfd_open(2); nil on kernels without it (before 5.3)
	done  chan struct{}
}

// ErrNotChild is what Wait gives at the end of a process that is not a child
// of this process: it has ended, and how is not known.
var ErrNotChild = errors.New("the process has ended, and was not a child of this one")

// pollInterval is how often at most a process is looked at where the kernel
// cannot tell its end; a young process is looked at more often.
const pollInterval = 250 * time.Millisecond

// Adopt takes up a process that an earlier run of jjm started. The caller makes
// sure that pid is the process it means, after Adopt has returned: from then on
// a recycled pid cannot deceive Wait and Signal (except on kernels before 5.3).
// The error wraps syscall.ESRCH when there is no such process.
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

// pollable hands a pidfd to the runtime's poller, so that waiting for thousands
// of processes costs no thread.
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

// Wait waits for the end and gives the status and what the process and its
// waited-for children used. It may be called once. It returns ErrNotChild when
// the process has ended and is not our child, os.ErrClosed after Close.
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

// look sees without waiting whether the process has ended, and collects it if
// it is a child. A process that was adopted may be our child all the same, when
// an adapter is closed and opened anew within one daemon.
func (p *Process) look(fd int, ws *syscall.WaitStatus, ru *syscall.Rusage) (ended bool, err error) {
	if !p.child {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(poll, 0); err != nil || n == 0 {
			return false, nil
		}
		// WNOWAIT leaves it uncollected, so that its pid stays its own.
		err := unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err != nil {
			return true, ErrNotChild
		}
	}
	return reap(p.PID, syscall.WNOHANG, ws, ru)
}

// reap calls wait4(2), again after an interrupting signal.
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

// waitBlocking is Wait for kernels without pidfd: it looks at the process again
// and again.
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

// Signal sends sig to the process group that the process leads; to the process
// alone if it leads none. The error is os.ErrProcessDone once it has ended and
// was collected: its number may be another's by then.
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

// probe asks through the pidfd whether the process is still there.
func (p *Process) probe() error {
	raw, err := p.fd.SyscallConn()
	if err != nil {
		return unix.ESRCH
	}
	var sent error
	err = raw.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), 0, nil, 0) })
	return errors.Join(err, sent)
}

// Close returns the process up without touching it: a Begun or Wait under way
// returns os.ErrClosed. It may be called once, also after Wait.
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
