package plan_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

func TestSettable_OnlyWhatWaits(t *testing.T) {
	locals := []jjm.LocalJob{
		{State: jjm.New}, {State: jjm.Submitting, Phase: jjm.RetryWait}, {State: jjm.Held, Phase: jjm.HeldByPerson},
		{State: jjm.New, Kill: true}, {State: jjm.Submitting, Phase: jjm.Spooled}, {State: jjm.Submitted},
		{State: jjm.Running}, {State: jjm.Completing, Phase: jjm.Merging}, {State: jjm.Completed}, {State: jjm.Failed},
	}
	for i := range locals {
		locals[i].ID = jjm.LocalID{Grid: 1, N: int32(i)}
	}
	numbers := func(left []plan.Left) (ns []int32) {
		for _, l := range left {
			if l.Why == "" {
				t.Errorf("local job %d stays without a reason", l.N)
			}
			ns = append(ns, l.N)
		}
		return ns
	}
	set, left := plan.Settable(plan.ResubmitFacts{Locals: locals, Whole: true})
	if !slices.Equal(set, []int32{0, 1, 2}) || !slices.Equal(numbers(left), []int32{3, 4, 5, 6, 7}) {
		t.Errorf("of the whole grid job %d are set, and %+v stay", set, left)
	}
	named := func(n int32) bool { return n == 2 || n == 8 }
	set, left = plan.Settable(plan.ResubmitFacts{Locals: locals, Named: named})
	if !slices.Equal(set, []int32{2}) || !slices.Equal(numbers(left), []int32{8}) {
		t.Errorf("of 2 and 8, %d are set, and %+v stay", set, left)
	}
}

func TestDefaultFor_Cases(t *testing.T) {
	clusters := []string{"big", "sim", "far"}
	asked := func(mb int64) *jjm.Resources { return &jjm.Resources{MemoryMB: mb} }
	have := []jjm.Place{
		{Storages: []string{"a"}, Clusters: []string{"sim", "far"}, Known: true},
		{Clusters: []string{"big", "sim"}, Known: true, Asked: asked(700), Default: true, Priority: 3},
		{Storages: []string{"b"}, Clusters: []string{"far"}, Known: true},
		{Storages: []string{"c"}, Clusters: []string{"sim"}, Known: true},
		{Storages: []string{"c"}, Clusters: []string{"sim"}, Known: true, Asked: asked(9), From: 4, Default: true},
	}
	for name, c := range map[string]struct {
		have []jjm.Place
		made int32
		want int32
		more *jjm.Place
	}{
		"nothing was set":      {have[:1], 1, 1, nil},
		"the default":          {have, 0, 2, nil},
		"a default of its own": {have, 4, 5, nil},
		"only clusters of both": {have, 1, 6, &jjm.Place{Storages: []string{"a"}, Clusters: []string{"sim"}, Known: true,
			Asked: asked(700), From: 1, Default: true, Priority: 3}},
		"no cluster of both": {have, 3, 6, &jjm.Place{Storages: []string{"b"}, Clusters: []string{"far"}, Known: true,
			Asked: asked(700), From: 3, Default: true, Priority: 3}},
	} {
		want := slices.Clone(c.have)
		if c.more != nil {
			want = append(want, *c.more)
		}
		got, n := plan.DefaultFor(c.have, clusters, c.made)
		if diff := cmp.Diff(want, got); diff != "" || n != c.want {
			t.Errorf("%s: place %d, want %d\n%s", name, n, c.want, diff)
		}
	}
	if got := plan.Defaults(have); !slices.Equal(got, []int32{2, 1, 3, 5}) {
		t.Errorf("defaults %d", got)
	}
}

// After any sequence of sets, each place for which local jobs will be made has exactly one default place, with the
// resources of the last set.
func TestSetDefault_TheLastSetHolds(t *testing.T) {
	clusters := []string{"big", "sim"}
	rapid.Check(t, func(t *rapid.T) {
		have := []jjm.Place{{Storages: []string{"a"}, Clusters: []string{"sim"}, Known: true}}
		for range rapid.IntRange(1, 20).Draw(t, "sets") {
			mb := rapid.Int64Range(1, 5).Draw(t, "memory")
			for _, from := range plan.Defaults(have) {
				places, n, err := plan.AddAsked(have, plan.AskedPlace(have, clusters, from, jjm.Resources{MemoryMB: mb}))
				if err != nil {
					t.Fatal(err)
				}
				have = plan.SetDefault(places, n)
			}
			for made := range int32(2) {
				after, n := plan.DefaultFor(have, clusters, made)
				if p := after[n-1]; len(after) != len(have) || p.From != made || p.Asked.MemoryMB != mb {
					t.Fatalf("local jobs made for place %d get %+v", made, p)
				}
			}
		}
		defaults := 0
		for _, p := range have {
			if p.Default {
				defaults++
			}
		}
		if defaults != 2 {
			t.Fatalf("%d defaults", defaults)
		}
	})
}
