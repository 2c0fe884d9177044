package plan

import (
	"cmp"
	"slices"
	"sort"

	"jjm"
)

// Demand is what one grid job wants of a cluster.
type Demand struct {
	Grid jjm.GridID
	// Ready is the number of its local jobs that could be submitted now,
	// InBatch the number the batch system has already.
	Ready, InBatch int
}

// Budget is how many local jobs a grid job may submit now; at least 1.
type Budget struct {
	Grid jjm.GridID
	Jobs int
}

// Site shares the room of one cluster - how many more local jobs it should
// hold - among the grid jobs that want some of it. It levels what each has in
// the batch system (max-min fairness): a grid job of ten beside one of a
// hundred thousand does not wait for it. Promises:
//
//   - the budgets sum to min(room, everything ready): no room is left unused;
//   - none exceeds its demand;
//   - with at least as much room as there are demands, each gets 1 or more.
//
// With less room than demands those with the fewest jobs in the batch system
// are first, of equal ones the oldest grid job. Budgets come in the order of
// the demands; those that get nothing are left out.
func Site(demands []Demand, room int) []Budget {
	want := make([]Demand, 0, len(demands))
	for _, d := range demands {
		if d.Ready > 0 {
			want = append(want, Demand{Grid: d.Grid, Ready: d.Ready, InBatch: max(0, d.InBatch)})
		}
	}
	if room <= 0 || len(want) == 0 {
		return nil
	}
	order := make([]int, len(want))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(want[a].InBatch, want[b].InBatch), cmp.Compare(want[a].Grid, want[b].Grid))
	})
	give := level(want, order, room)
	out := make([]Budget, 0, len(want))
	for i, d := range want {
		if give[i] > 0 {
			out = append(out, Budget{Grid: d.Grid, Jobs: give[i]})
		}
	}
	return out
}

// level gives each demand one job as far as the room goes, then fills up to
// the highest level that the room affords, then hands out the remainder, fewer
// than there are demands, in order.
func level(want []Demand, order []int, room int) []int {
	give := make([]int, len(want))
	for _, i := range order[:min(room, len(order))] {
		give[i] = 1
	}
	if room <= len(order) {
		return give
	}
	at := func(i, level int) int { return min(max(level-want[i].InBatch, 1), want[i].Ready) }
	top := 0
	for _, d := range want {
		top = max(top, d.InBatch+d.Ready)
	}
	// The first level that does not fit, minus one, is the one affordable.
	fill := sort.Search(top+1, func(l int) bool {
		sum := 0
		for i := range want {
			sum += at(i, l)
		}
		return sum > room
	}) - 1
	for i := range want {
		give[i] = at(i, fill)
		room -= give[i]
	}
	for _, i := range order {
		if room == 0 {
			break
		}
		if at(i, fill+1) > give[i] {
			give[i]++
			room--
		}
	}
	return give
}
