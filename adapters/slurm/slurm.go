// Package slurm is the adapter for the Slurm workload manager.
//
// A bulk is one job array with the indices 0..N-1, whose job name is the tag; a job's id is ARRAY_INDEX, "42_7". The
// adapter runs sbatch, squeue, sacct, scancel, scontrol and sinfo. If the configuration names a slurmrestd, submissions
// go there instead of to sbatch.
//
// # Sources
//
// squeue outranks sacct: squeue queries the controller, sacct queries a database that is up to a second behind. A
// listing of squeue counts only if the command exited with 0, wrote nothing to standard error, and every line can be
// parsed. While the controller knows a job, its exit code comes from the raw wait status that squeue shows, because
// sacct shows exit codes modulo 128. The JSON output of Slurm 22.05 is not used for any decision: it reports every exit
// as a success, and an empty queue if the controller is down.
//
// Slurm keeps no record of a job that was cancelled while it waited inside its array, unless the whole array was
// cancelled. The adapter stores such cancels in memory and reports them itself, until the process ends.
//
// # Failures
//
// The callers handle retries, ambiguous outcomes and missing jobs, as for every adapter. An acknowledged id is
// provisional: a controller that is killed within a second of its answer forgets the job and assigns the id to another
// job. Therefore no id is ever used without its tag.
//
// Figures in comments without the name of a manual page were measured on Slurm 22.05.8.
package slurm

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// Config is the section of a cluster of kind "slurm".
type Config struct {
	// Queue, Account, Project and QOS become the options --partition, --account, --wckey and --qos of sbatch(1);
	// Directives are additional options.
	adapters.Common
	// History is the time span before now in which accounting is searched for a tag.
	History jjm.Duration `toml:"history"`
	// Rest is the address of slurmrestd, "unix:/path" or "http://host:port". If it is "", sbatch submits the jobs.
	Rest string `toml:"rest"`
	// API is the version of slurmrestd's interface, v0.0.37 or v0.0.38.
	API string `toml:"api"`
	// TokenFile is a file with the JSON Web Token for HTTP; TokenCommand is a command that prints such a token. If both
	// are empty, "scontrol token" is used.
	TokenFile    string   `toml:"token_file"`
	TokenCommand []string `toml:"token_command"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{Common: adapters.DefaultCommon(), History: jjm.Duration(30 * 24 * time.Hour), API: "v0.0.38"}
}

// Adapter submits to one Slurm cluster and reports its jobs.
type Adapter struct {
	name   string
	env    adapters.Env
	config Config
	timed  adapters.CLI // runs commands that print times as seconds
	rest   *restClient  // nil if sbatch submits

	mu        sync.Mutex          // guards the fields below
	site      *site               // nil until the controller has answered
	asking    bool                // whether accounting is queried for the limits of site
	asked     sync.WaitGroup      // for tests: done when the limits are known
	coverages map[string]coverage // coverages by user
	cancelled map[key]cancelledJob
}

// key identifies one job of an array.
type key struct {
	tag   jjm.Tag
	id    string
	index int32
}

var (
	_ adapters.Adapter     = (*Adapter)(nil)
	_ adapters.Prober      = (*Adapter)(nil)
	_ adapters.Checker     = (*Adapter)(nil)
	_ adapters.HostChecker = (*Adapter)(nil)
	_ adapters.BulkLimiter = (*Adapter)(nil)
)

// New returns an adapter; it is the constructor for adapters.Registry. It runs no command.
func New(name string, env adapters.Env, decode func(config any) error) (adapters.Adapter, error) {
	c := DefaultConfig()
	if err := decode(&c); err != nil {
		return nil, err
	}
	return Open(name, env, c)
}

// Open returns an adapter. It runs no command.
func Open(name string, env adapters.Env, c Config) (*Adapter, error) {
	if ps := c.Check(name, env); len(ps) > 0 {
		return nil, ps.Err()
	}
	env = env.Whole()
	a := &Adapter{
		name: name, env: env, config: c, timed: c.CLI,
		coverages: map[string]coverage{}, cancelled: map[key]cancelledJob{},
	}
	// With this variable squeue(1) and sacct(1) print seconds since 1970, whatever slurm.conf(5) and the time zone are.
	a.timed.Env = maps.Clone(c.Env)
	if a.timed.Env == nil {
		a.timed.Env = map[string]string{}
	}
	a.timed.Env["SLURM_TIME_FORMAT"] = "%s"
	a.timed.Env["SLURM_BITSTR_LEN"] = "0" // otherwise lists of indices are cut after 64 bytes (sacct(1))
	if c.Rest != "" {
		a.rest = newRestClient(c, a.token)
	}
	return a, nil
}

// Check implements adapters.Checked.
func (c Config) Check(name string, _ adapters.Env) jjm.Problems {
	var ps jjm.Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Where: "cluster " + name, Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if c.History < jjm.Duration(time.Hour) {
		bad("history", "%v: want at least 1h: a doubtful submission must be found again", c.History)
	}
	c.checkRest(bad)
	return append(c.Common.Check(name, adapters.Rules{Word: checkWord, Directive: checkDirective}), ps...)
}

// checkWord returns an error if a text contains blanks or control characters, because sbatch would split it.
func checkWord(text string) error {
	if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return fmt.Errorf("%.40q: want no blanks and control characters", text)
	}
	return nil
}

func checkJobDirective(line string) error {
	_, err := jobDirective(line)
	return err
}

func checkDirective(line string) error {
	_, err := directive(line)
	return err
}

func (c Config) checkRest(bad func(field, format string, args ...any)) {
	if c.Rest == "" {
		return
	}
	socket, isUnix := strings.CutPrefix(c.Rest, "unix:")
	if isUnix && !filepath.IsAbs(socket) || !isUnix && !strings.HasPrefix(c.Rest, "http://") &&
		!strings.HasPrefix(c.Rest, "https://") {
		bad("rest", `%q: want "unix:/path" or "http://host:port"`, c.Rest)
	}
	if c.API != "v0.0.37" && c.API != "v0.0.38" {
		bad("api", "%q: want v0.0.37 or v0.0.38; for others leave rest out, and sbatch submits", c.API)
	}
	if len(c.Directives) > 0 || c.AllowDirectives || c.Hook != "" {
		bad("rest", "directives, allow_directives and hook are for sbatch: leave them out, or leave out rest")
	}
	if c.TokenFile != "" && len(c.TokenCommand) > 0 {
		bad("token_file", "token_command is set too: want one of them")
	}
	if c.TokenFile != "" && !filepath.IsAbs(c.TokenFile) {
		bad("token_file", "%q: want an absolute path", c.TokenFile)
	}
	if len(c.TokenCommand) > 0 && !filepath.IsAbs(c.TokenCommand[0]) {
		bad("token_command", "%q: want an absolute path", c.TokenCommand[0])
	}
}

// Name returns the cluster's name.
func (a *Adapter) Name() string { return a.name }

// Capabilities returns the capabilities that Probe found, or safe capabilities before the first successful Probe.
func (a *Adapter) Capabilities() adapters.Capabilities {
	a.mu.Lock()
	defer a.mu.Unlock()
	return capabilities(a.site, a.config)
}

// checkAccount returns an error if the jobs of a submission would run in the wrong account. Slurm runs jobs in the
// account that runs sbatch.
func (a *Adapter) checkAccount(ctx context.Context, owner jjm.Owner) error {
	if owner.User == "" {
		return jjm.Errorf(jjm.Invalid, "slurm: uid %d has no name: Slurm needs a user that it knows", owner.UID)
	}
	if run.UID(ctx) == 0 && owner.UID != 0 && a.config.Bin == "" && !strings.HasPrefix(a.config.Rest, "http") {
		return jjm.Errorf(jjm.Denied, "slurm: jjm runs as root, and sbatch would run the jobs of %s as root: "+
			"run jjm as a service account, set run_as = \"owner\", or set bin to commands that act for it", owner.User)
	}
	return nil
}

// command runs a command that changes nothing. Its output counts only if it exited with 0
// and wrote nothing to standard error.
func command(ctx context.Context, cli adapters.CLI, argv ...string) ([]byte, error) {
	out, err := cli.Run(ctx, nil, argv...)
	if err != nil {
		return nil, adapters.AsBusy(err)
	}
	if out.Exit != 0 || len(strings.TrimSpace(string(out.Stderr))) > 0 {
		return nil, jjm.Errorf(jjm.Busy, "%s: exit %d: %s", argv[0], out.Exit, adapters.Brief(out.Stderr))
	}
	return out.Stdout, nil
}
