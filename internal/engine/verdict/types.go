package verdict

import (
	"jjm/handlers"
	"jjm/internal/engine/floor/endings"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/sandbox"
)

// types asks job types for opinions on results and for the progress to show.
type types struct {
	s     *state.State
	known handlers.Registry
}

// of returns the job type of a local job and its specification, or nil for a local job of
// the merge step, which is jjm's own.
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

// opinion returns the job type's opinion on an attempt that left a result; nil if the type
// has no opinion.
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

// progressOf returns the progress to show of a running local job: the progress of the phase
// that its application reported last, or the progress that its job type computes from all
// phases.
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
		return last.Progress // a record could not show the computed progress
	}
	return p
}
