package plan

import (
	"cmp"
	"fmt"
	"slices"

	"jjm/internal/jjm"
)

// Rank orders clusters by how suitable they are for new work.
type Rank uint8

// The ranks, best first.
const (
	// Fit is the rank of a cluster that answers and accepts new work.
	Fit Rank = iota
	// Drained is the rank of a cluster that accepts no new grid jobs, but still accepts local jobs of the grid jobs that
	// it has already accepted.
	Drained
	// Troubled is the rank of a cluster that does not answer, or has recently answered with errors of kind Busy.
	Troubled
	// Barred is the rank of a cluster that accepts nothing now, for instance because it is paused.
	Barred
)

// Candidate is a cluster to which local jobs may go.
type Candidate struct {
	Name string
	Rank Rank
	// Slots is the number of jobs that the cluster can run at the same time; 0 if it is not known.
	Slots int
	// Load is the number of local jobs of all grid jobs on the cluster. Mine is the number of local jobs on the cluster
	// that belong to the grid jobs that are being spread.
	Load, Mine int
	// Room is the number of further local jobs that the cluster may have.
	Room int
}

// Best returns the best rank among clusters. Only clusters of that rank get local jobs,
// even while they are full.
func Best(all []Candidate) Rank {
	best := Barred
	for _, c := range all {
		best = min(best, c.Rank)
	}
	return best
}

// waves limits, as a multiple of a cluster's slots, the local jobs of the cluster whose work could also go to other
// clusters. Local jobs that are not submitted yet can still go to the first cluster with room, so that clusters of
// different speed finish together. Four waves keep a cluster busy for some minutes without the daemon.
const waves = 4

// Spread divides ready local jobs among clusters and returns how many local jobs each candidate gets now. It promises:
//
//   - only clusters of the best rank get local jobs, and barred clusters never;
//   - no cluster gets more than its room, and all clusters together do not get more than are ready;
//   - all clusters are filled to the same number of jobs per slot as far as jobs and room allow, so that small and
//     large clusters finish at about the same time;
//   - a single candidate gets as many local jobs as it has room for;
//   - if there are several clusters, each holds at most four times its slots; and while more local jobs are ready than
//     all clusters may hold, a nearly full cluster gets none until a whole wave of its slots fits.
//
// A cluster whose number of slots is not known counts as if it had the average number of the other clusters.
func Spread(ready int, all []Candidate) []int {
	give := make([]int, len(all))
	if len(all) == 1 && all[0].Rank != Barred {
		give[0] = max(min(ready, all[0].Room), 0)
		return give
	}
	rank := Best(all)
	if rank == Barred || ready <= 0 {
		return give
	}
	var at []int // the clusters that may get local jobs
	for i, c := range all {
		if c.Rank == rank && c.Room > 0 {
			at = append(at, i)
		}
	}
	slots := assume(all)
	most := make([]int, len(all))
	for _, i := range at {
		most[i] = min(all[i].Room, max(waves*slots[i]-all[i].Mine, 0))
	}
	left := fill(give, at, ready, all, slots, most)
	if left == 0 {
		return give
	}
	for _, i := range at { // too many local jobs for all clusters: only whole waves
		if give[i] < slots[i] && give[i] < all[i].Room {
			give[i] = 0
		}
	}
	return give
}

// assume returns the slots of each cluster, at least 1. For a cluster with an unknown number it returns the average of
// the known numbers.
func assume(all []Candidate) []int {
	known, sum := 0, 0
	for _, c := range all {
		if c.Slots > 0 {
			known++
			sum += c.Slots
		}
	}
	slots := make([]int, len(all))
	for i, c := range all {
		switch {
		case c.Slots > 0:
			slots[i] = c.Slots
		case known > 0:
			slots[i] = max(sum/known, 1)
		default:
			slots[i] = 1000 // no number of slots is known: only their equality matters
		}
	}
	return slots
}

