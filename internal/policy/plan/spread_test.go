package plan_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

const ample = 1 << 30

func TestSpread_Cases(t *testing.T) {
	fit := func(slots, load int) plan.Candidate {
		return plan.Candidate{Slots: slots, Load: load, Mine: load, Room: ample}
	}
	with := func(c plan.Candidate, change func(*plan.Candidate)) plan.Candidate {
		change(&c)
		return c
	}
	rank := func(r plan.Rank, c plan.Candidate) plan.Candidate { c.Rank = r; return c }
	for name, c := range map[string]struct {
		ready int
		all   []plan.Candidate
		want  []int
	}{
		"one alone gets all":                     {9000, []plan.Candidate{fit(2, 0)}, []int{9000}},
		"one alone, in trouble":                  {9, []plan.Candidate{rank(plan.Troubled, fit(2, 0))}, []int{9}},
		"one alone, barred":                      {9, []plan.Candidate{rank(plan.Barred, fit(2, 0))}, []int{0}},
		"in proportion to the slots":             {44, []plan.Candidate{fit(2, 0), fit(20, 0)}, []int{4, 40}},
		"the load counts":                        {24, []plan.Candidate{fit(2, 0), fit(20, 20)}, []int{4, 20}},
		"few go to the emptiest":                 {2, []plan.Candidate{fit(2, 2), fit(20, 1)}, []int{0, 2}},
		"at most four waves":                     {1000, []plan.Candidate{fit(2, 0), fit(20, 0)}, []int{8, 80}},
		"nearly full ones wait for a whole wave": {1000, []plan.Candidate{fit(2, 7), fit(20, 60)}, []int{0, 20}},
		"but not with the last ones":             {1, []plan.Candidate{fit(2, 7), fit(20, 80)}, []int{1, 0}},
		"not to one in trouble": {44, []plan.Candidate{fit(2, 0), rank(plan.Troubled, fit(20, 0))},
			[]int{8, 0}},
		"not to a drained one": {4, []plan.Candidate{rank(plan.Drained, fit(20, 0)), fit(2, 0)},
			[]int{0, 4}},
		"not even while the others are full": {4,
			[]plan.Candidate{rank(plan.Drained, fit(20, 0)), with(fit(2, 8), func(c *plan.Candidate) {
				c.Room = 0
			})}, []int{0, 0}},
		"to a drained one rather than one in trouble": {4,
			[]plan.Candidate{rank(plan.Drained, fit(20, 0)), rank(plan.Troubled, fit(2, 0))}, []int{4, 0}},
		"all in trouble": {4, []plan.Candidate{rank(plan.Troubled, fit(1, 0)), rank(plan.Troubled, fit(3, 0))},
			[]int{1, 3}},
		"all barred": {4, []plan.Candidate{rank(plan.Barred, fit(1, 0)), rank(plan.Barred, fit(3, 0))},
			[]int{0, 0}},
		"room binds": {44, []plan.Candidate{fit(2, 0), with(fit(20, 0), func(c *plan.Candidate) {
			c.Room = 5
		})}, []int{8, 5}},
		"those of others bar nobody": {10,
			[]plan.Candidate{{Slots: 10, Load: 9000, Room: ample}, {Slots: 10, Load: 9000, Room: ample}}, []int{5, 5}},
		"no slots known":     {10, []plan.Candidate{fit(0, 0), fit(0, 4)}, []int{7, 3}},
		"slots of one known": {20, []plan.Candidate{fit(10, 0), fit(0, 0)}, []int{10, 10}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, plan.Spread(c.ready, c.all)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func drawCandidates(t *rapid.T) []plan.Candidate {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) plan.Candidate {
		load := rapid.IntRange(0, 3000).Draw(t, "load")
		return plan.Candidate{
			Rank:  plan.Rank(rapid.IntRange(0, 3).Draw(t, "rank")),
			Slots: rapid.SampledFrom([]int{0, 1, 2, 7, 100, 5000}).Draw(t, "slots"),
			Load:  load, Mine: rapid.IntRange(0, load).Draw(t, "mine"),
			Room: rapid.SampledFrom([]int{0, 1, 5, 300, ample}).Draw(t, "room"),
		}
	}), 1, 5).Draw(t, "clusters")
}

