package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm"
	"jjm/plan"
)

func TestSite_CasesToRead(t *testing.T) {
	for name, c := range map[string]struct {
		demands []plan.Demand
		room    int
		want    []plan.Budget
	}{
		"nobody":                  {nil, 10, nil},
		"no room":                 {[]plan.Demand{{Grid: 1, Ready: 5}}, 0, nil},
		"negative room":           {[]plan.Demand{{Grid: 1, Ready: 5}}, -3, nil},
		"alone":                   {[]plan.Demand{{Grid: 1, Ready: 5}}, 3, []plan.Budget{{Grid: 1, Jobs: 3}}},
		"room for all":            {[]plan.Demand{{Grid: 1, Ready: 5}, {Grid: 2, Ready: 1}}, 100, []plan.Budget{{1, 5}, {2, 1}}},
		"small beside large":      {[]plan.Demand{{Grid: 1, Ready: 100000}, {Grid: 2, Ready: 10}}, 100, []plan.Budget{{1, 90}, {2, 10}}},
		"levels what they have":   {[]plan.Demand{{Grid: 1, Ready: 100, InBatch: 30}, {Grid: 2, Ready: 100, InBatch: 10}}, 30, []plan.Budget{{1, 5}, {2, 25}}},
		"nobody starves":          {[]plan.Demand{{Grid: 1, Ready: 100, InBatch: 1000}, {Grid: 2, Ready: 100}}, 10, []plan.Budget{{1, 1}, {2, 9}}},
		"odd one to the oldest":   {[]plan.Demand{{Grid: 2, Ready: 9}, {Grid: 1, Ready: 9}}, 3, []plan.Budget{{2, 1}, {1, 2}}},
		"less room than demands":  {[]plan.Demand{{Grid: 1, Ready: 9, InBatch: 2}, {Grid: 2, Ready: 9}, {Grid: 3, Ready: 9}}, 2, []plan.Budget{{2, 1}, {3, 1}}},
		"nothing ready is no ask": {[]plan.Demand{{Grid: 1}, {Grid: 2, Ready: -4}, {Grid: 3, Ready: 2}}, 2, []plan.Budget{{3, 2}}},
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

// checkFair: nobody who wants more stands two or more below anybody who got
// more than the one job that is everybody's.
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

func TestSite_IsFastForManyGridJobs(t *testing.T) {
	demands := make([]plan.Demand, 10_000)
	for i := range demands {
		demands[i] = plan.Demand{Grid: jjm.GridID(i + 1), Ready: 100_000, InBatch: i}
	}
	begin := time.Now()
	given := 0
	for _, b := range plan.Site(demands, 1_000_000) {
		given += b.Jobs
	}
	if took := time.Since(begin); given != 1_000_000 || took > time.Second {
		t.Errorf("gave %d in %s", given, took)
	}
}
