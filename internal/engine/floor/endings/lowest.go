package endings

import (
	"cmp"
	"slices"

	"jjm/internal/jjm"
)

// lowest collects the first attempts that follow the attempt after, at most limit. The order is a circle: the lowest
// attempt follows the highest. It keeps at most twice limit attempts in memory, however many are added.
type lowest struct {
	limit int
	after jjm.AttemptID
	ids   []jjm.AttemptID
	full  bool // the last of limit ids is an upper bound for further ids
}

func (lo *lowest) add(id jjm.AttemptID) {
	if lo.full && lo.compare(id, lo.ids[lo.limit-1]) > 0 {
		return
	}
	if lo.ids = append(lo.ids, id); len(lo.ids) >= 2*lo.limit {
		lo.cut()
		lo.full = true
	}
}

// cut sorts the collected attempts, and drops all but the first limit.
func (lo *lowest) cut() []jjm.AttemptID {
	slices.SortFunc(lo.ids, lo.compare)
	lo.ids = lo.ids[:min(lo.limit, len(lo.ids))]
	return lo.ids
}

// compare puts the attempts that follow lo.after before all other attempts.
func (lo *lowest) compare(a, b jjm.AttemptID) int {
	if x, y := inOrder(a, lo.after) <= 0, inOrder(b, lo.after) <= 0; x != y {
		if x {
			return 1
		}
		return -1
	}
	return inOrder(a, b)
}

func inOrder(a, b jjm.AttemptID) int {
	return cmp.Or(cmp.Compare(a.Grid, b.Grid), cmp.Compare(a.N, b.N), cmp.Compare(a.Attempt, b.Attempt))
}
