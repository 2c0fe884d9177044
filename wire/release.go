package wire

// VerbRelease lets held jobs go on.
func VerbRelease() Verb[ReleaseRequest, ReleaseAnswer] {
	return Verb[ReleaseRequest, ReleaseAnswer]{About{Name: "release", MaxBytes: maxWithRefs,
		Help: "Let held local jobs go on."}}
}

// ReleaseRequest names the jobs to release.
type ReleaseRequest struct {
	Head
	Refs []string `json:"refs,omitempty"`
}

// Check implements Request.
func (r ReleaseRequest) Check() error { return checkRefs("release", r.Refs) }

// ReleaseAnswer has an entry for each reference, in order.
type ReleaseAnswer struct {
	Reply
	Release []Released `json:"release,omitempty"`
}

// Released answers release for one reference.
type Released struct {
	Ref string `json:"ref"`
	// Jobs is how many local jobs were held and are being released.
	Jobs int `json:"jobs"`
	// NoChange is true when none was held: a success.
	NoChange bool   `json:"no_change,omitempty"`
	Error    *Error `json:"error,omitempty"`
}
