// Package pbs runs jobs on OpenPBS, PBS Pro and Torque through their commands.
//
// A bulk is one job array, or one plain job where it has a single member, under
// the name of its tag. It is submitted with a user hold and released by
// Control, so that a submission that was lost never runs. One qstat lists all that
// lives, and answers whether a tag is there; how the others ended is asked for by id,
// once, and remembered as long as listings want it: a history grows without bound.
//
// # Identity
//
// The id of a bulk is its sequence number, "25"; the ids of its jobs are "25[3]"
// or, of a plain job, "25". PBS adds the server's name, which some commands cut
// or leave out, so jjm leaves it away; the bulk's jobs do the same with
// PBS_JOBID. The commands must therefore act on their default server.
//
// # What it promises
//
// Nothing that PBS says is taken further than it goes: an exit status counts
// only in a final state, a listing with any trouble beside it is none, and a
// job is acted upon only after a listing showed it under its tag and owner.
//
// # What it leaves to others
//
// With job_history_enable unset (OpenPBS) or keep_completed 0 (Torque), jobs
// vanish at their end, and only the wrapper's result tells how. Torque's listing always
// has what ended within keep_completed. A batch system
// that runs a job twice under one id does so in spite of "-r n": the wrapper's
// claim is the guard. OpenPBS cannot hold or release single members of an array.
package pbs

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"jjm"
	"jjm/adapters"
)

// Config is the section of a cluster of kind "pbs".
type Config struct {
	// QOS is known to PBS by a resource, see QOSResource. Directives are options
	// of qsub: "-l place=scatter".
	adapters.Common
	// Dialect is "openpbs" (also for PBS Pro) or "torque"; "" = ask the
	// commands.
	Dialect string `toml:"dialect"`
	// QOSResource names the resource by which the site's scheduler knows the
	// quality of service (Maui and Moab: "qos"), of which PBS has none of its
	// own; "" = requests for a QOS are refused.
	QOSResource string `toml:"qos_resource"`
	// Scratch names the site's resource of type size for disk space on the
	// worker; "" = requests for scratch are refused.
	Scratch string `toml:"scratch"`
	// Chunk is added to every chunk (OpenPBS: select) or node (Torque: nodes):
	// "arch=linux:scratch_ok=true".
	Chunk string `toml:"chunk"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config { return Config{Common: adapters.DefaultCommon()} }

// safeBulk is the size of an array that every server takes which was not asked
// yet. The default limit is 10000 (OpenPBS, max_array_size).
const safeBulk = 100

// defaultArray is the limit of servers that name none.
const defaultArray = 10000

// settle is how long after a doubtful submission PBS may still create the job:
// requests that waited for a frozen server vanished with their qsub, and those
// of a killed qsub were there at once (measured on OpenPBS 23.06.06, 400 qsub
// killed at random).
const settle = 30 * time.Second

// Adapter is one PBS complex.
type Adapter struct {
	name   string
	config Config
	env    adapters.Env
	zone   *time.Location // of the times in listings

	mu      sync.Mutex // guards what follows
	dialect dialect
	// noHistory is set where the server says that it keeps no history.
	noHistory bool
	// noWindow is set where it does not tell which jobs ended since a time.
	noWindow bool
	limits   limits
	appetite appetite
	pasts    map[string]*past // by account
}

var (
	_ adapters.Adapter = (*Adapter)(nil)
	_ adapters.Prober  = (*Adapter)(nil)
	_ adapters.Checker = (*Adapter)(nil)
)

// New makes an adapter from its section of the configuration. It runs no
// command.
func New(name string, env adapters.Env, decode func(config any) error) (adapters.Adapter, error) {
	c := DefaultConfig()
	if err := adapters.Settings(name, decode, &c, Config.check); err != nil {
		return nil, err
	}
	env = env.Whole()
	zone, err := c.zone()
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	return &Adapter{
		name: name, config: c, env: env, zone: zone,
		dialect: dialects[c.Dialect], limits: limits{array: safeBulk},
		appetite: newAppetite(), pasts: map[string]*past{},
	}, nil
}

// zone is the time zone in which the commands print times. Unless the site sets
// another it is UTC, where no change to summer time makes a time ambiguous.
func (c *Config) zone() (*time.Location, error) {
	name, set := c.Env["TZ"]
	if !set {
		c.Env = maps.Clone(c.Env)
		if c.Env == nil {
			c.Env = map[string]string{}
		}
		name = "UTC"
		c.Env["TZ"] = name
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "env: TZ: %w", err)
	}
	return zone, nil
}

// check finds settings that cannot work. The errors name the key.
func (c Config) check(name string) error {
	var ps jjm.Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Where: "cluster " + name, Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if _, ok := dialects[c.Dialect]; !ok {
		bad("dialect", `%q: want "openpbs", "torque", or nothing to ask the commands`, c.Dialect)
	}
	for field, text := range map[string]string{"qos_resource": c.QOSResource, "scratch": c.Scratch} {
		if err := oddWord(text); err != nil {
			bad(field, "%v", err)
		}
	}
	if c.QOS != "" && c.QOSResource == "" {
		bad("qos_resource", "want the resource that carries the qos")
	}
	if !chunkText.MatchString(c.Chunk) {
		bad("chunk", "%q: want resources such as arch=linux, with colons between them", c.Chunk)
	}
	return append(c.Common.Check(name, adapters.Rules{Word: oddWord, Directive: oddDirective}), ps...).Err()
}

// Name is the cluster's name in the configuration.
func (a *Adapter) Name() string { return a.name }

// Capabilities says what this complex can do, as far as it was asked.
func (a *Adapter) Capabilities() adapters.Capabilities {
	a.mu.Lock()
	l, off, d, why := a.limits, a.noHistory, a.dialect, a.appetite.why
	a.mu.Unlock()
	c := adapters.Capabilities{
		MaxBulk: a.config.Bulk(l.array), MaxQueued: l.queued, TwoPhase: true, SharedFS: true, Accounting: !off,
		Slots: l.slots, MaxCores: l.cores, MaxMemoryMB: l.memoryMB, Settle: settle,
		Guarantee: guarantee(d, off),
	}
	if why != "" {
		c.Guarantee += "; jobs are listed by id since a listing was too much: " + why
	}
	return c
}

func guarantee(d dialect, noHistory bool) string {
	const held = "strong: jobs are submitted held and found by their name; "
	switch {
	case noHistory && d == torque:
		return held + "keep_completed is 0, so that only the wrapper tells how a job ended"
	case noHistory:
		return held + "job_history_enable is off, so that only the wrapper tells how a job ended"
	case d == torque:
		return held + "ended jobs are known for keep_completed"
	}
	return held + "ended jobs are known for job_history_duration"
}
