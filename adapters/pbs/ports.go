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

// OpenPBS authenticates each connection by a reserved port of the host, which stays in use for a minute afterwards. A
// host has 512 reserved ports, for all accounts (recorded in reserved_ports). qstat makes a connection for each id on
// its command line.
const (
	portLife = time.Minute
	// maxPorts is the largest number of ports that jjm uses in a minute, apart from cancels. Lookups by id and
	// submissions stop at idPorts; the remaining ports are for listings of everything, which need one port each, and
	// for the commands after a submission.
	maxPorts = 50
	idPorts  = 35
	// cancelPorts is the largest number of ports in use after a qdel or a listing for a cancel. 100 members of an array
	// that form no ranges need 100 qdel, and users expect a cancel to take seconds. confirmPorts of these ports are
	// reserved for the listings. The ports of cancels do not count towards maxPorts, so that many cancels hold up no
	// listing and no submission. Both limits together leave three fifths of the host's ports to other programs.
	cancelPorts  = 150
	confirmPorts = 10
	// perSecond is the largest number of connections in a second; qdelsPerSecond is that number for cancels.
	perSecond      = 5
	qdelsPerSecond = 8
	// If the host has run out of ports, the limit for lookups by id is halved for the time portRest, but not below
	// leastPorts. The limit for listings shrinks by the same amount, the limit for submissions by half of it. The limit
	// for cancels shrinks in proportion, but not below leastCancelPorts. leastCancelPorts is more than all other commands
	// may then use, so there is always room for some cancels.
	leastPorts       = perSecond
	leastCancelPorts = maxPorts
	portRest         = 10 * time.Minute
	// If more than fewPorts are in use, listings of everything begin at least listingPause apart. They then take at
	// most a third of maxPorts, however many accounts there are. Accounts that need a listing meanwhile share one
	// listing.
	listingPause = 4 * time.Second
	fewPorts     = 20
)

// purpose classifies commands. It determines how much of the budget a command may use.
type purpose uint8

const (
	byIDs      purpose = iota // a lookup by id
	submission                // qsub
	ordinary                  // a listing of all jobs, or any command of no other purpose
	cancelling                // qdel
	confirming                // a listing that confirms a cancel
)

// followers is the number of connections after the qsub of an array: qalter, and a lookup by id.
const followers = 3

// followUp is the part of the budget that the submission of an array reserves for the commands after its qsub. Without
// that part the array would exist, but the outcome of the submission would be unknown. The adapter's lock guards it.
type followUp struct{ left int }

type followUpKey struct{}

// followUpOf returns the followUp of ctx, nil if there is none.
func followUpOf(ctx context.Context) *followUp {
	f, _ := ctx.Value(followUpKey{}).(*followUp)
	return f
}

// keepRoom returns a context in which a qsub reserves room in the budget for the commands after it. done returns unused
// room to the budget.
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

// ports is the budget of connections for all accounts of a cluster. Its methods only compute: the caller holds the lock
// and passes the time. The zero value has used no port.
type ports struct {
	used []portUse // uses within the last minute, oldest first
	kept int       // number of connections reserved for submissions of arrays
	// less is how much smaller the limit for lookups by id is before the time until. It last grew at the time shrunk.
	less          int
	until, shrunk time.Time
}

// portUse is the number of connections of one command, and their time. cancels is set for a qdel and for a listing that
// confirms it.
type portUse struct {
	at      time.Time
	n       int
	cancels bool
}

// cancels reports whether a command is a qdel or a listing that confirms it.
func (why purpose) cancels() bool { return why == cancelling || why == confirming }

// limit returns how many ports may be in use, including the new ones, after a lookup of several ids.
func (p *ports) limit(now time.Time) int { return p.most(now, byIDs) }

// most returns how many ports may be in use after a command of the given purpose. The number is lower for a while after
// the host ran out of ports (see less).
func (p *ports) most(now time.Time, why purpose) int {
	less := 0
	if now.Before(p.until) {
		less = p.less
	}
	forCancels := cancelPorts - less*(cancelPorts-leastCancelPorts)/(idPorts-leastPorts)
	switch why {
	case cancelling:
		return forCancels - confirmPorts
	case confirming:
		return forCancels
	case ordinary:
		return maxPorts - less
	case submission: // no other command does its work, so only half of less is subtracted
		return idPorts - less/2
	}
	return idPorts - less
}

// expire forgets connections whose ports are free again. After the clock was set back, the times of connections in the
// future are set to now.
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
func (p *ports) note(now time.Time, why purpose, n int) {
	p.expire(now)
	p.used = append(p.used, portUse{now, n, why.cancels()})
}

// keep reserves room for n more connections of a submission; a negative n returns room to the budget.
func (p *ports) keep(f *followUp, n int) {
	f.left += n
	p.kept += n
}

// inUse returns the number of ports in use or reserved that count towards the limit of a command. For a cancel all
// ports count, for any other command only the ports that no cancel uses.
func (p *ports) inUse(now time.Time, why purpose) int {
	p.expire(now)
	sum := p.kept
	for _, u := range p.used {
		if why.cancels() || !u.cancels {
			sum += u.n
		}
	}
	return sum
}

