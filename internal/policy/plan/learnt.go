package plan

import (
	"time"

	"jjm/internal/jjm"
)

// Learnt is the number of jobs that an account may have in a batch system, learnt from refusals.
// The batch system may count jobs that jjm does not know, so the number is a guess. It falls
// with each refusal, and grows with each bulk that is accepted at the limit. The zero value
// knows no limit.
type Learnt struct {
	most int      // 0: no limit is known
	step int      // how far it grows next
	set  jjm.Time // when the last bulk was refused
	why  string   // the batch system's words then
}

// learntFor is how long after the last refusal a limit is forgotten, triedAfter the time after
// which one more job than the limit is tried.
const (
	learntFor  = time.Hour
	triedAfter = time.Minute
)

// Refused returns the limit after a bulk of n jobs was refused to an account that has have other
// jobs: have plus half of the bulk, but at least one job.
func Refused(have, n int, why string, now jjm.Time) Learnt {
	return Learnt{most: max(have+n/2, 1), step: 1, set: now, why: why}
}

// Accepted returns the limit after a bulk was accepted; the account has have jobs, including the
// bulk. At the limit it grows: by one job, and by twice as many with each further bulk.
func (l Learnt) Accepted(have int) Learnt {
	if l.most > 0 && have >= l.most {
		l.most, l.step = have+l.step, 2*l.step
	}
	return l
}

// Limit returns the number of jobs that was learnt, when a bulk was last refused, and when the
// limit is forgotten. It returns zeros if no limit is known.
func (l Learnt) Limit(now jjm.Time) (most int, since, until jjm.Time) {
	if n, _ := l.Most(now); n == 0 {
		return 0, 0, 0
	}
	return l.most, l.set, l.set.Add(learntFor)
}

// Most returns the limit and the batch system's words, or 0 if no limit is known.
func (l Learnt) Most(now jjm.Time) (most int, why string) {
	age := now.Sub(l.set)
	switch {
	case l.most == 0 || age < 0 || age >= learntFor:
		return 0, ""
	case age >= triedAfter:
		return l.most + 1, l.why
	}
	return l.most, l.why
}
