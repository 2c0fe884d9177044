package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"syscall"
	"time"
)

// childWord is the hidden command: "bench child KIND".
const childWord = "child"

// profileEnv names the folder of CPU profiles.
const profileEnv = "JJM_BENCH_PROFILE"

// question is a line of JSON to a child. The child answers each question with one line.
type question struct {
	Do  string          `json:"do"`
	Arg json.RawMessage `json:"arg,omitempty"`
}

type answer struct {
	Error string          `json:"error,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// worker runs in the child process. It answers the questions of the parent until close is called.
type worker interface {
	answer(ctx context.Context, do string, arg func(into any) error) (any, error)
	close() error
}

// workers makes a worker of a kind. The argument is the argument of the first question, "begin".
func workers(kind string) (worker, error) {
	switch kind {
	case "site":
		return &site{}, nil
	case "history":
		return &historian{}, nil
	case "tar":
		return &tarrer{}, nil
	case "split":
		return cutter{}, nil
	}
	return nil, fmt.Errorf("child %q: not known", kind)
}

// childMain answers the questions on in until in ends, or until a question or an answer cannot be coded. It returns the
// exit code.
func childMain(kind string, in io.Reader, out io.Writer) int {
	w, err := workers(kind)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return exitError
	}
	lines, reply := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var q question
		if err := lines.Decode(&q); err != nil {
			break
		}
		value, err := w.answer(context.Background(), q.Do, func(into any) error { return json.Unmarshal(q.Arg, into) })
		a := answer{}
		if err == nil {
			a.Value, err = json.Marshal(value)
		}
		if err != nil {
			a.Error = err.Error()
		}
		if err := reply.Encode(a); err != nil {
			break
		}
	}
	if err := w.close(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", kind, err)
		return exitError
	}
	return exitOK
}

// child is the parent's handle of a child process: its command, and the pipes for questions and answers.
type child struct {
	kind string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
}

func (b *bench) child(kind string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(b.ctx, self, childWord, kind)
	cmd.Stderr = os.Stderr
	// The kernel kills the child when its parent ends.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("child %s: %w", kind, err)
	}
	return &child{kind: kind, cmd: cmd, in: in, out: json.NewDecoder(out)}, nil
}

// ask sends a question and stores the answer in into; into may be nil.
func (c *child) ask(do string, arg, into any) error {
	text, err := json.Marshal(arg)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(c.in).Encode(question{Do: do, Arg: text}); err != nil {
		return fmt.Errorf("child %s: %s: %w", c.kind, do, err)
	}
	var a answer
	if err := c.out.Decode(&a); err != nil {
		return fmt.Errorf("child %s: %s: it ended: %w", c.kind, do, err)
	}
	if a.Error != "" {
		return fmt.Errorf("child %s: %s: %s", c.kind, do, a.Error)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(a.Value, into)
}

// close ends the child and returns its total CPU time.
func (c *child) close() (time.Duration, error) {
	err := c.in.Close()
	err = errors.Join(err, c.cmd.Wait())
	if err != nil {
		return 0, fmt.Errorf("child %s: %w", c.kind, err)
	}
	return c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime(), nil
}

// profiled runs fn, with a CPU profile if one is requested.
func profiled(name string, fn func() error) error {
	dir := os.Getenv(profileEnv)
	if dir == "" {
		return fn()
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s-%d.pprof", name, os.Getpid())))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return fn()
}
