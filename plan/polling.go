package plan

import "time"

// listingShare is how much of the time listings may take: with a listing of 2 s
// the next one begins 20 s after it. What a listing costs its batch system grows
// with what that has to do, so that a fixed interval hurts most when it is
// busy.
const listingShare = 10

// Polling says how often a cluster is listed.
type Polling struct {
	// Poll is the least time between two listings that nothing asked for; Max
	// is what it may grow to while listings are slow.
	Poll, Max time.Duration
	// Hints is true where the batch system tells of changes by itself: then its
	// hints are worth more than Poll.
	Hints bool
}

// Took is what a listing is taken to cost, by the last one and the one before: the
// lesser, because one alone that was held up (a command that began while the batch
// system stood still) says nothing of the next. -1 before says that there was none.
func Took(before, last time.Duration) time.Duration {
	if before < 0 {
		return last
	}
	return min(before, last)
}

// Every is the time between two listings that nothing asked for, after one that
// took so long: Poll, or as long as keeps listings to a tenth of the time, but
// never more than Max.
func (p Polling) Every(took time.Duration) time.Duration {
	return max(p.Poll, min(listingShare*took, p.Max))
}

// resultShare is by how much results that wait for the batch system's last word
// bring the next listing forward: jobs may end all the time, and then this is how
// often it is asked.
const resultShare = 4

// worthwhile says that one listed job in so many must have a result for a listing
// to come sooner: one costs what all jobs there cost, and where jobs of hours end
// all the time the last word can wait until the next cycle.
const worthwhile = 50

// Worth reports whether a listing is brought forward for the results that wait
// for it, of so many jobs in the batch system: for the last ones of a burst, and
// for short jobs, but not for the few that end while many run.
func Worth(waiting, inBatch int) bool { return waiting > 0 && waiting*worthwhile >= inBatch }

// AfterResult is the time until the next listing while enough results wait for one
// (see Worth): a quarter of Poll, but no more than a tenth of the time is spent on listings, and
// never later than Every. Hints tell of an end by themselves.
func (p Polling) AfterResult(took time.Duration) time.Duration {
	if p.Hints {
		return p.Every(took)
	}
	return min(max(p.Poll/resultShare, listingShare*took, p.Soon(took)), p.Every(took))
}

// Soon is the time between a listing that took so long and one that something
// asks for: a hint, a bulk just submitted, a cancel. Hints may come ten times a second, and up to forty times an
// interval; without hints a command is run, and a tenth of the interval is kept.
// A slow listing takes at most a third of the time, and never later than Every.
func (p Polling) Soon(took time.Duration) time.Duration {
	part := p.Poll / 10
	if p.Hints {
		part = p.Poll / 40
	}
	return min(max(min(part, time.Second), 100*time.Millisecond, 2*took), p.Every(took))
}
