package plan

import (
	"time"

	"jjm/internal/jjm"
)

// Absence describes since when listings have not shown an attempt that they should show.
// The zero value means that the attempt is not missing.
type Absence struct {
	// Since is the time of the first successful listing that lacked the attempt, for people. From is the value of
	// Watched.For at that time.
	Since jjm.Time      `json:"since,omitempty"`
	From  time.Duration `json:"from,omitempty"`
	// Listings is the number of successful listings that have lacked the attempt since then.
	Listings int `json:"listings,omitempty"`
	// LastSeen is when a listing last showed the attempt; 0 if no listing showed it.
	LastSeen jjm.Time `json:"last_seen,omitempty"`
	// Counted is the time at which the last listing that counted was requested.
	Counted jjm.Time `json:"counted,omitempty"`
	// Proven is set once a cancel of the attempt succeeded (the cancel of an attempt that is already gone
	// succeeds) and the batch system answered a later search by tag.
	Proven bool `json:"proven,omitempty"`
}

// Seen returns the absence after a listing, requested at the time at, that shows the attempt: the absence has ended.
func (a Absence) Seen(at jjm.Time) Absence { return Absence{LastSeen: max(a.LastSeen, at)} }

// Missed returns the absence after a successful listing, requested at the time at, that lacks the attempt. watched is
// Watched.For after this listing. A listing that is not newer than the submission, the last listing that showed the
// attempt, or the last listing that counted, is ignored.
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

// Unread returns the absence after a listing, requested at the time at, with an unreadable record that may describe the
// attempt. The attempt is then unknown. Its earlier absences in listings no longer count, and a proof is void; only
// Since and LastSeen stay.
func (a Absence) Unread(at jjm.Time) Absence {
	since := a.Since
	if since == 0 {
		since = at
	}
	return Absence{Since: since, LastSeen: a.LastSeen, Counted: max(a.Counted, at)}
}

// namelessFor is how long an unread record without a readable tag and id excuses an absence.
const namelessFor = time.Hour

// Excuses reports whether an unread record without a readable tag and id, in a listing requested at the time at, leaves
// the attempt unknown. It returns false if another listing already lacked the attempt, or if namelessFor has passed
// since Since, because the record is then probably in every listing and belongs to another job. The attempt is then
// missing. jjm searches for its tag before the attempt counts as lost.
func (a Absence) Excuses(at jjm.Time) bool {
	return a.Listings == 0 && (a.Since == 0 || at.Sub(a.Since) < namelessFor)
}

// AbsenceRules are the conditions under which an attempt counts as absent.
type AbsenceRules struct {
	// An attempt counts as absent only after it was missing from Listings successful listings in a row, and for the time
	// Age (decision R2: 3 listings and 10 minutes). Watched measures the age.
	Listings int
	Age      time.Duration
}

// DefaultAbsenceRules returns the rules of decision R2.
func DefaultAbsenceRules() AbsenceRules { return AbsenceRules{Listings: 3, Age: 10 * time.Minute} }

// AbsenceVerdict is a decision about an attempt that is missing from the listings.
type AbsenceVerdict uint8

// The verdicts, in the order in which they come. Only Lost ends an attempt.
const (
	// AbsentWait: the attempt may only be late; do nothing.
	AbsentWait AbsenceVerdict = iota
	// AskAccounting: ask the accounting of the batch system how the attempt ended.
	AskAccounting
	// Prove: cancel the attempt, then search for its tag. If the cancel succeeded and the search had an answer, set
	// Absence.Proven.
	Prove
	// Lost: the batch system certainly does not have the attempt.
	Lost
)

func (v AbsenceVerdict) String() string {
	return [...]string{"wait", "ask-accounting", "prove", "lost"}[v]
}

// Missing judges an absence (decision R2). accounted is true if the cluster has no accounting, or if the accounting,
// asked after the absence began, does not know the attempt. heartbeatFresh is true if the wrapper's heartbeat is
// younger than the configured age. watched is the present Watched.For.
//
//	not missing, fewer than rules.Listings listings (at least 1),
//	or younger than rules.Age                                       AbsentWait
//	accounting not asked                                            AskAccounting
//	the heartbeat is fresh                                          AbsentWait
//	not proven                                                      Prove
//	otherwise                                                       Lost
//
// Accounting is asked even if the heartbeat is fresh, because the heartbeat of a killed wrapper stays fresh for a
// while. While the batch system does not answer, no listing counts and Watched stops; therefore an outage or a jump of
// the clock never makes an attempt lost.
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
