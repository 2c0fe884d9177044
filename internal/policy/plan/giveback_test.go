package plan

import (
	"testing"

	"jjm/internal/jjm"
)

func TestGiveBack_FilesAreProcessedAgainWithinTheLimit(t *testing.T) {
	base := GiveBackFacts{State: jjm.Failed, Phase: jjm.ByLimit, Result: jjm.ResultGLF, Attempts: 3}
	tests := []struct {
		name string
		set  func(*GiveBackFacts)
		want bool
	}{
		{"by limit", func(*GiveBackFacts) {}, true},
		{"lost", func(f *GiveBackFacts) { f.Phase = jjm.ByLoss }, true},
		{"closed by jjm", func(f *GiveBackFacts) { f.State, f.Phase = jjm.Killed, jjm.BySystem }, true},
		{"an exit code", func(f *GiveBackFacts) { f.Phase, f.Result = jjm.ByApp, jjm.ResultExit }, true},
		{"FAILED in the log file", func(f *GiveBackFacts) { f.Phase = jjm.ByApp }, false},
		{"second attempt", func(f *GiveBackFacts) { f.Before = 1 }, true},
		{"last attempt", func(f *GiveBackFacts) { f.Before = 2 }, false},
		{"withdrawn is no attempt", func(f *GiveBackFacts) { f.Phase, f.Before, f.Withdrawn = jjm.BySystem, 2, true }, true},
		{"withdrawn, and the grid job to be killed", func(f *GiveBackFacts) { f.Withdrawn, f.Kill = true, true }, false},
		{"one attempt allowed", func(f *GiveBackFacts) { f.Attempts = 1 }, false},
		{"completed", func(f *GiveBackFacts) { f.State = jjm.Completed }, false},
		{"held", func(f *GiveBackFacts) { f.State = jjm.Held }, false},
		{"killed by a person", func(f *GiveBackFacts) { f.State, f.Phase = jjm.Killed, jjm.ByPerson }, false},
		{"grid job to be killed", func(f *GiveBackFacts) { f.Kill = true }, false},
		{"of no use without another", func(f *GiveBackFacts) { f.Orphan = true }, false},
		{"could never run", func(f *GiveBackFacts) { f.Phase = jjm.CreateFailed }, false},
	}
	for _, tt := range tests {
		f := base
		tt.set(&f)
		if got := GiveBack(f); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestFinal_AnUnprovenGridJobIsNotDone(t *testing.T) {
	f := GridFacts{Made: 2, EverSubmitted: true, Unproven: "3 events missing"}
	f.Counts[jjm.Completed] = 2
	if status, why := Final(f); status != jjm.Finished || why != "2 of 2 local jobs done; 3 events missing" {
		t.Errorf("%s: %s", status, why)
	}
}

func TestGrid_AnOpenDatasetKeepsItAlive(t *testing.T) {
	f := GridFacts{Prepared: true, Idle: "files are to come"}
	if a := Grid(f); a != (GridAction{Status: jjm.Pending, Reason: "files are to come"}) {
		t.Errorf("nothing was made yet: %+v", a)
	}
	f.Made, f.EverSubmitted = 2, true
	f.Counts[jjm.Completed] = 2
	if a := Grid(f); a != (GridAction{Status: jjm.GridRunning}) {
		t.Errorf("all that there is is done: %+v", a)
	}
	f.Closed = true
	if a := Grid(f); a.Do != Collect {
		t.Errorf("no more will come: %+v", a)
	}
}
