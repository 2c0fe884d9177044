package analyse

import (
	"jjm"
	"jjm/glf"
)

// Input is all that decides about an attempt that is over.
type Input struct {
	// Evidence is of the current attempt only: results and claims of earlier
	// ones are left out by the caller.
	Evidence jjm.Evidence
	// Result is jjm.ResultGLF or jjm.ResultExit; anything else is exit.
	Result string
	// Counters and RetryArgs are the local job's so far. Unset Limits are
	// GBS's defaults.
	Counters  jjm.Counters
	RetryArgs []string
	Limits    jjm.Limits
	// KillIntent is true when jjm meant to end the attempt.
	KillIntent bool
	// Retry lets a started attempt of an exit job be retried: its job file set
	// limits of its own.
	Retry bool
	// Opinion is the job type's of the attempt; nil if it has none.
	Opinion *jjm.Opinion
	// Lost is true when the batch system was proven not to have the attempt
	// (decision R2). Without it BatchUnknown decides nothing.
	Lost bool
}

// Attempt returns the verdict on an attempt (decisions R1-R5, R24). A verdict
// without an Action says that the evidence does not show an end: no result, no
// ended state of the batch system, no proven loss. First match:
//
//	the job type's opinion counts       TYPE         as it says
//	the result stands                   as it says
//	jjm meant to end it                 INTENT       cancel
//	CANCELLED by someone else           GRID         glf: hold; exit: fail
//	it never started                    BATCH        unhandled, early, also under exit
//	OOM, TIMEOUT                        APPLICATION  unhandled
//	the wrapper reports trouble         APPLICATION  unhandled
//	ABORTED                             GRID         late unhandled
//	lost, no result                     GANGA        late unhandled
//	exit: no result                     WORKER       unhandled
//	exit: exit code not 0               EXIT         unhandled
//	glf: outputs missing or unverified  APPLICATION  unhandled
//	glf: otherwise                      as Table
//
// A result stands when the application ended by its own account: under glf a
// valid result (see Said) whose SUCCEEDED files are there; under exit, exit
// code 0. It stands whether the batch system says UNKNOWN, ABORTED, FAILED or
// nothing yet. OOM and TIMEOUT outrank a success (R4); CANCELLED by someone
// else outranks it under glf (GBS); a meant kill outranks a wish for RETRY or
// HOLD. Under exit a RETRY, HOLD or FAILED that the application wrote all the
// same, exiting 0, is obeyed as under glf.
//
// The job type's opinion counts where the application ran to its end by its own account:
// there is a result, without trouble of the wrapper, and the batch system did not end it,
// nor jjm mean to. It completes nothing whose files are missing. A retry or hold is counted
// as one that the application asked for, also under exit. When jjm means to end the attempt,
// a result with which the type is not content does not stand.
//
// "Unhandled" retries within the limits. Under exit a started attempt is not
// retried unless Retry is set: it fails at once. An attempt that nobody's
// wrapper claimed never ran the application, so that it is never held against
// it. Completion needs a result: a log that says SUCCEEDED is not enough,
// because nobody collected the files it names.
func Attempt(in Input) jjm.Verdict {
	c := newCase(in)
	switch ev := &in.Evidence; {
	case ev.Result == nil && !ev.Batch.State.Ended() && !in.Lost:
		return jjm.Verdict{Text: "no evidence of an end", RetryArgs: in.RetryArgs, Counters: in.Counters}
	case c.opinionCounts():
		return c.asOpined()
	case c.stands():
		return c.asSaid()
	case in.KillIntent:
		return c.plain(LevelIntent, jjm.Cancel, jjm.ByPerson, "killed on request"+c.ran())
	case c.batch == jjm.BatchCancelled && c.glfMode:
		return c.plain(LevelGrid, jjm.Hold, jjm.HeldByBatch, c.cancelled())
	case c.batch == jjm.BatchCancelled:
		return c.plain(LevelGrid, jjm.Fail, jjm.ByLoss, c.cancelled())
	case !c.started:
		return c.unhandled(LevelBatch, Early, jjm.ByLoss, c.neverStarted())
	case c.batch == jjm.BatchOOM || c.batch == jjm.BatchTimeout:
		return c.unhandled(LevelApplication, c.byTime(), jjm.ByApp, c.overLimit())
	case ev.Result != nil && ev.Result.Error != "":
		return c.unhandled(LevelApplication, c.byTime(), jjm.ByApp, "wrapper: "+ev.Result.Error+c.ran())
	case c.batch == jjm.BatchAborted:
		return c.unhandled(LevelGrid, LateUnhandled, jjm.ByLoss, c.aborted())
	case ev.Result == nil && !c.batch.Ended():
		return c.unhandled(LevelGanga, LateUnhandled, jjm.ByLoss, c.lost())
	case !c.glfMode && ev.Result == nil:
		return c.unhandled(LevelWorker, c.byTime(), jjm.ByLoss, c.noResult())
	case !c.glfMode:
		return c.unhandled(LevelExit, c.byTime(), jjm.ByApp, c.exitCode())
	}
	return c.byLog()
}

// newCase reads the log and what the evidence says beside it.
func newCase(in Input) *attempt {
	c := &attempt{
		in: in, batch: in.Evidence.Batch.State, glfMode: in.Result == jjm.ResultGLF,
		table: table{counters: in.Counters, args: in.RetryArgs, lim: in.Limits.Or(jjm.DefaultLimits())},
	}
	ev := &in.Evidence
	if r := ev.Result; r != nil {
		c.log, c.hasGLF = glf.Parse([]byte(r.GLF)), true
		if r.Error == "" {
			complete(&c.log, r)
		}
	} else {
		c.log, c.hasGLF = glf.Parse([]byte(ev.GLF)), ev.HasGLF
	}
	switch {
	case ev.Result != nil:
		c.started = true
	case ev.Claim != nil:
		c.started = ev.Claim.Holder != jjm.HolderDaemon
	default:
		c.started = c.hasGLF && c.log.Start
	}
	return c
}

