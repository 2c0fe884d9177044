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

	"jjm"
)

// A command of another account starts in two steps. The first is this very
// program, executed as root: what is between
// fork(2) and execve(2), where parent and child wait for one another, holds a copy
// of every descriptor and belongs to nobody but root. The second is that program
// becoming the account and executing the command. An account can stop or kill its
// process from then on, and holds up nothing but it.
//
// The second step tells its trouble through a pipe, a line each, which ends with
// the execution of the command:
//
//	log ERRNO        the log cannot be written; the command starts without
//	STEP ERRNO       the start fails at STEP: become, folder, program
//
// The environment goes with a mark before each variable, so that nothing of it
// means anything to the first program.

const (
	startWord = "start-as"
	envMark   = "+"
)

// The steps of a start, and what they are about in messages.
var steps = map[string]string{
	"become": "become the account", "folder": "enter the folder", "program": "execute the program",
}

// maxTrouble bounds what a start tells of its trouble, in bytes.
const maxTrouble = 256

// notRegular tells of a log that is not a plain file.
const notRegular = syscall.EINVAL

// startAs is the first step's command line, environment and descriptors.
func startAs(d Detached, path string, files []uintptr, trouble *os.File) (string, []string, *syscall.ProcAttr) {
	argv := append([]string{"jjm-start", startWord, d.As.String(), strconv.Itoa(len(files)), d.Log, d.Dir, path},
		d.Argv...)
	env := make([]string, len(d.Env))
	for i, v := range d.Env {
		env[i] = envMark + v
	}
	return "/proc/self/exe", argv, // whatever an upgrade put in its place
		&syscall.ProcAttr{Dir: "/", Env: env, Files: append(files, trouble.Fd())}
}

// IsStarter reports whether this process was started to become an account and
// then a command: main then calls Start before anything else.
func IsStarter(args []string) bool { return len(args) > 7 && args[1] == startWord }

// Start is the second step. It returns, with an exit code, only if it fails.
func Start(args []string) int {
	fd, err := strconv.Atoi(args[3])
	if err != nil || fd < 3 {
		return 126 // somebody called it by hand
	}
	unix.CloseOnExec(fd)
	tell := func(step string, err error) int {
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
		return tell("become", err)
	}
	if err := logTo(args[4]); err != nil {
		_ = tell("log", err)
	}
	if dir := args[5]; dir != "" {
		if err := unix.Chdir(dir); err != nil {
			return tell("folder", err)
		}
	}
	var env []string
	for _, v := range os.Environ() {
		if v, ours := strings.CutPrefix(v, envMark); ours {
			env = append(env, v)
		}
	}
	return tell("program", syscall.Exec(args[6], args[7:], env))
}

// logTo makes a file what is written to, with the rights that the process has by
// now: the path is the account's, and may lead anywhere.
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

// beginning is the end of a start's pipe that this process reads.
type beginning struct {
	pipe *os.File
	name string // of the command, and its log
	log  string
}

// Begun waits until a process that was started as an account is its command. It
// lasts as long as the account makes it last: whoever calls it holds nothing that
// others wait for. trouble is why its log cannot be written, nil if it can. The
// error says why the command was not started, of kind Busy or Invalid as that of
// Detach: the process ends by itself then. It is os.ErrClosed after Close. For
// other processes all is known when they are there.
func (p *Process) Begun() (trouble, err error) {
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
				kind = jjm.Busy // nothing that the command could help
			}
			return trouble, jjm.Errorf(kind, "detach %s: %w", p.begin.name, err)
		}
	}
	return trouble, nil
}

// parseTrouble reads one line of a start's trouble.
func parseTrouble(line string) (step string, errno syscall.Errno, ok bool) {
	step, number, whole := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	n, err := strconv.ParseUint(number, 10, 12) // errno(3): below 4096
	known := step == "log" || steps[step] != ""
	return step, syscall.Errno(n), whole && err == nil && n > 0 && known
}
