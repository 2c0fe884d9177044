package verdict

import (
	"jjm"
	"jjm/engine/endings"
	"jjm/engine/state"
	"jjm/handlers"
	"jjm/sandbox"
)

// types ask job types for their word on what local jobs leave.
type types struct {
	s     *state.State
	known handlers.Registry
}

// of returns the job type of a local job, and its job file; nil if the type makes
// nothing of what local jobs leave: a merge is jjm's own.
func (ts types) of(l *jjm.LocalJob) (handlers.Handler, *jjm.Spec) {
	v := ts.s.View()
	g := v.Grid(l.ID.Grid)
	var spec jjm.Spec
	if g != nil {
		spec = g.Job.Spec
	}
	v.Close()
	if g == nil || l.Step == jjm.StepMerge {
		return nil, nil
	}
	return ts.known[spec.Type], &spec
}

// opinion asks the job type what is to become of an attempt that left a result; nil if
// the type has no word in it.
func (ts types) opinion(l *jjm.LocalJob, en *endings.Ending) *jjm.Opinion {
	if en.Result == nil {
		return nil
	}
	h, spec := ts.of(l)
	a, ok := h.(handlers.Analyser)
	if !ok {
		return nil
	}
	return a.Analyse(spec, l, en.Result)
}

// progressOf is what is shown of a running local job: the phase of which its application
// spoke last, or what its type makes of them all.
func (ts types) progressOf(id jjm.AttemptID, phases []jjm.AppPhase) jjm.Progress {
	last := phases[sandbox.LastPhase(phases)]
	l, _, ok := ts.s.AttemptRow(id)
	if !ok {
		return last.Progress
	}
	h, spec := ts.of(&l)
	by, ok := h.(handlers.Progress)
	if !ok {
		return last.Progress
	}
	p := by.Progress(spec, &l, phases)
	if !sandbox.ValidPhases([]jjm.AppPhase{{Progress: p}}) {
		return last.Progress // a record could not show it
	}
	return p
}
