// Package condor is the adapter for HTCondor. It uses HTCondor's command-line tools.
//
// # Submission
//
// A bulk is one cluster of jobs, submitted on hold by one condor_submit that reads the description on standard input.
// Every job has the bulk's tag in the attribute JJMTag. The engine stores the cluster's id and then releases the jobs,
// so a submission whose answer was lost never runs. The jobs' requirements prevent a second start. A job that HTCondor
// took off its machine removes itself, because jjm decides whether the job runs again.
//
// # Listing
//
// Ended jobs stay in the queue for Config.Keep, so condor_q alone usually shows how they ended; condor_history adds the
// jobs that left the queue. condor_q runs first, so that a job that leaves the queue between the two commands is in the
// history. Only new records of the history are read (see history.go).
//
// Both commands print nothing and exit with 0 if no job matches. The adapter therefore requests a heading, which the
// commands always print. An answer without the heading is incomplete.
//
// # Failures
//
// The callers handle retries, ambiguous outcomes and missing jobs, as for every adapter.
//
// Figures in comments were measured on HTCondor 23.9.6.
package condor

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Config is the section of a cluster of kind "condor".
type Config struct {
	// Queue is one of the keys of Queues. Account is the accounting group. Project requires ProjectAttribute, and QOS
	// requires QOSAttribute. Directives are lines of a submit description.
	adapters.Common
	// Keep is the time for which ended jobs stay in the queue, where condor_q shows them. They count towards
	// MAX_JOBS_PER_OWNER.
	Keep jjm.Duration `toml:"keep"`
	// History is set if condor_history on this machine shows the jobs that left the queue.
	History bool `toml:"history"`
	// Grace is the time between TERM and KILL for a job that is removed
	// (job_max_vacate_time). The configuration of the machines may allow less.
	Grace jjm.Duration `toml:"grace"`
	// MaxCores, MaxMemoryMB and MaxWalltime are the largest values that one job may request; 0 means no limit. A pool
	// does not report such limits, because its machines come and go.
	MaxCores    int          `toml:"max_cores"`
	MaxMemoryMB int64        `toml:"max_memory_mb"`
	MaxWalltime jjm.Duration `toml:"max_walltime"`
	// Queues maps the possible values of request.queue in a job file to expressions that the job's machine must fulfil.
	Queues map[string]string `toml:"queues"`
	// Requirements is an expression that every job's machine must fulfil.
	Requirements string `toml:"requirements"`
	// ProjectAttribute and QOSAttribute name the job attributes for request.project and request.qos. If a name is "",
	// such requests are rejected.
	ProjectAttribute string `toml:"project_attribute"`
	QOSAttribute     string `toml:"qos_attribute"`
	// DelegatedProxies is set if the adapter passes proxies to HTCondor even if HTCondor delegates proxies to the jobs
	// instead of copying them (see delegates).
	DelegatedProxies bool `toml:"delegated_proxies"`
	// EventLog is the absolute path of the schedd's EVENT_LOG; "" for none. When it grows, jjm lists immediately.
	EventLog string `toml:"event_log"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	common := adapters.DefaultCommon()
	common.MaxBulk = 5000 // Probe lowers this to the schedd's own limit
	return Config{
		Common: common, Keep: jjm.Duration(time.Hour), History: true, Grace: jjm.Duration(30 * time.Second),
	}
}

// settle is how long after a submission with an unknown outcome the schedd may still commit it. A working schedd
// handles the data that a killed condor_submit had sent within a second; the rest is a margin.
const settle = 15 * time.Second

// Adapter submits to one schedd and reports its jobs.
type Adapter struct {
	name    string
	config  Config
	env     adapters.Env
	changed chan struct{} // notifies that the event log has grown

	proven  atomic.Bool   // set once commands are proven to ignore the owners' configuration (ownersfile.go)
	proving chan struct{} // capacity 1; full during such a proof

	mu       sync.Mutex // guards the fields below
	found    limits
	memories map[string]*memory // memories by name of owner
}

var (
	_ adapters.Adapter = (*Adapter)(nil)
	_ adapters.Prober  = (*Adapter)(nil)
	_ adapters.Checker = (*Adapter)(nil)
	_ adapters.Runner  = (*Adapter)(nil)
	_ adapters.Watcher = (*Adapter)(nil)
)

// New returns the adapter for a cluster. It runs no command.
func New(name string, env adapters.Env, decode func(config any) error) (adapters.Adapter, error) {
	c := DefaultConfig()
	if err := adapters.Settings(name, env, decode, &c); err != nil {
		return nil, err
	}
	env = env.Whole()
	return &Adapter{name: name, config: c, env: env, changed: make(chan struct{}, 1),
		proving: make(chan struct{}, 1), memories: map[string]*memory{}}, nil
}

// attributeName matches the name of a ClassAd attribute.
var attributeName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// Check implements adapters.Checked.
func (c Config) Check(name string, env adapters.Env) jjm.Problems {
	var ps jjm.Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Where: "cluster " + name, Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if c.Keep < 0 || c.Keep > jjm.Duration(30*24*time.Hour) {
		bad("keep", "%v: want at most 720h", c.Keep)
	}
	if !c.History && c.Keep < jjm.Duration(time.Hour) {
		bad("keep", "%v: want at least 1h without the history, so that jjm sees how jobs ended", c.Keep)
	}
	if c.Grace < jjm.Duration(time.Second) || c.Grace > jjm.Duration(time.Hour) {
		bad("grace", "%v: want 1s to 1h", c.Grace)
	}
	if c.MaxBulk < 1 || c.MaxBulk > 100_000 {
		bad("max_bulk", "%d: want 1 to 100000", c.MaxBulk)
	}
	if c.MaxCores < 0 || c.MaxMemoryMB < 0 || c.MaxWalltime < 0 {
		bad("max_cores", "max_cores, max_memory_mb and max_walltime: want at least 0, which means no bound")
	}
	if c.EventLog != "" && !filepath.IsAbs(c.EventLog) {
		bad("event_log", "%q: want an absolute path", c.EventLog)
	}
	if problem := configFileProblem(c.Env[configEnv]); env.Owners && problem != "" {
		bad("env."+configEnv, "%q: %s", c.Env[configEnv], problem)
	}
	return append(append(c.Common.Check(name, rules()), ps...), c.checkWords(name)...)
}

// jobRule returns an error if a job file may not contain the directive.
func jobRule(line string) error {
	if problem := jobDirectiveProblem(line); problem != "" {
		return fmt.Errorf("%.80q: %s", line, problem)
	}
	return nil
}

// rules returns the rules for the common settings.
func rules() adapters.Rules {
	return adapters.Rules{Carries: true, Word: func(text string) error {
		if !plainWord.MatchString(text) {
			return fmt.Errorf("%.80q: want a word of letters, digits and . _ - @", text)
		}
		return nil
	}, Directive: func(line string) error {
		if problem := directiveProblem(line); problem != "" {
			return fmt.Errorf("%.80q: %s", line, problem)
		}
		return nil
	}}
}

// checkWords returns problems of those settings that become part of the submit description.
func (c Config) checkWords(name string) (ps jjm.Problems) {
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Where: "cluster " + name, Field: field, Text: fmt.Sprintf(format, args...)})
	}
	for field, text := range map[string]string{"project_attribute": c.ProjectAttribute, "qos_attribute": c.QOSAttribute} {
		if text != "" && !attributeName.MatchString(text) {
			bad(field, "%q: want the name of an attribute, such as ProjectName", text)
		}
	}
	if c.Project != "" && c.ProjectAttribute == "" {
		bad("project", "%q: set project_attribute too", c.Project)
	}
	if c.QOS != "" && c.QOSAttribute == "" {
		bad("qos", "%q: set qos_attribute too", c.QOS)
	}
	if _, known := c.Queues[c.Queue]; c.Queue != "" && !known {
		bad("queue", "%q: want one of the names in queues", c.Queue)
	}
	expressions := maps.Clone(c.Queues)
	if expressions == nil {
		expressions = map[string]string{}
	}
	for queue, text := range expressions {
		if problem := expressionProblem(text); problem != "" {
			bad("queues."+queue, "%q: %s", text, problem)
		}
	}
	if problem := expressionProblem(c.Requirements); c.Requirements != "" && problem != "" {
		bad("requirements", "%q: %s", c.Requirements, problem)
	}
	return ps
}

// expressionProblem returns why a text cannot be an expression on one line of a submit description; "" if it can be
// one.
func expressionProblem(text string) string {
	switch {
	case strings.TrimSpace(text) == "":
		return "want an expression, such as TARGET.HasGlidein"
	case strings.ContainsAny(text, "\n\r\x00") || strings.HasSuffix(text, `\`):
		return "want one line"
	case strings.Count(text, "(") != strings.Count(text, ")"):
		return "the parentheses do not match"
	}
	return ""
}

// Name returns the cluster's name.
func (a *Adapter) Name() string { return a.name }

// Diagnosis returns the command that lists the schedds that report to the collector.
func (a *Adapter) Diagnosis() string { return "condor_status -schedd" }

// SubmitCommand returns the name of the program that submits jobs.
func (a *Adapter) SubmitCommand() string { return "condor_submit" }

// Capabilities returns the capabilities of HTCondor with this configuration.
func (a *Adapter) Capabilities() adapters.Capabilities {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := adapters.Capabilities{
		MaxBulk: a.config.MaxBulk, MaxQueued: a.found.queued, TwoPhase: true, SharedFS: a.config.SharedFS,
		ExcludesHosts: true,
		RenewsProxies: !a.config.SharedFS && (a.found.copies || a.config.DelegatedProxies),
		Accounting:    a.config.History, Guarantee: guarantee, Slots: a.found.slots,
		MaxCores: a.config.MaxCores, MaxMemoryMB: a.config.MaxMemoryMB, MaxWalltime: a.config.MaxWalltime.D(),
		Settle: settle,
	}
	if a.found.bulk > 0 {
		c.MaxBulk = min(c.MaxBulk, a.found.bulk)
	}
	return c
}

const guarantee = "strong: bulks arrive on hold under their tag and run only after their id is stored; " +
	"HTCondor starts no job a second time"

// Changed returns a channel that receives a value when the event log has grown.
func (a *Adapter) Changed() <-chan struct{} { return a.changed }

// fail adds the cluster's name and the attempted action to an error.
func (a *Adapter) fail(what string, err error) error {
	return fmt.Errorf("%s: %s: %w", a.name, what, err)
}