func TestSpread_Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, ready := drawCandidates(t), rapid.IntRange(0, 20_000).Draw(t, "ready")
		give := plan.Spread(ready, all)
		sum, best := 0, plan.Best(all)
		for i, n := range give {
			sum += n
			switch {
			case n < 0 || n > all[i].Room:
				t.Fatalf("%d of room %d: %v", n, all[i].Room, give)
			case n > 0 && (all[i].Rank != best || best == plan.Barred):
				t.Fatalf("rank %d gets %d, the best is %d", all[i].Rank, n, best)
			case n > 0 && len(all) > 1 && all[i].Slots > 0 && all[i].Mine+n > 4*all[i].Slots:
				t.Fatalf("more than four waves: %d of %d slots with %d of them", n, all[i].Slots, all[i].Mine)
			}
		}
		if sum > ready {
			t.Fatalf("%d given of %d", sum, ready)
		}
		if len(all) == 1 && best != plan.Barred && sum != min(ready, all[0].Room) {
			t.Fatalf("one alone gets %d of %d", sum, ready)
		}
		// If two known clusters both got jobs, neither can give away one job and still be fuller than the other.
		for i := range all {
			for j := range all {
				a, b := all[i], all[j]
				free := give[j] < b.Room && b.Mine+give[j] < 4*b.Slots
				if sum == ready && give[i] > 0 && a.Slots > 0 && b.Slots > 0 && b.Rank == best && free &&
					(a.Load+give[i]-1)*b.Slots > (b.Load+give[j]+1)*a.Slots {
					t.Fatalf("cluster %d is filled to %d/%d, cluster %d only to %d/%d", i, a.Load+give[i], a.Slots, j, b.Load+give[j],
						b.Slots)
				}
			}
		}
	})
}

// All ready jobs are submitted in the end, in whatever order the clusters ask, and all clusters end at about the same
// time. In this test all jobs have the same length.
func TestSpread_EverythingEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) plan.Candidate {
			return plan.Candidate{Slots: rapid.IntRange(1, 30).Draw(t, "slots"), Room: ample}
		}), 2, 4).Draw(t, "clusters")
		ready := rapid.IntRange(0, 2000).Draw(t, "ready")
		last := make([]int, len(all))
		for now := 0; ; now++ {
			for turn := range all {
				i := (turn + now) % len(all)
				n := plan.Spread(ready, all)[i]
				all[i].Load += n
				all[i].Mine += n
				ready -= n
			}
			over := ready == 0
			for i := range all {
				if all[i].Load > 0 {
					last[i], over = now, false
					all[i].Load -= min(all[i].Load, all[i].Slots)
					all[i].Mine = all[i].Load
				}
			}
			if over {
				break
			}
			if now > 5000 {
				t.Fatalf("%d are never sent", ready)
			}
		}
		first, end := last[0], last[0]
		for _, l := range last {
			first, end = min(first, l), max(end, l)
		}
		if end-first > 2 {
			t.Fatalf("the clusters end after %v waves", last)
		}
	})
}

func TestRoom_IsNeverExceeded(t *testing.T) {
	for name, c := range map[string]struct {
		load plan.Load
		b    plan.Bounds
		want int
	}{
		"pending":               {plan.Load{Pending: 3, Running: 9}, plan.Bounds{Pending: 10}, 7},
		"what waits may start":  {plan.Load{Pending: 3, Running: 4}, plan.Bounds{Pending: 100, Running: 10}, 3},
		"the account's":         {plan.Load{Pending: 3, Running: 4}, plan.Bounds{Queued: 8, Running: 10}, 1},
		"beyond already":        {plan.Load{Pending: 30}, plan.Bounds{Pending: 10, Running: 5}, 0},
		"a bound lowered since": {plan.Load{Running: 30}, plan.Bounds{Pending: 10}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			if got := plan.Room(c.load, c.b); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string) int { return rapid.IntRange(0, 1000).Draw(t, name) }
		l, b := plan.Load{Pending: n("pending"), Running: n("running")},
			plan.Bounds{Pending: n("p"), Running: n("r"), Queued: n("q")}
		room := plan.Room(l, b)
		limit, full := plan.Full(l, b)
		if full != (room == 0) || full && (limit.Most == 0 || limit.Have < limit.Most) {
			t.Fatalf("load %+v, bounds %+v, room %d, but %+v %v", l, b, room, limit, full)
		}
		if room == 0 {
			return
		}
		// The bounds hold whatever number of waiting local jobs starts.
		room = min(room, 1<<20)
		started := rapid.IntRange(0, l.Pending+room).Draw(t, "started")
		pending, running := l.Pending+room-started, l.Running+started
		if b.Pending > 0 && l.Pending+room > b.Pending || b.Running > 0 && running > b.Running || b.Queued > 0 &&
			pending+running > b.Queued {
			t.Fatalf("load %+v, bounds %+v, room %d", l, b, room)
		}
	})
}

