package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

func TestSite_Cases(t *testing.T) {
	for name, c := range map[string]struct {
		demands []plan.Demand
		room    int
		want    []plan.Budget
	}{
		"nobody":        {nil, 10, nil},
		"no room":       {[]plan.Demand{{Grid: 1, Ready: 5}}, 0, nil},
		"negative room": {[]plan.Demand{{Grid: 1, Ready: 5}}, -3, nil},
		"alone":         {[]plan.Demand{{Grid: 1, Ready: 5}}, 3, []plan.Budget{{Grid: 1, Jobs: 3}}},
		"room for all": {[]plan.Demand{{Grid: 1, Ready: 5}, {Grid: 2, Ready: 1}}, 100,
			[]plan.Budget{{Grid: 1, Jobs: 5}, {Grid: 2, Jobs: 1}}},
		"small beside large": {[]plan.Demand{{Grid: 1, Ready: 100000}, {Grid: 2, Ready: 10}}, 100,
			[]plan.Budget{{Grid: 1, Jobs: 90}, {Grid: 2, Jobs: 10}}},
		"levels what they have": {[]plan.Demand{{Grid: 1, Ready: 100, InBatch: 30}, {Grid: 2, Ready: 100, InBatch: 10}}, 30,
			[]plan.Budget{{Grid: 1, Jobs: 5}, {Grid: 2, Jobs: 25}}},
		"nobody starves": {[]plan.Demand{{Grid: 1, Ready: 100, InBatch: 1000}, {Grid: 2, Ready: 100}}, 10,
			[]plan.Budget{{Grid: 1, Jobs: 1}, {Grid: 2, Jobs: 9}}},
		"odd one to the oldest": {[]plan.Demand{{Grid: 2, Ready: 9}, {Grid: 1, Ready: 9}}, 3,
			[]plan.Budget{{Grid: 2, Jobs: 1}, {Grid: 1, Jobs: 2}}},
		"less room than demands": {[]plan.Demand{{Grid: 1, Ready: 9, InBatch: 2}, {Grid: 2, Ready: 9}, {Grid: 3, Ready: 9}},
			2, []plan.Budget{{Grid: 2, Jobs: 1}, {Grid: 3, Jobs: 1}}},
		"places share what falls to their grid job": {[]plan.Demand{{Grid: 1, Place: 1, Ready: 50}, {Grid: 2, Ready: 50},
			{Grid: 1, Place: 2, Ready: 50}}, 40,
			[]plan.Budget{{Grid: 1, Place: 1, Jobs: 10}, {Grid: 2, Jobs: 20}, {Grid: 1, Place: 2, Jobs: 10}}},
		"what its other places have counts": {[]plan.Demand{{Grid: 1, Place: 1, Ready: 50, InBatch: 2, Others: 18},
			{Grid: 2, Ready: 50}}, 20,
			[]plan.Budget{{Grid: 1, Place: 1, Jobs: 1}, {Grid: 2, Jobs: 19}}},
		"its emptiest place first": {[]plan.Demand{{Grid: 1, Place: 1, Ready: 9, InBatch: 3, Others: 1},
			{Grid: 1, Place: 2, Ready: 9, InBatch: 1, Others: 3}}, 3,
			[]plan.Budget{{Grid: 1, Place: 1, Jobs: 1}, {Grid: 1, Place: 2, Jobs: 2}}},
		"nothing ready is no ask": {[]plan.Demand{{Grid: 1}, {Grid: 2, Ready: -4}, {Grid: 3, Ready: 2}}, 2,
			[]plan.Budget{{Grid: 3, Jobs: 2}}},
	} {
		if diff := cmp.Diff(c.want, plan.Site(c.demands, c.room)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestSite_SharesAreFairAndUseAllRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "demands")
		demands := make([]plan.Demand, n)
		asked, waiting := 0, 0
		for i := range demands {
			demands[i] = plan.Demand{Grid: jjm.GridID(i + 1), Ready: rapid.IntRange(0, 40).Draw(t, "ready"),
				InBatch: rapid.IntRange(0, 40).Draw(t, "in batch")}
			asked += demands[i].Ready
			if demands[i].Ready > 0 {
				waiting++
			}
		}
		room := rapid.IntRange(-2, 300).Draw(t, "room")
		got := map[jjm.GridID]int{}
		given := 0
		for _, b := range plan.Site(demands, room) {
			if b.Jobs < 1 || got[b.Grid] != 0 {
				t.Fatalf("budget %+v", b)
			}
			got[b.Grid] = b.Jobs
			given += b.Jobs
		}
		if want := max(0, min(room, asked)); given != want {
			t.Fatalf("gave %d of %d", given, want)
		}
		for _, d := range demands {
			mine := got[d.Grid]
			if mine > d.Ready {
				t.Fatalf("%+v got %d", d, mine)
			}
			if room >= waiting && d.Ready > 0 && mine == 0 {
				t.Fatalf("%+v starves with room %d for %d", d, room, waiting)
			}
			checkFair(t, d, mine, demands, got)
		}
	})
}

