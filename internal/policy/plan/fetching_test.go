package plan

import (
	"testing"

	"jjm/internal/jjm"
)

// A grid job whose inputs are being fetched is pending, unless it was killed or paused, or failed.
func TestGrid_WaitsForItsInputs(t *testing.T) {
	const why = "inputs[0]: https://h/a: it is being fetched"
	for name, c := range map[string]struct {
		f    GridFacts
		want GridAction
	}{
		"fetching": {GridFacts{Fetching: why}, GridAction{Status: jjm.Pending, Reason: why}},
		"there":    {GridFacts{Status: jjm.Pending}, GridAction{Do: Prepare, Status: jjm.Registered}},
		"killed":   {GridFacts{Fetching: why, Kill: true}, GridAction{Do: Collect, Status: jjm.Aborting}},
		"paused":   {GridFacts{Fetching: why, Paused: "by a"}, GridAction{Status: jjm.Paused, Reason: "by a"}},
		"failed":   {GridFacts{Fetching: why, Failure: "x"}, GridAction{Do: Collect, Status: jjm.Prepared}},
	} {
		if got := Grid(c.f); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
