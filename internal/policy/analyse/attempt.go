package analyse

import (
	"fmt"
	"slices"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
	"jjm/internal/policy/analyse/rule"
)

// Input holds the facts from which an ended attempt is judged.
type Input struct {
	// Evidence is the evidence of the current attempt. The caller must leave out results and claims of earlier attempts.
	Evidence jjm.Evidence
	// Host is the host of the attempt in earlier listings of the batch system, "" if they named none.
	Host string
	// Result is how the local job reports its end: jjm.ResultGLF or jjm.ResultExit. Any other value counts as
	// jjm.ResultExit.
	Result string
	// Counters and RetryArgs are the current counters and retry arguments of the local job. Limits are the limits for the
	// counters; a limit that is not set has the default of GBS.
	Counters  jjm.Counters
	RetryArgs []string
	Limits    jjm.Limits
	// KillIntent is true if jjm wanted to end the attempt.
	KillIntent bool
	// Retry is true if the job file enables retries. It matters only for jobs whose Result is jjm.ResultExit: without
	// Retry, a started attempt is never retried; with Retry, it is only retried after the exit codes in OnExit. An empty
	// OnExit stands for all exit codes.
	Retry  bool
	OnExit []int
	// Opinion is the job type's decision about the attempt, nil if it has no opinion.
	Opinion *jjm.Opinion
	// Lost is true if it is proven that the batch system does not have the attempt (decision R2). If Lost is false, the
	// state BatchUnknown decides nothing.
	Lost bool
	// Rules judge the attempt; an empty set stands for the rules that jjm ships. The conditions of rules can also
	// name the job type, the cluster, and the parameters of the grid job.
	Rules         rule.Set
	Type, Cluster string
	Params        map[string]any
}

// Attempt returns the verdict on an attempt (decisions R1-R6, R24). Rules decide the verdict; package rule has the
// rules that jjm ships. The verdict has no Action if the evidence shows no end: no result, no ended state in the batch
// system, and no proven loss.
//
// The conditions of the rules use these facts:
//
// "Asked" means that the application ended by itself, exited with 0 and wrote one valid FAILED, RETRY or HOLD.
// "Success" means that it exited with 0, left all required outputs and, under glf, wrote a valid SUCCEEDED whose files
// exist. If jjm wanted to end the attempt, a RETRY or HOLD does not count, and if the type then has an opinion other
// than complete, nothing that the application wrote counts. Under exit, keywords that an application wrote before it
// exited with 0 count in the same way as under glf.
//
// The job type's opinion counts if the application ran to its end by itself: there is a result without an error of the
// wrapper, the batch system did not end the attempt, and jjm did not want to end it. An opinion cannot complete a local
// job whose files are missing. If the opinion is retry or hold, the retry or hold counts as requested by the
// application, also under exit.
//
// A retry follows only within the limits. Under exit, a started attempt is retried only if Retry is set and OnExit is
// empty or contains its exit code; otherwise the local job fails immediately. An attempt that no wrapper claimed never
// ran the application, so its failure is never blamed on the application. Completion needs a result: a log that says
// SUCCEEDED is not enough, because nobody collected the files that it names.
//
// The verdict of an attempt that completes has a notice for each pattern of outputs for which no file was collected,
// and for each reason why outputs were left out. Under glf, the verdict of an attempt that wrote no keyword has a
// notice about the missing keyword.
func Attempt(in Input) jjm.Verdict {
	c := newCase(in)
	if !c.over() {
		return jjm.Verdict{Text: "no evidence of an end", RetryArgs: in.RetryArgs, Counters: in.Counters}
	}
	facts := c.facts()
	by, noted := c.in.Rules.Verdict(&facts)
	v := c.carryOut(by)
	c.note(&v, noted)
	if v.Action == jjm.Complete {
		v.Notices, v.Text = c.outputNotices(), tidy(v.Text+c.lacking())
	}
	c.obey(&v, &facts)
	return v
}

// over reports whether the evidence shows an end.
func (c *attempt) over() bool {
	return c.in.Evidence.Result != nil || c.in.Evidence.Batch.State.Ended() || c.in.Lost
}

