package wire

// VerbRelease is the verb "release": it releases held jobs.
func VerbRelease() Verb[ReleaseRequest, ReleaseAnswer] {
	return Verb[ReleaseRequest, ReleaseAnswer]{About{Name: "release", MaxBytes: maxWithRefs,
		Help: "Release held local jobs."}}
}

// ReleaseRequest names the jobs to release. With DryRun nothing is changed, and the answer shows what would be
// released.
type ReleaseRequest struct {
	Head
	Many
	DryRun bool `json:"dry_run,omitempty"`
}

// Check checks the references.
func (r ReleaseRequest) Check() error { return checkRefs("release", r.Refs) }

// ReleaseAnswer has a result for each reference, in order.
type ReleaseAnswer struct {
	Reply
	Release []Released `json:"release,omitempty"`
}

// Released is the result for one reference.
type Released struct {
	Ref string `json:"ref"`
	// Jobs is the number of held local jobs that are now being released.
	Jobs int `json:"jobs"`
	// NoChange is set if no local job was held. This is a success.
	NoChange bool   `json:"no_change,omitempty"`
	Error    *Error `json:"error,omitempty"`
}
