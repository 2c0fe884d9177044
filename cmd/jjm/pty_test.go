package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// openPTY opens a pseudo-terminal of 80 columns (pts(4)). control is the end at which the test reads and writes,
// terminal the end for the program.
func openPTY() (control, terminal *os.File, err error) {
	control, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(control.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		_ = control.Close()
		return nil, nil, err
	}
	return control, terminal, nil
}

// pty is the script command "pty FILE CODE jjm ARGS...": it runs jjm on a terminal, which must end with the exit code
// CODE, and writes what the terminal shows to FILE.
func pty(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	control, terminal, err := openPTY()
	if err != nil {
		ts.Logf("no pseudo-terminals here: %v", err)
		ts.Fatalf("pty: %v", err)
	}
	cmd := exec.Command(os.Args[0], args[3:]...)
	cmd.Args[0] = args[2]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = ptyEnv(ts)
	shown := make(chan []byte)
	ts.Check(cmd.Start())
	_ = terminal.Close()
	go func() {
		b, _ := io.ReadAll(control) // reading ends with EIO when the program ends
		shown <- b
	}()
	got := 0
	var failed *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &failed) {
		got = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	text := <-shown
	_ = control.Close()
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o600))
	if got != want {
		ts.Fatalf("exit code %d, want %d: %q", got, want, text)
	}
}

// ptyEnv returns the environment of a program on a terminal.
func ptyEnv(ts *testscript.TestScript) (env []string) {
	for _, name := range []string{"JJM_SOCKET", "JJM_STATE", "TZ", "TERM", "HOME", "NO_COLOR", saidVar} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	return env
}
