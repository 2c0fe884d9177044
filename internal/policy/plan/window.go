package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"jjm/internal/jjm"
)

// Stay is the longest time that a local job may stay in a cluster after its submission, if known.
type Stay struct {
	// Most is the longest time; 0 if it is not known.
	Most time.Duration
	// Text is the time and its source, for people: "12 h requested".
	Text string
}

// StayOf returns the first of these times that is known: the walltime of the request; usual, the configured walltime of
// jobs that request none; most, the longest walltime that the cluster allows. 0 means not known.
func StayOf(r jjm.Request, usual, most time.Duration) Stay {
	switch {
	case r.Walltime > 0:
		return Stay{r.Walltime.D(), jjm.HowLong(r.Walltime.D()) + " requested"}
	case usual > 0:
		return Stay{usual, "the " + jjm.HowLong(usual) + " that the cluster gives a job which requests no walltime"}
	case most > 0:
		return Stay{most, "no walltime is requested, and the " + jjm.HowLong(most) + " that the cluster gives at most"}
	}
	return Stay{}
}

// Shut decides whether a maintenance window prevents the submission of a local job now. Windows that are over do not
// count. The first match counts:
//
//	a window has begun                                         shut
//	it is not known how long the job may stay                  shut
//	if submitted now, the job might still be there when a window begins  shut
//	else                                                       open
//
// Shut returns the reason, for people, with the first window that matches, or "" for open. It depends only on the
// present time and is called again for each submission; a change of the clock therefore has no lasting effect.
func Shut(windows []jjm.Order, s Stay, now jjm.Time) string {
	w, clause := shutBy(windows, s, now)
	if clause == "" {
		return ""
	}
	return fmt.Sprintf("%s: %s; %s announced it: %s", w.Window(), clause, w.By, w.Reason)
}

// ShutTimes returns since when the window of Shut has prevented the submission of such a local job, and the end of this
// window. The window prevents it from the announcement on, but not while the job would still end before the window
// begins. The times are 0 if Shut returns "".
func ShutTimes(windows []jjm.Order, s Stay, now jjm.Time) (since, until jjm.Time) {
	w, clause := shutBy(windows, s, now)
	if clause == "" {
		return 0, 0
	}
	if s.Most <= 0 {
		return w.Since, w.Until
	}
	return max(w.Since, w.From.Add(-s.Most)), w.Until
}

// shutBy returns the first window that matches, by Shut's rules, and the reason, which is "" if none does.
func shutBy(windows []jjm.Order, s Stay, now jjm.Time) (w jjm.Order, clause string) {
	windows = slices.SortedFunc(slices.Values(windows), func(a, b jjm.Order) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Until, b.Until))
	})
	for _, w := range windows {
		switch {
		case !w.InForce(now):
		case w.Begun(now):
			return w, "nothing is submitted until it is over"
		case s.Most <= 0:
			return w, "no walltime is requested and the cluster tells no default, so nobody knows whether it would " +
				"end before"
		case now.Add(s.Most) > w.From:
			return w, s.Text + " would not end before it"
		}
	}
	return jjm.Order{}, ""
}

// Begun reports whether one of the windows has begun and is not over. Then no job is submitted, however short it is.
func Begun(windows []jjm.Order, now jjm.Time) bool {
	return slices.ContainsFunc(windows, func(w jjm.Order) bool { return w.Begun(now) })
}
