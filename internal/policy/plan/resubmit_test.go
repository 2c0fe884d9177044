package plan

import (
	"slices"
	"strings"
	"testing"

	"jjm/internal/jjm"
)

func TestResubmit_Table(t *testing.T) {
	locals := []jjm.LocalJob{
		{State: jjm.Completed},
		{State: jjm.Failed, Phase: jjm.ByLimit, Tag: "a"},
		{State: jjm.Killed, Phase: jjm.ByPerson},
		{State: jjm.Failed, Phase: jjm.GivenBack, Tag: "a"},
		{State: jjm.Failed, Phase: jjm.CreateFailed},
		{State: jjm.Failed, Phase: jjm.CreateFailed, Tag: "refused"},
		{State: jjm.Running, Tag: "a"},
		{State: jjm.Failed, Phase: jjm.ByApp, Tag: "a"},
	}
	for n := range locals {
		locals[n].ID = jjm.LocalID{Grid: 7, N: int32(n)}
	}
	every := func(int32) bool { return true }
	unfit := map[int32]string{7: "grid job 9 does it", 0: "not asked: it is completed"}
	const never, mine = "its part can never be submitted", "grid job 9 does it"
	for _, c := range []struct {
		name  string
		facts ResubmitFacts
		again []int32
		left  map[int32]string
	}{
		{"whole, failed only", ResubmitFacts{Whole: true}, []int32{1, 5}, map[int32]string{4: never, 7: mine}},
		{"whole, all", ResubmitFacts{Whole: true, All: true}, []int32{1, 2, 5}, map[int32]string{4: never, 7: mine}},
		{"named", ResubmitFacts{Named: every}, []int32{1, 2, 5}, map[int32]string{0: "its result counts", 3: "given back",
			4: never, 6: "it is running", 7: mine}},
		{"one", ResubmitFacts{Named: func(n int32) bool { return n == 2 }}, []int32{2}, nil},
		{"whole and one", ResubmitFacts{Whole: true, Named: func(n int32) bool { return n == 2 }}, []int32{1, 2, 5},
			map[int32]string{4: never, 7: mine}},
		{"none", ResubmitFacts{}, nil, nil},
	} {
		c.facts.Locals, c.facts.Unfit = locals, unfit
		again, left := Resubmit(c.facts)
		if !slices.Equal(again, c.again) || len(left) != len(c.left) {
			t.Errorf("%s: again %v, left %v", c.name, again, left)
			continue
		}
		for _, l := range left {
			if want, ok := c.left[l.N]; !ok || !strings.Contains(l.Why, want) {
				t.Errorf("%s: left %d: %s", c.name, l.N, l.Why)
			}
		}
	}
}

func TestNoneAgain_NamesTheCommandThatHelps(t *testing.T) {
	done, killed := jjm.LocalJob{State: jjm.Completed}, jjm.LocalJob{State: jjm.Killed}
	frozen := jjm.LocalJob{State: jjm.FailedFrozen}
	kept := jjm.GridJob{ID: 7, Rollback: jjm.RollbackKeep, Status: jjm.Registered, Reason: "no file"}
	for _, c := range []struct {
		job    jjm.GridJob
		locals []jjm.LocalJob
		all    bool
		want   string
	}{
		{kept, nil, false, "it is kept and was never submitted: jjm submit 7 submits it"},
		{jjm.GridJob{ID: 7}, []jjm.LocalJob{done}, false, "no local job failed"},
		{jjm.GridJob{ID: 7}, []jjm.LocalJob{done, killed, killed}, false,
			"no local job failed; 2 local jobs are killed: jjm resubmit 7 --all runs the killed ones again"},
		{jjm.GridJob{ID: 7}, []jjm.LocalJob{done, frozen}, true,
			"1 local job is failed and frozen: unfreeze first (jjm unfreeze 7)"},
	} {
		if got := NoneAgain(&c.job, c.locals, c.all); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
