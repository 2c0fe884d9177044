package verdict

import (
	"context"
	"log/slog"

	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/endings"
	"jjm/internal/engine/floor/outputs"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// judgement is an attempt whose evidence is complete, with the facts that decide about it.
type judgement struct {
	id       jjm.AttemptID
	evidence jjm.Evidence
	opinion  *jjm.Opinion // opinion of the job type, nil if there is none
	progress jjm.Progress // the last progress that its application reported
	lost     bool         // the batch system lost the attempt
	spoiled  string       // why its result can never be used; "" if it can
	gone     []state.GoneFile
}

// evidence returns the evidence on which an attempt is judged. If there is no result, it reads the log file.
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

// judge decides how attempts ended, and stores the verdicts in one transaction. It skips attempts that are no longer
// current. After the transaction it drops the notes about all the attempts.
func (ju *Judge) judge(ctx context.Context, ready []judgement) error {
	err := ju.s.Change(ctx, "verdict", func(c *state.Change) error {
		c.Gone = map[jjm.LocalID][]state.GoneFile{}
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

// decide gets the decision about an attempt from plan.Local, and applies the decision to the attempt's local job. If
// the evidence does not show the end of the attempt, it changes nothing.
func (ju *Judge) decide(c *state.Change, j judgement) {
	l := c.Local(j.id.LocalID)
	g := c.Live.Grid(j.id.Grid)
	spec, kill := &g.Job.Spec, state.IsToKill(g, l)
	result, typ, params := spec.Result, spec.Type, spec.Params
	if l.Step == jjm.StepMerge {
		result, typ, params = jjm.ResultExit, "", nil
	}
	out := plan.Local(plan.LocalInput{
		Rules: ju.b.Rules(spec, l.Step), Type: typ, Params: params,
		Job: *l, Evidence: j.evidence, Result: result, Retry: spec.Retry, Site: ju.b.Conf().Retry,
		Kill: kill, GiveUp: l.Holding, Lost: j.lost, Opinion: j.opinion, Backoff: ju.b.Conf().Backoff.D(), Now: c.Now,
		Lacks:  outputs.LacksOutput(spec, l, j.evidence.Result),
		Merges: outputs.AwaitsMerge(spec, l, j.evidence.Result), Spoiled: j.spoiled, Gone: goneText(j.gone),
	})
	if !out.Over {
		ju.b.Complain(slog.LevelWarn, "end/"+l.ID.String(), "evidence does not show the end of an attempt yet", "local",
			l.ID, "why", out.Verdict.Text)
		return
	}
	out.Verdict.Basis = &jjm.Basis{Counters: l.Counters, RetryArgs: l.RetryArgs, Cluster: l.Cluster,
		Killed: kill || plan.Ends(l.Holding, j.evidence), Lost: j.lost, Opinion: j.opinion}
	if out.State == jjm.Failed && len(j.gone) > 0 {
		c.Gone[l.ID] = j.gone
	}
	if j.evidence.Batch.ID == "" { // the accounting log needs an id that the job cannot forge
		j.evidence.Batch.ID = l.BatchID
	}
	r := j.evidence.Result
	if b := j.evidence.Batch.ID; l.BatchID == "" || r != nil && r.Claim.Batch == b { // result and report agree
		l.BatchID = b
	}
	c.End(l, j.evidence, out.Verdict)
	warn(c, l, out.Verdict.Notices)
	l.Progress = j.progress
	if out.Attempt != l.Attempt {
		l.Progress = jjm.Progress{} // the next attempt has not reported progress yet
	}
	out.Apply(l)
	if r != nil && l.BatchID == "" { // only the result has the batch id
		l.BatchID = r.Claim.Batch
	}
	l.Holding = plan.HoldAfter(l.Holding, out.State, out.Phase, out.Verdict.Text, c.Now)
	c.Move(l, out.State, out.Phase, out.Verdict.Text)
}

// warn adds the notices about an attempt to the warnings of its grid job.
func warn(c *state.Change, l *jjm.LocalJob, notices []jjm.Notice) {
	for _, n := range notices {
		g := c.Grid(l.ID.Grid)
		g.Warnings = jjm.Warned(g.Warnings, n, l.ID.N)
	}
}
