package plan

import "jjm"

// GiveBackFacts is all that decides whether the work of a local job that is over,
// and not completed, goes to another one.
type GiveBackFacts struct {
	State jjm.State
	Phase jjm.Phase
	// Result is how the job reports: jjm.ResultGLF or jjm.ResultExit.
	Result string
	// Kill is true once somebody asked to kill the grid job or the local job.
	Kill bool
	// Orphan: it did its work, which is of no use without what another local job
	// failed to do for good.
	Orphan bool
	// Before is how many local jobs had this work before, and Attempts how many
	// may have it in all.
	Before, Attempts int
	// Withdrawn is true if jjm ended it before any batch system had it, for it
	// would have read what cannot be read any more.
	Withdrawn bool
}

// GiveBack reports whether the files of a local job are processed once more, by a
// new local job (decision R7, layer 4). They are not if a person wanted the end;
// if the part could never run; if another local job has failed for good, without
// which its work is of no use; if the application said FAILED in its GBS log
// file, which means no retry; or if it was the last attempt that they may have. A
// local job that was withdrawn is no attempt.
func GiveBack(f GiveBackFacts) bool {
	switch {
	case f.Kill, f.Orphan, f.Phase == jjm.ByPerson, f.Phase == jjm.CreateFailed:
		return false
	case f.State != jjm.Failed && f.State != jjm.Killed:
		return false
	case f.Phase == jjm.ByApp && f.Result == jjm.ResultGLF:
		return false
	}
	return f.Withdrawn || f.Before+1 < f.Attempts
}