// newCase parses the log and derives from the evidence whether the attempt was started.
func newCase(in Input) *attempt {
	if in.Rules.Empty() {
		in.Rules = rule.ShippedRules()
	}
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

// complete adds the wrapper's start and end records to a log that lacks them. The result has the same facts, and its
// exit code is more reliable.
func complete(log *glf.Log, r *jjm.Result) {
	if !log.Start {
		log.Start, log.StartTime = true, r.Started.Time()
	}
	if !log.End {
		log.End, log.EndTime = true, r.Ended.Time()
	}
	log.AppExit = r.Exit
}

// attempt holds the input and the facts that newCase derived from the input. The verdict is either for a result that
// the application requested (user, asSaid) or for another end (unhandled). Both use the counters and limits of table
// (analyse.go).
type attempt struct {
	in      Input
	batch   jjm.BatchState // the state in the batch system
	glfMode bool           // whether the job reports by its log (glf), not by its exit code
	log     glf.Log
	hasGLF  bool // whether a log file exists
	started bool // a wrapper started the attempt: it left a result, a claim, or its start record in the log
	table   table
}

// bySelf reports whether the keywords that the application wrote may count. There must be a result with exit code 0 and
// without an error of the wrapper. If jjm wanted to end the attempt, the keywords do not count if the job type has an
// opinion other than complete.
func (c *attempt) bySelf() bool {
	r := c.in.Evidence.Result
	if r == nil || r.Error != "" || r.Exit != 0 {
		return false
	}
	op := c.in.Opinion
	return op == nil || !c.in.KillIntent || op.Action == jjm.Complete
}

// asked reports whether the application wrote one valid FAILED, RETRY or HOLD that counts (bySelf). RETRY and HOLD do
// not count if jjm wanted to end the attempt.
func (c *attempt) asked() bool {
	said, valid := Said(c.log)
	if !valid || !c.bySelf() {
		return false
	}
	switch said.Keyword {
	case glf.Retry, glf.Hold:
		return !c.in.KillIntent
	case glf.Failed:
		return true
	}
	return false
}

// success reports whether the application ended by itself (bySelf), succeeded by its log or exit code (succeeded),
// left all required outputs and, under glf, left all files that its SUCCEEDED names.
func (c *attempt) success() bool {
	return c.bySelf() && c.succeeded() && (!c.glfMode || len(c.missing()) == 0) && len(c.required()) == 0
}

// succeeded reports whether the result means success: exit code 0 and one valid SUCCEEDED, or under exit no valid
// keyword. It does not check outputs; see success.
func (c *attempt) succeeded() bool {
	if r := c.in.Evidence.Result; r == nil || r.Exit != 0 {
		return false
	}
	said, valid := Said(c.log)
	return valid && said.Keyword == glf.Succeeded || !valid && !c.glfMode
}

// asSaid returns the verdict for an application that exited with 0 and whose keywords count. Under exit, the local
// job completes if there is no valid keyword or SUCCEEDED. Otherwise the keyword decides (user).
func (c *attempt) asSaid() jjm.Verdict {
	said, valid := Said(c.log)
	if !c.glfMode && (!valid || said.Keyword == glf.Succeeded) {
		return c.plain(LevelExit, jjm.Complete, "", "exit code 0"+c.ran())
	}
	return c.user(said)
}

// byLog returns the verdict for a glf job that its batch system did not end and that has no success (see success). A
// valid keyword other than SUCCEEDED decides. A SUCCEEDED counts as an unhandled end, because there is no result or
// files are absent. Without a valid keyword the table decides from the log.
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
	v := c.verdict(o, jjm.ByApp, c.defect(o.Level))
	if o.Level == LevelApplication && c.wordless() {
		v.Notices = []jjm.Notice{{Kind: jjm.NoKeyword, Text: noKeyword}}
	}
	return v
}

// wordless reports whether the application exited with 0 and wrote no keyword. Perhaps its author does not know that a
// keyword is required.
func (c *attempt) wordless() bool { return c.log.AppExit == 0 && len(c.log.Terminals) == 0 }

// user returns the verdict that a valid keyword of the application requests, within the limits.
func (c *attempt) user(said glf.Record) jjm.Verdict {
	o := c.table.user(said, c.log.RunSeconds())
	return c.verdict(o, jjm.ByApp, "application says "+said.Keyword+": "+said.Data)
}

// plain returns a verdict that counts against no limit and does not change the counters.
func (c *attempt) plain(level string, a jjm.Action, p jjm.Phase, text string) jjm.Verdict {
	return jjm.Verdict{Level: level, Action: a, Phase: p, Text: tidy(text),
		RetryArgs: c.in.RetryArgs, Counters: c.in.Counters}
}

// unhandled returns the verdict for an end that the application did not request: a retry, or a failure above the
// limits. A started exit job fails immediately, with phase p, if its job file does not enable retries, or lists exit
// codes for retries (OnExit) without this exit code.
func (c *attempt) unhandled(level, class string, p jjm.Phase, text string) jjm.Verdict {
	switch exempt := c.glfMode || !c.started; {
	case !exempt && !c.in.Retry:
		return c.plain(level, jjm.Fail, p, text)
	case !exempt && len(c.in.OnExit) > 0:
		if why := c.unlisted(); why != "" {
			return c.plain(level, jjm.Fail, p, text+"; "+why)
		}
	}
	return c.verdict(c.table.unhandled(level, class), p, text)
}

// unlisted returns the reason why OnExit does not allow a retry after this end, "" if OnExit lists the application's
// exit code. After an end without an exit code, OnExit never allows a retry.
func (c *attempt) unlisted() string {
	r := c.in.Evidence.Result
	if r == nil && !c.log.End {
		return "retry.on_exit lists no such end"
	}
	exit := c.log.AppExit
	if r != nil {
		exit = r.Exit
	}
	if slices.Contains(c.in.OnExit, exit) {
		return ""
	}
	return fmt.Sprintf("retry.on_exit does not list %d", exit)
}

// verdict turns an outcome of the table into a verdict. failed is the phase of failures that are not caused by a limit.
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
			text += c.table.limitText(o)
		}
	}
	v.Text = tidy(text)
	return v
}

// byTime returns the class of an unhandled end, which depends on the run time of the attempt.
func (c *attempt) byTime() string { return c.table.class(c.seconds(), LateUnhandled) }

// seconds returns the run time of the attempt: from a complete log, else from the wrapper's clock, else from the batch
// system's clock, else from the times of an incomplete log.
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
