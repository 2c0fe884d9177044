package selection

import "jjm/internal/jjm"

// Purpose is the command for which jobs are selected. Jobs that a name or a filter finds are selected only if the
// command can change them. Jobs that the user names by their ids are always selected.
type Purpose string

// The purposes. The empty purpose selects all jobs that the patterns mean: whole grid jobs, unless a pattern is about
// local jobs.
const (
	ToKill     Purpose = "kill"     // jobs that are not over
	ToHold     Purpose = "hold"     // jobs that are not over and not held
	ToRelease  Purpose = "release"  // held jobs
	ToSet      Purpose = "set"      // local jobs that wait for a submission or a release
	ToResubmit Purpose = "resubmit" // local jobs that failed or were killed
	ToResplit  Purpose = "resplit"  // local jobs that failed or were killed
	ToRemove   Purpose = "remove"   // grid jobs that are over
	ToShow     Purpose = "status"   // all jobs
	// ToForce selects local jobs of grid jobs that are not over.
	ToForce Purpose = "force-status"
	// ToFreeze selects local jobs that can be frozen, ToUnfreeze frozen local jobs.
	ToFreeze   Purpose = "freeze"
	ToUnfreeze Purpose = "unfreeze"
)

// Check returns an error of kind Invalid if p is not one of the purposes.
func (p Purpose) Check() error {
	switch p {
	case "", ToKill, ToHold, ToRelease, ToSet, ToResubmit, ToResplit, ToRemove, ToShow, ToForce, ToFreeze, ToUnfreeze:
		return nil
	}
	return jjm.Errorf(jjm.Invalid,
		"for %.40q: want kill, hold, release, set, resubmit, resplit, remove, force-status, freeze, unfreeze, status or nothing",
		string(p))
}

// Locals reports whether the command selects local jobs instead of whole grid jobs. "kill" and "status" select local
// jobs only if f is about local jobs, because a grid job that is killed as a whole ends. "remove" always selects whole
// grid jobs.
func (p Purpose) Locals(f *Filter) bool {
	switch p {
	case ToHold, ToRelease, ToSet, ToResubmit, ToResplit, ToForce, ToFreeze, ToUnfreeze:
		return true
	case ToKill, ToShow:
		return f.OfLocals()
	}
	return false
}

// Wholes reports whether a grid job means, for the command, all its local jobs that the command can change. The other
// commands change local jobs that are named by their own ids also where their grid job does not mean them.
func (p Purpose) Wholes() bool {
	switch p {
	case ToKill, ToHold, ToRelease, ToFreeze, ToUnfreeze, ToRemove:
		return true
	}
	return false
}

// Grid reports whether the command can change a grid job of this status, or some of its local jobs.
func (p Purpose) Grid(s jjm.GridStatus) bool {
	switch p {
	case ToKill, ToHold, ToRelease, ToSet, ToForce, ToFreeze, ToUnfreeze:
		return !s.Final()
	case ToRemove:
		return s.Final()
	}
	return true
}

// Local reports whether the command can change a local job.
func (p Purpose) Local(l *jjm.LocalJob) bool {
	switch p {
	case ToKill:
		return !l.State.Final() && !l.Kill
	case ToRelease:
		return in(l, jjm.Held) || l.Holding.Keeps()
	case ToSet:
		waits := l.State == jjm.New || l.State == jjm.Held || l.State == jjm.Submitting && l.Phase == jjm.RetryWait
		return waits && !l.Kill && !l.IsUnsubmitted()
	case ToHold:
		return !l.Over() && !l.Kill && !l.IsHeld() && !l.IsMerging() && !l.Holding.Keeps()
	case ToResubmit:
		return in(l, jjm.Failed) || in(l, jjm.Killed) || l.IsUnsubmitted()
	case ToResplit:
		return in(l, jjm.Failed) || in(l, jjm.Killed)
	case ToFreeze:
		return in(l, jjm.Completed) || in(l, jjm.Failed) || in(l, jjm.Killed)
	case ToUnfreeze:
		return in(l, jjm.CompletedFrozen) || in(l, jjm.FailedFrozen)
	}
	return true
}
