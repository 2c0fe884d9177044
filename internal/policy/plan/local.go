package plan

import (
	"cmp"
	"slices"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/policy/analyse"
	"jjm/internal/policy/analyse/rule"
)

// LocalInput holds the facts that decide how a local job continues after its current attempt has ended.
type LocalInput struct {
	// Job is the local job. Its field Attempt is the number of the attempt that has ended.
	Job jjm.LocalJob
	// Evidence is the evidence of the attempt. A result of another attempt is ignored.
	Evidence jjm.Evidence
	// Result is how the job reports its end: jjm.ResultGLF or jjm.ResultExit.
	Result string
	// Retry are the job file's settings for retries. Limits that the job file does not set are taken from Site, the limits
	// of the site, and then from the defaults of GBS.
	Retry jjm.Retries
	Site  jjm.Limits
	// Kill is true if the grid job or the local job is to be killed.
	Kill bool
	// GiveUp is set if jjm decided to end the attempt because the batch system or a person held it (decision R5); it is
	// then the hold. Kill outranks GiveUp.
	GiveUp *jjm.Holding
	// Opinion is the job type's decision about the attempt, nil if it has no opinion.
	Opinion *jjm.Opinion
	// Rules are the rules that judge the attempt. An empty set stands for the rules that jjm ships. Type is the job type,
	// and Params are its settings; conditions of rules use both.
	Rules  rule.Set
	Type   string
	Params map[string]any
	// Lost is EndStep.Lost: the batch system certainly does not have the attempt.
	Lost bool
	// Lacks is the reason why an attempt that completed counts as failed: it did not make an output that it had to make.
	// Merges is set if the outputs of the attempt wait to be merged. Lacks and Merges count only if the verdict is
	// complete.
	Lacks  string
	Merges bool
	// Spoiled is the reason why the result can never be used. Gone is the reason why the files that the local job reads
	// are gone. In both cases another attempt would end in the same way. Lacks, Spoiled and Gone are "" if they do not
	// apply.
	Spoiled, Gone string
	Now           jjm.Time
	// Backoff is the unit of the wait before a retry. If it is 0, there is no wait.
	Backoff time.Duration
}

// LocalDecision is the decision on how a local job continues.
type LocalDecision struct {
	// Over is false if the evidence shows no end; nothing changes then.
	Over    bool
	Verdict jjm.Verdict
	State   jjm.State
	Phase   jjm.Phase
	// Attempt is the number of the next attempt, or of the ended attempt if no attempt follows.
	Attempt int32
	// NotBefore is when the next attempt may be submitted; 0 for immediately.
	NotBefore jjm.Time
	// Started, Ended, Host and Exit are the facts of the attempt that ended; see witness. Exit is -1 if the exit code is
	// not known.
	Started, Ended jjm.Time
	Host           string
	Exit           int
}

// Local decides how a local job continues after its attempt has ended:
//
//	verdict    local job
//	complete   completed
//	retry      submitting/retry-wait, attempt + 1, after a wait if unhandled;
//	           held/operator-hold, attempt + 1, if a person holds the local job
//	hold       held/application-hold or batch-cancel
//	fail       failed/limit, application or lost
//	cancel     killed/cancelled
//
// [Backoff] returns how long the next attempt waits. With Kill the verdict is never retry or hold. If jjm ended the
// attempt because of its hold ("given up"), the action of the hold decides, unless the attempt has a result that
// counts. However, if such an attempt had started and the job reports by its exit code, the local job is retried only
// if its job file enables retries and does not restrict them to exit codes (R1).
func Local(in LocalInput) LocalDecision {
	ev := in.Evidence
	if ev.Result != nil && ev.Result.AttemptID() != in.Job.AttemptID() {
		ev.Result = nil
	}
	v := analyse.Attempt(analyse.Input{
		Evidence: ev, Host: in.Job.Host, Result: in.Result,
		Counters: in.Job.Counters, RetryArgs: in.Job.RetryArgs,
		Limits: in.Retry.Or(in.Site), KillIntent: in.Kill || Ends(in.GiveUp, ev),
		Retry: in.Retry.Asked(), OnExit: in.Retry.OnExit, Lost: in.Lost, Opinion: in.Opinion,
		Rules: in.Rules, Type: in.Type, Cluster: in.Job.Cluster, Params: in.Params,
	})
	if v.Action == jjm.Cancel && !in.Kill {
		v = givenUp(in, ev, v)
	}
	d := LocalDecision{Over: true, Verdict: v, Attempt: in.Job.Attempt, Phase: v.Phase}
	d.witness(in, ev)
	switch v.Action {
	case jjm.Complete:
		d.State = jjm.Completed
	case jjm.Retry:
		d.State, d.Phase = NextAttempt(in.GiveUp)
		d.Attempt++
		if wait := Backoff(backoffFacts(in, ev, v)); wait > 0 {
			d.NotBefore = in.Now.Add(wait)
		}
		if d.State == jjm.Held {
			d.NotBefore = in.Now // a time in NotBefore marks a held local job whose next attempt has not begun
		}
	case jjm.Hold:
		d.State = jjm.Held
	case jjm.Fail:
		d.State = jjm.Failed
	case jjm.Cancel:
		d.State = jjm.Killed
	default:
		d.Over, d.State, d.Phase = false, in.Job.State, in.Job.Phase
		return d
	}
	d.correct(in)
	return d
}

