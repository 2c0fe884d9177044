package plan

import "time"

// listingShare limits listings to 1/listingShare of the time: after a listing of 2 s the next listing starts 20 s
// later. The cost of a listing grows with the number of jobs. Therefore a fixed interval would cost the most while the
// batch system is busy.
const listingShare = 10

// Polling holds the settings for the times between listings of a cluster.
type Polling struct {
	// Poll is the least time between two periodic listings. Max is the greatest time between them if listings are slow.
	Poll, Max time.Duration
	// Hints is true if the batch system itself signals changes.
	Hints bool
}

// Took returns the assumed duration of a listing: the shorter of the last two listings. A single slow listing (a
// command that started while the batch system was stopped) does not predict the next listing. before is -1 if there was
// only one listing.
func Took(before, last time.Duration) time.Duration {
	if before < 0 {
		return last
	}
	return min(before, last)
}

// Every returns the time between two periodic listings if a listing takes took. It is Poll, or longer, so that listings
// take at most a tenth of the time, but at most Max.
func (p Polling) Every(took time.Duration) time.Duration {
	return max(p.Poll, min(listingShare*took, p.Max))
}

// resultShare divides Every: while enough results wait for the batch system's final report, a cluster is listed
// resultShare times as often. A larger number would cause too many listings, because jobs may end all the time.
const resultShare = 4

// worthwhile divides the number of listed jobs: jjm lists a cluster earlier only if at least 1/worthwhile of the jobs
// wait with a result. The cost of a listing grows with all jobs in it. If long jobs end one by one, the final report
// can wait for the next periodic listing.
const worthwhile = 50

// Worth reports whether the number of waiting results is enough for an earlier listing, with inBatch jobs in the batch
// system. The number is enough at the end of a burst of jobs and for short jobs, but not if a few jobs end while many
// run.
func Worth(waiting, inBatch int) bool { return waiting > 0 && waiting*worthwhile >= inBatch }

// AfterResult returns the time until the next listing while enough results wait (see Worth): a quarter of Poll, or
// longer, so that listings take at most a tenth of the time, but at most Every. With Hints it is Every, because a hint
// reports each end.
func (p Polling) AfterResult(took time.Duration) time.Duration {
	if p.Hints {
		return p.Every(took)
	}
	return min(max(p.Poll/resultShare, listingShare*took, p.Soon(took)), p.Every(took))
}

// Soon returns the time between a listing and the next listing after a hint, a new submission, or a cancel. It is
// between 0.1 s and 1 s, by Poll:
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
