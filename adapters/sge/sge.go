// Package sge is the adapter for Grid Engine: Son of Grid Engine 8.1.9 and, with the same commands, its relatives (Open
// Grid Scheduler, Sun Grid Engine 6.2).
//
// A bulk is one array job, whose name is jjm's tag. Submit submits it held (qsub -h -terse -t 1-N), and Control
// releases it when jjm has stored its id, so a submission whose answer was lost never runs. One "qstat -xml" lists the
// living tasks of the account. Ended tasks are read from the accounting file; each reading begins where the previous
// reading ended. The adapter does not use qacct(1), which reads the whole file each time, prints 1.4 kB for each job,
// and prints times in local time only.
//
// Grid Engine writes no record of a job that was deleted while it waited, and the record of a killed job does not show
// that qdel killed it. Therefore the adapter writes its own cancels to a file in its state folder (see notes). All
// other facts in memory may be lost without harm.
//
// The callers handle retries, ambiguous outcomes and missing jobs, as for every adapter.
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

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Config is the section of a Grid Engine cluster.
type Config struct {
	// Bin in Common is often /usr/lib/gridengine, because Debian's /usr/bin/qsub is a script that takes ten times as long;
	// Env then needs SGE_ROOT and SGE_CELL. Directives are options of qsub(1), each with its value in the same text: "-l
	// os=el9".
	adapters.Common
	// PE is the parallel environment that provides several slots on one host (allocation_rule $pe_slots). If it is "",
	// requests for several cores are rejected.
	PE string `toml:"pe"`
	// MemoryResource is the resource that limits memory. If it is "", requests for memory are rejected. MemoryPerSlot
	// is false if the resource counts for the whole job (consumable JOB).
	MemoryResource string `toml:"memory_resource"`
	MemoryPerSlot  bool   `toml:"memory_per_slot"`
	// GPUResource and ScratchResource are resources that count for the whole job. If a name is "", such requests are
	// rejected. Scratch is requested in MiB ("100M").
	GPUResource     string `toml:"gpu_resource"`
	ScratchResource string `toml:"scratch_resource"`
	// Accounting is the path of the accounting file; "" means the file below $SGE_ROOT.
	Accounting string `toml:"accounting"`
	// Keep is the time for which ends and cancels are kept.
	Keep jjm.Duration `toml:"keep"`
}

// defaults returns the settings of a cluster before its section is read. Keep is 72 h, which bridges a weekend: jjm
// requests the end of a job within minutes unless jjm itself was down.
func defaults() Config {
	return Config{
		Common: adapters.DefaultCommon(), MemoryResource: "h_vmem", MemoryPerSlot: true, GPUResource: "gpu",
		Keep: jjm.Duration(72 * time.Hour),
	}
}

// name matches words that Grid Engine accepts as names of queues, projects, accounts, resources and environments, with
// the wildcards of queues and hosts. qsub rejects ":", which would break the lines of the accounting file.
var name = regexp.MustCompile(`^[A-Za-z0-9_.@*?][A-Za-z0-9_.@*?+/-]*$`)

// noQOS is the advice for a request with a QOS.
const noQOS = "Grid Engine has no quality of service: use project or queue"

// Check implements adapters.Checked.
func (c Config) Check(cluster string, _ adapters.Env) jjm.Problems {
	ps := c.Common.Check(cluster, adapters.Rules{Word: checkName, Directive: checkDirective,
		Without: map[string]string{"qos": noQOS}})
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Where: "cluster " + cluster, Field: field, Text: fmt.Sprintf(format, args...)})
	}
	for _, f := range []struct{ key, value string }{
		{"pe", c.PE}, {"memory_resource", c.MemoryResource}, {"gpu_resource", c.GPUResource},
		{"scratch_resource", c.ScratchResource},
	} {
		if err := checkName(f.value); err != nil {
			bad(f.key, "%v", err)
		}
	}
	if c.Accounting != "" && !filepath.IsAbs(c.Accounting) {
		bad("accounting", "%q: want an absolute path", c.Accounting)
	}
	if c.Keep.D() < time.Hour {
		bad("keep", "%v: want at least 1h, or ends are forgotten before they are read", c.Keep)
	}
	return ps
}

// checkName returns an error if a text is not a name of Grid Engine; "" is allowed.
func checkName(text string) error {
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

// Adapter submits to one Grid Engine and reports its jobs.
type Adapter struct {
	name string
	cfg  Config
	env  adapters.Env

	history *history
	notes   *notes
	memory  *memory

	mu    sync.Mutex
	site  site // settings that Probe found
	known bool // whether Probe has succeeded
}

var (
	_ adapters.Adapter = (*Adapter)(nil)
	_ adapters.Prober  = (*Adapter)(nil)
	_ adapters.Checker = (*Adapter)(nil)
)

// New returns an adapter; it is the constructor for adapters.Registry. It runs no command.
func New(name string, env adapters.Env, decode func(config any) error) (adapters.Adapter, error) {
	cfg := defaults()
	if err := adapters.Settings(name, env, decode, &cfg); err != nil {
		return nil, err
	}
	// With this HOME, commands read no file of the daemon's account. The .sge_request files of the jobs' accounts are
	// found by the account's number (8.1.9), not by HOME, and can spoil only the jobs of that account.
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

// Name returns the cluster's name.
func (a *Adapter) Name() string { return a.name }

// Diagnosis returns the command that shows the queues if the qmaster answers.
func (a *Adapter) Diagnosis() string { return "qstat -f" }

// SubmitCommand returns the name of the program that submits jobs.
func (a *Adapter) SubmitCommand() string { return "qsub" }

// Capabilities returns the capabilities of this Grid Engine. Until Probe has succeeded, the values are cautious.
func (a *Adapter) Capabilities() adapters.Capabilities {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.site
	c := adapters.Capabilities{
		MaxBulk: s.maxTasks, TwoPhase: true, SharedFS: true, ExcludesHosts: true, Accounting: s.accounting || !a.known,
		Slots: s.slots, MaxCores: s.maxCores, Guarantee: guarantee(a.cfg, s, a.known),
		Settle: settle + s.flushTime(), Lag: s.flushTime() + slack,
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

// settle is the longest time for which a request may wait in the sockets of a qmaster that was stopped and then
// continues. Less than 1 s was measured on 8.1.9; settle is at least sixty times that.
const settle = time.Minute

// slack is added to the flush time, because a network file system shows the growth of a file late: by 3 s or more with
// the usual attribute caching (nfs(5)).
const slack = 10 * time.Second

// unprobedBulk is a bulk that every Grid Engine accepts: max_aj_tasks is 75000 by default
// (sge_conf(5)), and sites lower it.
const unprobedBulk = 1000

// guarantee returns a description of how strong the guarantee of exactly one submission is, and why.
func guarantee(cfg Config, s site, known bool) string {
	var g strings.Builder
	g.WriteString("strong: arrays are submitted held and released once their id is stored; jobs are not rerunnable (-r n)")
	switch {
	case !known:
		g.WriteString("; not probed yet")
	default:
		fmt.Fprintf(&g, "; ends from %s, written up to %s late: a crash of the qmaster loses unwritten ends",
			cfg.accounting(), jjm.HowLong(s.flushTime()))
	}
	if !s.exitCodesHarmless() {
		g.WriteString("; exit codes 99 and 100, which rerun or block a job here, are kept from Grid Engine by the job script")
	}
	return g.String()
}
