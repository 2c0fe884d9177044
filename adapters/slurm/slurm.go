// Package slurm is the adapter for the Slurm workload manager.
//
// A bulk is one job array, indices 0..N-1, whose job name is the tag; a job's
// id is ARRAY_INDEX, "42_7". The adapter runs sbatch, squeue, sacct, scancel,
// scontrol and sinfo; where the configuration names a slurmrestd, submissions
// go there instead.
//
// # What it relies on
//
// squeue outranks sacct: it asks the controller, sacct asks a database that is
// up to a second behind. A listing of squeue counts only if the command ended
// with 0, wrote nothing to standard error, and every line could be read. The
// exit code comes from squeue's raw wait status where the controller still
// knows the job; sacct's own is modulo 128. The JSON of Slurm 22.05 decides
// nothing: it calls every exit a success, and a controller that is down an
// empty queue.
//
// A job that waits inside its array and is cancelled alone leaves no trace in
// Slurm. The adapter is then the only witness: it reports the cancellation
// itself, until the process ends.
//
// # What it leaves to others
//
// An acknowledged id is provisional: a controller that is killed within a
// second of its answer forgets the job and gives the id out again. No id is
// therefore ever used without its tag.
//
// Figures in comments, where no manual page is named, were measured on Slurm
// 22.05.8.
package slurm

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/run"
)

// Config is the section of a cluster of kind "slurm".
type Config struct {
	// Queue, Account, Project and QOS are the options --partition, --account,
	// --wckey and --qos of sbatch(1); Directives are options of it.
	adapters.Common
	// History is how far back accounting is asked for a tag.
	History jjm.Duration `toml:"history"`
	// Rest is where slurmrestd listens, "unix:/path" or "http://host:port"; ""
	// submits with sbatch.
	Rest string `toml:"rest"`
	// API is the version of slurmrestd's interface.
	API string `toml:"api"`
	// TokenFile holds the JSON Web Token for HTTP, TokenCommand prints one;
	// with neither, "scontrol token" is asked.
	TokenFile    string   `toml:"token_file"`
	TokenCommand []string `toml:"token_command"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{Common: adapters.DefaultCommon(), History: jjm.Duration(30 * 24 * time.Hour), API: "v0.0.38"}
}

// Adapter is one Slurm cluster.
type Adapter struct {
	name   string
	env    adapters.Env
	config Config
	timed  adapters.CLI // the commands, made to print times as seconds
	rest   *restClient  // nil: sbatch submits

	mu        sync.Mutex      // guards what follows
	site      *site           // nil until the controller answered
	spans     map[string]span // by user
	witnessed map[key]witnessed
}

// key names one job of an array.
type key struct {
	tag   jjm.Tag
	id    string
	index int32
}

var (
	_ adapters.Adapter = (*Adapter)(nil)
	_ adapters.Prober  = (*Adapter)(nil)
	_ adapters.Checker = (*Adapter)(nil)
)

// New makes an adapter of a section of the configuration. It runs no command.
func New(name string, env adapters.Env, decode func(config any) error) (adapters.Adapter, error) {
	c := DefaultConfig()
	if err := decode(&c); err != nil {
		return nil, err
	}
	return Open(name, env, c)
}

// Open makes an adapter. It runs no command.
func Open(name string, env adapters.Env, c Config) (*Adapter, error) {
	if err := c.check(name); err != nil {
		return nil, err
	}
	env = env.Whole()
	a := &Adapter{
		name: name, env: env, config: c, timed: c.CLI,
		spans: map[string]span{}, witnessed: map[key]witnessed{},
	}
	// slurm.conf(5) has no say in this: squeue(1) and sacct(1) then print
	// seconds since 1970, whatever the time zone.
	a.timed.Env = maps.Clone(c.Env)
	if a.timed.Env == nil {
		a.timed.Env = map[string]string{}
	}
	a.timed.Env["SLURM_TIME_FORMAT"] = "%s"
	a.timed.Env["SLURM_BITSTR_LEN"] = "0" // else indices are cut after 64 bytes (sacct(1))
	if c.Rest != "" {
		a.rest = newRestClient(c, a.token)
	}
	return a, nil
}

func (c Config) check(name string) error {
	var ps jjm.Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Where: "cluster " + name, Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if c.History < jjm.Duration(time.Hour) {
		bad("history", "%v: want at least 1h: a doubtful submission must be found again", c.History)
	}
	c.checkRest(bad)
	return append(c.Common.Check(name, adapters.Rules{Word: oddWord, Directive: oddDirective}), ps...).Err()
}

// oddWord says what sbatch would take apart.
func oddWord(text string) error {
	if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return fmt.Errorf("%.40q: it holds a blank or a control character", text)
	}
	return nil
}

func oddJobDirective(line string) error {
	_, err := jobDirective(line)
	return err
}

func oddDirective(line string) error {
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
		bad("rest", "directives, allow_directives and hook are options of sbatch, which slurmrestd does not take: leave out either")
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

// Name is the cluster's name.
func (a *Adapter) Name() string { return a.name }

// Capabilities tells what Probe learned, or else what is safe.
func (a *Adapter) Capabilities() adapters.Capabilities {
	a.mu.Lock()
	defer a.mu.Unlock()
	return capabilities(a.site, a.config)
}

// mayAct refuses what the system would do as the wrong account: sbatch submits
// as whoever runs it.
func (a *Adapter) mayAct(ctx context.Context, owner jjm.Owner) error {
	if owner.User == "" {
		return jjm.Errorf(jjm.Invalid, "slurm: uid %d has no name: Slurm wants a user that it knows", owner.UID)
	}
	if run.UID(ctx) == 0 && owner.UID != 0 && a.config.Bin == "" && !strings.HasPrefix(a.config.Rest, "http") {
		return jjm.Errorf(jjm.Denied, "slurm: jjm runs as root, and sbatch would run the jobs of %s as root: "+
			"run jjm as a service account, set run_as = \"owner\", or set bin to commands that act for it", owner.User)
	}
	return nil
}

// command runs a command whose answer counts only if it ended with 0 and did
// not complain.
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
