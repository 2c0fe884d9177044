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
	clusters := []string{"big", "sim", "far"} // the best cluster first
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

// PlaceOf assigns places so that each local job may go to at least one cluster, and only to its own clusters. The
// numbers of existing places keep their meaning, and the number of places stays small.
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

// AskedPlace changes only the resources that are requested. It keeps clusters, storages and the resources of earlier
// requests. AddAsked returns the same number for equal places, and does not modify the given list.
func TestAskedPlace_KeepsWhatIsNotAsked(t *testing.T) {
	clusters := []string{"big", "sim"}
	have := []jjm.Place{{Storages: []string{"a"}, Clusters: []string{"sim"}, Known: true,
		Request: &jjm.Request{GPUs: 1}}}
	first := plan.AskedPlace(have, clusters, 1, jjm.Resources{MemoryMB: 5, Queue: "long"})
	places, n, err := plan.AddAsked(have, first)
	if err != nil || n != 2 || len(have) != 1 {
		t.Fatal(places, n, err)
	}
	second := plan.AskedPlace(places, clusters, 2, jjm.Resources{MemoryMB: 9})
	want := have[0]
	want.Asked, want.From = &jjm.Resources{MemoryMB: 9, Queue: "long"}, 1
	if diff := cmp.Diff(want, second); diff != "" || places[1].Asked.MemoryMB != 5 {
		t.Error(diff, places[1].Asked)
	}
	same := plan.AskedPlace(places, clusters, 2, jjm.Resources{MemoryMB: 5})
	if _, n, err := plan.AddAsked(places, same); n != 2 || err != nil {
		t.Error("the same place again is", n, err)
	}
	anywhere := plan.AskedPlace(places, clusters, 0, jjm.Resources{MemoryMB: 5})
	places, n, err = plan.AddAsked(places, anywhere)
	if err != nil || n != 3 || !slices.Equal(plan.Among(clusters, places, n), clusters) {
		t.Error(places, n, err)
	}
	if same, n := plan.PlaceOf(places, clusters, &jjm.Place{Known: true, Clusters: []string{"sim"},
		Request: &jjm.Request{GPUs: 1}}); n != 1 || len(same) != 3 {
		t.Error("a new part gets place", n)
	}
}

// A grid job has at most MaxAskedPlaces places with requested resources. AddAsked returns an error for a further place,
// but not for a place that already exists.
func TestAddAsked_IsBounded(t *testing.T) {
	var places []jjm.Place
	asked := func(memory int64) jjm.Place {
		return plan.AskedPlace(places, nil, 0, jjm.Resources{MemoryMB: memory})
	}
	for i := range int64(plan.MaxAskedPlaces) {
		var err error
		if places, _, err = plan.AddAsked(places, asked(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := plan.AddAsked(places, asked(1<<20))
	if jjm.KindOf(err) != jjm.Conflict {
		t.Error(err)
	}
	if _, n, err := plan.AddAsked(places, asked(7)); n != 7 || err != nil {
		t.Error(n, err)
	}
}