// A grid job with files in many places gets as many local jobs in total as if all its files were in one place. This
// number is divided equally among its places.
func TestSite_PlacesTakeNothingFromOtherGridJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var demands, joined []plan.Demand
		for id := range jjm.GridID(rapid.IntRange(1, 6).Draw(t, "grid jobs")) {
			one, first := plan.Demand{Grid: id + 1}, len(demands)
			for place := range int32(rapid.IntRange(1, 4).Draw(t, "places")) {
				d := plan.Demand{Grid: id + 1, Place: place, Ready: rapid.IntRange(0, 40).Draw(t, "ready"),
					InBatch: rapid.IntRange(0, 40).Draw(t, "in batch")}
				one.Ready, one.InBatch = one.Ready+d.Ready, one.InBatch+d.InBatch
				demands = append(demands, d)
			}
			for i := range demands[first:] {
				demands[first+i].Others = one.InBatch - demands[first+i].InBatch
			}
			joined = append(joined, one)
		}
		room := rapid.IntRange(0, 300).Draw(t, "room")
		sums, want := map[jjm.GridID]int{}, map[jjm.GridID]int{}
		got := map[plan.Demand]int{}
		for _, b := range plan.Site(demands, room) {
			sums[b.Grid] += b.Jobs
			for _, d := range demands {
				if d.Grid == b.Grid && d.Place == b.Place {
					got[d] = b.Jobs
				}
			}
		}
		for _, b := range plan.Site(joined, room) {
			want[b.Grid] = b.Jobs
		}
		if diff := cmp.Diff(want, sums); diff != "" {
			t.Fatal(diff)
		}
		for _, a := range demands {
			for _, b := range demands {
				if a.Grid == b.Grid && got[a] < a.Ready && got[b] > 1 && b.InBatch+got[b] > a.InBatch+got[a]+1 {
					t.Fatalf("%+v got %d while %+v got %d", a, got[a], b, got[b])
				}
			}
		}
	})
}

// checkFair requires that a grid job that wants more local jobs has at most one local job less in the batch system than
// any grid job that got more than one.
func checkFair(t *rapid.T, d plan.Demand, mine int, demands []plan.Demand, got map[jjm.GridID]int) {
	if mine == d.Ready {
		return
	}
	for _, o := range demands {
		if got[o.Grid] > 1 && o.InBatch+got[o.Grid] > d.InBatch+mine+1 {
			t.Fatalf("%+v got %d while %+v got %d", d, mine, o, got[o.Grid])
		}
	}
}

func TestSite_OfManyGridJobsGivesAllRoom(t *testing.T) {
	for _, jobs := range []int{2_000, 20_000} {
		demands := make([]plan.Demand, jobs)
		for i := range demands {
			demands[i] = plan.Demand{Grid: jjm.GridID(i + 1), Ready: 100_000, InBatch: i}
		}
		given, began := 0, time.Now()
		for _, b := range plan.Site(demands, 100*jobs) {
			given += b.Jobs
		}
		t.Logf("%d grid jobs: %v", jobs, time.Since(began))
		if given != 100*jobs {
			t.Errorf("gave %d of %d", given, 100*jobs)
		}
	}
}

// Priorities order the local jobs of one owner. They do not change the number of local jobs that each owner gets in
// total.
func TestSite_PrioritiesOrderTheJobsOfOneOwner(t *testing.T) {
	demands := []plan.Demand{{Grid: 1, Ready: 50, Owner: "alice"},
		{Grid: 1, Place: 1, Ready: 6, Owner: "alice", Priority: 2},
		{Grid: 2, Ready: 9, Owner: "alice", Priority: 1}, {Grid: 3, Ready: 50, Owner: "bob"}}
	for room, want := range map[int][]plan.Budget{
		9:  {{Grid: 1, Place: 1, Jobs: 6}, {Grid: 3, Jobs: 3}},
		30: {{Grid: 1, Jobs: 5}, {Grid: 1, Place: 1, Jobs: 6}, {Grid: 2, Jobs: 9}, {Grid: 3, Jobs: 10}},
	} {
		if diff := cmp.Diff(want, plan.Site(demands, room)); diff != "" {
			t.Errorf("room %d:\n%s", room, diff)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var with, without []plan.Demand
		for id := range jjm.GridID(rapid.IntRange(1, 8).Draw(t, "grid jobs")) {
			d := plan.Demand{Grid: id + 1, Ready: rapid.IntRange(0, 40).Draw(t, "ready"),
				Owner: rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "owner")}
			without = append(without, d)
			d.Priority = rapid.IntRange(-1, 1).Draw(t, "priority")
			with = append(with, d)
		}
		room := rapid.IntRange(0, 200).Draw(t, "room")
		got, sums := map[jjm.GridID]int{}, map[string]int{}
		for _, b := range plan.Site(with, room) {
			got[b.Grid] = b.Jobs
			sums[with[b.Grid-1].Owner] += b.Jobs
		}
		for _, b := range plan.Site(without, room) {
			sums[without[b.Grid-1].Owner] -= b.Jobs
		}
		for owner, n := range sums {
			if n != 0 {
				t.Fatalf("%s gets %d more with priorities", owner, n)
			}
		}
		for _, a := range with {
			for _, b := range with {
				if a.Owner == b.Owner && a.Priority > b.Priority && got[a.Grid] < a.Ready && got[b.Grid] > 0 {
					t.Fatalf("%+v got %d, and %+v got %d", a, got[a.Grid], b, got[b.Grid])
				}
			}
		}
	})
}
