package answer

import (
	"cmp"
	"context"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/jjm"
	"jjm/internal/policy/analyse"
	"jjm/internal/storage/store"
)

// Explain returns an ended attempt of a local job, and the result of each rule for the attempt. It takes the attempt
// with the requested number, or the last ended attempt if no number is requested. The error is of kind Conflict if the
// attempt has not ended.
func (an *Answers) Explain(ctx context.Context, caller wire.Caller, r wire.ExplainRequest) (wire.ExplainAnswer,
	error) {
	number := r.Attempt
	job, l, id, err := an.oneAttempt(ctx, caller, r.Job(), number)
	if err != nil {
		return wire.ExplainAnswer{}, err
	}
	attempts, err := an.b.Store.Attempts(ctx, l.ID)
	if err != nil {
		return wire.ExplainAnswer{}, err
	}
	var of *store.Attempt
	for i := range attempts {
		if a := &attempts[i]; a.Evidence != nil && (number == nil || a.ID.Attempt == id.Attempt) {
			of = a
		}
	}
	if of == nil {
		return wire.ExplainAnswer{}, jjm.Errorf(jjm.Conflict, "attempt %d of %s is not over: there is no verdict "+
			"on it so far", id.Attempt, l.ID)
	}
	out := wire.Explained{Local: l.ID.String(), Attempt: attemptOf(of, job, l)}
	for _, o := range analyse.Explain(caseOf(an.b, job, l, of)) {
		out.Rules = append(out.Rules, wire.RuleSays{Rule: o.Rule.Name, Origin: o.Rule.Origin, Do: o.Rule.Do,
			LogOnly: o.Rule.LogOnly, Decides: o.Decides, Unmet: o.Unmet, Says: o.Says})
	}
	return wire.ExplainAnswer{Explain: &out}, nil
}

// caseOf returns the input from which an attempt was judged, but with the present rules and limits.
func caseOf(b *base.Base, job *jjm.GridJob, l *jjm.LocalJob, a *store.Attempt) analyse.Input {
	spec, basis := &job.Spec, cmp.Or(a.Verdict.Basis, &jjm.Basis{}) // no basis after a refused submission
	in := analyse.Input{Evidence: *a.Evidence, Result: spec.Result, Counters: basis.Counters, RetryArgs: basis.RetryArgs,
		Limits: spec.Retry.Or(b.Conf().Retry), KillIntent: basis.Killed, Retry: spec.Retry.Asked(),
		OnExit: spec.Retry.OnExit, Opinion: basis.Opinion, Lost: basis.Lost, Rules: b.Rules(spec, l.Step),
		Type: spec.Type, Cluster: basis.Cluster, Params: spec.Params}
	if a.ID.Attempt == shownAttempt(l).Attempt {
		in.Host = l.Host
	}
	if l.Step == jjm.StepMerge {
		in.Result, in.Type, in.Params = jjm.ResultExit, "", nil
	}
	return in
}
