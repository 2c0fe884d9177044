package adapters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"jjm"
	"jjm/run"
)

// CLI is the part of an adapter's configuration that says where the commands
// of its batch system are.
type CLI struct {
	// Bin is the absolute folder of the commands; "" = the daemon's PATH.
	Bin string `toml:"bin"`
	// Env is added to the environment of every command, which is else only
	// PATH, HOME, USER, LOGNAME and LC_ALL=C: what a command prints must not
	// depend on who started the daemon. A HOME here holds for commands as owners too.
	Env map[string]string `toml:"env"`
	// MaxOutputMB and MaxMemoryMB bound what one command prints and what private memory
	// it has, in MiB; 0 = 256 and 4096. A command that prints more is ended; one that
	// wants more memory gets none.
	MaxOutputMB int64 `toml:"max_output_mb"`
	MaxMemoryMB int64 `toml:"max_memory_mb"`
}

// The bounds of a command for a site that sets none. The output is that of 400 000 jobs
// at 600 bytes, on the safe side; a client holds some ten times what it prints.
const (
	defaultOutputMB = 256
	defaultMemoryMB = 4096
	// mostMB is the largest bound that can be set: 1 TiB.
	mostMB = 1 << 20
)

// Check finds a folder of commands that is none, and bounds that are none.
func (c CLI) Check() error {
	for name, mb := range map[string]int64{"max_output_mb": c.MaxOutputMB, "max_memory_mb": c.MaxMemoryMB} {
		if mb < 0 || mb > mostMB {
			return jjm.Errorf(jjm.Invalid, "%s: %d: want MiB, 1 to %d, or 0 for jjm's own bound", name, mb, mostMB)
		}
	}
	if c.Bin == "" {
		return nil
	}
	if !filepath.IsAbs(c.Bin) {
		return jjm.Errorf(jjm.Invalid, "bin: %q: want an absolute folder", c.Bin)
	}
	return nil
}

// Run runs one command to its end and gives what it printed, whatever its exit
// code. The deadline is ctx's. The command first waits for its turn, where there
// are turns (see WithTurns). Errors are those of run.Run: Busy if the command
// surely did nothing, Ambiguous if it was stopped on its way. A command whose
// output was cut is an error of kind Busy: half a listing is none. The Output says so
// then (Truncated), for a command that changes something.
func (c CLI) Run(ctx context.Context, stdin []byte, argv ...string) (run.Output, error) {
	if len(argv) == 0 {
		return run.Output{}, jjm.Errorf(jjm.Internal, "no command to run")
	}
	argv = append([]string{}, argv...)
	if c.Bin != "" {
		argv[0] = filepath.Join(c.Bin, argv[0])
	}
	if err := Turn(ctx); err != nil {
		return run.Output{}, err
	}
	cmd := run.Cmd{Argv: argv, Env: c.environ(), Home: c.Env["HOME"], Stdin: stdin,
		MaxOutput: cmp.Or(c.MaxOutputMB, defaultOutputMB) << 20, EndAtMax: true,
		MaxMemory: cmp.Or(c.MaxMemoryMB, defaultMemoryMB) << 20}
	if end, ok := ctx.Deadline(); ok {
		cmd.Deadline = time.Until(end)
	}
	out, err := run.Run(ctx, cmd)
	if err != nil {
		return out, err
	}
	if out.Truncated {
		return out, jjm.Errorf(jjm.Busy, "%s printed more than %d MiB (max_output_mb), and was ended",
			strings.Join(argv[:min(len(argv), 8)], " "), cmd.MaxOutput>>20)
	}
	return out, nil
}

// turnKey is of the function that hands out turns.
type turnKey struct{}

// WithTurns returns a context under which each command waits until wait lets it
// begin: whoever holds a site to a number of commands hears of all that a call
// takes. Wait may be called from many goroutines; its error is of kind Busy and
// means that the command was not begun.
func WithTurns(ctx context.Context, wait func(context.Context) error) context.Context {
	return context.WithValue(ctx, turnKey{}, wait)
}

