package wire

// VerbPing is the verb "ping": it checks whether the daemon answers.
func VerbPing() Verb[PingRequest, PingAnswer] {
	return Verb[PingRequest, PingAnswer]{About{Name: "ping", MaxBytes: maxShort,
		Help: "Does the daemon answer, and in which version?"}}
}

// PingRequest has no members except the common members of requests.
type PingRequest struct{ Head }

// Check accepts every request.
func (PingRequest) Check() error { return nil }

// PingAnswer is the answer of "ping".
type PingAnswer struct {
	Reply
	Version string `json:"version,omitempty"`
}
