package plan

import "jjm/internal/jjm"

// Hopeless reports whether an error of a step ends the grid job as broken:
//
//	prepare, generate   Invalid    the request is wrong
//	await               Invalid    a predecessor did not end in the required way
//	generate            Internal   the new rows contradict one another or the ledger, and the error came again after
//	                               everything was read again: the error will not go away by itself
//	otherwise                      no: the cause, such as a full disk or a batch system in trouble, may go away
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