// unowned returns the demands without owners, because the expected demands have no owners.
func unowned(demands []plan.Demand) []plan.Demand {
	for i := range demands {
		demands[i].Owner = ""
	}
	return demands
}

func TestShare_GridJobsOfOneChoiceAreSpreadTogether(t *testing.T) {
	site := []plan.Candidate{{Slots: 2, Room: ample}, {Slots: 20, Room: ample}, {Slots: 5, Room: ample}}
	want := func(id jjm.GridID, ready int, among ...int) plan.Want {
		w := plan.Want{Demand: plan.Demand{Grid: id, Ready: ready, Owner: "alice"}, Among: among, At: make([]int, len(among))}
		for range among {
			w.Rooms = append(w.Rooms, ample)
		}
		return w
	}
	wants := []plan.Want{want(1, 11, 0, 1), want(2, 11, 0, 1), want(3, 1000, 1), want(4, 5, 2), want(5, 1000, 0, 1, 2)}
	for here, expect := range [][]plan.Demand{
		{{Grid: 1, Ready: 1}, {Grid: 2, Ready: 1}, {Grid: 5, Ready: 8}},
		{{Grid: 1, Ready: 10}, {Grid: 2, Ready: 10}, {Grid: 3, Ready: 1000}, {Grid: 5, Ready: 80}},
		{{Grid: 4, Ready: 5}, {Grid: 5, Ready: 20}},
	} {
		if diff := cmp.Diff(expect, unowned(plan.Share(here, site, wants))); diff != "" {
			t.Errorf("cluster %d: %s", here, diff)
		}
	}
}

// If an owner reaches a limit on one cluster, the further local jobs of the owner go to the other clusters.
func TestShare_AnOwnersRoomIsKept(t *testing.T) {
	site := []plan.Candidate{{Slots: 100, Room: ample}, {Slots: 100, Room: ample}}
	any := plan.Want{Demand: plan.Demand{Grid: 1, Ready: 100, Owner: "alice"}, Among: []int{0, 1}, At: []int{0, 0},
		Rooms: []int{10, ample}}
	fixed := plan.Want{Demand: plan.Demand{Grid: 2, Ready: 100, Owner: "alice"}, Among: []int{0}, At: []int{0},
		Rooms: []int{10}}
	other := plan.Want{Demand: plan.Demand{Grid: 3, Ready: 7, Owner: "bob"}, Among: []int{0}, At: []int{0},
		Rooms: []int{ample}}
	for here, expect := range [][]plan.Demand{
		{{Grid: 1, Ready: 5}, {Grid: 2, Ready: 5}, {Grid: 3, Ready: 7}},
		{{Grid: 1, Ready: 90}},
	} {
		if diff := cmp.Diff(expect, unowned(plan.Share(here, site, []plan.Want{any, fixed, other}))); diff != "" {
			t.Errorf("cluster %d: %s", here, diff)
		}
	}
}

func TestShare_Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		site := drawCandidates(t)
		rooms := map[string][]int{}
		for _, owner := range []string{"alice", "bob"} {
			for range site {
				rooms[owner] = append(rooms[owner], rapid.SampledFrom([]int{0, 3, 50, ample}).Draw(t, "owner's room"))
			}
		}
		var wants []plan.Want
		for id := range rapid.IntRange(0, 8).Draw(t, "grid jobs") {
			w := plan.Want{Demand: plan.Demand{Grid: jjm.GridID(id + 1), Ready: rapid.IntRange(0, 500).Draw(t, "ready"),
				Owner: rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "owner")}}
			for place := range site {
				if rapid.Bool().Draw(t, "candidate") {
					w.Among, w.At = append(w.Among, place), append(w.At, 0)
					w.Rooms = append(w.Rooms, rooms[w.Owner][place])
				}
			}
			wants = append(wants, w)
		}
		for here := range site {
			sums := map[string]int{}
			for _, d := range plan.Share(here, site, wants) {
				w := wants[d.Grid-1]
				sums[w.Owner] += d.Ready
				if !slices.Contains(w.Among, here) || d.Ready < 1 || d.Ready > w.Ready {
					t.Fatalf("cluster %d serves %+v of %+v", here, d, w)
				}
			}
			for owner, n := range sums {
				if n > rooms[owner][here] {
					t.Fatalf("%s gets %d of room %d", owner, n, rooms[owner][here])
				}
			}
		}
	})
}

