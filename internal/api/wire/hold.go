package wire

import (
	"unicode/utf8"

	"jjm/internal/jjm"
)

// VerbHold is the verb "hold": it holds jobs until they are released.
func VerbHold() Verb[HoldRequest, HoldAnswer] {
	return Verb[HoldRequest, HoldAnswer]{About{Name: "hold", MaxBytes: maxWithRefs,
		Help: "Hold local jobs until they are released."}}
}

// maxHoldReason is the longest reason of a hold, in bytes.
const maxHoldReason = 1024

// HoldRequest names the jobs to hold. The id of a grid job means its local jobs that have not ended.
type HoldRequest struct {
	Head
	Many
	HoldHow
}

// HoldHow contains the options of a hold.
type HoldHow struct {
	// Reason is the person's reason, for people; "" if there is none.
	Reason string `json:"reason,omitempty"`
	// DryRun changes nothing; the answer shows the jobs that would be held.
	DryRun bool `json:"dry_run,omitempty"`
}

// Check checks the references and the reason.
func (r HoldRequest) Check() error {
	if err := checkRefs("hold", r.Refs); err != nil {
		return err
	}
	switch {
	case len(r.Reason) > maxHoldReason:
		return jjm.Errorf(jjm.Invalid, "hold: reason has %d bytes: want at most %d", len(r.Reason), maxHoldReason)
	case !utf8.ValidString(r.Reason):
		return jjm.Errorf(jjm.Invalid, "hold: reason is no UTF-8 text")
	}
	return nil
}

// HoldAnswer has a result for each reference, in order.
type HoldAnswer struct {
	Reply
	Hold []Held `json:"hold,omitempty"`
}

// Held is the result for one reference.
type Held struct {
	Ref string `json:"ref"`
	// Jobs is the number of local jobs that are held, or that are being taken back from the batch system to be held.
	Jobs int `json:"jobs"`
	// Later is the number of local jobs that run and continue. If such a local job is tried again, its next attempt
	// waits for a release.
	Later int `json:"later,omitempty"`
	// Left are local jobs that are not changed. LeftOut is the number of further such local jobs.
	Left    []Left `json:"left,omitempty"`
	LeftOut int    `json:"left_out,omitempty"`
	// NoChange is set if no local job could be held. This is a success. Notes say why nothing changed, if Left does not.
	NoChange bool     `json:"no_change,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Error    *Error   `json:"error,omitempty"`
}
