package plan

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"jjm/internal/jjm"
)

// Demand is a grid job's request to submit local jobs of one place to a cluster.
type Demand struct {
	Grid jjm.GridID
	// Place is the place of the local jobs (jjm.LocalJob.Place).
	Place int32
	// Ready is the number of local jobs of the place that could be submitted now. InBatch is the number of local jobs of
	// the place that the batch system already has. Others is the number of local jobs of the grid job's other places that
	// the batch system has.
	Ready, InBatch, Others int
	// Owner identifies the owner of the grid job. Priority is the priority of the local jobs among the owner's local jobs.
	Owner    string
	Priority int
}

// Budget permits a grid job to submit Jobs local jobs of a place now; Jobs is at least 1.
type Budget struct {
	Grid  jjm.GridID
	Place int32
	Jobs  int
}

// Site divides the room of one cluster, which is the number of further local jobs that the cluster may have, among the
// grid jobs with demands. It levels the numbers of local jobs that grid jobs have in the batch system (max-min
// fairness): a grid job of ten local jobs does not wait for a grid job of a hundred thousand. The places of a grid job
// share the grid job's part in the same way: a grid job whose files are in many places does not get more. Site
// promises:
//
//   - the budgets sum to min(room, everything ready): no room is left unused;
//   - no budget exceeds its demand;
//   - if the room is at least the number of grid jobs, each grid job gets 1 or more; the same holds for the places
//     within the grid job's part.
//
// With less room, the grid jobs with the fewest jobs in the batch system come first; among equal grid jobs the oldest
// comes first, with its first place. Budgets are in the order of the demands. Demands that get nothing are left out.
//
// Priorities do not change the total number of local jobs that an owner gets. Within this number, the local jobs of a
// greater priority come first, and the promises about grid jobs and places hold among local jobs of the same priority.
func Site(demands []Demand, room int) []Budget {
	give := levelled(demands, room)
	for _, members := range prioritized(demands) {
		byPriority(demands, members, give)
	}
	var out []Budget
	for i, d := range demands {
		if give[i] > 0 {
			out = append(out, Budget{Grid: d.Grid, Place: d.Place, Jobs: give[i]})
		}
	}
	return out
}

// prioritized returns the positions of the demands of each owner whose demands have different priorities.
func prioritized(demands []Demand) (owners [][]int) {
	if !slices.ContainsFunc(demands, func(d Demand) bool { return d.Priority != demands[0].Priority }) {
		return nil
	}
	at := map[string][]int{}
	for i, d := range demands {
		at[d.Owner] = append(at[d.Owner], i)
	}
	return slices.Collect(maps.Values(at))
}

// byPriority divides the local jobs that the demands of one owner get in total again, greater priorities first.
func byPriority(demands []Demand, members, give []int) {
	room := 0
	for _, i := range members {
		room += give[i]
	}
	tiers := map[int][]int{}
	for _, i := range members {
		tiers[demands[i].Priority] = append(tiers[demands[i].Priority], i)
	}
	for _, priority := range slices.Backward(slices.Sorted(maps.Keys(tiers))) {
		tier := make([]Demand, len(tiers[priority]))
		for k, i := range tiers[priority] {
			tier[k] = demands[i]
		}
		for k, n := range levelled(tier, room) {
			give[tiers[priority][k]] = n
		}
		for _, i := range tiers[priority] {
			room -= give[i]
		}
	}
}

// levelled returns the number of local jobs that each demand gets if priorities do not count.
func levelled(demands []Demand, room int) []int {
	grids, members := byGrid(demands)
	give := make([]int, len(demands))
	for i, jobs := range fair(grids, room) {
		places := make([]Demand, len(members[i]))
		for k, at := range members[i] {
			places[k] = demands[at]
		}
		for k, n := range fair(places, jobs) {
			give[members[i][k]] = n
		}
	}
	return give
}

// byGrid sums the demands of each grid job that has ready local jobs. members are the positions of the summed demands.
func byGrid(demands []Demand) (grids []Demand, members [][]int) {
	at := make(map[jjm.GridID]int, len(demands))
	for i, d := range demands {
		if d.Ready <= 0 {
			continue
		}
		g, known := at[d.Grid]
		if !known {
			g = len(grids)
			at[d.Grid] = g
			grids = append(grids, Demand{Grid: d.Grid, InBatch: max(0, d.InBatch) + max(0, d.Others)})
			members = append(members, nil)
		}
		grids[g].Ready += d.Ready
		members[g] = append(members[g], i)
	}
	return grids, members
}

// fair returns the number of local jobs that each demand gets; nil if there is no room or no demand.
func fair(demands []Demand, room int) []int {
	if room <= 0 || len(demands) == 0 {
		return nil
	}
	want, order := slices.Clone(demands), make([]int, len(demands))
	for i := range want {
		want[i].InBatch = max(0, want[i].InBatch)
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(want[a].InBatch, want[b].InBatch), cmp.Compare(want[a].Grid, want[b].Grid),
			cmp.Compare(want[a].Place, want[b].Place))
	})
	return level(want, order, room)
}

// level returns the number of jobs that each demand gets. First each demand gets one job, as far as the room allows.
// Then all are filled up to the highest common number of jobs in the batch system that the room allows. The remaining
// jobs, which are fewer than the demands, go one by one to the first demands in the order.
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
	// The affordable level is one below the first level that does not fit.
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
