package plan

import (
	"time"

	"jjm/internal/jjm"
)

// Learnt is the number of jobs that an account may have in a batch system, learnt from refusals. The batch system may
// count jobs that jjm does not know; the number is therefore a guess. It falls with each refusal, and grows with each
// bulk that is accepted at the limit. The zero value has no limit.
type Learnt struct {
	most int      // the limit; 0 means that none is known
	step int      // the number of jobs by which the limit grows next
	set  jjm.Time // the time of the last refusal
	why  string   // the batch system's words at the last refusal
	// first is the time of the first refusal since which a limit has been known without a gap.
	first jjm.Time
}

// learntFor is the time after the last refusal at which a limit is dropped. triedAfter is the time after which jjm
// tries one job more than the limit.
const (
	learntFor  = time.Hour
	triedAfter = time.Minute
)

// Refused returns the limit after a bulk of n jobs was refused. have is the number of the account's other jobs. The
// limit is have plus half of the bulk, but at least one job.
func Refused(have, n int, why string, now jjm.Time) Learnt {
	return Learnt{most: max(have+n/2, 1), step: 1, set: now, first: now, why: why}
}

// After returns the limit l, which replaces the limit before. It begins with the first refusal of before if before is
// still known at the last refusal of l.
func (l Learnt) After(before Learnt) Learnt {
	if most, _ := before.Most(l.set); most > 0 {
		l.first = before.first
	}
	return l
}

// First returns the time of the first refusal since which a limit has been known without a gap, 0 if none is known.
func (l Learnt) First(now jjm.Time) jjm.Time {
	if most, _ := l.Most(now); most == 0 {
		return 0
	}
	return l.first
}

// Accepted returns the limit after a bulk was accepted. have is the number of jobs of the account, including the bulk.
// If the account has reached the limit, the limit grows: by one job after the first such bulk, and by twice as many
// jobs after each further one.
func (l Learnt) Accepted(have int) Learnt {
	if l.most > 0 && have >= l.most {
		l.most, l.step = have+l.step, 2*l.step
	}
	return l
}

// Limit returns the learnt number of jobs, the time of the last refusal, and the time at which the limit is dropped. It
// returns zeros if no limit is known.
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
