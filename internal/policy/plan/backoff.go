package plan

import (
	"time"

	"jjm/internal/jjm"
	"jjm/internal/policy/analyse"
)

// DefaultBackoff is the unit of the wait before a retry (GBS Programmer Manual).
const DefaultBackoff = time.Minute

// BackoffFacts holds the facts that decide how long a local job waits for its next attempt.
type BackoffFacts struct {
	// Unit is the site's unit of waiting. If it is 0, there is no wait.
	Unit time.Duration
	// Failures is the number of failures of this class, including this failure; 0 = a retry after this end does not
	// wait.
	Failures int
	// Brief is true if the application itself failed, in a job that reports by its exit code. Ran is how long the
	// application ran. The retry need not wait much longer than Ran, because the cause of a short run's failure may
	// soon be gone.
	Brief bool
	Ran   time.Duration
}

// Backoff returns the wait before the next attempt: min(2^k, 60) units after the k-th failure (GBS Programmer Manual).
// With Brief, the wait is limited to the time of the run, but at least a second. This limit doubles with each failure
// after the first:
//
//	k, with a unit of 1m    1     2     3     4     5     6
//	                        2m    4m    8m    16m   32m   1h
//	brief, ran 3s           3s    6s    12s   24s   48s   1m36s
//	brief, ran 10m          2m    4m    8m    16m   32m   1h
//
// After a failure of the batch system, which cannot start jobs or loses them, the wait is never shortened, because many
// retries would then fail at the same time.
func Backoff(f BackoffFacts) time.Duration {
	if f.Unit <= 0 || f.Failures <= 0 {
		return 0
	}
	whole := time.Duration(min(1<<min(f.Failures, 6), 60)) * f.Unit
	if !f.Brief {
		return whole
	}
	wait := max(f.Ran, time.Second)
	for k := 1; k < f.Failures && wait < whole; k++ {
		wait *= 2
	}
	return min(wait, whole)
}

// backoffFacts returns the facts about an attempt that has ended with verdict v.
func backoffFacts(in LocalInput, ev jjm.Evidence, v jjm.Verdict) BackoffFacts {
	f := BackoffFacts{Unit: in.Backoff}
	switch {
	case v.Handled: // the application requested the retry, without a wait
	case v.Level == analyse.LevelIntent && in.GiveUp != nil:
		f.Failures = in.GiveUp.Retries
	case v.Class == analyse.Early:
		f.Failures = v.Counters.Early
	case v.Class == analyse.LateUnhandled:
		f.Failures = v.Counters.LateUnhandled
	}
	own := v.Level == analyse.LevelExit || v.Level == analyse.LevelApplication
	if r := ev.Result; r != nil && r.Error == "" && own && in.Result != jjm.ResultGLF {
		f.Brief = true
		f.Ran = max(time.Duration(r.WallMS)*time.Millisecond, r.Ended.Sub(r.Started))
	}
	return f
}
