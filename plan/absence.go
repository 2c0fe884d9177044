package plan

import (
	"time"

	"jjm"
)

// Absence is what is remembered of an attempt that should be in a listing and
// is not. The zero value means that it is not missing.
type Absence struct {
	// Since is when a healthy listing first lacked it, for people; From is what
	// Watched.For was then.
	Since jjm.Time      `json:"since,omitempty"`
	From  time.Duration `json:"from,omitempty"`
	// Listings is how many healthy listings have lacked it since; a failed one
	// counts for nothing.
	Listings int `json:"listings,omitempty"`
	// LastSeen is when a listing last showed it; 0 if none ever did.
	LastSeen jjm.Time `json:"last_seen,omitempty"`
	// Counted is when the last listing that counted was taken.
	Counted jjm.Time `json:"counted,omitempty"`
	// Proven is set once a cancel of the attempt succeeded (gone already is a
	// success) and a search by tag made after it said Absent.
	Proven bool `json:"proven,omitempty"`
}

// Seen forgets the absence: a listing taken at the time given shows the
// attempt.
func (a Absence) Seen(at jjm.Time) Absence { return Absence{LastSeen: max(a.LastSeen, at)} }

// Missed counts a healthy listing, taken at the time given, that lacks the
// attempt; watched is Watched.For with this listing in it. A listing no newer
// than the last one that told something about the attempt, or than its
// submission, says nothing and is not counted.
func (a Absence) Missed(at, submitted jjm.Time, watched time.Duration) Absence {
	if at <= submitted || at <= a.LastSeen || at <= a.Counted {
		return a
	}
	if a.Listings == 0 {
		a.Since, a.From = at, watched
	}
	a.Listings++
	a.Counted = at
	return a
}

// AbsenceRules say how much absence is enough.
type AbsenceRules struct {
	// Listings and Age are both needed (decision R2: 3 and 10 minutes). Age
	// counts only while the batch system is well.
	Listings int
	Age      time.Duration
}

// DefaultAbsenceRules are those of decision R2.
func DefaultAbsenceRules() AbsenceRules { return AbsenceRules{Listings: 3, Age: 10 * time.Minute} }

// AbsenceVerdict is what to do about an attempt that is missing.
type AbsenceVerdict uint8

// The verdicts, in the order in which they come. Only Lost ends an attempt.
const (
	// AbsentWait: it may only be late; do nothing.
	AbsentWait AbsenceVerdict = iota
	// AskAccounting: ask the adapter for its final facts.
	AskAccounting
	// Prove: cancel it, then search for its tag; when the search says Absent,
	// set Absence.Proven.
	Prove
	// Lost: the batch system surely does not have it.
	Lost
)

func (v AbsenceVerdict) String() string {
	return [...]string{"wait", "ask-accounting", "prove", "lost"}[v]
}

// Missing judges an absence (decision R2). accounted says that accounting was
// asked since the absence began and does not know the attempt either, or that
// the cluster has no accounting; heartbeatFresh that the wrapper showed a sign
// of life within the configured age.
//
//	fewer than rules.Listings healthy listings, or younger than rules.Age   AbsentWait
//	accounting not asked                                                    AskAccounting
//	the heartbeat is fresh                                                  AbsentWait
//	not proven                                                              Prove
//	otherwise                                                               Lost
//
// The heartbeat does not keep accounting from being asked: a wrapper that was
// killed looks alive until its last sign is old, and accounting knows better.
// watched is Watched.For now. While the batch system does not answer no listing
// is counted and that clock stands still, so nothing is ever lost to an outage,
// nor to a jump of the clock.
func Missing(a Absence, watched time.Duration, accounted, heartbeatFresh bool, rules AbsenceRules) AbsenceVerdict {
	switch {
	case a.Since == 0, a.Listings < max(1, rules.Listings), watched-a.From < rules.Age:
		return AbsentWait
	case !accounted:
		return AskAccounting
	case heartbeatFresh:
		return AbsentWait
	case !a.Proven:
		return Prove
	}
	return Lost
}