// affordable reports whether lookups by id with n connections in total fit into the budget.
func (p *ports) affordable(now time.Time, n int) bool { return p.inUse(now, byIDs)+n <= p.limit(now) }

// wait returns how long a command with n connections has to wait to keep each second within the number of connections
// that its purpose allows.
func (p *ports) wait(now time.Time, why purpose, n int) time.Duration {
	p.expire(now)
	most := perSecond
	if why.cancels() {
		most = qdelsPerSecond
	}
	for i := len(p.used) - 1; i >= 0; i-- {
		u := p.used[i]
		if u.cancels && !why.cancels() {
			continue
		}
		if n += u.n; n > most {
			return max(0, time.Second-now.Sub(u.at))
		}
	}
	return 0
}

// take counts a command with n connections if the command may be sent now. If the command must wait, take returns the
// time; if the budget has no room for the command, room is false. f is the reserved room: the command may use it, or,
// if the command is the qsub of an array, reserves it for the commands after the qsub. f is nil if there is none.
func (p *ports) take(now time.Time, why purpose, n int, f *followUp) (wait time.Duration, room bool) {
	leads := f != nil && why == submission
	follows := f != nil && f.left >= n
	needs := n
	if leads {
		needs += followers
	}
	if !follows && p.inUse(now, why)+needs > p.most(now, why) {
		return 0, false
	}
	if wait = p.wait(now, why, n); wait > 0 {
		return wait, true
	}
	p.note(now, why, n)
	switch {
	case leads:
		p.keep(f, followers)
	case follows:
		p.keep(f, -n)
	}
	return 0, true
}

// ranOut makes the budget smaller for the time portRest, because a command that was sent at the time sent found no free
// port on the host. If the command was sent before the budget last became smaller, ranOut changes nothing: up to four
// qdel run at the same time, and all of them can meet the same shortage.
func (p *ports) ranOut(sent, now time.Time) {
	if now.Before(p.until) && !sent.After(p.shrunk) && !p.shrunk.After(now) {
		return
	}
	p.shrunk = now
	p.less = idPorts - max(leastPorts, p.limit(now)/2)
	p.until = now.Add(portRest)
}

// idCost returns the number of connections of the commands that look up n ids, with at most some ids in each command.
func idCost(n, some int) int { return n + (n+some-1)/some }

// connections returns the number of connections that a command makes: one, and for qstat another for each id. It
// returns 0 for a command that only prints the version.
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

// run runs a command when the budget allows it; every command goes through run. If the budget is spent, or ctx ends
// first, the command is not started, and the error is marked by adapters.NotAsked and adapters.NotStarted.
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
		used, most := a.ports.inUse(now, why), a.ports.most(now, why)
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

// notSent returns the error for a command that was not started.
func notSent(format string, args ...any) error {
	return adapters.NotStarted(adapters.NotAsked(jjm.Errorf(jjm.Busy, format, args...)))
}

// described returns the name of a command and the number of ids on its command line, for messages.
func described(argv []string) string {
	if n := connections(argv); n > 1 {
		return argv[0] + " with " + jjm.Count(n-1, "id")
	}
	return argv[0]
}

// runCounted runs a command that the budget has already counted.
func (a *Adapter) runCounted(ctx context.Context, stdin []byte, argv []string) (run.Output, error) {
	sent := a.pace.now()
	out, err := a.config.Run(ctx, stdin, argv...)
	if !saysNoPorts(out.Stderr) {
		return out, err
	}
	a.mu.Lock()
	a.ports.ranOut(sent, a.pace.now())
	limit := a.ports.limit(a.pace.now())
	a.mu.Unlock()
	a.env.Warn("the host has no reserved port left for PBS; jjm runs fewer commands of PBS for a while", "cluster", a.name,
		"command", argv[0], "ports in a minute", limit, "for", portRest)
	return out, err
}

// mayAskFor reports whether the budget allows a lookup of n ids now.
func (a *Adapter) mayAskFor(n int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ports.affordable(a.pace.now(), idCost(n, a.chunk.n))
}

// keepsRoomFor reports whether ctx has room reserved for lookups of n ids.
func (a *Adapter) keepsRoomFor(ctx context.Context, n int) bool {
	f := followUpOf(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	return f != nil && f.left >= idCost(n, a.chunk.n)
}

// everAffordable reports whether a budget without any port in use would allow a lookup of n ids.
func (a *Adapter) everAffordable(n int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return idCost(n, a.chunk.n)+1 <= a.ports.limit(a.pace.now())
}

// reserve returns an error marked by adapters.NotAsked if the budget does not allow a lookup of n ids now.
func (a *Adapter) reserve(n int) error {
	if a.mayAskFor(n) {
		return nil
	}
	return adapters.NotAsked(jjm.Errorf(jjm.Busy,
		"%s are not asked for before the next cycle: too many reserved ports of this minute are used", jjm.Count(n, "id")))
}

// pace holds the clock that measures how long ports are in use, and the function that waits; tests replace both.
type pace struct {
	now   func() time.Time
	pause func(ctx context.Context, d time.Duration) error
}

// pauseFor waits for d. It returns an error if ctx ends first.
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
