package gatekeeper

import "jjm/internal/jjm"

// As runs fn with the file access rights of the account owner, and returns fn's error. It has an effect only in a
// process of root, and only on the system calls of fn itself: goroutines and programs that fn starts keep the rights of
// the process.
func As(owner *jjm.Owner, fn func() error) error { return asOwner{owner: owner}.do(fn) }
