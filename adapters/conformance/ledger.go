package conformance

import (
	"fmt"
	"time"

	"jjm"
)

// ledger remembers what listings said, and finds what cannot be true.
type ledger struct {
	lag   time.Duration // how long after its end a job may be missing
	jobs  map[jobKey]*entry
	looks int
	ended int
}

type jobKey struct {
	tag   jjm.Tag
	index int32
}

// entry is one job: its last report, and since when it is missing.
type entry struct {
	last    jjm.Report
	missing time.Time
}

func newLedger(lag time.Duration) *ledger {
	return &ledger{lag: lag, jobs: map[jobKey]*entry{}}
}

// expect notes a bulk that was acknowledged: the next listing must have it.
func (l *ledger) expect(tag jjm.Tag, n int) {
	for i := range int32(n) {
		l.jobs[jobKey{tag, i}] = &entry{}
	}
}

// done reports whether n jobs are known and have ended.
func (l *ledger) done(n int) bool { return l.ended == n && len(l.jobs) == n }

// look compares a listing with those before it. Jobs that are not expected yet
// are left out.
func (l *ledger) look(now time.Time, reports []jjm.Report) (problems []string) {
	l.looks++
	seen := map[jobKey]bool{}
	for _, r := range reports {
		key := jobKey{r.Tag, r.Index}
		e := l.jobs[key]
		if e == nil {
			continue
		}
		if seen[key] {
			problems = append(problems, fmt.Sprintf("listed twice: %+v", r))
		}
		seen[key] = true
		if problem := e.next(r); problem != "" {
			problems = append(problems, fmt.Sprintf("%s: %+v, then %+v", problem, e.last, r))
		}
		e.last, e.missing = r, time.Time{}
	}
	l.ended = 0
	for key, e := range l.jobs {
		if e.last.State.Ended() {
			l.ended++
		}
		if seen[key] {
			continue
		}
		if e.missing.IsZero() {
			e.missing = now
		}
		if now.Sub(e.missing) >= l.lag {
			problems = append(problems, fmt.Sprintf("job %d of %s is missing in listing %d; it was %+v", key.index, key.tag,
				l.looks, e.last))
		}
	}
	return problems
}

// next says what is wrong with a report after the last one.
func (e *entry) next(r jjm.Report) string {
	switch was := e.last; {
	case r.State == jjm.BatchUnknown:
		return "without a state"
	case r.State.Ended() && r.State != jjm.BatchEndedOK:
		return "it did not end well"
	case was.ID == "":
		return ""
	case r.ID != was.ID:
		return "it changed its id"
	case was.State.Ended() && !r.State.Ended():
		return "it lives again"
	}
	return ""
}
