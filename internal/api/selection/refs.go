package selection

import "jjm/internal/jjm"

// Join appends a local job to a list of references, for local jobs in ascending order. If the local job directly
// follows the last reference, Join extends that reference instead.
func Join(refs []jjm.Ref, id jjm.LocalID) []jjm.Ref {
	if n := len(refs); n > 0 {
		last := &refs[n-1]
		if last.Locals && last.Grid == id.Grid && last.Last >= 0 && last.Last+1 == id.N {
			last.Last = id.N
			return refs
		}
	}
	return append(refs, jjm.Ref{Grid: id.Grid, Locals: true, First: id.N, Last: id.N})
}
