package feed

import (
	"slices"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// A merge gets a place with the priority of its outputs. If the grid job cannot have more places, the merge keeps its
// place, unless a place with that priority exists already. The places of the grid job stay as they are then.
func TestPrioritize_AMergeKeepsItsPlaceIfThereAreNoMorePlaces(t *testing.T) {
	t.Parallel()
	full := func(priorities ...int) []jjm.Place {
		var have []jjm.Place
		for i := range plan.MaxAskedPlaces {
			p := plan.AskedPlace(have, []string{"a"}, 0, jjm.Resources{MemoryMB: int64(100 + i)})
			var err error
			if i < len(priorities) {
				_, number := plan.Prioritized(have, []string{"a"}, 0, priorities[i])
				have, _ = plan.Prioritized(have, []string{"a"}, 0, priorities[i])
				if number != int32(i+1) {
					t.Fatalf("place %d", number)
				}
				continue
			}
			if have, _, err = plan.AddAsked(have, p); err != nil {
				t.Fatal(err)
			}
		}
		return have
	}
	for name, c := range map[string]struct {
		places   []jjm.Place
		from     int32
		priority int
		want     int32
		more     int
	}{
		"there is room":                  {nil, 0, 5, 1, 1},
		"the same priority":              {nil, 0, 0, 0, 0},
		"no room":                        {full(), 0, 5, 0, 0},
		"no room, from another place":    {full(), 7, 5, 7, 0},
		"no room, the place is there":    {full(3, 5), 0, 5, 2, 0},
		"no room, the priority of none":  {full(3, 5), 0, 4, 0, 0},
		"no room, and it is there as it": {full(3, 5), 2, 5, 2, 0},
	} {
		g := &jjm.GridJob{Step: jjm.Step{Clusters: []string{"a"}, Places: c.places}}
		l := &jjm.LocalJob{Place: c.from}
		before := slices.Clone(c.places)
		prioritize(g, l, c.priority)
		if l.Place != c.want || len(g.Step.Places) != len(before)+c.more {
			t.Errorf("%s: place %d of %d, want %d of %d", name, l.Place, len(g.Step.Places), c.want, len(before)+c.more)
		}
	}
}
