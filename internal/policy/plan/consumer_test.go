package plan

import (
	"testing"

	"jjm/internal/jjm"
)

func TestConsumed_NamesTheCommandThatHelps(t *testing.T) {
	after := jjm.Spec{After: []jjm.GridID{3}}
	counts := func(completed, failed int) (n [jjm.NumStates]int) {
		n[jjm.Completed], n[jjm.Failed] = completed, failed
		return n
	}
	for _, c := range []struct {
		name        string
		job         jjm.GridJob
		remade      Remade
		cause, text string
	}{
		{"it never began", jjm.GridJob{ID: 7, Status: jjm.Broken, Spec: after}, Remade{3, 2},
			"grid job 3, for whose end this one waited, runs again: its generation 2 begins",
			"grid job 3, for whose end this one waited, runs again: jjm copy 7 makes a new grid job of this one's job file"},
		{"some of it is done", jjm.GridJob{ID: 7, Status: jjm.Finished, Step: jjm.Step{Made: 2}, Counts: counts(1, 1)},
			Remade{3, 4}, "grid job 3, whose outputs this one read, runs again: its generation 4 begins",
			"grid job 3, whose outputs this one read, runs again: jjm copy 7 makes a new grid job of this one's job file"},
		{"all of it failed", jjm.GridJob{ID: 7, Status: jjm.GridFailed, Step: jjm.Step{Made: 2}, Counts: counts(0, 2)},
			Remade{Producer: 3}, "grid job 3, whose outputs this one read, lost outputs",
			"grid job 3, whose outputs this one read, lost outputs: jjm resubmit 7 runs this one again once its inputs are there"},
	} {
		cause, notice := Consumed(&c.job, c.remade)
		if cause != c.cause || notice != (jjm.Notice{Kind: jjm.InputsAgain, Text: c.text}) {
			t.Errorf("%s: %q, %+v", c.name, cause, notice)
		}
	}
}
