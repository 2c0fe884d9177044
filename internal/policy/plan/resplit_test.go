package plan

import (
	"slices"
	"strings"
	"testing"

	"jjm/internal/jjm"
)

func TestResplit_Table(t *testing.T) {
	locals := []jjm.LocalJob{
		{State: jjm.Completed},
		{State: jjm.Failed, Phase: jjm.ByLimit, Tag: "a"},
		{State: jjm.Killed, Phase: jjm.ByPerson},
		{State: jjm.Failed, Phase: jjm.GivenBack, Tag: "a"},
		{State: jjm.Failed, Phase: jjm.CreateFailed},
		{State: jjm.FailedFrozen, Phase: jjm.ByApp, Tag: "a"},
		{State: jjm.Running, Tag: "a"},
		{State: jjm.Failed, Phase: jjm.ByApp, Tag: "a"},
		{State: jjm.New, Phase: jjm.Unsubmitted},
	}
	for n := range locals {
		locals[n].ID = jjm.LocalID{Grid: 7, N: int32(n)}
	}
	unfit := map[int32]string{7: "grid job 9 does it"}
	whole := map[int32]string{4: "its part can never be submitted", 7: "grid job 9 does it"}
	for _, c := range []struct {
		name  string
		facts ResubmitFacts
		cut   []int32
		left  map[int32]string
	}{
		{"whole", ResubmitFacts{Whole: true}, []int32{1}, whole},
		{"whole, all", ResubmitFacts{Whole: true, All: true}, []int32{1}, whole},
		{"named", ResubmitFacts{Named: func(int32) bool { return true }}, []int32{1, 2}, map[int32]string{
			0: "its result counts", 3: "given back",
			4: "its part can never be submitted", 5: "unfreeze it first", 6: "it is running", 7: "grid job 9 does it",
			8: "only what failed or was killed is cut again"}},
		{"none", ResubmitFacts{}, nil, nil},
	} {
		c.facts.Locals, c.facts.Unfit = locals, unfit
		cut, left := Resplit(c.facts)
		if !slices.Equal(cut, c.cut) || len(left) != len(c.left) {
			t.Errorf("%s: cut %v, left %v", c.name, cut, left)
			continue
		}
		for _, l := range left {
			if want, ok := c.left[l.N]; !ok || !strings.Contains(l.Why, want) {
				t.Errorf("%s: left %d: %s", c.name, l.N, l.Why)
			}
		}
	}
}
