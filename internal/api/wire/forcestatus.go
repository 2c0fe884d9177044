package wire

import "jjm/internal/jjm"

// VerbForceStatus is the verb "force-status": it sets the state of local jobs to failed or completed, even against the
// evidence.
func VerbForceStatus() Verb[ForceStatusRequest, ForceStatusAnswer] {
	return Verb[ForceStatusRequest, ForceStatusAnswer]{About{Name: "force-status", MaxBytes: maxWithRefs,
		Help: "Force local jobs to failed or completed."}}
}

// ForceStatusRequest names the jobs whose states are forced.
type ForceStatusRequest struct {
	Head
	Many
	ForceHow
}

// ForceHow contains the state to which local jobs are forced, and options.
type ForceHow struct {
	// To is failed or completed.
	To string `json:"to"`
	// Reason is the reason, for people.
	Reason string `json:"reason,omitempty"`
	// Now sets the state of submitted and running local jobs without waiting for their end in the batch system.
	Now bool `json:"now,omitempty"`
	// DryRun changes nothing; the answer shows the changes that would be made.
	DryRun bool `json:"dry_run,omitempty"`
}

// maxForceReason is the longest reason, in bytes: it is in the message of each local job.
const maxForceReason = 400

// Check checks the references, the state and the reason.
func (r ForceStatusRequest) Check() error {
	if err := checkRefs("force-status", r.Refs); err != nil {
		return err
	}
	switch {
	case r.To != jjm.Failed.String() && r.To != jjm.Completed.String():
		return jjm.Errorf(jjm.Invalid, "force-status: to %.40q: want completed or failed", r.To)
	case len(r.Reason) > maxForceReason:
		return jjm.Errorf(jjm.Invalid, "force-status: reason: %d bytes: want at most %d", len(r.Reason), maxForceReason)
	}
	return nil
}

// State returns the state to which local jobs are forced.
func (h ForceHow) State() jjm.State {
	if h.To == jjm.Completed.String() {
		return jjm.Completed
	}
	return jjm.Failed
}

// ForceStatusAnswer has a result for each reference, in order.
type ForceStatusAnswer struct {
	Reply
	Forced []Forced `json:"forced,omitempty"`
}

// Forced is the result for one reference.
type Forced struct {
	Ref string `json:"ref"`
	// Jobs is the number of local jobs that have the state now. Killing is the number of other local jobs that are
	// killed first, and get the state after that.
	Jobs    int `json:"jobs"`
	Killing int `json:"killing,omitempty"`
	// Left is the number of local jobs that are not changed, because their state does not allow it. LeftWhy is the
	// reason for the first of these local jobs, with its id.
	Left    int    `json:"left,omitempty"`
	LeftWhy string `json:"left_why,omitempty"`
	// NoChange is set if all local jobs already had the state or were on their way to it. This is a success. Notes say
	// why nothing changed, if Left does not.
	NoChange bool     `json:"no_change,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Error    *Error   `json:"error,omitempty"`
}
