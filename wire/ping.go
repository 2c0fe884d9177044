package wire

// VerbPing asks whether the daemon answers.
func VerbPing() Verb[PingRequest, PingAnswer] {
	return Verb[PingRequest, PingAnswer]{About{Name: "ping", MaxBytes: maxShort,
		Help: "Does the daemon answer, and in which version?"}}
}

// PingRequest takes nothing.
type PingRequest struct{ Head }

// Check implements Request.
func (PingRequest) Check() error { return nil }

// PingAnswer answers ping.
type PingAnswer struct {
	Reply
	Version string `json:"version,omitempty"`
}
