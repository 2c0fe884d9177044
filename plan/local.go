package plan

import (
	"cmp"
	"slices"
	"time"

	"jjm"
	"jjm/analyse"
)

// LocalInput is a local job whose current attempt is over.
type LocalInput struct {
	// Job as it stands, its Attempt being the one that is over.
	Job jjm.LocalJob
	// Evidence of that attempt. A result of another attempt is disregarded.
	Evidence jjm.Evidence
	// Result is how the job reports: jjm.ResultGLF or jjm.ResultExit.
	Result string
	// Retry are the limits that the job file sets, Site the site's for what it
	// does not set; GBS's defaults fill the rest.
	Retry, Site jjm.Limits
	// Kill is true when the grid job or the local job is to be killed.
	Kill bool
	// GiveUp is set when the attempt was to end because of its hold (decision R5).
	// Kill outranks it.
	GiveUp *jjm.Holding
	// Opinion is the job type's of the attempt; nil if it has none.
	Opinion *jjm.Opinion
	// Lost is EndStep.Lost: the batch system surely does not have the attempt.
	Lost bool
	Now  jjm.Time
	// Backoff is the unit of the wait before a retry; 0 disables it.
	Backoff time.Duration
}

// DefaultBackoff is the unit of the wait before a retry (GBS Programmer Manual).
const DefaultBackoff = time.Minute

// LocalDecision is what becomes of the local job.
type LocalDecision struct {
	// Over is false when the evidence shows no end: nothing changes.
	Over    bool
	Verdict jjm.Verdict
	State   jjm.State
	Phase   jjm.Phase
	// Attempt is the next attempt's number if there is one, else unchanged.
	Attempt int32
	// NotBefore is when the next attempt may be submitted; 0 for at once.
	NotBefore jjm.Time
	// Started, Ended, Host and Exit are of the attempt that is over. Times and host
	// are the batch system's, and only where it says nothing the wrapper's, whose
	// result is a file of the job's account; the exit code is the wrapper's, then
	// the batch system's, and -1 if it is not known.
	Started, Ended jjm.Time
	Host           string
	Exit           int
}

// Local decides what becomes of a local job whose attempt is over:
//
//	verdict    local job
//	complete   completed
//	retry      submitting/retry-wait, attempt + 1, after a wait if unhandled
//	hold       held/application-hold or batch-cancel
//	fail       failed/limit, application or lost
//	cancel     killed/cancelled
//
// The wait is min(2^k, 60) units after an unhandled end, k being the counter
// of its class, that end included (GBS Programmer Manual); a retry that the
// application asked for does not wait. With Kill set the verdict is never
// retry or hold. An attempt that was given up for its hold ends as was decided
// then, unless it has a result that stands; but an exit job that was started is
// not started again unless its job file asks for it (R1).
func Local(in LocalInput) LocalDecision {
	ev := in.Evidence
	if ev.Result != nil && ev.Result.AttemptID() != in.Job.AttemptID() {
		ev.Result = nil
	}
	v := analyse.Attempt(analyse.Input{
		Evidence: ev, Result: in.Result,
		Counters: in.Job.Counters, RetryArgs: in.Job.RetryArgs,
		Limits: in.Retry.Or(in.Site), KillIntent: in.Kill || in.GiveUp.GivenUp(),
		Retry: in.Retry != (jjm.Limits{}), Lost: in.Lost, Opinion: in.Opinion,
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
		d.State, d.Phase = jjm.Submitting, jjm.RetryWait
		d.Attempt++
		d.NotBefore = notBefore(in, v)
	case jjm.Hold:
		d.State = jjm.Held
	case jjm.Fail:
		d.State = jjm.Failed
	case jjm.Cancel:
		d.State = jjm.Killed
	default:
		d.Over, d.State, d.Phase = false, in.Job.State, in.Job.Phase
	}
	return d
}

// givenUp makes of the end that jjm meant what it was meant for.
func givenUp(in LocalInput, ev jjm.Evidence, v jjm.Verdict) jjm.Verdict {
	started := ev.Result != nil || ev.Claim != nil && ev.Claim.Holder != jjm.HolderDaemon
	v.Text, v.Phase = in.GiveUp.Why, ""
	v.Action = jjm.Retry
	switch {
	case in.GiveUp.Action == jjm.HoldFail:
		v.Action, v.Phase = jjm.Fail, jjm.BySystem
	case started && in.Result != jjm.ResultGLF && in.Retry == (jjm.Limits{}):
		v.Action, v.Phase = jjm.Fail, jjm.BySystem
		v.Text += "; it had been started, and its job file asks for no retries"
	}
	return v
}

// neverRan reports whether a job that ended has no exit code of its own: it was
// taken away before it started.
func neverRan(b jjm.Report) bool {
	return b.Started == 0 && (b.State == jjm.BatchCancelled || b.State == jjm.BatchAborted)
}

// witness fills in times, host and exit code:
//
//	           1st                          2nd                 3rd
//	started    batch system's last word     its listings        result
//	ended      batch system's last word     result, clamped     now
//	host       batch system's last word     its listings        result
//	exit code  result                       batch system's      -1
//
// The clocks of the worker and of the batch system differ, and a result may say
// anything: an end that it tells lies between the start and now.
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

// notBefore applies the back-off.
func notBefore(in LocalInput, v jjm.Verdict) jjm.Time {
	k := 0
	switch v.Class {
	case analyse.Early:
		k = v.Counters.Early
	case analyse.LateUnhandled:
		k = v.Counters.LateUnhandled
	}
	if v.Level == analyse.LevelIntent && in.GiveUp != nil {
		k = in.GiveUp.Retries
	}
	if v.Handled || in.Backoff <= 0 || k <= 0 {
		return 0
	}
	return in.Now.Add(time.Duration(min(1<<min(k, 6), 60)) * in.Backoff)
}

// Apply notes in a local job what is decided of its attempt: all but the state and
// the phase, which the journal tells of.
func (d LocalDecision) Apply(l *jjm.LocalJob) {
	l.Attempt, l.NotBefore = d.Attempt, d.NotBefore
	l.Counters, l.RetryArgs = d.Verdict.Counters, slices.Clone(d.Verdict.RetryArgs)
	l.Started, l.Ended, l.Host, l.Exit = d.Started, d.Ended, d.Host, d.Exit
	l.Message = d.Verdict.Text
}
