package survival_test

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"jjm/internal/jjm"
)

// run identifies one attempt of a local job for the application: by the first event of the local job.
type run struct {
	event   int64
	attempt int32
}

// ledgerEntry is the application's record of one run.
type ledgerEntry struct {
	starts int
	ends   []string
}

// readLedger reads the application's ledger.
func (e *ended) readLedger() {
	e.t.Helper()
	ledger, err := readLedger(e.ledgerOf(e.design))
	if err != nil {
		e.t.Fatal(err)
	}
	e.ledger = ledger
}

func readLedger(path string) (map[run]*ledgerEntry, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // without a ledger nothing ran
		return nil, err
	}
	runs := map[run]*ledgerEntry{}
	for line := range strings.Lines(string(text)) {
		var r run
		var what string
		if _, err := fmt.Sscanf(line, "%d %d %s\n", &r.event, &r.attempt, &what); err != nil {
			return nil, fmt.Errorf("ledger line %q: %w", line, err)
		}
		if runs[r] == nil {
			runs[r] = &ledgerEntry{}
		}
		if what == "start" {
			runs[r].starts++
		} else {
			runs[r].ends = append(runs[r].ends, what)
		}
	}
	return runs, nil
}

// checkLedger checks with the ledger that no attempt ran twice, that a completed local job succeeded once and did not
// run afterwards, and that attempts ran as often as the design of the job says.
func (e *ended) checkLedger() {
	e.t.Helper()
	known := 0
	for _, l := range e.status.Locals {
		known += e.checkRuns(&l)
	}
	if known != len(e.ledger) {
		e.t.Errorf("the ledger has %d runs, of which %d belong to a local job and an attempt of it: %v", len(e.ledger), known,
			e.ledger)
	}
}

// checkRuns checks the runs of one local job and counts them.
func (e *ended) checkRuns(l *jjm.LocalJob) (known int) {
	e.t.Helper()
	succeeded := 0
	for a := int32(0); a <= l.Attempt; a++ {
		b := e.ledger[run{l.Part.First, a}]
		if b == nil {
			continue
		}
		known++
		if b.starts != 1 || len(b.ends) > 1 {
			e.t.Errorf("attempt %d of local job %s was started %d times and ended as %v: a double run", a, l.ID, b.starts,
				b.ends)
		}
		for _, end := range b.ends {
			if end == "ok" {
				succeeded++
			}
		}
	}
	last := e.ledger[run{l.Part.First, l.Attempt}]
	if l.State == jjm.Completed && (last == nil || len(last.ends) != 1 || last.ends[0] != "ok") {
		e.t.Errorf("local job %s is completed, and its attempt %d wrote %v, want ok", l.ID, l.Attempt, last)
	}
	if e.design.loose {
		return known
	}
	extra := int(e.design.extra)
	if l.State == jjm.Completed && (succeeded < 1 || succeeded > 1+extra) {
		e.t.Errorf("local job %s is completed, and its application succeeded %d times, want once (and %d times more at most)",
			l.ID, succeeded, extra)
	}
	w := e.design.of(l.ID.N)
	ran, number, unsent := known-int(w.attempts), int(l.Attempt-max(w.attempts-1, 0)), e.checkUnsent(l)
	// It is unknown whether a lost attempt ran, and it may have been the last attempt that was allowed. Whether the
	// application fails depends on the number of its attempt, so an attempt that was never sent may have had the number of
	// an attempt that would have failed.
	if l.State != jjm.Killed && (ran < -extra-unsent || ran > extra || number < -extra || number > extra+unsent) {
		e.t.Errorf("local job %s (%v) ran %d times, its attempt is number %d, want %d attempts (and %d lost at most, %d "+
			"never sent)", l.ID, l.State, known, l.Attempt, w.attempts, extra, unsent)
	}
	return known
}

// checkUnsent checks that no attempt that was taken back ran, and returns the number of these attempts. An attempt is
// taken back before its submission if the cluster takes only smaller bulks by now (level SUBMIT), and before its start
// if a person holds its local job (level INTENT).
func (e *ended) checkUnsent(l *jjm.LocalJob) (unsent int) {
	e.t.Helper()
	for _, a := range e.attempts[l.ID.N] {
		if a.Verdict == nil || a.Verdict.Action != jjm.Retry || a.Verdict.Level != "SUBMIT" && a.Verdict.Level != "INTENT" {
			continue
		}
		unsent++
		if ran := e.ledger[run{l.Part.First, a.ID.Attempt}]; ran != nil {
			e.t.Errorf("attempt %d of local job %s was taken back before it started, and it ran: %v", a.ID.Attempt,
				l.ID, ran)
		}
	}
	return unsent
}

// checkAttempts checks with the claims that no attempt ran twice. Every attempt has ended; the process that ran it
// holds its claim; a claim belongs to only one attempt; an attempt that the daemon claimed never ran.
func (e *ended) checkAttempts() {
	e.t.Helper()
	nonces := map[string]jjm.AttemptID{}
	for _, l := range e.status.Locals {
		completed := 0
		for i, a := range e.attempts[l.ID.N] {
			if a.Ended == 0 || a.Evidence == nil || a.Verdict == nil {
				e.t.Errorf("attempt %d of local job %s is still open in the store", a.ID.Attempt, l.ID)
				continue
			}
			if a.ID.Attempt != int32(i) {
				e.t.Errorf("attempt %d of local job %s is the number %d in the store", a.ID.Attempt, l.ID, i)
			}
			if a.Verdict.Action == jjm.Complete {
				completed++
			}
			ran := e.ledger[run{l.Part.First, a.ID.Attempt}] != nil
			claim := a.Evidence.Claim
			switch {
			case claim == nil:
				if ran {
					e.t.Errorf("attempt %d of local job %s ran without a claim", a.ID.Attempt, l.ID)
				}
				continue
			case claim.Holder != jjm.HolderWrapper && ran && !(e.carries() && l.State == jjm.Killed):
				e.t.Errorf("attempt %d of local job %s ran, although the claim is the %s's", a.ID.Attempt, l.ID, claim.Holder)
			case a.Evidence.Result != nil && a.Evidence.Result.Claim.Nonce != claim.Nonce:
				e.t.Errorf("attempt %d of local job %s: its result is not the claim holder's", a.ID.Attempt, l.ID)
			}
			if other, twice := nonces[claim.Nonce]; twice {
				e.t.Errorf("one claim for two attempts: %v and %v", other, a.ID)
			}
			nonces[claim.Nonce] = a.ID
		}
		if want := l.State == jjm.Completed; completed > 1 || (completed == 1) != want {
			e.t.Errorf("local job %s is %v, and %d of its attempts were judged complete", l.ID, l.State, completed)
		}
	}
}