// The clusters take jobs until no cluster takes more. Then no job is on a cluster outside its place, no cluster exceeds
// its room, and no job waits while one of the best clusters of its place has room. If a place has several clusters, a
// cluster counts as full once its load exceeds three times its slots.
func TestShare_StaysInPlaceAndWaitsOnlyForRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var site []plan.Candidate
		for range rapid.IntRange(1, 4).Draw(t, "clusters") {
			site = append(site, plan.Candidate{Slots: rapid.IntRange(1, 20).Draw(t, "slots"),
				Room: rapid.SampledFrom([]int{0, 3, 40, ample}).Draw(t, "room"),
				Rank: rapid.SampledFrom([]plan.Rank{plan.Fit, plan.Fit, plan.Drained, plan.Troubled, plan.Barred}).Draw(t, "rank")})
		}
		rooms := map[string][]int{}
		for _, owner := range []string{"alice", "bob"} {
			for range site {
				rooms[owner] = append(rooms[owner], rapid.SampledFrom([]int{0, 7, ample}).Draw(t, "owner's room"))
			}
		}
		wants := drawPlaces(t, len(site), rooms)
		for moved := true; moved; {
			moved = false
			for here := range site {
				for _, b := range plan.Site(plan.Share(here, site, wants), site[here].Room) {
					moved = true
					take(t, here, site, wants, rooms, b)
				}
			}
		}
		for _, w := range wants {
			best := plan.Barred
			for _, at := range w.Among {
				best = min(best, site[at].Rank)
			}
			for k, at := range w.Among {
				c := site[at]
				full := c.Room == 0 || w.Rooms[k] == 0 || len(w.Among) > 1 && c.Load > 3*c.Slots
				if w.Ready > 0 && c.Rank == best && best != plan.Barred && !full {
					t.Fatalf("%d of grid job %s, place %d, wait; cluster %d: %+v", w.Ready, w.Grid, w.Place, at, c)
				}
			}
		}
	})
}

// drawPlaces draws the demands of grid jobs with one or more places each. The local jobs of a place may go to only some
// of the clusters.
func drawPlaces(t *rapid.T, clusters int, rooms map[string][]int) (wants []plan.Want) {
	for id := range jjm.GridID(rapid.IntRange(1, 5).Draw(t, "grid jobs")) {
		owner := rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "owner")
		for place := range int32(rapid.IntRange(1, 4).Draw(t, "places")) {
			w := plan.Want{Demand: plan.Demand{Grid: id + 1, Place: place, Ready: rapid.IntRange(0, 300).Draw(t, "ready"),
				Owner: owner}}
			for at := range clusters {
				if rapid.Bool().Draw(t, "reads") {
					w.Among, w.At, w.Rooms = append(w.Among, at), append(w.At, 0), append(w.Rooms, rooms[owner][at])
				}
			}
			wants = append(wants, w)
		}
	}
	return wants
}

// take moves the local jobs of a budget to the cluster here, and fails the test if the budget exceeds the demand or a
// room.
func take(t *rapid.T, here int, site []plan.Candidate, wants []plan.Want, rooms map[string][]int, b plan.Budget) {
	i := slices.IndexFunc(wants, func(w plan.Want) bool { return w.Grid == b.Grid && w.Place == b.Place })
	w := &wants[i]
	k := slices.Index(w.Among, here)
	if k < 0 || b.Jobs < 1 || b.Jobs > w.Ready || b.Jobs > site[here].Room || b.Jobs > rooms[w.Owner][here] {
		t.Fatalf("cluster %d %+v takes %d of %+v", here, site[here], b.Jobs, *w)
	}
	w.Ready -= b.Jobs
	w.At[k] += b.Jobs
	site[here].Load += b.Jobs
	site[here].Room -= b.Jobs
	rooms[w.Owner][here] -= b.Jobs
	for j := range wants {
		o := &wants[j]
		at := slices.Index(o.Among, here)
		if o.Owner == w.Owner && at >= 0 {
			o.Rooms[at] = rooms[w.Owner][here]
		}
		if o.Grid == w.Grid && at >= 0 && j == i {
			o.InBatch += b.Jobs
		} else if o.Grid == w.Grid {
			o.Others += b.Jobs
		}
	}
}
