package wire

import "jjm"

// VerbReplay asks the type of a grid job anew.
func VerbReplay() Verb[ReplayRequest, ReplayAnswer] {
	return Verb[ReplayRequest, ReplayAnswer]{About{Name: "replay", MaxBytes: maxShort,
		Help: "Ask the type of a grid job anew, and hold what it says against what is stored."}}
}

// ReplayRequest names one grid job.
type ReplayRequest struct {
	Head
	One
}

// Check implements Request.
func (r ReplayRequest) Check() error { return r.one("replay") }

// ReplayAnswer answers replay.
type ReplayAnswer struct {
	Reply
	Replay *Replayed `json:"replay,omitempty"`
}

// Check implements Answer.
func (a ReplayAnswer) Check() error { return present("replay", a.Replay != nil) }

// Replayed is what a job type says anew of a grid job.
type Replayed struct {
	ID   jjm.GridID `json:"id"`
	Type string     `json:"type"`
	// Checks are what it was asked, in the order in which jjm does.
	Checks []ReplayCheck `json:"checks"`
}

// ReplayCheck is one thing that a job type was asked.
type ReplayCheck struct {
	// Name is describe, plan, check, prepare, split, parts or command.
	Name string `json:"name"`
	// Findings are what it refuses, or says otherwise than it did; none if all is as it was.
	Findings []string `json:"findings,omitempty"`
	// Note says what was held against what, or why nothing was.
	Note string `json:"note,omitempty"`
}

// Same reports whether the type says what it said.
func (r *Replayed) Same() bool {
	for i := range r.Checks {
		if len(r.Checks[i].Findings) > 0 {
			return false
		}
	}
	return true
}
