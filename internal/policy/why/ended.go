package why

import (
	"fmt"

	"jjm/internal/jjm"
)

// OfEnded returns the way in which a local job ended as a cause. Since is the time of the end. The remedy is the
// command that runs the local job again or, if it is frozen, unfreezes it. There is no remedy if the local job
// completed, or if another local job does its work.
func OfEnded(l *jjm.LocalJob) Cause {
	c := Cause{Code: Over, Text: "it is over: " + jjm.StateWord(l.State, l.Phase), Since: l.Ended}
	if l.Message != "" {
		c.Text += ": " + l.Message
	}
	if again := l.Again.Text(0); again != "" {
		c.Text += "; " + again
	}
	switch {
	case l.State == jjm.Failed && l.Phase != jjm.GivenBack:
		c.Remedy = fmt.Sprintf("jjm explain %s tells why, jjm resubmit %s runs it again", l.ID, l.ID)
	case l.IsUnsubmitted():
		c.Remedy = fmt.Sprintf("jjm resubmit %s submits it", l.ID)
	case l.State.IsFrozen() && l.Phase != jjm.GivenBack:
		c.Remedy = fmt.Sprintf("it is frozen: jjm unfreeze %s lets commands change it again", l.ID)
	case l.State == jjm.Killed && l.Phase != jjm.GivenBack:
		c.Remedy = fmt.Sprintf("jjm resubmit %s runs it again", l.ID)
	}
	return c
}

// WithAgain adds the number of automatic resubmissions to the cause of an unfinished local job. most is the limit of
// automatic resubmissions.
func WithAgain(c Cause, l *jjm.LocalJob, most int) Cause {
	if again := l.Again.Text(most); again != "" {
		c.Text += "; " + again
	}
	return c
}
