// Package report makes the report of a grid job on one page: what the grid job is, how its generations ended, what its
// attempts used, why local jobs failed, and what happened meanwhile. It is pure. The program jjm requests the data from
// the daemon for "jjm report"; the daemon reads the data itself for the page in the output tar.
package report

import (
	"cmp"
	"slices"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

const (
	// mostRetried is the greatest number of local jobs with several attempts for which a report reads all attempts.
	mostRetried = 5000
	// MostJournal is the number of latest entries of the journal that a report reads about a grid job, and about
	// orders. mostEvents is the number of latest changes of the grid job itself, and of orders, that it shows.
	MostJournal = 20_000
	mostEvents  = 50
)

// Data is the data from which a report is made.
type Data struct {
	Status wire.Status
	Locals []jjm.LocalJob
	// Words are the last lines of standard error, by local job.
	Words map[string][]string
	// Changes are the changes of the grid job itself, oldest first. Orders are the orders of administrators, the starts
	// of the daemon and the outages of clusters during the grid job.
	Changes, Orders []jjm.JournalEntry
	// Now is the time of the report. The report reads no other clock, so the same data always make the same page.
	Now jjm.Time

	// attempts are the attempts that have started, ordered by their start.
	attempts []attempt
	// leftOut is the number of local jobs with earlier attempts that are not in attempts.
	leftOut int
}

// attempt is one attempt of a local job.
type attempt struct {
	id       string // "17.3"
	local    int32  // the number of the local job
	n        int32
	host     string
	from, to jjm.Time // to is the time of the report if the attempt has not ended
	// queued is when the attempt began to wait for its start, collected when its result was collected; 0 if not known.
	queued, collected jjm.Time
	cpu               int64 // the processor time in milliseconds, 0 if it is not known
	outcome           outcome
	wasted            bool
}

// outcome is the kind of end of an attempt.
type outcome int

const (
	attemptDone outcome = iota
	attemptFailed
	attemptKilled
	attemptRuns
)

func (o outcome) String() string { return [...]string{"done", "failed", "killed", "running"}[o] }

// wall returns how long an attempt ran.
func (a *attempt) wall() time.Duration { return max(a.to.Sub(a.from), 0) }

// SetJournal selects the entries of the journal that the report shows: from history the changes of the grid job itself,
// and from orders those between the acceptance and the end of the grid job (jjm.During). If it is called after
// SetAttempts, it also finds in history how long the attempts were queued and their results collected.
func (d *Data) SetJournal(history, orders []jjm.JournalEntry) {
	for _, e := range history {
		if e.First < 0 {
			d.Changes = append(d.Changes, e)
		}
	}
	d.setSpans(history)
	d.Orders = append(d.Orders, jjm.During(orders, d.Locals, d.Status.Accepted, d.end())...)
}

// SetAttempts sets the attempts of all local jobs. If a local job had only one attempt, its entry in Locals describes
// this attempt. If it had several, SetAttempts calls of to read all of them. It does so for at most mostRetried local
// jobs; of further ones only the last attempt is used, and the report contains their number.
func (d *Data) SetAttempts(of func(*jjm.LocalJob) ([]wire.Attempt, error)) error {
	retried := 0
	for i := range d.Locals {
		l := &d.Locals[i]
		if l.Attempt == 0 && l.Phase != jjm.RetryWait {
			d.add(attemptOfLocal(l, d.Now))
			continue
		}
		if retried++; retried > mostRetried {
			d.leftOut++
			d.add(attemptOfLocal(l, d.Now))
			continue
		}
		attempts, err := of(l)
		if err != nil {
			return err
		}
		for j := range attempts {
			d.add(attemptOfHistory(l, attempts, j, d.Now))
		}
	}
	slices.SortStableFunc(d.attempts, func(a, b attempt) int { return cmp.Compare(a.from, b.from) })
	return nil
}

// add adds an attempt, if it has started.
func (d *Data) add(a attempt) {
	if a.from != 0 {
		d.attempts = append(d.attempts, a)
	}
}

// now returns the time of the report in the zone of people.
func (d *Data) now() time.Time { return d.Now.Time().Local() }

// end returns when the grid job ended, or the time of the report.
func (d *Data) end() jjm.Time { return cmp.Or(d.Status.Ended, d.Now) }

// attemptOfLocal returns the current or last attempt of a local job.
func attemptOfLocal(l *jjm.LocalJob, now jjm.Time) attempt {
	a := lastAttempt(l, now)
	a.id, a.local = l.ID.String(), l.ID.N
	return a
}

// lastAttempt returns the same as attemptOfLocal, but without an id.
func lastAttempt(l *jjm.LocalJob, now jjm.Time) attempt {
	a := attempt{n: l.Attempt, host: l.Host, from: l.Started, to: l.Ended, outcome: attemptRuns}
	switch {
	case l.Ended == 0:
		a.to = now
	case l.State == jjm.Killed:
		a.outcome, a.wasted = attemptKilled, true
	case l.State == jjm.Failed || l.State == jjm.FailedFrozen || l.Phase == jjm.RetryWait:
		a.outcome, a.wasted = attemptFailed, true
	default:
		a.outcome = attemptDone
	}
	return a
}

// attemptOfHistory returns attempt i of a local job.
func attemptOfHistory(l *jjm.LocalJob, attempts []wire.Attempt, i int, now jjm.Time) attempt {
	of := &attempts[i]
	a := attempt{id: l.ID.String(), local: l.ID.N, n: of.Attempt, host: of.Host, from: of.Started, to: of.Ended}
	if of.Used != nil {
		a.cpu = of.Used.UserMS + of.Used.SysMS
	}
	switch v := of.Verdict; {
	case of.Ended == 0 || v == nil:
		a.outcome, a.to = attemptRuns, now
	case v.Action == jjm.Complete:
		a.outcome = attemptDone
	case v.Action == jjm.Cancel:
		a.outcome, a.wasted = attemptKilled, true
	default:
		a.outcome, a.wasted = attemptFailed, wire.Wasted(attempts, i, l.RetryArgs)
	}
	return a
}
