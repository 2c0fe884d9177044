// Package pbs is the adapter for OpenPBS, PBS Pro and Torque. It uses their commands.
//
// A bulk is one job array, or one plain job if the bulk has a single member. The name of that job is the tag. Submit
// submits it with a user hold, and Control releases it, so a submission whose answer was lost never runs. One qstat
// lists all living jobs, and shows whether a tag is present. The adapter looks up by id how the other jobs ended, only
// once, and keeps their ends in memory as long as listings need them, because the history grows without bound.
//
// # Identity
//
// The id of a bulk is its sequence number, "25"; the ids of its jobs are "25[3]" or, for a plain job, "25". PBS adds
// the server's name, which some commands cut or leave out. jjm therefore drops the name, and the script of a job drops
// it from PBS_JOBID. As ids without a server's name mean the default server, the commands must use the site's server as
// their default.
//
// # What it promises
//
// The adapter trusts no answer of PBS beyond the cases in which the answer is known to be right: an exit status counts
// only in a final state, a listing with any complaint is an error, and the adapter acts on a job only after a listing
// showed the job with its tag and owner.
//
// # What it leaves to others
//
// Retries, ambiguous outcomes and missing jobs are left to the callers, as in every adapter. With job_history_enable
// unset (OpenPBS) or keep_completed 0 (Torque) jobs vanish at their end, and only the wrapper's result says how they
// ended. If the batch system runs a job twice under one id in spite of "-r n", the wrapper's claim prevents the second
// run. OpenPBS cannot hold or release single members of an array.
package pbs

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Config is the section of a cluster of kind "pbs".
type Config struct {
	// Common holds the settings of all adapters. Its QOS is passed as the resource QOSResource; its Directives are
	// options of qsub, such as "-l place=scatter".
	adapters.Common
	// Dialect is "openpbs" (also for PBS Pro) or "torque"; if it is "", the adapter finds the dialect with a command.
	Dialect string `toml:"dialect"`
	// QOSResource is the resource that the site's scheduler uses for the quality of service, because PBS itself has no
	// such setting (Maui and Moab: "qos"). If it is "", requests with a QOS are rejected.
	QOSResource string `toml:"qos_resource"`
	// Scratch is the site's resource of type size for disk space on the worker. If it is "", requests with scratch
	// space are rejected.
	Scratch string `toml:"scratch"`
	// Chunk is added to every chunk (OpenPBS: select) or node (Torque: nodes):
	// "arch=linux:scratch_ok=true".
	Chunk string `toml:"chunk"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config { return Config{Common: adapters.DefaultCommon()} }

// safeBulk is the size of an array that every server accepts; it is used until the server's limits are known. The
// default limit is 10000 (OpenPBS, max_array_size).
const safeBulk = 100

// defaultArray is the largest array of a server that reports no limit.
const defaultArray = 10000

// settle is how long after a submission with an unknown outcome PBS may still create the job. In measurements, requests
// that waited for a frozen server vanished with their qsub, and the jobs of a killed qsub existed immediately (OpenPBS
// 23.06.06, 400 qsub killed at random); 30 s is a margin.
const settle = 30 * time.Second

// Adapter submits to one PBS complex and reports its jobs.
type Adapter struct {
	name   string
	config Config
	env    adapters.Env
	zone   *time.Location // time zone of the times in listings
	pace   pace           // clock and pauses for the budget of ports

	mu      sync.Mutex // guards the fields below
	dialect dialect
	// noHistory is set if the server says that it keeps no history.
	noHistory bool
	// noEndedSince is set if the server cannot list the jobs that ended after a given time.
	noEndedSince bool
	// reruns is the reason why the server still allows reruns of arrays; "" if reruns are forbidden.
	reruns   string
	alone    solitude
	limits   limits
	sizes    map[listing]listingSize
	chunk    chunkSize
	ports    ports
	lines    map[string]*line   // callers that wait for a listing, by the command of the listing
	memories map[string]*memory // memories by account
}

var (
	_ adapters.Adapter = (*Adapter)(nil)
	_ adapters.Prober  = (*Adapter)(nil)
	_ adapters.Checker = (*Adapter)(nil)
)

// New returns an adapter; it is the constructor for adapters.Registry. It runs no command.
func New(name string, env adapters.Env, decode func(config any) error) (adapters.Adapter, error) {
	c := DefaultConfig()
	if err := adapters.Settings(name, env, decode, &c); err != nil {
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
		pace: pace{env.Now, pauseFor}, sizes: map[listing]listingSize{}, chunk: chunkSize{n: maxIDs},
		lines: map[string]*line{}, memories: map[string]*memory{},
	}, nil
}

// zone returns the time zone in which the commands print times. The default is UTC, in which daylight saving makes no
// time ambiguous; the site may set another zone.
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
	return time.LoadLocation(name)
}

// Check implements adapters.Checked.
func (c Config) Check(name string, _ adapters.Env) jjm.Problems {
	var ps jjm.Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Where: "cluster " + name, Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if _, ok := dialects[c.Dialect]; !ok {
		bad("dialect", `%q: want "openpbs", "torque", or nothing to ask the commands`, c.Dialect)
	}
	if _, err := c.zone(); err != nil {
		bad("env.TZ", "%v: want a name such as Europe/Berlin", err)
	}
	for field, text := range map[string]string{"qos_resource": c.QOSResource, "scratch": c.Scratch} {
		if err := checkWord(text); err != nil {
			bad(field, "%v", err)
		}
	}
	if c.QOS != "" && c.QOSResource == "" {
		bad("qos_resource", "want the resource that carries the qos")
	}
	if !chunkText.MatchString(c.Chunk) {
		bad("chunk", "%q: want resources such as arch=linux, with colons between them", c.Chunk)
	}
	return append(c.Common.Check(name, adapters.Rules{Word: checkWord, Directive: checkDirective}), ps...)
}

// Name returns the cluster's name in the configuration.
func (a *Adapter) Name() string { return a.name }

// Diagnosis returns the command that shows the state of the server.
func (a *Adapter) Diagnosis() string { return "qstat -B" }

// SubmitCommand returns the name of the program that submits jobs.
func (a *Adapter) SubmitCommand() string { return "qsub" }

// Capabilities returns the capabilities of this complex. Facts that were not yet probed have safe defaults.
func (a *Adapter) Capabilities() adapters.Capabilities {
	a.mu.Lock()
	l, off, d, why, reruns := a.limits, a.noHistory, a.dialect, a.listedByID(), a.reruns
	a.mu.Unlock()
	c := adapters.Capabilities{
		MaxBulk: a.config.Bulk(l.array), MaxQueued: l.queued, TwoPhase: true, SharedFS: true, Accounting: !off,
		Slots: l.slots, MaxCores: l.cores, MaxMemoryMB: l.memoryMB, Settle: settle,
		Guarantee: guarantee(d, off),
	}
	if why != "" {
		c.Guarantee += "; jobs are listed by id, because a listing of all was too large: " + why
	}
	if reruns != "" {
		c.Guarantee += "; only the wrapper's claim prevents second runs in arrays, because qalter -r n was refused: " + reruns
	}
	return c
}

// guarantee returns a description of how strong the guarantee of exactly one submission is, and why.
func guarantee(d dialect, noHistory bool) string {
	const held = "strong: jobs are submitted held and found by their name; "
	switch {
	case noHistory && d == torque:
		return held + "keep_completed is 0, so that only the wrapper reports how a job ended"
	case noHistory:
		return held + "job_history_enable is off, so that only the wrapper reports how a job ended"
	case d == torque:
		return held + "ended jobs are known for keep_completed"
	}
	return held + "ended jobs are known for job_history_duration"
}
