package why

import "jjm/internal/jjm"

// Own holds the facts that belong to a single local job: see Facts.
type Own struct {
	Missing   jjm.Time
	Unjudged  Cause
	CancelErr Cause
}

// Judge finds the causes of the unfinished local jobs of one grid job at the time Now.
type Judge struct {
	Now jjm.Time
	// Own returns the facts that belong to l alone, nil if there are none. Own is nil if no local job has such facts.
	Own func(l *jjm.LocalJob) *Own
	// Of returns the cause of l. The code and the text depend only on own and on what alike compares.
	Of func(l *jjm.LocalJob, own *Own) Cause
}

// Cause returns the cause of one local job.
func (j Judge) Cause(l *jjm.LocalJob) Cause { return j.Of(l, j.own(l)) }

func (j Judge) own(l *jjm.LocalJob) *Own {
	if j.Own == nil {
		return nil
	}
	return j.Own(l)
}

// Groups returns the causes of the unfinished local jobs, and the number of these local jobs. It calls Of once for many
// local jobs that are alike, because a grid job may have 100 000 of them. The result is the same as if each cause were
// added alone.
func (j Judge) Groups(locals []jjm.LocalJob) (gs Groups, unfinished int) {
	ps := piles{now: j.Now}
	for i := range locals {
		l := &locals[i]
		if l.Over() {
			continue
		}
		unfinished++
		if own := j.own(l); own != nil {
			ps.all = append(ps.all, newPile(l, own))
		} else {
			ps.put(l)
		}
	}
	for i := range ps.all {
		p := &ps.all[i]
		gs.add(p.first.ID, j.Of(p.local(), p.own), p.jobs)
	}
	return gs, unfinished
}

// mostRecent is the number of piles among which put searches. If local jobs are of more different sorts, several piles
// have local jobs that are alike, and Groups counts these piles together.
const mostRecent = 8

// piles holds piles in the order of their first local jobs. recent holds the positions of the piles used most recently.
type piles struct {
	now    jjm.Time
	all    []pile
	recent []int
}

// put adds a local job to a pile.
func (ps *piles) put(l *jjm.LocalJob) {
	for k, at := range ps.recent {
		if p := &ps.all[at]; alike(p.first, l, ps.now) {
			p.count(l)
			ps.recent[0], ps.recent[k] = at, ps.recent[0]
			return
		}
	}
	ps.all = append(ps.all, newPile(l, nil))
	if len(ps.recent) < mostRecent {
		ps.recent = append(ps.recent, 0)
	}
	copy(ps.recent[1:], ps.recent)
	ps.recent[0] = len(ps.all) - 1
}

// pile counts local jobs that are alike. The times are the earliest times of these local jobs.
type pile struct {
	first *jjm.LocalJob
	own   *Own
	jobs  int

	since, notBefore, submitted, started, suspended, ended, held, starts jjm.Time
}

// newPile returns a pile with one local job.
func newPile(l *jjm.LocalJob, own *Own) pile {
	p := pile{first: l, own: own}
	p.count(l)
	return p
}

// count adds a local job.
func (p *pile) count(l *jjm.LocalJob) {
	p.jobs++
	p.since = earlier(p.since, since(l))
	p.notBefore, p.submitted = earlier(p.notBefore, l.NotBefore), earlier(p.submitted, l.Submitted)
	p.started, p.ended = earlier(p.started, l.Started), earlier(p.ended, l.Ended)
	p.suspended = earlier(p.suspended, l.Suspended)
	if l.Holding != nil {
		p.held = earlier(p.held, l.Holding.Since)
	}
	if l.State == jjm.Submitted && l.Waits != nil {
		p.starts = earlier(p.starts, l.Waits.Starts)
	}
}

// local returns a local job like the first, with the earliest times of all.
func (p *pile) local() *jjm.LocalJob {
	l := *p.first
	l.Since, l.Suspended = p.since, p.suspended
	l.NotBefore, l.Submitted, l.Started, l.Ended = p.notBefore, p.submitted, p.started, p.ended
	if l.Holding.Now() {
		h := *l.Holding
		h.Since, l.Holding = p.held, &h
	}
	if l.State == jjm.Submitted && l.Waits != nil {
		w := *l.Waits
		w.Starts, l.Waits = p.starts, &w
	}
	return &l
}

// alike reports whether the causes of two unfinished local jobs of a grid job have the same code and the same text, as
// far as the local jobs themselves decide. The text about a running local job does not count (see keyOf).
func alike(a, b *jjm.LocalJob, now jjm.Time) bool {
	waits := a.NotBefore > now
	return a.State == b.State && a.Phase == b.Phase && a.Kill == b.Kill && a.Place == b.Place &&
		a.Cluster == b.Cluster && a.Failing == b.Failing &&
		(a.Suspended != 0) == (b.Suspended != 0) && waits == (b.NotBefore > now) && (!waits || a.Message == b.Message) &&
		(a.State != jjm.Submitting || a.Tag == b.Tag) &&
		(a.State != jjm.Submitted || sameWaiting(a.Waits, b.Waits)) &&
		sameHolding(a.Holding, b.Holding)
}

// sameWaiting reports whether two local jobs wait for the same reason.
func sameWaiting(a, b *jjm.Waiting) bool {
	return a == b || a != nil && b != nil && a.Reason == b.Reason && a.Source == b.Source
}

// sameHolding reports whether two local jobs are held for the same reason, or neither is held.
func sameHolding(a, b *jjm.Holding) bool {
	if a == b {
		return true
	}
	if a.Now() != b.Now() || a.Keeps() != b.Keeps() {
		return false
	}
	return !a.Now() && !a.Keeps() ||
		a.By == b.By && a.Code == b.Code && a.Text == b.Text && a.Why == b.Why
}
