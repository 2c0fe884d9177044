package plain

import "jjm/internal/jjm"

// mostSiteMarks is the greatest number of marks on a timeline. The latest marks are kept.
const mostSiteMarks = 50

// SiteMark is a start of the daemon, or the beginning or the end of an outage, on a timeline. Class is "start" or
// "outage".
type SiteMark struct {
	At          jjm.Time
	Class, Text string
}

// SiteMarks returns the marks of the entries that are about starts of the daemon and outages of clusters.
func SiteMarks(entries []jjm.JournalEntry) (marks []SiteMark) {
	for _, e := range entries {
		switch e.Source {
		case jjm.SourceDaemon:
			marks = append(marks, SiteMark{e.Time, "start", Event(e)})
		case jjm.SourceOutage:
			marks = append(marks, SiteMark{e.Time, "outage", Event(e)})
		}
	}
	return marks[max(len(marks)-mostSiteMarks, 0):]
}

// Event returns the change that an entry of the journal describes, with its reason.
func Event(e jjm.JournalEntry) string {
	text := e.To
	if e.From != "" && e.From != e.To {
		text = e.From + " -> " + e.To
	}
	if e.Cause != "" {
		text += ": " + e.Cause
	}
	return text
}
