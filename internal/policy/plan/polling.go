package plan

import "time"

// listingShare bounds the time that listings take, to one part in so many: after a listing of 2
// s the next one starts 20 s later. A listing costs the batch system more the more jobs it has,
// so a fixed interval would hurt most when it is busy.
const listingShare = 10

// Polling says how often a cluster is listed.
type Polling struct {
	// Poll is the least time between two periodic listings; Max is how far it may grow
	// while listings are slow.
	Poll, Max time.Duration
	// Hints is true if the batch system itself signals changes.
	Hints bool
}

// Took returns how long a listing is assumed to take: the lesser time of the last two
// listings, because a single slow listing (a command that started while the batch system was
// stopped) says nothing about the next one. before is -1 if there was only one listing.
func Took(before, last time.Duration) time.Duration {
	if before < 0 {
		return last
	}
	return min(before, last)
}

// Every returns the time between two periodic listings if a listing takes took: Poll, or
// more so that listings take at most a tenth of the time, but not more than Max.
func (p Polling) Every(took time.Duration) time.Duration {
	return max(p.Poll, min(listingShare*took, p.Max))
}

// resultShare is how much more often than every Poll a cluster is listed while enough
// results wait for the batch system's final report. Jobs may end all the time, so this
// must not be too often.
const resultShare = 4

// worthwhile is the share of listed jobs, one in so many, whose results must wait before a
// listing comes sooner. The cost of a listing grows with all jobs in it, and if long jobs end
// one by one the final report can wait for the next periodic listing.
const worthwhile = 50

// Worth reports whether waiting results are enough for a listing to come sooner, with
// inBatch jobs in the batch system. They are enough for the last jobs of a burst and for
// short jobs, but not if a few jobs end while many run.
func Worth(waiting, inBatch int) bool { return waiting > 0 && waiting*worthwhile >= inBatch }

// AfterResult returns the time until the next listing while enough results wait for one (see
// Worth): a quarter of Poll, or more so that listings take at most a tenth of the time, but not
// more than Every. With Hints it is Every, because a hint announces each end.
func (p Polling) AfterResult(took time.Duration) time.Duration {
	if p.Hints {
		return p.Every(took)
	}
	return min(max(p.Poll/resultShare, listingShare*took, p.Soon(took)), p.Every(took))
}

// Soon returns the time between a listing and the next one if something asks for it: a hint, a bulk just
// submitted, a cancel. It is between 0.1 s and 1 s, by Poll:
//
//	with Hints      Poll/40, because hints are cheap
//	without Hints   Poll/10, because each listing runs a command
//
// A slow listing may take at most a third of the time. Soon is never more than Every.
func (p Polling) Soon(took time.Duration) time.Duration {
	part := p.Poll / 10
	if p.Hints {
		part = p.Poll / 40
	}
	return min(max(min(part, time.Second), 100*time.Millisecond, 2*took), p.Every(took))
}
