package jjm

// Callback describes how the changes of a grid job's status are told to a server.
type Callback struct {
	// URL is where the events are sent.
	URL string `json:"url"`
	// States are the statuses of which the server is told; empty = the final statuses.
	States []GridStatus `json:"states,omitempty"`
	// SecretFile is a file of the owner with the secret that signs the events; "" = no signature.
	SecretFile string `json:"secret_file,omitempty"`
}

// Wants reports whether the server is told that a grid job gets a status.
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
