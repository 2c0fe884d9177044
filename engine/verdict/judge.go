package verdict

import (
	"context"
	"log/slog"

	"jjm"
	"jjm/analyse"
	"jjm/engine/areas"
	"jjm/engine/endings"
	"jjm/engine/outputs"
	"jjm/engine/state"
	"jjm/glf"
	"jjm/handlers"
	"jjm/plan"
)

// judgement is an attempt whose evidence is complete.
type judgement struct {
	id       jjm.AttemptID
	evidence jjm.Evidence
	lost     bool
	spoiled  string // why what it brought back will never be usable
}

// evidence puts together what an attempt is judged on.
func (ju *Judge) evidence(ar *areas.Area, id jjm.AttemptID, en *endings.Ending) jjm.Evidence {
	ev := jjm.Evidence{Batch: en.Report, Result: en.Result, Claim: en.Claim}
	if ev.Result == nil {
		glf, ok, err := ar.ReadGLF(id)
		if err != nil {
			ju.b.Log.Warn("log file of an attempt cannot be read", "local", id.LocalID, "error", err)
		}
		ev.GLF, ev.HasGLF = glf, ok
	} else {
		ev.Claim = &en.Result.Claim
	}
	return ev
}

// judge turns evidence into verdicts and stores them, with all that follows.
func (ju *Judge) judge(ctx context.Context, ready []judgement) error {
	err := ju.s.Change(ctx, "verdict", func(c *state.Change) error {
		for _, j := range ready {
			if c.Live.Current(j.id) != nil {
				ju.decide(c, j)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, j := range ready {
		ju.ends.Forget(j.id)
		ju.phases.forget(j.id)
	}
	return nil
}

// decide applies one verdict to its local job.
func (ju *Judge) decide(c *state.Change, j judgement) {
	l := c.Local(j.id.LocalID)
	spec := &c.Live.Grid(j.id.Grid).Job.Spec
	result := spec.Result
	if l.Step == jjm.StepMerge {
		result = jjm.ResultExit
	}
	out := plan.Local(plan.LocalInput{
		Job: *l, Evidence: ju.analysed(spec, l, j.evidence), Result: result, Retry: spec.Retry, Site: ju.b.Conf().Retry,
		Kill: l.Kill, GiveUp: l.Holding, Lost: j.lost, Backoff: ju.b.Conf().Backoff.D(), Now: c.Now,
	})
	if !out.Over {
		ju.b.Complain(slog.LevelWarn, "end/"+l.ID.String(), "evidence shows no end yet", "local", l.ID, "why",
			out.Verdict.Text)
		return
	}
	if out.State == jjm.Completed {
		if why := outputs.LacksOutput(spec, l, j.evidence.Result); why != "" {
			out.State, out.Phase = jjm.Failed, jjm.ByApp
			out.Verdict.Action, out.Verdict.Phase, out.Verdict.Text = jjm.Fail, jjm.ByApp, why
		} else if outputs.AwaitsMerge(spec, l, j.evidence.Result) {
			out.State, out.Phase = jjm.Completing, jjm.Merging
		}
	}
	if j.spoiled != "" && out.State != jjm.Killed { // another attempt would bring back the same
		out.State, out.Phase, out.Attempt, out.NotBefore = jjm.Failed, jjm.ByApp, l.Attempt, 0
		out.Verdict.Action, out.Verdict.Phase, out.Verdict.Text = jjm.Fail, jjm.ByApp, "what it brought back: "+j.spoiled
	}
	if j.evidence.Batch.ID == "" { // the accounting needs one, and not the job's word
		j.evidence.Batch.ID = l.BatchID
	}
	r := j.evidence.Result
	if r != nil && r.AttemptID() == l.AttemptID() {
		out.Exit = r.Exit // whatever the type makes of it
	}
	if b := j.evidence.Batch.ID; l.BatchID == "" || r != nil && r.Claim.Batch == b { // both say so
		l.BatchID = b
	}
	c.End(l, j.evidence, out.Verdict)
	out.Apply(l)
	if r != nil && l.BatchID == "" { // of what nobody else knows the job's word is taken
		l.BatchID = r.Claim.Batch
	}
	l.Holding = plan.HoldAfter(l.Holding, out.State, out.Phase, out.Verdict.Text, c.Now)
	c.Move(l, out.State, out.Phase, out.Verdict.Text)
}

// analysed returns evidence with what the job type reads from its result.
func (ju *Judge) analysed(spec *jjm.Spec, l *jjm.LocalJob, ev jjm.Evidence) jjm.Evidence {
	r := ev.Result
	if r == nil || r.Error != "" || l.Step != jjm.StepWork || r.AttemptID() != l.AttemptID() {
		return ev
	}
	h, err := ju.b.Deps.Types.Get(spec.Type)
	if err != nil {
		return ev // the type is gone: its result speaks for itself
	}
	a, ok := h.(handlers.Analyser)
	if !ok {
		return ev
	}
	if keyword, data := a.Analyse(spec, l, r); glf.Terminal(keyword) && data != "" {
		ev.Result = analyse.AsSaid(r, keyword, data)
	}
	return ev
}
