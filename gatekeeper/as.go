package gatekeeper

import "jjm"

// As runs fn with the rights that an account has to files, for a process that is
// root; any other process runs it as it is. Only fn's own calls have them, not
// goroutines or programs that it starts.
func As(owner *jjm.Owner, fn func() error) error { return carry{owner: owner}.do(fn) }
