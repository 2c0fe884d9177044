package pbs

import "time"

// solitude decides whether each job needs its own qdel. If the server became unreachable after a qdel of several jobs,
// that command may have ended the server, and must not be repeated unchanged. The next qdel commands then name one job
// each, until the server has answered for a while. That time doubles whenever the server is gone again, and is
// forgotten once a qdel of as many jobs has worked. The zero value allows several jobs in a command.
type solitude struct {
	most int           // number of jobs in the largest command after which the server was gone; 0 for none
	rest time.Duration // how long the server must answer before several jobs share a command again
	// waits is set until rest is over; since is when the server first answered again, zero if it has not answered yet.
	waits bool
	since time.Time
}

// gone returns the new state after the server became unreachable after a qdel of n jobs. Several commands that ran at
// the same time double the rest only once.
func (s solitude) gone(n int) solitude {
	s.most = max(s.most, n)
	if s.waits && s.since.IsZero() {
		return s
	}
	return solitude{most: s.most, rest: min(max(2*s.rest, firstRest), lastRest), waits: true}
}

// answered returns the new state after the server answered a listing. Once the rest has begun, an outage does not
// prolong it, because no command of several jobs was sent during the rest.
func (s solitude) answered(now time.Time) solitude {
	switch {
	case !s.waits:
	case s.since.IsZero(), now.Before(s.since): // the clock was set back
		s.since = now
	case now.Sub(s.since) >= s.rest:
		s.waits = false
	}
	return s
}

// worked returns the new state after the server still answered after a qdel of n jobs. If n is at least the size of the
// largest command after which the server was gone, qdel commands of several jobs are no longer suspect.
func (s solitude) worked(n int) solitude {
	if s.waits || n < s.most {
		return s
	}
	return solitude{}
}

// operandsNow returns the largest number of jobs in one qdel. It is called after a listing, so the server answers.
func (a *Adapter) operandsNow() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.alone = a.alone.answered(a.env.Now()); a.alone.waits {
		return 1
	}
	return operandsAtOnce
}

// noteShared records what happened after the sent qdel commands, if one of them named several jobs. err is the error of
// the commands, or of the listing after them.
func (a *Adapter) noteShared(todo []command, sent []bool, err error) {
	most := 0
	for i, c := range todo {
		if i < len(sent) && sent[i] {
			most = max(most, len(c.operands))
		}
	}
	if most < 2 || err != nil && !showsServerGone(err) {
		return
	}
	a.mu.Lock()
	if err == nil {
		a.alone = a.alone.worked(most)
	} else {
		a.alone = a.alone.gone(most)
	}
	rest := a.alone.rest
	a.mu.Unlock()
	if err != nil {
		a.env.Warn("PBS was gone after a qdel of several jobs; until PBS has answered for a while each qdel names one job",
			"cluster", a.name, "jobs", most, "for", rest, "error", err)
	}
}

// showsServerGone reports whether an error says that the server could not be reached, although the host had a reserved
// port for the command.
func showsServerGone(err error) bool {
	text := err.Error()
	return isUnreachable(text) && !saysNoPorts([]byte(text))
}
