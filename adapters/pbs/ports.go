package pbs

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/run"
)

// OpenPBS authenticates each connection from a reserved port of the host, which stays in
// use for a minute afterwards. A host has 512 of them, for all accounts (recorded in
// reserved_ports). qstat makes a connection for each id that it is given.
const (
	portLife = time.Minute
	// maxPorts is the largest number of ports that jjm uses in a minute for what it asks.
	// idPorts of them may be in use after a command with ids; the rest is for listings of
	// everything, which need one each.
	maxPorts = 50
	idPorts  = 35
	// perSecond is the largest number of connections in a second for questions by id.
	perSecond = 5
	// After the host has run out of ports, the limit is halved, but not below leastPorts,
	// for portRest.
	leastPorts = perSecond
	portRest   = 10 * time.Minute
)

// ports is the budget of connections of all accounts of a cluster. It only decides: its
// owner locks it and passes the time. The zero value has used nothing.
type ports struct {
	used []portUse // within the last minute, oldest first
	// less is subtracted from idPorts before the time until.
	less  int
	until time.Time
}

// portUse is a number of connections made by one command.
type portUse struct {
	at time.Time
	n  int
}

// limit returns how many ports may be in use after a command with ids.
func (p *ports) limit(now time.Time) int {
	if now.Before(p.until) {
		return idPorts - p.less
	}
	return idPorts
}

// expire forgets connections whose ports are free again. After the clock was set back,
// connections that lie in the future are moved to now.
func (p *ports) expire(now time.Time) {
	kept := p.used[:0]
	for _, u := range p.used {
		if u.at.After(now) {
			u.at = now
		}
		if now.Sub(u.at) < portLife {
			kept = append(kept, u)
		}
	}
	p.used = kept
}

// note counts the n connections of a command.
func (p *ports) note(now time.Time, n int) {
	p.expire(now)
	p.used = append(p.used, portUse{now, n})
}

// inUse returns the number of ports in use.
func (p *ports) inUse(now time.Time) int {
	p.expire(now)
	sum := 0
	for _, u := range p.used {
		sum += u.n
	}
	return sum
}

// affordable reports whether commands with n connections in all fit into the budget.
func (p *ports) affordable(now time.Time, n int) bool { return p.inUse(now)+n <= p.limit(now) }

// wait returns how long a command with n connections, perSecond at most, has to wait so
// that no second has more than perSecond.
func (p *ports) wait(now time.Time, n int) time.Duration {
	p.expire(now)
	for i := len(p.used) - 1; i >= 0; i-- {
		u := p.used[i]
		if n += u.n; n > perSecond {
			return max(0, time.Second-now.Sub(u.at))
		}
	}
	return 0
}

// ranOut makes the budget smaller for a while: the host had no port left.
func (p *ports) ranOut(now time.Time) {
	p.less = idPorts - max(leastPorts, p.limit(now)/2)
	p.until = now.Add(portRest)
}

// idCost returns the number of connections of commands that ask for n ids, some at once.
func idCost(n, some int) int { return n + (n+some-1)/some }

// connections returns the number of connections that a command makes: one, and one for
// each id that qstat is given; none if it only asks for the version.
func connections(argv []string) int {
	n := 1
	switch {
	case argv[len(argv)-1] == "--version":
		return 0
	case argv[0] != "qstat":
		return n
	}
	for _, word := range argv[1:] {
		if word[0] >= '0' && word[0] <= '9' {
			n++
		}
	}
	return n
}

// saysNoPorts reports whether a command complained that the host has no reserved port
// left. Its exit code is 255, or 0 with a shortened answer.
func saysNoPorts(stderr []byte) bool {
	return bytes.Contains(stderr, []byte("all reserved ports in use"))
}

// run runs a command and counts its connections.
func (a *Adapter) run(ctx context.Context, stdin []byte, argv ...string) (run.Output, error) {
	a.mu.Lock()
	a.ports.note(a.env.Now(), connections(argv))
	a.mu.Unlock()
	return a.runCounted(ctx, stdin, argv)
}

// runCounted runs a command whose connections are counted.
func (a *Adapter) runCounted(ctx context.Context, stdin []byte, argv []string) (run.Output, error) {
	out, err := a.config.Run(ctx, stdin, argv...)
	if !saysNoPorts(out.Stderr) {
		return out, err
	}
	a.mu.Lock()
	a.ports.ranOut(a.env.Now())
	limit := a.ports.limit(a.env.Now())
	a.mu.Unlock()
	a.env.Warn("the host has no reserved port left for PBS; jobs are asked for by id less often", "cluster", a.name,
		"command", argv[0], "ports in a minute", limit, "for", portRest)
	return out, err
}

// askIDs runs a command with ids once the budget allows it. If the budget is spent, the
// error is marked by adapters.NotAsked.
func (a *Adapter) askIDs(ctx context.Context, argv []string) (run.Output, error) {
	n := connections(argv)
	for {
		now := a.env.Now()
		a.mu.Lock()
		used, limit, wait := a.ports.inUse(now), a.ports.limit(now), a.ports.wait(now, n)
		if used+n <= limit && wait == 0 {
			a.ports.note(now, n)
		}
		a.mu.Unlock()
		switch {
		case used+n > limit:
			return run.Output{}, adapters.NotAsked(jjm.Errorf(jjm.Busy,
				"%s with %s is not sent before the next cycle: %d of %d reserved ports of this minute are used",
				argv[0], jjm.Count(n-1, "id"), used, limit))
		case wait == 0:
			return a.runCounted(ctx, nil, argv)
		}
		if err := a.pause(ctx, wait); err != nil {
			return run.Output{}, adapters.NotAsked(jjm.Errorf(jjm.Busy, "%s: %w", argv[0], err))
		}
	}
}

// mayAskFor reports whether the budget allows questions for n ids.
func (a *Adapter) mayAskFor(n int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ports.affordable(a.env.Now(), idCost(n, a.chunk.n))
}

// everAffordable reports whether the budget, when nothing of it is used, allows questions
// for n ids.
func (a *Adapter) everAffordable(n int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return idCost(n, a.chunk.n)+1 <= a.ports.limit(a.env.Now())
}

// reserve returns an error marked by adapters.NotAsked unless the budget now allows questions
// for n ids.
func (a *Adapter) reserve(n int) error {
	if a.mayAskFor(n) {
		return nil
	}
	return adapters.NotAsked(jjm.Errorf(jjm.Busy,
		"%s are not asked for before the next cycle: too many reserved ports of this minute are used", jjm.Count(n, "id")))
}

// pauseFor waits.
func pauseFor(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a reserved port: %w", jjm.Plainly(context.Cause(ctx)))
	}
}
