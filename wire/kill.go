package wire

// VerbKill ends jobs. It answers once the wish is stored.
func VerbKill() Verb[KillRequest, KillAnswer] {
	return Verb[KillRequest, KillAnswer]{About{Name: "kill", MaxBytes: maxWithRefs, Spooled: true,
		Help: "End grid jobs or local jobs."}}
}

// KillRequest names the jobs to end.
type KillRequest struct {
	Head
	Refs []string `json:"refs,omitempty"`
}

// Check implements Request.
func (r KillRequest) Check() error { return checkRefs("kill", r.Refs) }

// KillAnswer has an entry for each reference, in order.
type KillAnswer struct {
	Reply
	Kill []Killed `json:"kill,omitempty"`
}

// Killed answers kill for one reference.
type Killed struct {
	Ref string `json:"ref"`
	// NoChange is true when it was over already: a success.
	NoChange bool   `json:"no_change,omitempty"`
	Error    *Error `json:"error,omitempty"`
}
