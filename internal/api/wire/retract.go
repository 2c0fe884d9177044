package wire

import (
	"jjm/internal/jjm"
)

// VerbRetract is the verb "retract": it declares outputs of a grid job lost, so that local jobs make them again.
func VerbRetract() Verb[RetractRequest, RetractAnswer] {
	return Verb[RetractRequest, RetractAnswer]{About{Name: "retract", MaxBytes: MaxRequest, Grids: true,
		Help: "Declare outputs lost, so that they are made again."}}
}

// RetractRequest names one grid job and some of its outputs.
type RetractRequest struct {
	Head
	One
	Retract *Retract `json:"retract,omitempty"`
}

// Check checks the reference and the form of Retract.
func (r RetractRequest) Check() error {
	if err := r.one("retract"); err != nil {
		return err
	}
	if r.Retract == nil {
		return jjm.Errorf(jjm.Invalid, "retract: member retract is missing: want {\"outputs\",\"reason\"}")
	}
	return r.Retract.check()
}

// RetractAnswer is the answer of "retract".
type RetractAnswer struct {
	Reply
	Retracted *Retracted `json:"retracted,omitempty"`
}

// Check requires the member retracted.
func (a RetractAnswer) Check() error { return present("retracted", a.Retracted != nil) }

// Retract declares outputs lost.
type Retract struct {
	// Outputs are the names of the outputs as in the tar, at most MaxFiles.
	Outputs []string `json:"outputs"`
	// Reason is the reason. With DryRun nothing is changed, and the answer contains the changes that would be made.
	Reason string `json:"reason,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"`
	// NewOutput leaves a grid job that is over unchanged, so that a new grid job makes the outputs again. Without
	// NewOutput the grid job is reopened. Recovery is the name of the new grid job's job file; "" means that no job
	// file is wanted now.
	NewOutput bool   `json:"new_output,omitempty"`
	Recovery  string `json:"recovery,omitempty"`
}

// Retracted is the result of a retraction.
type Retracted struct {
	ID jjm.GridID `json:"id"`
	// Locals are the local jobs whose results no longer count.
	Locals []RetractedLocal `json:"locals"`
	// Lost are all lost outputs: the named outputs, and the other outputs of the same local jobs, because a local job
	// is repeated with all its outputs.
	Lost []string `json:"lost,omitempty"`
	// Generation is the generation that makes the outputs again, if the grid job is reopened.
	Generation int `json:"generation,omitempty"`
	// Recovery, RecoveryFiles and RecoveryRanges are as in [Verified]. They are "" if a recovery already does or has
	// done the work.
	Recovery       string `json:"recovery,omitempty"`
	RecoveryFiles  string `json:"recovery_files,omitempty"`
	RecoveryRanges string `json:"recovery_ranges,omitempty"`
	// Notes say why results stay as they are that were retracted earlier.
	Notes []string `json:"notes,omitempty"`
}

// RetractedLocal is a local job whose result no longer counts.
type RetractedLocal struct {
	Local   string   `json:"local"`
	Outputs []string `json:"outputs,omitempty"`
	// Next is the local job that makes the outputs again, "" if the grid job is over.
	Next string `json:"next,omitempty"`
	// Before is set if the result was retracted earlier.
	Before bool `json:"before,omitempty"`
}

// check returns the first mistake that can be found without the store.
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
