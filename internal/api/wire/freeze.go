package wire

// VerbFreeze is the verb "freeze": it freezes local jobs that are over, so that no other command changes them.
func VerbFreeze() Verb[FreezeRequest, FreezeAnswer] {
	return Verb[FreezeRequest, FreezeAnswer]{About{Name: "freeze", MaxBytes: maxWithRefs,
		Help: "Freeze local jobs that are over, so that nothing changes them."}}
}

// VerbUnfreeze is the verb "unfreeze": it ends freezes.
func VerbUnfreeze() Verb[UnfreezeRequest, UnfreezeAnswer] {
	return Verb[UnfreezeRequest, UnfreezeAnswer]{About{Name: "unfreeze", MaxBytes: maxWithRefs,
		Help: "Unfreeze local jobs: completed or failed, as they were."}}
}

// FreezeRequest names the jobs to freeze. The id of a grid job means its local jobs that are over.
type FreezeRequest struct {
	Head
	Many
	FreezeHow
}

// UnfreezeRequest names the jobs to unfreeze. The id of a grid job means its frozen local jobs.
type UnfreezeRequest struct {
	Head
	Many
	FreezeHow
}

// FreezeHow contains the options of a freeze and of an unfreeze.
type FreezeHow struct {
	// DryRun changes nothing; the answer shows the jobs that would be changed.
	DryRun bool `json:"dry_run,omitempty"`
}

// Check checks the references.
func (r FreezeRequest) Check() error { return checkRefs("freeze", r.Refs) }

// Check checks the references.
func (r UnfreezeRequest) Check() error { return checkRefs("unfreeze", r.Refs) }

// FreezeAnswer has a result for each reference, in order.
type FreezeAnswer struct {
	Reply
	Freeze []Frozen `json:"freeze,omitempty"`
}

// UnfreezeAnswer has a result for each reference, in order.
type UnfreezeAnswer struct {
	Reply
	Unfreeze []Frozen `json:"unfreeze,omitempty"`
}

// Frozen is the result of a freeze or an unfreeze for one reference.
type Frozen struct {
	Ref string `json:"ref"`
	// Jobs is the number of local jobs that were frozen or unfrozen.
	Jobs int `json:"jobs"`
	// Left are local jobs that are not changed, because their state does not allow it. LeftOut is the number of further
	// such local jobs.
	Left    []Left `json:"left,omitempty"`
	LeftOut int    `json:"left_out,omitempty"`
	// NoChange is set if no local job needed a change. This is a success. Notes say why nothing changed, if Left does
	// not.
	NoChange bool     `json:"no_change,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Error    *Error   `json:"error,omitempty"`
}
