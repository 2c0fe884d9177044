package plan

import (
	"testing"

	"jjm/internal/jjm"
)

func TestUnchanged_SaysWhy(t *testing.T) {
	local := func(n int32, s jjm.State, p jjm.Phase) *jjm.LocalJob {
		return &jjm.LocalJob{ID: jjm.LocalID{Grid: 3, N: n}, State: s, Phase: p}
	}
	killed := local(2, jjm.Running, "")
	killed.Kill = true
	held := local(4, jjm.Held, jjm.HeldByApp)
	held.Holding = &jjm.Holding{By: jjm.HeldApplication, Since: 1}
	for want, c := range map[string]struct {
		job    jjm.GridJob
		locals []*jjm.LocalJob
	}{
		"grid job 3 is over already: done":      {job: jjm.GridJob{ID: 3, Status: jjm.Done, Kill: true}},
		"grid job 3 is being killed already":    {job: jjm.GridJob{ID: 3, Status: jjm.Aborting, Kill: true}},
		"no local job is held":                  {},
		"local job 3.1 is failed/application":   {locals: []*jjm.LocalJob{local(1, jjm.Failed, jjm.ByApp)}},
		"local job 3.2 is being killed already": {locals: []*jjm.LocalJob{killed}},
		"local job 3.4 is held already":         {locals: []*jjm.LocalJob{held}},
		"no local job is held: 2 completed, 1 running": {locals: []*jjm.LocalJob{local(0, jjm.Completed, ""),
			local(1, jjm.Running, ""), local(2, jjm.Completed, "")}},
	} {
		if got := Unchanged(&c.job, c.locals, "no local job is held"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
