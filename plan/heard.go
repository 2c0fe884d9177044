package plan

// Heard is what the accounts under which a cluster is asked got for an answer when
// each asked last.
type Heard struct {
	// Answered got a listing, Silent got none.
	Answered, Silent int
	// Own: there is one account and it is the daemon's own, with which nobody else
	// can interfere.
	Own bool
	// Pinged: the batch system answers the daemon's own question.
	Pinged bool
}

// OneWord reports whether all depends on the word of a single account, so that the
// daemon should ask for itself.
func (h Heard) OneWord() bool { return !h.Own && h.Silent == 1 && h.Answered == 0 }

// Unhealthy reports whether a batch system counts as giving no listings. An account can
// hold up its own commands, so one account's trouble is its own while others get
// answers; where it is the only one, the daemon's own question decides.
//
//	silent  answered  ill
//	0       any       no
//	1       0         unless the daemon's own question is answered
//	1       1 or more no
//	2+      fewer     yes
//	2+      as many   no
func (h Heard) Unhealthy() bool {
	switch {
	case h.Silent == 0:
		return false
	case h.OneWord():
		return !h.Pinged
	case h.Silent == 1 && !h.Own:
		return false
	}
	return h.Silent > h.Answered
}
