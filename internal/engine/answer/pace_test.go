package answer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

func TestExpectedEnd_OnlyOfWhatRuns(t *testing.T) {
	now := jjm.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	ago := func(d time.Duration) jjm.Time { return now - jjm.Time(d.Milliseconds()) }
	running := func() *state.Grid { // local jobs: 2 ended 90 min ago, 20 ended 30 min ago, 20 run, 58 are not made yet
		g := &state.Grid{Job: jjm.GridJob{Status: jjm.GridRunning, Step: jjm.Step{Expected: 100}}}
		for i := range 42 {
			l := jjm.LocalJob{ID: jjm.LocalID{N: int32(i)}, State: jjm.Running, Started: ago(2 * time.Hour)}
			if i < 22 {
				l.State, l.Ended = []jjm.State{jjm.Completed, jjm.Failed}[i%2], ago(30*time.Minute)
			}
			if i < 2 {
				l.Ended = ago(90 * time.Minute)
			}
			g.Locals = append(g.Locals, l)
		}
		return g
	}
	want := func(left, ended, held int) *wire.ExpectedEnd {
		return &wire.ExpectedEnd{At: now + jjm.Time(time.Hour.Milliseconds()*int64(left)/int64(ended)), Ended: ended,
			Within: jjm.Duration(time.Hour), Held: held}
	}
	for what, c := range map[string]struct {
		change func(*state.Grid)
		want   *wire.ExpectedEnd
	}{
		"it runs": {func(*state.Grid) {}, want(78, 20, 0)},
		"some held": {func(g *state.Grid) {
			for i := range g.Locals[30:32] {
				g.Locals[30+i].State, g.Locals[30+i].Holding = jjm.Held, &jjm.Holding{By: "operator", Since: 1}
			}
		}, want(76, 20, 2)},
		"some killed": {func(g *state.Grid) {
			g.Locals[20].State, g.Locals[21].State = jjm.Killed, jjm.Killed
		}, want(78, 18, 0)},
		"paused":         {func(g *state.Grid) { g.Job.Status = jjm.Paused }, nil},
		"killed":         {func(g *state.Grid) { g.Job.Kill = true }, nil},
		"over":           {func(g *state.Grid) { g.Job.Status = jjm.Done }, nil},
		"merges to come": {func(g *state.Grid) { g.Merge = &state.Reads{} }, nil},
		"more files may come": {func(g *state.Grid) {
			g.Reads, g.Job.Spec.Datasets = &state.Reads{}, []jjm.DatasetInput{{}}
		}, nil},
	} {
		g := running()
		c.change(g)
		if diff := cmp.Diff(c.want, expectedEnd(g, now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}
