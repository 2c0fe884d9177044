// Package system is the floor of package cluster: one batch system of the site, with its settings, the accounts as
// which its commands run, the deadlines of its commands, and the check that an answer is about the account's own jobs.
package system

import (
	"context"
	"errors"
	"time"

	"jjm/adapters"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// ErrKilled is the error for a bulk that was not submitted because a member is to be killed.
var ErrKilled = errors.New("a member of the bulk is to be killed")

// System is one batch system of the site. Its exported fields are set once.
type System struct {
	Name    string // in the configuration
	Kind    string
	Config  base.ClusterConfig
	Adapter adapters.Adapter

	b     *base.Base
	s     *state.State
	areas *areas.Areas
}

// New returns the System of a configured cluster.
func New(of base.Cluster, s *state.State, as *areas.Areas) *System {
	return &System{Name: of.Adapter.Name(), Kind: of.Kind, Config: of.Config, Adapter: of.Adapter, b: s.B, s: s, areas: as}
}

// Lanes returns a new Lanes, which runs the commands of each account one after another.
func (sys *System) Lanes() *fair.Lanes {
	return &fair.Lanes{OneAccount: sys.b.Deps.Account != nil, Now: sys.b.Now}
}

// Caps returns the adapter's capabilities. Callers must not keep them, because a probe may change them at any time.
func (sys *System) Caps() adapters.Capabilities { return sys.Adapter.Capabilities() }

// MaxBulk returns the largest number of jobs with a request in one submission. It is at least 1.
func (sys *System) MaxBulk(r jjm.Request) int {
	most := sys.Caps().MaxBulk
	if limiter, ok := sys.Adapter.(adapters.BulkLimiter); ok {
		if n := limiter.MaxBulkOf(r); n > 0 {
			most = min(most, n)
		}
	}
	return max(most, 1)
}

// Account returns the account that runs an owner's jobs: the service account if there is one, else the owner.
func (sys *System) Account(owner jjm.Owner) jjm.Owner {
	if a := sys.b.Deps.Account; a != nil {
		return *a
	}
	return owner
}

// patience is the deadline of one call of an adapter, in multiples of the deadline of one command. It is more than 1
// because a call waits for its turn and may run a command twice.
const patience = 3

// Command returns a context for one call of the adapter on behalf of an account, with the deadline CallTime. The
// adapter itself limits each of its commands.
func (sys *System) Command(ctx context.Context, account jjm.Owner) (context.Context, context.CancelFunc) {
	return context.WithTimeout(sys.areas.As(ctx, account), sys.CallTime())
}

// CommandTime returns the deadline of one command, and for people the setting that decides it.
func (sys *System) CommandTime() (limit time.Duration, setting string) {
	if own := sys.Config.Command.D(); own > 0 {
		return own, "command of cluster " + sys.Name
	}
	return sys.b.Conf().Command.D(), "engine.command"
}

// CallTime returns the longest time that one call of the adapter may take: patience times the deadline of one command.
func (sys *System) CallTime() time.Duration {
	limit, _ := sys.CommandTime()
	return patience * limit
}

// Hints returns the channel on which the batch system signals changes, nil if it signals none.
func (sys *System) Hints() <-chan struct{} {
	if w, ok := sys.Adapter.(adapters.Watcher); ok {
		return w.Changed()
	}
	return nil
}

// Diagnosis returns the command with which a person finds out whether the batch system runs, "" if none is known.
func (sys *System) Diagnosis() string {
	if d, ok := sys.Adapter.(adapters.Diagnoser); ok {
		return d.Diagnosis()
	}
	return ""
}

// SubmitCommand returns the program that submits jobs, for people, or "that submits" if none is known.
func (sys *System) SubmitCommand() string {
	if s, ok := sys.Adapter.(adapters.SubmitNamer); ok && s.SubmitCommand() != "" {
		return s.SubmitCommand()
	}
	return "that submits"
}

// ProbeEvery is the time between two probes, which ask the batch system for its limits; only its administrator changes
// the limits. ProbeAgain is the time between two probes while the batch system does not answer. It is shorter, because
// until an answer comes jjm assumes only the safest limits. A cluster without jobs is listed at the same intervals, to
// learn whether it answers.
const (
	ProbeEvery = 5 * time.Minute
	ProbeAgain = 30 * time.Second
)

// Polling returns the settings that decide how often the cluster is listed.
func (sys *System) Polling() plan.Polling {
	p := plan.Polling{Poll: sys.Config.Poll.D(), Max: sys.Config.PollMax.D(), Hints: sys.Hints() != nil}
	if p.Poll == 0 {
		p.Poll = sys.b.Conf().Poll.D()
	}
	if p.Max == 0 {
		p.Max = sys.b.Conf().PollMax.D()
	}
	return p
}

// Deadline is the end of a wait. It is stored as the start and the length of the wait, so that setting the clock back
// does not prolong the wait.
type Deadline struct {
	Set  time.Time
	Wait time.Duration
}

// Left returns how long there is still to wait.
func (d Deadline) Left(now time.Time) time.Duration {
	gone := now.Sub(d.Set)
	if gone < 0 {
		return 0
	}
	return max(d.Wait-gone, 0)
}
