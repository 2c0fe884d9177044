package plan_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

func TestPlaceOf_Cases(t *testing.T) {
	clusters := []string{"big", "sim", "far"} // best first
	at := func(storage string, on ...string) *jjm.Place {
		return &jjm.Place{Storages: []string{storage}, Clusters: on, Known: true}
	}
	have := []jjm.Place{*at("a", "sim")}
	for name, c := range map[string]struct {
		place *jjm.Place
		want  []jjm.Place
		n     int32
	}{
		"no files":          {nil, have, 0},
		"not asked":         {&jjm.Place{Storages: []string{"a"}}, have, 0},
		"all clusters":      {at("a", "big", "far", "sim"), have, 0},
		"one that is there": {at("a", "sim"), have, 1},
		"the same clusters": {at("b", "sim"),
			[]jjm.Place{{Storages: []string{"a", "b"}, Clusters: []string{"sim"}, Known: true}}, 1},
		"another, best cluster first":   {at("a", "far", "big"), append(slices.Clone(have), *at("a", "big", "far")), 2},
		"clusters that are not its own": {at("a", "sim", "other"), have, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, n := plan.PlaceOf(have, clusters, c.place)
			if diff := cmp.Diff(c.want, got); diff != "" || n != c.n {
				t.Errorf("place %d, want %d\n%s", n, c.n, diff)
			}
			if diff := cmp.Diff([]jjm.Place{*at("a", "sim")}, have); diff != "" {
				t.Errorf("the list that it was given changed:\n%s", diff)
			}
		})
	}
}

// Whatever places there are, each local job may go to clusters of its own only, to
// one at least; numbers that were given keep their meaning; and there are not many.
func TestPlaceOf_Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var clusters []string
		for i := range rapid.IntRange(1, 10).Draw(t, "clusters") {
			clusters = append(clusters, fmt.Sprint("c", i))
		}
		var have []jjm.Place
		for range rapid.IntRange(1, 300).Draw(t, "parts") {
			p := &jjm.Place{Known: true, Storages: []string{rapid.StringMatching("[a-z]{1,2}").Draw(t, "storage")}}
			for _, name := range clusters {
				if rapid.Bool().Draw(t, "reads") {
					p.Clusters = append(p.Clusters, name)
				}
			}
			before := slices.Clone(have)
			var n int32
			have, n = plan.PlaceOf(have, clusters, p)
			among := plan.Among(clusters, have, n)
			for _, name := range among {
				if n > 0 && !slices.Contains(p.Clusters, name) {
					t.Fatalf("place %d has %s, of %v", n, name, p.Clusters)
				}
			}
			if len(p.Clusters) > 0 && len(among) == 0 || n == 0 && len(p.Clusters) > 0 && len(p.Clusters) < len(clusters) {
				t.Fatalf("place %d of %v has %v", n, p.Clusters, among)
			}
			for i := range before {
				if !slices.Equal(before[i].Clusters, have[i].Clusters) {
					t.Fatalf("place %d was %v, and is %v", i+1, before[i].Clusters, have[i].Clusters)
				}
			}
			if len(have) > 64+len(clusters) {
				t.Fatalf("%d places", len(have))
			}
		}
	})
}

func TestAmong_AnUnknownPlaceHasNoClusters(t *testing.T) {
	if got := plan.Among([]string{"a"}, nil, 1); got != nil {
		t.Error(got)
	}
}
