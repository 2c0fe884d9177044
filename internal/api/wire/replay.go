package wire

import "jjm/internal/jjm"

// VerbReplay is the verb "replay": it runs the job type of a grid job again and compares the type's answers with the
// recorded answers.
func VerbReplay() Verb[ReplayRequest, ReplayAnswer] {
	return Verb[ReplayRequest, ReplayAnswer]{About{Name: "replay", MaxBytes: maxShort, Grids: true,
		Help: "Run the type of a grid job again and compare its answers with the stored ones."}}
}

// ReplayRequest names the grid job to replay.
type ReplayRequest struct {
	Head
	One
}

// Check requires exactly one reference.
func (r ReplayRequest) Check() error { return r.one("replay") }

// ReplayAnswer is the answer of "replay".
type ReplayAnswer struct {
	Reply
	Replay *Replayed `json:"replay,omitempty"`
}

// Check requires the member replay.
func (a ReplayAnswer) Check() error { return present("replay", a.Replay != nil) }

// Replayed is the comparison of a job type's answers with the answers recorded in a grid job.
type Replayed struct {
	ID   jjm.GridID `json:"id"`
	Type string     `json:"type"`
	// Checks are the calls of the job type, in the order in which jjm makes them.
	Checks []ReplayCheck `json:"checks"`
}

// ReplayCheck is the comparison for one call of a job type.
type ReplayCheck struct {
	// Name is describe, plan, check, prepare, split, parts or command.
	Name string `json:"name"`
	// Findings are the differences, and the refusals of the type. They are empty if the answer is the same.
	Findings []string `json:"findings,omitempty"`
	// Note names the things that were compared, or the reason why nothing was compared.
	Note string `json:"note,omitempty"`
}

// Same reports whether no check has a finding.
func (r *Replayed) Same() bool {
	for i := range r.Checks {
		if len(r.Checks[i].Findings) > 0 {
			return false
		}
	}
	return true
}