// complete adds the wrapper's two records to a log from which they were lost:
// its result is as good a witness, and the better one of the exit code.
func complete(log *glf.Log, r *jjm.Result) {
	if !log.Start {
		log.Start, log.StartTime = true, r.Started.Time()
	}
	if !log.End {
		log.End, log.EndTime = true, r.Ended.Time()
	}
	log.AppExit = r.Exit
}

// attempt is one case before the judge.
type attempt struct {
	in      Input
	batch   jjm.BatchState
	glfMode bool
	log     glf.Log
	hasGLF  bool
	started bool
	table   table
}

// stands reports whether the result decides whatever else is known.
func (c *attempt) stands() bool {
	r := c.in.Evidence.Result
	if r == nil || r.Error != "" || r.Exit != 0 {
		return false
	}
	if op := c.in.Opinion; op != nil && c.in.KillIntent && op.Action != jjm.Complete {
		return false
	}
	said, valid := Said(c.log)
	foreign := c.batch == jjm.BatchCancelled && !c.in.KillIntent
	if c.glfMode && (!valid || foreign) {
		return false
	}
	switch {
	case valid && (said.Keyword == glf.Retry || said.Keyword == glf.Hold):
		return !c.in.KillIntent
	case valid && said.Keyword == glf.Failed:
		return true
	}
	outranked := c.batch == jjm.BatchOOM || c.batch == jjm.BatchTimeout
	return !outranked && (!c.glfMode || len(c.missing()) == 0)
}

// asSaid is the verdict of a result that stands.
func (c *attempt) asSaid() jjm.Verdict {
	said, valid := Said(c.log)
	if !c.glfMode && (!valid || said.Keyword == glf.Succeeded) {
		return c.plain(LevelExit, jjm.Complete, "", "exit code 0"+c.ran())
	}
	return c.user(said)
}

// byLog lets the table decide, for glf jobs that were left alone by their
// batch system.
func (c *attempt) byLog() jjm.Verdict {
	said, valid := Said(c.log)
	switch {
	case valid && said.Keyword != glf.Succeeded:
		return c.user(said)
	case valid && c.in.Evidence.Result == nil:
		return c.unhandled(LevelApplication, c.byTime(), jjm.ByApp, c.unverified())
	case valid:
		return c.unhandled(LevelApplication, c.byTime(), jjm.ByApp, c.absent())
	}
	o := Table(jjm.BatchEndedOK, c.log, c.hasGLF, c.in.Counters, c.in.RetryArgs, c.in.Limits)
	return c.verdict(o, jjm.ByApp, c.defect(o.Level))
}

// user is the verdict of a valid result.
func (c *attempt) user(said glf.Record) jjm.Verdict {
	o := c.table.user(said, c.log.RunSeconds())
	return c.verdict(o, jjm.ByApp, "application says "+said.Keyword+": "+said.Data)
}

// plain is a verdict that counts nothing.
func (c *attempt) plain(level string, a jjm.Action, p jjm.Phase, text string) jjm.Verdict {
	return jjm.Verdict{Level: level, Action: a, Phase: p, Text: tidy(text),
		RetryArgs: c.in.RetryArgs, Counters: c.in.Counters}
}

// unhandled is the verdict of an end that the application did not ask for:
// counted and retried within the limits, or, for a started exit job that asks
// for no retries, a failure of the phase given.
func (c *attempt) unhandled(level, class string, p jjm.Phase, text string) jjm.Verdict {
	if !c.glfMode && c.started && !c.in.Retry {
		return c.plain(level, jjm.Fail, p, text)
	}
	return c.verdict(c.table.unhandled(level, class), p, text)
}

// verdict puts an outcome of the table into jjm's words.
func (c *attempt) verdict(o Outcome, failed jjm.Phase, text string) jjm.Verdict {
	v := jjm.Verdict{Level: o.Level, Class: o.Class, RetryArgs: o.RetryArgs, Counters: o.Counters, Handled: o.Handled}
	switch o.Status {
	case Succeeded:
		v.Action = jjm.Complete
	case Hold:
		v.Action, v.Phase = jjm.Hold, jjm.HeldByApp
	case Retry:
		v.Action = jjm.Retry
		text += c.table.retryText(o)
	default:
		v.Action, v.Phase = jjm.Fail, failed
		if o.ByLimit {
			v.Phase = jjm.ByLimit
			text += "; " + o.Text
		}
	}
	v.Text = tidy(text)
	return v
}

// byTime is early or late by how long the attempt ran.
func (c *attempt) byTime() string { return c.table.class(c.seconds(), LateUnhandled) }

// seconds is how long the attempt ran: by its log, by the wrapper's clock, or
// by the batch system's.
func (c *attempt) seconds() int {
	ev := &c.in.Evidence
	switch {
	case c.log.Start && c.log.End:
		return c.log.RunSeconds()
	case ev.Result != nil && ev.Result.WallMS > 0:
		return int(ev.Result.WallMS / 1000)
	case ev.Batch.Started != 0 && ev.Batch.Ended != 0:
		return max(0, int(ev.Batch.Ended.Sub(ev.Batch.Started).Seconds()))
	}
	return c.log.RunSeconds()
}