// correct changes the decision because of outputs and files; the last case that applies decides:
//
//	completed, but an output is lacking     failed/application
//	completed, outputs to be merged         completing/merging
//	result cannot be used, not killed       failed/application
//	files gone, not completed or killed     failed/closed
func (d *LocalDecision) correct(in LocalInput) {
	switch {
	case d.State == jjm.Completed && in.Lacks != "":
		d.fail(in, jjm.ByApp, in.Lacks)
		d.Verdict.Notices = nil
	case d.State == jjm.Completed && in.Merges:
		d.State, d.Phase = jjm.Completing, jjm.Merging
	}
	if in.Spoiled != "" && d.State != jjm.Killed {
		d.fail(in, jjm.ByApp, "what it brought back: "+in.Spoiled)
		d.Verdict.Notices = nil
	}
	if in.Gone != "" && d.State != jjm.Completed && d.State != jjm.Killed {
		d.fail(in, jjm.BySystem, in.Gone)
	}
}

// fail makes the local job failed; no attempt follows.
func (d *LocalDecision) fail(in LocalInput, phase jjm.Phase, why string) {
	d.State, d.Phase, d.Attempt, d.NotBefore = jjm.Failed, phase, in.Job.Attempt, 0
	d.Verdict.Action, d.Verdict.Phase, d.Verdict.Text = jjm.Fail, phase, why
}

// Ends reports whether jjm ended an attempt because of the hold h, which may be nil. A hold by a person only cancels an
// attempt that has not started: jjm takes the attempt back from the batch system. So if such an attempt has started, it
// ended by itself, unless the batch system reports that its batch job was cancelled.
func Ends(h *jjm.Holding, ev jjm.Evidence) bool {
	if !h.TakesBack() {
		return h.GivenUp()
	}
	return !hasStarted(ev) || ev.Batch.State == jjm.BatchCancelled
}

// hasStarted reports whether the wrapper of the attempt began to run on a worker: it has left a claim or a result.
func hasStarted(ev jjm.Evidence) bool {
	return ev.Result != nil || ev.Claim != nil && ev.Claim.Holder != jjm.HolderDaemon
}

// givenUp replaces the verdict v on an attempt that jjm ended because of its hold. The new verdict is retry or fail:
// fail if that is the action of the hold, or if the attempt had started and the job file does not permit a retry (R1).
func givenUp(in LocalInput, ev jjm.Evidence, v jjm.Verdict) jjm.Verdict {
	v.Text, v.Phase = in.GiveUp.Why, ""
	v.Action = jjm.Retry
	switch {
	case in.GiveUp.TakesBack():
		v.Text = takenBack(in.GiveUp)
	case in.GiveUp.Action == jjm.HoldFail:
		v.Action, v.Phase = jjm.Fail, jjm.BySystem
	case hasStarted(ev) && in.Result != jjm.ResultGLF && (!in.Retry.Asked() || len(in.Retry.OnExit) > 0):
		v.Action, v.Phase = jjm.Fail, jjm.BySystem
		v.Text += "; it had been started, and its job file asks for no retries after a hold"
	}
	return v
}

// neverRan reports whether a batch job was removed before it started. Such a batch job has no exit code.
func neverRan(b jjm.Report) bool {
	return b.Started == 0 && (b.State == jjm.BatchCancelled || b.State == jjm.BatchAborted)
}

// witness sets times, host and exit code from the first source that has them:
//
//	           1st                          2nd                 3rd
//	started    batch system's last report   earlier listings    result
//	ended      batch system's last report   result, bounded     now
//	host       batch system's last report   earlier listings    result
//	exit code  result                       batch system's      -1
//
// The clocks of worker and batch system differ, and a result is a file that the job's account
// can forge, so an end that a result reports is moved to between the start and now.
func (d *LocalDecision) witness(in LocalInput, ev jjm.Evidence) {
	b, r := ev.Batch, ev.Result
	if r == nil {
		r = &jjm.Result{Exit: -1}
	}
	d.Started = cmp.Or(b.Started, in.Job.Started, r.Started)
	d.Host = cmp.Or(b.Host, in.Job.Host, r.Claim.Host)
	d.Ended = in.Now
	switch {
	case b.State.Ended() && b.Ended != 0:
		d.Ended = b.Ended
	case r.Ended != 0:
		d.Ended = min(max(r.Ended, d.Started), in.Now)
	}
	d.Exit = r.Exit
	if ev.Result == nil && b.State.Ended() && !neverRan(b) {
		d.Exit = b.Exit
		if b.Signal != 0 {
			d.Exit = 128 + b.Signal
		}
	}
}

// Apply stores the decision in a local job. It does not set state and phase; the caller sets these together with an
// entry of the journal.
func (d LocalDecision) Apply(l *jjm.LocalJob) {
	l.Attempt, l.NotBefore = d.Attempt, d.NotBefore
	l.Counters, l.RetryArgs = d.Verdict.Counters, slices.Clone(d.Verdict.RetryArgs)
	l.Started, l.Ended, l.Host, l.Exit = d.Started, d.Ended, d.Host, d.Exit
	l.Message = d.Verdict.Text
}
