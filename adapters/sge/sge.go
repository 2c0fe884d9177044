// Package sge is the adapter for Grid Engine: Son of Grid Engine 8.1.9, and by
// the same commands its relatives (Open Grid Scheduler, Sun Grid Engine 6.2).
//
// A bulk is one array job, submitted held (qsub -h -terse -t 1-N) and released
// once its id is stored, so a submission whose answer was lost never runs. Its
// name is jjm's tag. The living are listed by one "qstat -xml" of the account;
// the dead are read from the accounting file, the same that qacct(1) reads, from
// where the last look ended: qacct reads all of it each time, prints 1.4 kB for
// each job, and tells times in local time only.
//
// Grid Engine writes no record of a job that was deleted while it waited, and
// the record of one that was killed does not say that qdel did it. The adapter
// therefore notes the cancels that it makes itself in a file of its state (see
// notes). All else that it remembers is lost without harm.
package sge

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"jjm"
	"jjm/adapters"
)

// Config is the section of a Grid Engine cluster.
type Config struct {
	// Bin is often /usr/lib/gridengine: Debian's /usr/bin/qsub is a script that
	// takes ten times as long. Env then needs SGE_ROOT and SGE_CELL. Directives
	// are options of qsub(1), each with its value in the same text: "-l os=el9".
	adapters.Common
	// PE is the parallel environment that gives several slots of one host
	// (allocation_rule $pe_slots); "" refuses requests of several cores.
	PE string `toml:"pe"`
	// MemoryResource is the resource that limits memory; "" refuses requests.
	// MemoryPerSlot is false where the resource counts whole jobs (consumable
	// JOB).
	MemoryResource string `toml:"memory_resource"`
	MemoryPerSlot  bool   `toml:"memory_per_slot"`
	// GPUResource and ScratchResource are resources that count whole jobs; ""
	// refuses requests. Scratch is asked for in MiB ("100M").
	GPUResource     string `toml:"gpu_resource"`
	ScratchResource string `toml:"scratch_resource"`
	// Accounting is the accounting file; "" is below $SGE_ROOT.
	Accounting string `toml:"accounting"`
	// Keep is how long ends and cancels are remembered.
	Keep jjm.Duration `toml:"keep"`
}

// defaults are what a section leaves out. 72 h bridge a weekend: jjm asks for
// the end of a job within minutes unless it was down itself.
func defaults() Config {
	return Config{
		Common: adapters.DefaultCommon(), MemoryResource: "h_vmem", MemoryPerSlot: true, GPUResource: "gpu",
		Keep: jjm.Duration(72 * time.Hour),
	}
}

// name matches words that Grid Engine takes as names of queues, projects,
// accounts, resources and environments, with the wildcards of queues and hosts.
// ":" is refused by qsub and would break the accounting file's lines.
var name = regexp.MustCompile(`^[A-Za-z0-9_.@*?][A-Za-z0-9_.@*?+/-]*$`)

// noQOS is what to do without.
const noQOS = "Grid Engine has no quality of service: use project or queue"

func (c Config) check(cluster string) error {
	ps := c.Common.Check(cluster, adapters.Rules{Word: oddName, Directive: oddDirective,
		Without: map[string]string{"qos": noQOS}})
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Where: "cluster " + cluster, Field: field, Text: fmt.Sprintf(format, args...)})
	}
	for _, f := range []struct{ key, value string }{
		{"pe", c.PE}, {"memory_resource", c.MemoryResource}, {"gpu_resource", c.GPUResource},
		{"scratch_resource", c.ScratchResource},
	} {
		if err := oddName(f.value); err != nil {
			bad(f.key, "%v", err)
		}
	}
	if c.Accounting != "" && !filepath.IsAbs(c.Accounting) {
		bad("accounting", "%q: want an absolute path", c.Accounting)
	}
	if c.Keep.D() < time.Hour {
		bad("keep", "%v: want at least 1h, or ends are forgotten before they are read", c.Keep)
	}
	return ps.Err()
}

// oddName says what is wrong with a name of Grid Engine; "" is none.
func oddName(text string) error {
	if text == "" || name.MatchString(text) {
		return nil
	}
	return fmt.Errorf("%.80q: want a name of Grid Engine: letters, digits, _ . @ * ? + / -", text)
}

