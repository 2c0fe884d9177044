package wire

import (
	"jjm"
)

// VerbRetract says of outputs of a grid job that they are lost, so that they are made again.
func VerbRetract() Verb[RetractRequest, RetractAnswer] {
	return Verb[RetractRequest, RetractAnswer]{About{Name: "retract", MaxBytes: MaxRequest,
		Help: "Say of outputs that they are lost, so that they are made again."}}
}

// RetractRequest names one grid job and outputs of it.
type RetractRequest struct {
	Head
	One
	Retract *Retract `json:"retract,omitempty"`
}

// Check implements Request.
func (r RetractRequest) Check() error {
	if err := r.one("retract"); err != nil {
		return err
	}
	if r.Retract == nil {
		return jjm.Errorf(jjm.Invalid, "retract: member retract is missing: want {\"outputs\",\"reason\"}")
	}
	return r.Retract.check()
}

// RetractAnswer answers retract.
type RetractAnswer struct {
	Reply
	Retracted *Retracted `json:"retracted,omitempty"`
}

// Check implements Answer.
func (a RetractAnswer) Check() error { return present("retracted", a.Retracted != nil) }

// Retract says of outputs that they are lost.
type Retract struct {
	// Outputs are their names as they are in the tar, at most MaxFiles.
	Outputs []string `json:"outputs"`
	// Reason says why; DryRun only says what it would do.
	Reason string `json:"reason,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"`
	// Recovery is the name of the job file to make that makes them again, once the
	// grid job is over; "" = none is wanted.
	Recovery string `json:"recovery,omitempty"`
}

// Retracted answers retract.
type Retracted struct {
	ID jjm.GridID `json:"id"`
	// Locals are the local jobs whose results do not count any more.
	Locals []RetractedLocal `json:"locals"`
	// Lost are all outputs that are lost with those that were named.
	Lost []string `json:"lost,omitempty"`
	// Recovery, RecoveryFiles and RecoveryRanges are as in Verified; "" where a
	// recovery did it already, or does.
	Recovery       string `json:"recovery,omitempty"`
	RecoveryFiles  string `json:"recovery_files,omitempty"`
	RecoveryRanges string `json:"recovery_ranges,omitempty"`
}

// RetractedLocal is a local job whose result does not count any more.
type RetractedLocal struct {
	Local   string   `json:"local"`
	Outputs []string `json:"outputs,omitempty"`
	// Next is the local job that makes them again, "" if the grid job is over.
	Next string `json:"next,omitempty"`
	// Before says that it was retracted already.
	Before bool `json:"before,omitempty"`
}

// check finds what is wrong with a wish whatever the store holds.
func (r *Retract) check() error {
	switch {
	case len(r.Outputs) == 0 || len(r.Outputs) > MaxFiles:
		return jjm.Errorf(jjm.Invalid, "retract.outputs: %d of them: want 1 to %d in one request", len(r.Outputs), MaxFiles)
	case r.Reason == "" && !r.DryRun:
		return jjm.Errorf(jjm.Invalid, "retract.reason is missing: say why, for those who read it later")
	case len(r.Reason) > maxReason || !oneLine(r.Reason):
		return jjm.Errorf(jjm.Invalid, "retract.reason: want one line of at most %d bytes", maxReason)
	}
	for i, name := range r.Outputs {
		if name == "" || len(name) > maxPath || !oneLine(name) {
			return jjm.Errorf(jjm.Invalid, "retract.outputs[%d] %.80q: want the name of an output", i, name)
		}
	}
	return checkRecovery("retract.recovery", r.Recovery)
}
