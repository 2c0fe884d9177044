package plan

// Heard counts, over all accounts, how the latest listing of a cluster went.
type Heard struct {
	// Answered is the number of accounts that got a listing, and Silent is the number of accounts that got none.
	Answered, Silent int
	// Own is true if the only account is the daemon's own account, with which no user can interfere.
	Own bool
	// Pinged is true if the batch system answers a command that the daemon runs as its own account.
	Pinged bool
}

// OneWord reports whether the failed listing of a single account is the only evidence. Then the daemon should ping the
// batch system itself.
func (h Heard) OneWord() bool { return !h.Own && h.Silent == 1 && h.Answered == 0 }

// Unhealthy reports whether a batch system counts as not answering listings. An account can delay its own commands; a
// failed listing of one account therefore does not count while other accounts get answers. If there is only one
// account, and it is not the daemon's own account, the daemon's ping decides.
//
//	silent  answered            unhealthy
//	0       any                 no
//	1       0                   with Own yes; else yes, unless the daemon's own ping is answered
//	1       1 or more           no
//	2+      fewer               yes
//	2+      as many or more     no
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
