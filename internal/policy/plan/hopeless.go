package plan

import "jjm/internal/jjm"

// Hopeless reports whether a grid job ends as broken because of an error of its step:
//
//	prepare, generate   Invalid    the request is wrong
//	await               Invalid    a grid job that it begins after ended in another way
//	generate            Internal   the new rows contradict one another or the ledger, and the error came again after
//	                               all was read again: nothing that anybody does elsewhere will change it
//	otherwise                      no: a full disk, an account or a batch system may recover
//
// again is true if the previous try had the same error.
func Hopeless(do GridDo, kind jjm.Kind, again bool) bool {
	switch do {
	case Prepare, Await:
		return kind == jjm.Invalid
	case Generate:
		return kind == jjm.Invalid || kind == jjm.Internal && again
	}
	return false
}