// accounting returns the path of the accounting file.
func (c Config) accounting() string {
	if c.Accounting != "" {
		return c.Accounting
	}
	setting := func(name, otherwise string) string {
		if v := c.Env[name]; v != "" {
			return v
		}
		if v := os.Getenv(name); v != "" {
			return v
		}
		return otherwise
	}
	// The defaults are Debian's.
	return filepath.Join(setting("SGE_ROOT", "/var/lib/gridengine"), setting("SGE_CELL", "default"), "common",
		"accounting")
}

// Adapter is one Grid Engine.
type Adapter struct {
	name string
	cfg  Config
	env  adapters.Env

	history *history
	notes   *notes
	memory  *memory

	mu    sync.Mutex
	site  site // what Probe learned
	known bool // Probe has succeeded
}

var (
	_ adapters.Adapter = (*Adapter)(nil)
	_ adapters.Prober  = (*Adapter)(nil)
	_ adapters.Checker = (*Adapter)(nil)
)

// New makes an adapter of its section of the configuration. It runs nothing.
func New(name string, env adapters.Env, decode func(config any) error) (adapters.Adapter, error) {
	cfg := defaults()
	if err := adapters.Settings(name, decode, &cfg, Config.check); err != nil {
		return nil, err
	}
	// .sge_request and the like are not looked for in HOME: 8.1.9 finds them by the
	// account's number, and they spoil its own jobs only. Nothing else is either.
	if _, set := cfg.Env["HOME"]; !set {
		cfg.Env = maps.Clone(cfg.Env)
		if cfg.Env == nil {
			cfg.Env = map[string]string{}
		}
		cfg.Env["HOME"] = "/"
	}
	env = env.Whole()
	notes, err := openNotes(filepath.Join(env.State, "cancels"), cfg.Keep.D())
	if err != nil {
		return nil, fmt.Errorf("sge %s: %w", name, err)
	}
	return &Adapter{
		name: name, cfg: cfg, env: env, notes: notes, memory: newMemory(),
		history: newHistory(cfg.accounting(), cfg.Keep.D(), env.Warn),
	}, nil
}

// Name is the cluster's.
func (a *Adapter) Name() string { return a.name }

// Capabilities are careful until Probe has succeeded.
func (a *Adapter) Capabilities() adapters.Capabilities {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.site
	c := adapters.Capabilities{
		MaxBulk: s.maxTasks, TwoPhase: true, SharedFS: true, Accounting: s.accounting || !a.known,
		Slots: s.slots, MaxCores: s.maxCores, Guarantee: guarantee(a.cfg, s, a.known),
		Settle: settle + s.flush(), Lag: s.flush() + slack,
	}
	if c.MaxBulk == 0 {
		c.MaxBulk = unprobedBulk
	}
	c.MaxBulk = a.cfg.Bulk(c.MaxBulk)
	if a.cfg.PE == "" {
		c.MaxCores = 1
	}
	return c
}

// settle is how long a request may lie in the sockets of a qmaster that was
// stopped and goes on: measured under 1 s on 8.1.9, taken times sixty.
const settle = time.Minute

// slack is added to the flush: a network file system shows the end of a file
// late, with the usual attribute caching after 3 s and more (nfs(5)).
const slack = 10 * time.Second

// unprobedBulk is a bulk that every Grid Engine takes: max_aj_tasks is 75000 by
// default (sge_conf(5)), and sites lower it.
const unprobedBulk = 1000

// guarantee says how exactly once a submission is.
func guarantee(cfg Config, s site, known bool) string {
	var g strings.Builder
	g.WriteString("strong: arrays are submitted held and released once their id is stored; jobs are not rerunnable (-r n)")
	switch {
	case !known:
		g.WriteString("; not probed yet")
	default:
		fmt.Fprintf(&g, "; ends from %s, written up to %v late: a crash of the qmaster loses what was not written",
			cfg.accounting(), s.flush())
	}
	if !s.forbids() {
		g.WriteString("; exit codes 99 and 100, which rerun or block a job here, are kept from Grid Engine by the job script")
	}
	return g.String()
}
