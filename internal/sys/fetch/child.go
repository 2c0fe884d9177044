package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// childArg is the argument of a process that was started to fetch a file.
const childArg = "fetch-input"

// IsChild reports whether this process was started to fetch a file. If so, main must call Main before anything else.
func IsChild(args []string) bool { return len(args) == 2 && args[1] == childArg }

const (
	maxOrder  = 1 << 20
	maxReport = 64 << 10
	// maxMemory limits the memory of a child, in bytes. A child needs about 30 MB.
	maxMemory = 1 << 30
	// extraTime is the time that a child may run in addition to the largest time of its transfer.
	extraTime = time.Minute
)

// Child runs a child process that carries out an order, and waits for its end. The child runs as the account that runs
// the commands under ctx. The error is of kind Busy if the child could not be started. A child that ends without a
// report counts as a failed try.
func Child(ctx context.Context, o Order) (Report, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return Report{}, jjm.Errorf(jjm.Internal, "order: %w", err)
	}
	// /proc/self/exe is the running program, even if an upgrade has replaced its file.
	out, err := run.Run(ctx, run.Cmd{Argv: []string{"/proc/self/exe", childArg},
		Dir: "/", Env: []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}, Stdin: text, Deadline: o.MaxTime.D() + extraTime,
		MaxOutput: maxReport, EndAtMax: true, MaxMemory: maxMemory})
	if ctx.Err() != nil {
		return Report{}, jjm.Errorf(jjm.Busy, "stopped: %w", ctx.Err())
	}
	if jjm.KindOf(err) == jjm.Busy {
		return Report{}, err
	}
	var r Report
	if err == nil {
		if err = json.Unmarshal(out.Stdout, &r); err == nil {
			return r.bounded(), nil
		}
		err = fmt.Errorf("the program that asks the server ended with exit %d: %.200q", out.Exit, out.Stderr)
	}
	return Report{Again: true, Trouble: err.Error()}.bounded(), nil
}

// bounded returns a report that is safe to use. The account that runs the child could change the report in any way.
func (r Report) bounded() Report {
	r.Bytes, r.Total = max(r.Bytes, 0), max(r.Total, 0)
	r.Trouble = short(strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, r.Trouble))
	return r
}

// Main carries out the order on standard input, writes the report to standard output, and returns the exit code. It
// stops when the process that started it has ended.
func Main(in io.Reader, out io.Writer) int {
	text, err := io.ReadAll(io.LimitReader(in, maxOrder))
	if err != nil {
		return 1
	}
	var o Order
	if json.Unmarshal(text, &o) != nil || o.URL == "" || o.Root == "" && o.Post == nil {
		fmt.Fprintln(os.Stderr, "jjm: this is for jjm's daemon")
		return 2
	}
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	go stopWithParent(os.Getppid(), stop)
	carryOut := Get
	if o.Post != nil {
		carryOut = Send
	}
	if json.NewEncoder(out).Encode(carryOut(ctx, o)) != nil {
		return 1
	}
	return 0
}

// stopWithParent calls stop when the parent of this process has ended.
func stopWithParent(parent int, stop context.CancelCauseFunc) {
	for os.Getppid() == parent {
		time.Sleep(time.Second)
	}
	stop(errors.New("the daemon that started this process has ended"))
}
