package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

const (
	// mostRetried is the greatest number of local jobs with several attempts for which a report requests all attempts.
	mostRetried = 5000
	// mostJournal is the number of latest changes of a grid job and its local jobs that a report reads. mostEvents is
	// the number of latest changes of the grid job itself, and of orders, that it shows.
	mostJournal = 20_000
	mostEvents  = 50
)

// reportData is the data from which a report is made.
type reportData struct {
	status wire.Status
	locals []jjm.LocalJob
	// attempts are the attempts that have started, ordered by their start.
	attempts []reportAttempt
	// leftOut is the number of local jobs with earlier attempts that are not in attempts.
	leftOut int
	words   map[string][]string // the last lines of standard error, by local job
	changes []jjm.JournalEntry  // of the grid job itself, oldest first
	orders  []jjm.JournalEntry  // of administrators, during the grid job
	now     jjm.Time
}

// reportAttempt is one attempt of a local job.
type reportAttempt struct {
	id       string // "17.3"
	n        int32
	host     string
	from, to jjm.Time // to is the time of the report if the attempt has not ended
	outcome  outcome
	wasted   bool
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
func (a *reportAttempt) wall() time.Duration { return max(a.to.Sub(a.from), 0) }

// read requests the data of a report from the daemon.
func (r *report) read(c *cli, id string) (*reportData, error) {
	a, err := ask(c, r.place, wire.VerbStatus(), wire.StatusRequest{Many: wire.Refs(id, id+".*")})
	switch {
	case err != nil:
		return nil, err
	case len(a.Status) != 2:
		return nil, jjm.Errorf(jjm.Internal, "report: %d answers for 2 references", len(a.Status))
	case a.Status[0].Lookup.Error != nil:
		return nil, a.Status[0].Lookup.Error.Err()
	}
	d := &reportData{status: a.Status[0], locals: a.Status[1].Locals, now: jjm.At(time.Now())}
	d.words = lastWords(r.client(c), d.status.Causes)
	if err := r.readAttempts(c, d); err != nil {
		return nil, err
	}
	journal, err := ask(c, r.place, wire.VerbHistory(), wire.HistoryRequest{Many: wire.Refs(id), Limit: mostJournal})
	if err != nil {
		return nil, err
	}
	for _, e := range journal.History {
		if e.First < 0 {
			d.changes = append(d.changes, e)
		}
	}
	orders, err := ask(c, r.place, wire.VerbHistory(), wire.HistoryRequest{Orders: true, Limit: mostJournal})
	if err != nil {
		return nil, err
	}
	for _, e := range orders.History {
		if e.Time >= d.status.Accepted && e.Time <= d.end() {
			d.orders = append(d.orders, e)
		}
	}
	return d, nil
}

// readAttempts sets the attempts. The row of a local job describes its only or last attempt. If a local job had several
// attempts, readAttempts requests all of them from the daemon, for at most mostRetried local jobs; leftOut counts the
// remaining local jobs with several attempts.
func (r *report) readAttempts(c *cli, d *reportData) error {
	retried := 0
	for i := range d.locals {
		l := &d.locals[i]
		if l.Attempt == 0 && l.Phase != jjm.RetryWait {
			d.add(attemptOfLocal(l, d.now))
			continue
		}
		if retried++; retried > mostRetried {
			d.leftOut++
			d.add(attemptOfLocal(l, d.now))
			continue
		}
		req := wire.HistoryRequest{Many: wire.Refs(l.ID.String()), Limit: 1}
		a, err := client.Call(context.Background(), r.client(c), wire.VerbHistory(), req)
		if err != nil {
			return fmt.Errorf("the attempts of %s: %w", l.ID, err)
		}
		for j := range a.Attempts {
			d.add(attemptOfHistory(l, a.Attempts, j, d.now))
		}
	}
	slices.SortStableFunc(d.attempts, func(a, b reportAttempt) int { return cmp.Compare(a.from, b.from) })
	return nil
}

// add adds an attempt, if it has started.
func (d *reportData) add(a reportAttempt) {
	if a.from != 0 {
		d.attempts = append(d.attempts, a)
	}
}

// end returns when the grid job ended, or the time of the report.
func (d *reportData) end() jjm.Time { return cmp.Or(d.status.Ended, d.now) }

// attemptOfLocal returns the current or last attempt of a local job.
func attemptOfLocal(l *jjm.LocalJob, now jjm.Time) reportAttempt {
	a := reportAttempt{id: l.ID.String(), n: l.Attempt, host: l.Host, from: l.Started, to: l.Ended, outcome: attemptRuns}
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
func attemptOfHistory(l *jjm.LocalJob, attempts []wire.Attempt, i int, now jjm.Time) reportAttempt {
	of := &attempts[i]
	a := reportAttempt{id: l.ID.String(), n: of.Attempt, host: of.Host, from: of.Started, to: of.Ended}
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
