package jjm

// Callback describes how changes of a grid job's status are reported to a server.
type Callback struct {
	// URL is the address to which the events are sent.
	URL string `json:"url"`
	// States are the statuses that are reported to the server; empty = the final statuses.
	States []GridStatus `json:"states,omitempty"`
	// SecretFile is a file of the owner. It holds the secret with which the events are signed; "" = no signature.
	SecretFile string `json:"secret_file,omitempty"`
}

// Wants reports whether a change to the status is reported to the server.
func (c *Callback) Wants(status GridStatus) bool {
	if len(c.States) == 0 {
		return status.Final()
	}
	for _, s := range c.States {
		if s == status {
			return true
		}
	}
	return false
}
