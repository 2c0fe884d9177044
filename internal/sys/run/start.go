package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
)

// A command of another account starts in two steps:
//
//	step  process                              owner        may hold up
//	1     this program, executed by Detach     root         no process
//	2     the same, Start: becomes the account the account  itself
//	3     execve(2) of the command             the account  itself
//
// Between fork(2) and execve(2) the parent waits for its child, and the child has a copy of every descriptor. This
// happens before step 1, as root. The account can stop or kill the process only from step 2 on, which harms only the
// account itself.
//
// Start reports its errors through a pipe, one line each. The execution of the command closes the pipe:
//
//	log ERRNO        the log cannot be opened; the command starts without it
//	STEP ERRNO       the start failed at STEP: become, folder, program
//
// The environment is passed with a mark before each variable, so that no variable has a meaning for step 1 (GODEBUG,
// LD_PRELOAD).

const (
	startWord = "start-as"
	envMark   = "+"
)

// steps describes the steps of a start for error texts.
var steps = map[string]string{
	"become": "become the account", "folder": "enter the folder", "program": "execute the program",
}

// maxTrouble is the maximum number of bytes that AwaitStart reads from the pipe.
const maxTrouble = 256

// notRegular is the error number reported for a log that is not a regular file.
const notRegular = syscall.EINVAL

// startAs returns the path, command line and attributes of step 1.
func startAs(d Detached, path string, files []uintptr, trouble *os.File) (string, []string, *syscall.ProcAttr) {
	argv := append([]string{"jjm-start", startWord, d.As.String(), strconv.Itoa(len(files)), d.Log, d.Dir, path},
		d.Argv...)
	env := make([]string, len(d.Env))
	for i, v := range d.Env {
		env[i] = envMark + v
	}
	return "/proc/self/exe", argv, // this binary, even if an upgrade replaced its file
		&syscall.ProcAttr{Dir: "/", Env: env, Files: append(files, trouble.Fd())}
}

// IsStarter reports whether this process is a start of Detach. If so, main must call Start before anything else.
func IsStarter(args []string) bool { return len(args) > 7 && args[1] == startWord }

// Start becomes the account and executes the command. It returns an exit code only if this fails.
func Start(args []string) int {
	fd, err := strconv.Atoi(args[3])
	if err != nil || fd < 3 {
		return 126 // called by hand, not by Detach
	}
	unix.CloseOnExec(fd)
	report := func(step string, err error) int {
		errno := syscall.EIO
		errors.As(err, &errno)
		_, _ = unix.Write(fd, fmt.Appendf(nil, "%s %d\n", step, int(errno)))
		if errno == syscall.ENOENT {
			return 127
		}
		return 126
	}
	who, err := ParseAccount(args[2])
	if err == nil {
		err = who.Become()
	}
	if err != nil {
		return report("become", err)
	}
	if err := logTo(args[4]); err != nil {
		_ = report("log", err)
	}
	if dir := args[5]; dir != "" {
		if err := unix.Chdir(dir); err != nil {
			return report("folder", err)
		}
	}
	var env []string
	for _, v := range os.Environ() {
		if v, ours := strings.CutPrefix(v, envMark); ours {
			env = append(env, v)
		}
	}
	return report("program", syscall.Exec(args[6], args[7:], env))
}

// logTo makes the file at path standard output and standard error. It opens path as the account. The account may have
// put a link or a FIFO there; O_NONBLOCK and the check for a regular file make this harmless.
func logTo(path string) error {
	if path == "" {
		return nil
	}
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_APPEND | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := unix.Open(path, flags, 0o600)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = unix.Close(fd)
		return notRegular
	}
	return errors.Join(unix.Dup2(fd, 1), unix.Dup2(fd, 2))
}

// beginning is the reading end of a start's pipe.
type beginning struct {
	pipe *os.File
	name string // Argv[0] of the command
	log  string
}

// AwaitStart waits until a process that was started as an account has executed its command. The account can make this
// take any time, so the caller must hold no lock. trouble is the reason why the log cannot be opened, or nil. err is
// the reason why the command was not started, of kind Busy or Invalid as for Detach; the process then ends by itself.
// After Close, err is os.ErrClosed. For a process without Detached.As, AwaitStart returns immediately.
func (p *Process) AwaitStart() (trouble, err error) {
	if p.begin == nil {
		return nil, nil
	}
	defer p.begin.pipe.Close()
	text, err := io.ReadAll(io.LimitReader(p.begin.pipe, maxTrouble))
	if err != nil {
		return nil, os.ErrClosed
	}
	for line := range strings.Lines(string(text)) {
		step, errno, ok := parseTrouble(line)
		switch {
		case !ok:
		case step == "log":
			trouble = fmt.Errorf("open %s: %w", p.begin.log, errno)
			if errno == notRegular {
				trouble = fmt.Errorf("open %s: not a plain file", p.begin.log)
			}
		default:
			err := fmt.Errorf("%s: %w", steps[step], errno)
			kind := startKind(err)
			if step == "become" {
				kind = jjm.Busy // an error of the machine, not of the command
			}
			return trouble, jjm.Errorf(kind, "detach %s: %w", p.begin.name, err)
		}
	}
	return trouble, nil
}

// parseTrouble parses one line that Start wrote.
func parseTrouble(line string) (step string, errno syscall.Errno, ok bool) {
	step, number, whole := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	n, err := strconv.ParseUint(number, 10, 12) // Linux: error numbers are below 4096
	known := step == "log" || steps[step] != ""
	return step, syscall.Errno(n), whole && err == nil && n > 0 && known
}
