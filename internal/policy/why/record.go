package why

import (
	"jjm/internal/jjm"
)

// These causes are shown only while no daemon answers.
const (
	NoDaemon Code = "no-daemon"
	Spooled  Code = "spooled"
)

// RecordCodes returns the causes that are shown only while no daemon answers.
func RecordCodes() []Code { return []Code{NoDaemon, Spooled} }

// FromRecord returns the cause for the state of an unfinished local job, as far as its record shows the cause. written
// is the time at which the record was written. A record does not contain the reason why a local job is not submitted.
func FromRecord(l *jjm.LocalJob, written jjm.Time) Cause {
	f := Facts{Local: l, Now: written}
	if l.IsHeld() && l.Holding.Text == "" {
		f.Local = heldAsRecorded(l)
	}
	unsent := l.State == jjm.New || l.State == jjm.Submitting && l.Phase == jjm.RetryWait
	if !unsent || l.Kill || l.IsHeld() {
		return Of(f)
	}
	if l.NotBefore > written {
		f.Unsent = true
		return Of(f)
	}
	return Cause{Code: NoDaemon, Text: "it had not been submitted; the daemon knows what else keeps it",
		Remedy: "start the daemon: it submits the local job then"}
}

// heldAsRecorded returns a copy of a held local job with its message as the text of the hold, because a record has no
// other text for holds by applications and persons.
func heldAsRecorded(l *jjm.LocalJob) *jjm.LocalJob {
	held, holding := *l, *l.Holding
	holding.Text = l.Message
	held.Holding = &holding
	return &held
}

// GridFromRecord returns the cause for the state of a grid job as a whole, as far as its record shows the cause. It
// returns false if the record shows none. A record does not contain the reason why no local jobs are made.
func GridFromRecord(f GridFacts) (Cause, bool) {
	switch {
	case !f.Status.Final() && f.Prepared && !f.Closed && f.Status != jjm.Aborting && f.Status != jjm.Paused:
		return Cause{Code: NoDaemon, Text: "more local jobs are to be made; the daemon knows what for it waits, if anything",
			Remedy: "start the daemon"}, true
	case !f.Status.Final() && !f.Prepared && f.Reason == "" && len(f.Awaited) == 0:
		return Cause{Code: NoDaemon, Text: "it had not begun; the daemon knows what for it waits, if anything",
			Since: f.Accepted, Remedy: "start the daemon"}, true
	}
	return OfGrid(f)
}

// InSpool returns the cause of a grid job whose submission has been in the spool since the given time.
func InSpool(since jjm.Time) Cause {
	return Cause{Code: Spooled, Text: "its submission lies in the spool, and the daemon has not read it", Since: since,
		Remedy: "start the daemon: it accepts or refuses the submission then"}
}