// fill raises the level (jobs per slot, as a fraction with one denominator for all clusters) as far as the ready jobs
// allow. The few remaining jobs go, one each, to the clusters with the lowest level. fill returns the number of jobs
// that did not fit.
func fill(give, at []int, ready int, all []Candidate, slots, most []int) (left int) {
	const fine = 1024 // a wave consists of this many steps of the level
	want := func(i, level int) int {
		return min(max(level*slots[i]/fine-all[i].Load, 0), most[i])
	}
	sum := func(level int) int {
		n := 0
		for _, i := range at {
			n += want(i, level)
		}
		return n
	}
	low, high := 0, 1
	for _, i := range at {
		high = max(high, fine*(all[i].Load+most[i]+1)/slots[i]+fine)
	}
	for low+1 < high { // sum(low) <= ready; and sum(high) > ready, or all clusters are full
		if mid := low + (high-low)/2; sum(mid) <= ready {
			low = mid
		} else {
			high = mid
		}
	}
	left = ready
	for _, i := range at {
		give[i] = want(i, low)
		left -= give[i]
	}
	for left > 0 {
		i, ok := lowest(give, at, all, slots, most)
		if !ok {
			break
		}
		give[i]++
		left--
	}
	return left
}

// lowest returns the cluster with the fewest jobs per slot among the clusters that may get one more job; false if no
// cluster may.
func lowest(give, at []int, all []Candidate, slots, most []int) (int, bool) {
	open := slices.DeleteFunc(slices.Clone(at), func(i int) bool { return give[i] >= most[i] })
	if len(open) == 0 {
		return 0, false
	}
	return slices.MinFunc(open, func(a, b int) int {
		return cmp.Compare((all[a].Load+give[a]+1)*slots[b], (all[b].Load+give[b]+1)*slots[a])
	}), true
}

// Want is a demand of a grid job, with the clusters to which its local jobs may go.
type Want struct {
	Demand
	// Among are the positions of the clusters among the clusters of the site. For each of these clusters, At is the
	// number of these local jobs on the cluster, and Rooms is the number of further local jobs that the owner may have
	// there. All wants of one owner have the same Rooms.
	Among, At, Rooms []int
}

// Share returns the part of the wants that the cluster at position here should get now, as demands for Site, in the
// order of the wants. It divides wants of one owner with the same choice of clusters together: Spread divides their sum
// among the clusters, and Site divides the part of this cluster among the wants. No owner gets more than its room on
// this cluster.
func Share(here int, site []Candidate, wants []Want) []Demand {
	classes, owners := map[string][]int{}, map[string][]int{}
	for i, w := range wants {
		if slices.Contains(w.Among, here) {
			key := fmt.Sprintf("%d %s", w.Among, w.Owner)
			classes[key] = append(classes[key], i)
			owners[w.Owner] = append(owners[w.Owner], i)
		}
	}
	ready := make([]int, len(wants))
	for _, members := range classes {
		shareClass(here, site, wants, members, ready)
	}
	for _, members := range owners {
		w := wants[members[0]]
		share(wants, members, ready, w.Rooms[slices.Index(w.Among, here)])
	}
	var out []Demand
	for i, w := range wants {
		if ready[i] > 0 {
			d := w.Demand
			d.Ready = ready[i]
			out = append(out, d)
		}
	}
	return out
}

// shareClass sets ready, for wants of one owner with the same choice of clusters, to the part of this cluster.
func shareClass(here int, site []Candidate, wants []Want, members, ready []int) {
	first := wants[members[0]]
	all := make([]Candidate, len(first.Among))
	for k, at := range first.Among {
		all[k] = site[at]
		all[k].Mine, all[k].Room = 0, min(all[k].Room, first.Rooms[k])
	}
	total := 0
	for _, i := range members {
		ready[i] = wants[i].Ready
		total += wants[i].Ready
		for k := range all {
			all[k].Mine += wants[i].At[k]
		}
	}
	share(wants, members, ready, Spread(total, all)[slices.Index(first.Among, here)])
}

// share reduces the ready local jobs of the members to the room. Site decides how many each member keeps.
func share(wants []Want, members, ready []int, room int) {
	type key struct {
		grid  jjm.GridID
		place int32
	}
	demands := make([]Demand, len(members))
	at := make(map[key]int, len(members))
	for k, i := range members {
		demands[k] = wants[i].Demand
		demands[k].Ready = ready[i]
		at[key{wants[i].Grid, wants[i].Place}] = i
		ready[i] = 0
	}
	for _, b := range Site(demands, room) {
		ready[at[key{b.Grid, b.Place}]] = b.Jobs
	}
}
