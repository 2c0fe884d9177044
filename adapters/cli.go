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

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// CLI holds the settings for the commands of a batch system: their folder, their environment and their limits.
type CLI struct {
	// Bin is the absolute folder of the commands; "" means the daemon's PATH.
	Bin string `toml:"bin"`
	// Env is added to the environment of every command. A command otherwise gets only PATH, HOME, USER, LOGNAME, TZ and
	// LC_ALL=C, because its output must not depend on who started the daemon. A HOME in Env is also used for commands
	// that run in the accounts of owners.
	Env map[string]string `toml:"env"`
	// MaxOutputMB and MaxMemoryMB limit the output and the private memory of one command, in MiB; 0 means 256 and 4096.
	// A command that prints more is killed; a command that needs more memory gets none from the kernel.
	MaxOutputMB int64 `toml:"command_output_mb"`
	MaxMemoryMB int64 `toml:"command_memory_mb"`
}

// The limits of a command if the site sets none. 256 MiB is the output of 400 000 jobs at 600 bytes each, rounded up.
// The memory is some ten times that, plus a margin, because a client such as squeue holds its whole answer in memory.
const (
	defaultOutputMB = 256
	defaultMemoryMB = 4096
	// mostMB is the largest limit that can be set: 1 TiB.
	mostMB = 1 << 20
)

// Check returns a problem for each wrong setting.
func (c CLI) Check() (ps jjm.Problems) {
	if c.Bin != "" && !filepath.IsAbs(c.Bin) {
		ps = append(ps, jjm.Problem{Field: "bin", Text: fmt.Sprintf("%q: want an absolute folder", c.Bin)})
	}
	for _, bound := range []struct {
		field string
		mb    int64
	}{{"command_output_mb", c.MaxOutputMB}, {"command_memory_mb", c.MaxMemoryMB}} {
		if bound.mb < 0 || bound.mb > mostMB {
			ps = append(ps, jjm.Problem{Field: bound.field,
				Text: fmt.Sprintf("%d: want MiB, 1 to %d, or 0 for jjm's own bound", bound.mb, mostMB)})
		}
	}
	return ps
}

// Advice returns a note if Bin is an absolute path but not a folder. This is not an error, because the folder may be
// mounted later.
func (c CLI) Advice() jjm.Problems {
	if c.Bin == "" || !filepath.IsAbs(c.Bin) {
		return nil
	}
	info, err := os.Stat(c.Bin)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		err = fmt.Errorf("%s is no folder", c.Bin)
	}
	return jjm.Problems{{Field: "bin", Text: fmt.Sprintf("%v: no command of the batch system is found there", err)}}
}

// Run runs one command to its end and returns its output, whatever its exit code. The deadline is that of ctx. If ctx
// carries turns (see WithTurns), the command first waits for its turn. The errors are those of run.Run: the kind is
// Busy, marked by NotStarted, if the command was not started, and Ambiguous if the command was stopped before its end.
// If a command printed too much, the error is of kind Busy without that mark, because half a listing is useless. A
// caller whose command changes something must then check Output.Truncated: if it is set, the change may have been made.
func (c CLI) Run(ctx context.Context, stdin []byte, argv ...string) (run.Output, error) {
	if len(argv) == 0 {
		return run.Output{}, jjm.Errorf(jjm.Internal, "no command to run")
	}
	argv = append([]string{}, argv...)
	if c.Bin != "" {
		argv[0] = filepath.Join(c.Bin, argv[0])
	}
	if err := Turn(ctx); err != nil {
		return run.Output{}, NotStarted(err)
	}
	cmd := run.Cmd{Argv: argv, Env: c.environ(), Home: c.Env["HOME"], Stdin: stdin,
		MaxOutput: cmp.Or(c.MaxOutputMB, defaultOutputMB) << 20, EndAtMax: true,
		MaxMemory: cmp.Or(c.MaxMemoryMB, defaultMemoryMB) << 20}
	if end, ok := ctx.Deadline(); ok {
		cmd.Deadline = time.Until(end)
	}
	out, err := run.Run(ctx, cmd)
	switch {
	case jjm.KindOf(err) == jjm.Busy:
		return out, NotStarted(err)
	case err != nil:
		return out, err
	case out.Truncated:
		return out, jjm.Errorf(jjm.Busy, "%s printed more than %d MiB (command_output_mb), and was ended",
			strings.Join(argv[:min(len(argv), 8)], " "), cmd.MaxOutput>>20)
	}
	return out, nil
}

