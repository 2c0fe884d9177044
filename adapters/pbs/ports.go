package pbs

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// OpenPBS authenticates each connection from a reserved port of the host, which stays in
// use for a minute afterwards. A host has 512 of them, for all accounts (recorded in
// reserved_ports). qstat makes a connection for each id that it is given.
const (
	portLife = time.Minute
	// maxPorts is the largest number of ports that jjm uses in a minute, apart from cancels.
	// Questions by id and submissions stop at idPorts of them; the rest is for listings of
	// everything, which need one each, and for what follows a submission.
	maxPorts = 50
	idPorts  = 35
	// cancelPorts is the largest number of ports in use after a qdel or a listing of a
	// cancel. 100 scattered members of an array need 100 qdel, and users expect a cancel to
	// take seconds. It leaves more than two thirds of the host's ports to others. Of these,
	// confirmPorts are kept for the listings.
	cancelPorts  = 150
	confirmPorts = 10
	// perSecond is the largest number of connections in a second, qdelsPerSecond that of
	// cancels.
	perSecond      = 5
	qdelsPerSecond = 8
	// After the host has run out of ports, the limit for questions by id is halved, but not
	// below leastPorts, for portRest. The limits for the other commands shrink with it.
	leastPorts = perSecond
	portRest   = 10 * time.Minute
	// Listings of everything begin at least listingPause apart while more than fewPorts are
	// in use, so that they take at most a third of maxPorts however many accounts there are.
	// Accounts that ask meanwhile share one.
	listingPause = 4 * time.Second
	fewPorts     = 20
)

// purpose classifies commands: it decides how much of the budget a command may use.
type purpose uint8

const (
	byIDs      purpose = iota // a question by id
	submission                // qsub
	ordinary                  // a listing of everything, and every other command
	cancelling                // qdel
	confirming                // a listing that a cancel needs
)

// followers is the number of connections that follow the qsub of an array: qalter, and a
// question by id.
const followers = 3

// followUp is the room that the submission of an array keeps in the budget for the commands that follow its qsub.
// Without the room the array would exist, and the submission would be in doubt. The adapter's lock guards it.
type followUp struct{ left int }

type followUpKey struct{}

// followUpOf returns the room that was kept for the commands of ctx, nil if there is none.
func followUpOf(ctx context.Context) *followUp {
	f, _ := ctx.Value(followUpKey{}).(*followUp)
	return f
}

// keepRoom returns a context in which a qsub keeps room for the commands that follow it. done gives unused room back.
func (a *Adapter) keepRoom(ctx context.Context) (_ context.Context, done func()) {
	f := &followUp{}
	return context.WithValue(ctx, followUpKey{}, f), func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.ports.keep(f, -f.left)
	}
}

// purposeOf returns the purpose of a command.
func purposeOf(argv []string) purpose {
	switch {
	case argv[0] == "qsub":
		return submission
	case argv[0] == "qdel":
		return cancelling
	case connections(argv) > 1:
		return byIDs
	}
	return ordinary
}

// ports is the budget of connections of all accounts of a cluster. It only decides: its
// owner locks it and passes the time. The zero value has used nothing.
type ports struct {
	used []portUse // within the last minute, oldest first
	kept int       // connections that submissions of arrays still need
	// less is subtracted from idPorts and maxPorts before the time until.
	less  int
	until time.Time
}

// portUse counts the connections that one command made, and when.
type portUse struct {
	at time.Time
	n  int
}

// limit returns how many ports may be in use after a command that names several ids.
func (p *ports) limit(now time.Time) int { return p.most(now, byIDs) }

