package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"jjm/internal/testkit/await"
)

// typist operates a program on a terminal: it presses keys and reads the output.
type typist struct {
	ts       *testscript.TestScript
	keyboard *os.File
	mu       sync.Mutex
	shown    strings.Builder
	seen     int // the number of bytes of shown that earlier steps have matched
}

// screenCmd is the script command "screen FILE STEPS jjm ARGS...". It runs jjm on a terminal of 80 by 24 characters,
// carries out the lines of the file STEPS, and writes what the terminal shows to FILE. The steps are: "see REGEXP"
// waits for a text in the output since the last step "see"; "press KEYS" types keys, with escapes as in Go strings;
// "resize COLUMNS ROWS"; "server stop|start"; "job ...", which is the script command of this name; and "end CODE",
// which waits for the end of jjm.
func screenCmd(ts *testscript.TestScript, _ bool, args []string) {
	control, terminal, err := openPTY()
	if err != nil {
		ts.Fatalf("screen: %v", err)
	}
	cmd := exec.Command(os.Args[0], args[3:]...)
	cmd.Args[0] = args[2]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.Dir, cmd.Env = ts.MkAbs("."), ptyEnv(ts)
	// The terminal is the controlling terminal of the session, so that the kernel signals a new size to jjm.
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(cmd.Start())
	_ = terminal.Close()
	t := &typist{ts: ts, keyboard: control}
	over := make(chan struct{})
	go t.watch(over)
	defer func() {
		_ = cmd.Process.Kill() // the program is still running only if a step failed
		_ = cmd.Wait()
		<-over
		_ = control.Close()
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(t.shown.String()), 0o600))
	}()
	for step := range strings.Lines(ts.ReadFile(args[1])) {
		t.step(cmd, strings.TrimSpace(step))
	}
}

// watch collects the output on the terminal until the program ends.
func (t *typist) watch(over chan<- struct{}) {
	defer close(over)
	buf := make([]byte, 4096)
	for {
		n, err := t.keyboard.Read(buf)
		t.mu.Lock()
		t.shown.Write(buf[:n])
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (t *typist) step(cmd *exec.Cmd, step string) {
	word, rest, _ := strings.Cut(step, " ")
	switch word {
	case "":
	case "see":
		t.see(regexp.MustCompile(rest))
	case "press":
		_, err := t.keyboard.WriteString(unquote(rest))
		t.ts.Check(err)
	case "resize":
		var size unix.Winsize
		_, err := fmt.Sscan(rest, &size.Col, &size.Row)
		t.ts.Check(err)
		t.ts.Check(unix.IoctlSetWinsize(int(t.keyboard.Fd()), unix.TIOCSWINSZ, &size))
	case "server":
		serverCmd(t.ts, false, []string{rest})
	case "job":
		putJob(t.ts, false, strings.Fields(rest))
	case "end":
		got, failed := 0, &exec.ExitError{}
		if err := cmd.Wait(); errors.As(err, &failed) {
			got = failed.ExitCode()
		}
		if fmt.Sprint(got) != rest {
			t.ts.Fatalf("exit code %d, want %s: %q", got, rest, t.shown.String())
		}
	default:
		t.ts.Fatalf("unknown step %q", step)
	}
}

// see waits until the terminal shows a text.
func (t *typist) see(want *regexp.Regexp) {
	for end := time.Now().Add(await.Guard(2 * time.Minute)); ; time.Sleep(5 * time.Millisecond) {
		t.mu.Lock()
		text := t.shown.String()[t.seen:]
		t.mu.Unlock()
		if at := want.FindStringIndex(text); at != nil {
			t.seen += at[1]
			return
		}
		if time.Now().After(end) {
			t.ts.Fatalf("the terminal does not show %q, but %q", want, text)
		}
	}
}