// turnKey is the key of the wait function in a context.
type turnKey struct{}

// WithTurns returns a context in which each command first calls wait and starts when wait returns nil. The idealizer
// uses it to keep all commands of a call within the limits of the cluster. wait may be called from many goroutines; its
// error is of kind Busy and means that the command was not started.
func WithTurns(ctx context.Context, wait func(context.Context) error) context.Context {
	return context.WithValue(ctx, turnKey{}, wait)
}

// Turn waits until a command may start. CLI.Run calls it; an adapter calls it before other requests to the batch
// system, for example over HTTP.
func Turn(ctx context.Context) error {
	if wait, ok := ctx.Value(turnKey{}).(func(context.Context) error); ok {
		return wait(ctx)
	}
	return nil
}

// environ returns the environment of a command: LC_ALL=C, a few variables of the daemon, and Env, which replaces them.
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

// AsBusy converts an error of a command that changes nothing (a listing, a search) into an error of kind Busy, because
// the caller learned nothing and should repeat the call. It returns nil for nil.
func AsBusy(err error) error {
	if err == nil || jjm.KindOf(err) == jjm.Busy {
		return err
	}
	return jjm.Errorf(jjm.Busy, "%w", err)
}

// Quote returns s as one quoted word for sh(1).
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// JobScript returns a script for sh(1) that runs the command of b according to the contract of Bulk. index and id are
// shell expressions for the job's index and its batch id; expressions with variables must be in double quotes.
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

// CheckBulk returns an error of kind Invalid if no batch system with these capabilities could run the bulk. If only the
// number of jobs is too large, the error is marked by TooMany and NotStarted. Smaller bulks are then possible: the
// limit may have become known, or lower, after the bulk was made.
func CheckBulk(b Bulk, c Capabilities) error {
	bad := func(format string, args ...any) error { return jjm.Errorf(jjm.Invalid, format, args...) }
	switch {
	case !b.Tag.Valid():
		return bad("tag %.20q: want at most %d of [a-z0-9], the first a letter", b.Tag, jjm.MaxTag)
	case b.N < 1:
		return bad("a bulk of %d jobs: want at least 1", b.N)
	case c.MaxBulk > 0 && b.N > c.MaxBulk:
		return NotStarted(TooMany(jjm.Errorf(jjm.Busy, "a bulk of %s: this cluster takes %d at once",
			jjm.Count(b.N, "job"), c.MaxBulk)))
	case len(b.Argv) == 0 || b.Argv[0] == "":
		return bad("a bulk without a command")
	case b.Transfer != nil && c.SharedFS:
		return bad("files to transfer on a cluster whose workers see the work area")
	case b.Transfer == nil && !filepath.IsAbs(b.Dir):
		return bad("folder %.200q: want an absolute one", b.Dir)
	case b.Transfer != nil && b.Transfer.Proxy != "" && !c.RenewsProxies:
		return bad("a proxy on a cluster that does not renew proxies")
	case b.Log != "" && !filepath.IsAbs(b.Log):
		return bad("log %.200q: want an absolute path", b.Log)
	case c.MaxCores > 0 && b.Request.Cores > c.MaxCores:
		return bad("request.cores: %d: this cluster allows one job at most %d", b.Request.Cores, c.MaxCores)
	}
	for _, text := range append([]string{b.Dir, b.Log}, b.Argv...) {
		if strings.ContainsRune(text, 0) {
			return bad("%.40q contains a NUL character", text)
		}
	}
	return nil
}

// Stopped reports whether an error of CLI.Run means that the command was started and then stopped. Such a command may
// have made its changes.
func Stopped(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || jjm.KindOf(err) == jjm.Ambiguous
}