// most returns how many ports may be in use after a command of a purpose. It is less for a while after PBS ran out of
// ports (see less), except for cancels and their confirmation.
func (p *ports) most(now time.Time, why purpose) int {
	switch why {
	case cancelling:
		return cancelPorts - confirmPorts
	case confirming:
		return cancelPorts
	}
	most, less := idPorts, 0
	if now.Before(p.until) {
		less = p.less
	}
	switch why {
	case ordinary:
		most = maxPorts
	case submission: // no other command does its work, so only half of less is subtracted
		less /= 2
	}
	return most - less
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

// keep keeps room for n more connections of a submission; a negative n gives room back.
func (p *ports) keep(f *followUp, n int) {
	f.left += n
	p.kept += n
}

// inUse returns the number of ports that are in use or kept.
func (p *ports) inUse(now time.Time) int {
	p.expire(now)
	sum := p.kept
	for _, u := range p.used {
		sum += u.n
	}
	return sum
}

// affordable reports whether commands with n connections in all fit into the budget.
func (p *ports) affordable(now time.Time, n int) bool { return p.inUse(now)+n <= p.limit(now) }

// wait returns how long a command with n connections has to wait so that no second has more
// than the most connections that its purpose allows.
func (p *ports) wait(now time.Time, why purpose, n int) time.Duration {
	p.expire(now)
	most := perSecond
	if why == cancelling || why == confirming {
		most = qdelsPerSecond
	}
	for i := len(p.used) - 1; i >= 0; i-- {
		u := p.used[i]
		if n += u.n; n > most {
			return max(0, time.Second-now.Sub(u.at))
		}
	}
	return 0
}

// take counts a command with n connections if it may be sent now. Otherwise it returns how
// long the command has to wait, or false if the budget has no room for the command. f is the room that is kept for
// the command, or that a qsub keeps for the commands that follow it; nil if there is none.
func (p *ports) take(now time.Time, why purpose, n int, f *followUp) (wait time.Duration, room bool) {
	leads := f != nil && why == submission
	follows := f != nil && f.left >= n
	needs := n
	if leads {
		needs += followers
	}
	if !follows && p.inUse(now)+needs > p.most(now, why) {
		return 0, false
	}
	if wait = p.wait(now, why, n); wait > 0 {
		return wait, true
	}
	p.note(now, n)
	switch {
	case leads:
		p.keep(f, followers)
	case follows:
		p.keep(f, -n)
	}
	return 0, true
}

// ranOut makes the budget smaller for portRest, after the host had no port left.
func (p *ports) ranOut(now time.Time) {
	p.less = idPorts - max(leastPorts, p.limit(now)/2)
	p.until = now.Add(portRest)
}

// idCost returns the number of connections of the commands that ask for n ids, if each command names some ids at most.
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

// run runs a command once the budget allows it; every command goes through it. If the budget
// is spent, or ctx ends before, the command is not started, and the error is marked by
// adapters.NotAsked and adapters.NotStarted.
func (a *Adapter) run(ctx context.Context, stdin []byte, argv ...string) (run.Output, error) {
	if err := a.admit(ctx, purposeOf(argv), argv); err != nil {
		return run.Output{}, err
	}
	return a.runCounted(ctx, stdin, argv)
}

// admit waits until a command may be sent, and counts its connections. Torque's commands use no
// reserved ports, because trqauthd authenticates them.
func (a *Adapter) admit(ctx context.Context, why purpose, argv []string) error {
	if a.knownDialect() == torque {
		return nil
	}
	n, kept := connections(argv), followUpOf(ctx)
	for n > 0 {
		now := a.pace.now()
		a.mu.Lock()
		wait, room := a.ports.take(now, why, n, kept)
		used, most := a.ports.inUse(now), a.ports.most(now, why)
		a.mu.Unlock()
		switch {
		case !room:
			return notSent("%s is not sent before the next cycle: %d of %d reserved ports of this minute are used",
				described(argv), used, most)
		case wait == 0:
			return nil
		}
		if err := a.pace.pause(ctx, wait); err != nil {
			return notSent("%s: %w", argv[0], err)
		}
	}
	return nil
}

// notSent returns the error of a command that was not started.
func notSent(format string, args ...any) error {
	return adapters.NotStarted(adapters.NotAsked(jjm.Errorf(jjm.Busy, format, args...)))
}

// described returns the name of a command, and the number of ids that it asks for.
func described(argv []string) string {
	if n := connections(argv); n > 1 {
		return argv[0] + " with " + jjm.Count(n-1, "id")
	}
	return argv[0]
}

// runCounted runs a command whose connections are counted.
func (a *Adapter) runCounted(ctx context.Context, stdin []byte, argv []string) (run.Output, error) {
	out, err := a.config.Run(ctx, stdin, argv...)
	if !saysNoPorts(out.Stderr) {
		return out, err
	}
	a.mu.Lock()
	a.ports.ranOut(a.pace.now())
	limit := a.ports.limit(a.pace.now())
	a.mu.Unlock()
	a.env.Warn("the host has no reserved port left for PBS; jobs are asked for by id less often", "cluster", a.name,
		"command", argv[0], "ports in a minute", limit, "for", portRest)
	return out, err
}

// mayAskFor reports whether the budget allows questions for n ids.
func (a *Adapter) mayAskFor(n int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ports.affordable(a.pace.now(), idCost(n, a.chunk.n))
}

// keepsRoomFor reports whether room is kept in ctx for questions for n ids.
func (a *Adapter) keepsRoomFor(ctx context.Context, n int) bool {
	f := followUpOf(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	return f != nil && f.left >= idCost(n, a.chunk.n)
}

// everAffordable reports whether the budget, when nothing of it is used, allows questions
// for n ids.
func (a *Adapter) everAffordable(n int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return idCost(n, a.chunk.n)+1 <= a.ports.limit(a.pace.now())
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

// pace is the time by which ports become free, and how to wait for it; tests replace it.
type pace struct {
	now   func() time.Time
	pause func(ctx context.Context, d time.Duration) error
}

// pauseFor waits for d, or returns an error if ctx ends before.
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
