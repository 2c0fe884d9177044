package idealize

import "time"

// Ceiling is a limit on commands, named by its setting.
type Ceiling string

// The limits on commands.
const (
	Parallel  Ceiling = "parallel_commands"
	PerMinute Ceiling = "commands_per_minute"
)

// Line describes what prevents the next submission in an account from starting.
type Line struct {
	// Full is the reached limit, "" if a submission can start now.
	Full Ceiling
	// Used is the number of running calls, or of the commands started within the last minute. Setting is the value of
	// the setting. Kept is the part of it that is reserved for cancel, hold and release. If Own is set, Used is about the
	// account alone, which may use half of the setting.
	Used, Setting, Kept int
	Own                 bool
	// Waits is set if a submission in the account waits for its turn.
	Waits bool
	// Since is when that submission began to wait; if none waits, when the limit was reached; zero if that is unknown.
	// Until is when the next command may start, zero if it must wait for the end of another command.
	Since, Until time.Time
}

// of returns the Line of an account.
func (t *turns) of(account int) Line {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(time.Now())
	w := &waiter{account: account, verb: Submit}
	l := t.fullFor(w)
	for _, o := range t.plain {
		if l.Full != "" && o.account == account && o.verb == Submit {
			l.Waits, l.Since = true, o.since
			break
		}
	}
	return l
}

// fullFor returns the limit that prevents a new call from starting, with its numbers. The caller holds the lock.
func (t *turns) fullFor(w *waiter) Line {
	at := t.expires(w)
	switch {
	case !t.room(w):
		return Line{Full: Parallel, Used: t.placesUsed, Setting: t.places, Since: t.placesFull,
			Kept: t.places - t.available(t.places, 1, false)}
	case w.account != theDaemon && t.placesOf[w.account] >= accountShare(t.places):
		return Line{Full: Parallel, Used: t.placesOf[w.account], Setting: t.places, Own: true}
	case at < 0:
		return Line{}
	}
	l := Line{Full: PerMinute, Used: len(t.started), Setting: t.ceiling,
		Kept:  t.ceiling - t.available(t.ceiling, t.ceiling/10, false),
		Since: t.started[len(t.started)-1].at, Until: t.started[at].at.Add(minute)}
	if t.excess(w, theDaemon) < 0 {
		l.Own, l.Kept, l.Used = true, 0, t.excess(w, w.account)+accountShare(t.ceiling)
	}
	return l
}
