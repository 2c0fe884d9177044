package conformance

import (
	"fmt"
	"time"

	"jjm/internal/jjm"
)

// ledger stores the jobs of earlier listings, and detects contradictions between listings.
type ledger struct {
	lag   time.Duration // how long after its end a job may be missing from listings
	jobs  map[jobKey]*entry
	looks int // number of listings so far
	ended int // number of jobs that have ended
	poor  int // number of jobs that ended badly
}

// jobKey identifies a job by its tag and its index in the bulk.
type jobKey struct {
	tag   jjm.Tag
	index int32
}

// entry holds one job's last report, and the time since which the job is missing from listings.
type entry struct {
	last    jjm.Report
	missing time.Time
}

func newLedger(lag time.Duration) *ledger {
	return &ledger{lag: lag, jobs: map[jobKey]*entry{}}
}

// expect records a bulk that Submit acknowledged. The next listing must contain its jobs.
func (l *ledger) expect(tag jjm.Tag, n int) {
	for i := range int32(n) {
		l.jobs[jobKey{tag, i}] = &entry{}
	}
}

// running returns the number of running jobs in the last listing.
func (l *ledger) running() (n int) {
	for _, e := range l.jobs {
		if e.missing.IsZero() && e.last.State == jjm.BatchRunning {
			n++
		}
	}
	return n
}

// done reports whether the ledger has exactly n jobs and all have ended.
func (l *ledger) done(n int) bool { return l.ended == n && len(l.jobs) == n }

// look compares a listing with earlier listings and returns the contradictions. It ignores jobs that are not expected
// yet.
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
			problems = append(problems, "listed twice: "+tell(r))
		}
		seen[key] = true
		if poor(r) && !e.last.State.Ended() {
			l.poor++
		}
		if problem := e.next(r); problem != "" {
			problems = append(problems, problem+": "+tell(e.last)+", then "+tell(r))
		}
		e.last, e.missing = r, time.Time{}
		if poor(r) && l.poor > l.spare() {
			problems = append(problems, "the job did not end well: "+tell(r))
		}
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
			problems = append(problems, fmt.Sprintf("a job that was submitted as %s, index %d, is missing in listing %d; "+
				"before it was: %s", key.tag, key.index, l.looks, tell(e.last)))
		}
	}
	return problems
}

// spare returns the number of jobs that may end badly without proving a fault of the listings: one in a hundred, and at
// least one. A job may also end badly because a node failed to begin it (see notBegun).
func (l *ledger) spare() int { return max(1, len(l.jobs)/100) }

// poor reports whether a job ended badly.
func poor(r jjm.Report) bool { return r.State.Ended() && r.State != jjm.BatchEndedOK }

// next compares a report with the previous report of the job. It returns the contradiction, "" if there is none.
func (e *entry) next(r jjm.Report) string {
	switch was := e.last; {
	case r.State == jjm.BatchUnknown:
		return "without a state"
	case was.ID == "":
		return ""
	case r.ID != was.ID:
		return "it changed its id"
	case was.State.Ended() && !r.State.Ended():
		return "it lives again"
	}
	return ""
}
