package plan

import "jjm/internal/jjm"

// GiveBackFacts holds the facts that decide whether the work of a local job that ended
// without completing goes to another local job.
type GiveBackFacts struct {
	State jjm.State
	Phase jjm.Phase
	// Result is jjm.ResultGLF or jjm.ResultExit: how the job reports its end.
	Result string
	// Kill is true once a kill of the grid job or the local job was requested.
	Kill bool
	// Orphan is true if the local job did its work, but its outputs are useless without the
	// outputs of another local job that failed permanently.
	Orphan bool
	// Before is the number of other local jobs that had this work earlier, Attempts the greatest number of local jobs
	// that may have this work.
	Before, Attempts int
	// Withdrawn is true if the local job processed nothing, and ended because one of its input files is marked as
	// unreadable.
	Withdrawn bool
}

// GiveBack reports whether the work of a local job is given to a new local job (decision R7, layer 4). It returns false
// if
//
//   - the local job neither failed nor was killed,
//   - a person or another failure ended it permanently (Kill, Orphan, phase jjm.ByPerson),
//   - the part could never run (jjm.CreateFailed),
//   - it reports by its log and failed by its application (phase jjm.ByApp), such as with FAILED, which means no retry,
//   - or it is the last of Attempts local jobs and is not withdrawn.
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