// Turn waits until a command may begin. CLI.Run calls it; an adapter calls it
// before what it asks by other means, such as an HTTP request.
func Turn(ctx context.Context) error {
	if wait, ok := ctx.Value(turnKey{}).(func(context.Context) error); ok {
		return wait(ctx)
	}
	return nil
}

func (c CLI) environ() []string {
	env := []string{"LC_ALL=C"}
	for _, name := range []string{"PATH", "HOME", "USER", "LOGNAME", "TZ"} {
		if _, set := c.Env[name]; set {
			continue
		}
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		env = append(env, name+"="+c.Env[name])
	}
	return env
}

// AsBusy makes of an error of a command that changes nothing (a listing, a
// search) one of kind Busy: nothing is known, ask again.
func AsBusy(err error) error {
	if err == nil || jjm.KindOf(err) == jjm.Busy {
		return err
	}
	return jjm.Errorf(jjm.Busy, "%w", err)
}

// Quote makes one word of sh(1) of s.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// JobScript is a script of sh(1) that runs the command of b as the contract
// wants it. Index and id are shell expressions, in double quotes where they
// hold variables, for the job's index and its batch id.
func JobScript(b Bulk, index, id string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "#!/bin/sh\n%s=%s\n%s=%s\nexport %s %s\n", IndexEnv, index, BatchEnv, id, IndexEnv, BatchEnv)
	if b.Transfer == nil {
		fmt.Fprintf(&s, "cd %s || exit 97\n", Quote(b.Dir))
	}
	s.WriteString("exec")
	for _, a := range b.Argv {
		s.WriteString(" " + Quote(a))
	}
	log := b.Log
	if log == "" {
		log = "/dev/null"
	}
	fmt.Fprintf(&s, " >>%s 2>&1\n", Quote(log))
	return s.String()
}

// CheckBulk finds what no batch system could run. The error is of kind Invalid.
func CheckBulk(b Bulk, c Capabilities) error {
	bad := func(format string, args ...any) error { return jjm.Errorf(jjm.Invalid, format, args...) }
	switch {
	case !b.Tag.Valid():
		return bad("tag %.20q: want at most %d of [a-z0-9], a letter first", b.Tag, jjm.MaxTag)
	case b.N < 1:
		return bad("a bulk of %d jobs: want at least 1", b.N)
	case c.MaxBulk > 0 && b.N > c.MaxBulk:
		return bad("a bulk of %d jobs: this cluster takes %d at once", b.N, c.MaxBulk)
	case len(b.Argv) == 0 || b.Argv[0] == "":
		return bad("a bulk without a command")
	case b.Transfer != nil && c.SharedFS:
		return bad("files to transfer, on a cluster whose workers see the work area")
	case b.Transfer == nil && !filepath.IsAbs(b.Dir):
		return bad("folder %.200q: want an absolute one", b.Dir)
	case b.Transfer != nil && b.Transfer.Proxy != "" && !c.RenewsProxies:
		return bad("a proxy, on a cluster that renews none")
	case b.Log != "" && !filepath.IsAbs(b.Log):
		return bad("log %.200q: want an absolute path", b.Log)
	case c.MaxCores > 0 && b.Request.Cores > c.MaxCores:
		return bad("request.cores: %d: this cluster gives one job at most %d", b.Request.Cores, c.MaxCores)
	}
	for _, text := range append([]string{b.Dir, b.Log}, b.Argv...) {
		if strings.ContainsRune(text, 0) {
			return bad("%.40q holds a NUL", text)
		}
	}
	return nil
}

// Stopped reports whether an error of CLI.Run is of a command that was stopped
// on its way, so that what it was to do may have happened.
func Stopped(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || jjm.KindOf(err) == jjm.Ambiguous
}
