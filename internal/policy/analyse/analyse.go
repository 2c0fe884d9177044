// Package analyse turns the evidence about the end of an attempt into a verdict. It does no I/O and has no clock.
// Package plan, which calls it, decides whether an attempt has ended.
//
// [Table] is the decision table of GBS as in the GBS Programmer Manual ("The Job Analyser"): it knows only the batch
// system's state and the GBS log file. jjm uses [Attempt], which first considers the rest of the evidence: the
// wrapper's result, the claim, a kill by jjm, memory and time limits, and the job type's opinion. Then, for job types
// that report by a log, it uses the table.
package analyse

import (
	"fmt"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
)

// The levels at which evidence is decided (jjm.Verdict.Level).
const (
	LevelGanga       = "GANGA"       // the batch system does not know how the attempt ended
	LevelGrid        = "GRID"        // the batch system ended the attempt
	LevelBatch       = "BATCH"       // the wrapper never started
	LevelWorker      = "WORKER"      // the wrapper started and did not finish
	LevelApplication = "APPLICATION" // the application ended without a valid result
	LevelUser        = "USER"        // the application decided with a keyword
	LevelExit        = "EXIT"        // result = exit: the exit code decides
	LevelType        = "TYPE"        // the job type's opinion decides
	LevelIntent      = "INTENT"      // jjm wanted to end the attempt
	LevelSubmit      = "SUBMIT"      // the batch system did not take the attempt
)

// The classes of ends that count against a limit (jjm.Verdict.Class).
const (
	Early         = "EARLY"
	LateHandled   = "LATE_HANDLED"
	LateUnhandled = "LATE_UNHANDLED"
)

// The statuses of a job in GBS.
const (
	Succeeded = "SUCCEEDED"
	Failed    = "FAILED"
	Retry     = "RETRY"
	Hold      = "HOLD"
)

// Outcome is the decision of the table.
type Outcome struct {
	Level string
	// Class is the counter that grows, "" for none.
	Class string
	// Status is SUCCEEDED, FAILED, RETRY or HOLD, Text the status text of GBS.
	Status string
	Text   string
	// RetryArgs and Counters replace the job's retry arguments and counters.
	RetryArgs []string
	Counters  jjm.Counters
	// ByLimit is true if a retry limit made the job FAILED.
	ByLimit bool
	// Handled is true if the application asked for the RETRY or HOLD.
	Handled bool
}

// Table returns the outcome of an attempt by GBS's decision table. log is the attempt's log file; hasGLF is false if
// there is none. c and args are the job's counters and retry arguments before this end. Limits that are not set are
// GBS's defaults. The first match counts:
//
//	batch system does not know (UNKNOWN, alive)   GANGA        late unhandled
//	ABORTED by the system                         GRID         late unhandled
//	CANCELLED by someone                          GRID         HOLD, nothing counted
//	no log, or no start record                    BATCH        early
//	no end record                                 WORKER       by time between first and last record
//	exit != 0, or not one keyword with data       APPLICATION  by time between start and end record
//	SUCCEEDED, FAILED                             USER         as the application says
//	RETRY, HOLD                                   USER         by time; its data are the new retry arguments
//
// "By time" means early up to and including the limit for early failures, and late after that. A counted end adds one
// to the counter of its class. If the counter is then above the limit of its class, the job is FAILED and keeps its
// retry arguments.
func Table(batch jjm.BatchState, log glf.Log, hasGLF bool, c jjm.Counters, args []string, lim jjm.Limits) Outcome {
	t := table{counters: c, args: args, lim: lim.Or(jjm.DefaultLimits())}
	switch {
	case batch == jjm.BatchCancelled:
		return Outcome{Level: LevelGrid, Status: Hold, Text: "cancelled in the batch system", RetryArgs: args, Counters: c}
	case batch == jjm.BatchAborted:
		return t.unhandled(LevelGrid, LateUnhandled)
	case !batch.Ended():
		return t.unhandled(LevelGanga, LateUnhandled)
	case !hasGLF, !log.Start:
		return t.unhandled(LevelBatch, Early)
	case !log.End:
		return t.unhandled(LevelWorker, t.class(log.RunSeconds(), LateUnhandled))
	}
	said, ok := Said(log)
	if !ok {
		return t.unhandled(LevelApplication, t.class(log.RunSeconds(), LateUnhandled))
	}
	return t.user(said, log.RunSeconds())
}

// Said returns the keyword record of a valid result. It returns false unless the wrapper's start and end records exist,
// the application exited with 0, and it wrote exactly one of SUCCEEDED, FAILED, RETRY and HOLD, with data.
func Said(log glf.Log) (glf.Record, bool) {
	if !log.Start || !log.End || log.AppExit != 0 || len(log.Terminals) != 1 || log.Terminals[0].Data == "" {
		return glf.Record{}, false
	}
	return log.Terminals[0], true
}

// table holds the facts about a job on which the decision table depends.
type table struct {
	counters jjm.Counters
	args     []string
	lim      jjm.Limits // here all limits are set
}

// class returns Early for an attempt that ran at most as long as the limit (GBS User Manual, MaxTimeEarlyFails:
// "maximum time for failures to be classified as early"), else late.
func (t table) class(seconds int, late string) string {
	if seconds <= 60**t.lim.EarlyMinutes {
		return Early
	}
	return late
}

// user returns the outcome that the application requested, within the limits.
func (t table) user(said glf.Record, seconds int) Outcome {
	o := Outcome{Level: LevelUser, Text: said.Data, RetryArgs: t.args, Counters: t.counters}
	switch said.Keyword {
	case glf.Succeeded:
		o.Status = Succeeded
		return o
	case glf.Failed:
		o.Status = Failed
		return o
	}
	o = t.count(LevelUser, t.class(seconds, LateHandled))
	o.Handled = true
	if o.ByLimit {
		return o
	}
	o.RetryArgs = glf.SplitArgs(said.Data)
	o.Status = Retry
	o.Text = glf.JoinArgs(o.RetryArgs)
	if said.Keyword == glf.Hold {
		o.Status, o.Text = Hold, "application requested HOLD"
	}
	return o
}

// unhandled returns the outcome of an end that the application did not request: a retry with the same arguments, within
// the limits.
func (t table) unhandled(level, class string) Outcome {
	o := t.count(level, class)
	if !o.ByLimit {
		o.Status, o.Text = Retry, glf.JoinArgs(t.args)
	}
	return o
}

// count adds one to the counter of a class. If the counter is then above its limit, the outcome becomes FAILED.
func (t table) count(level, class string) Outcome {
	o := Outcome{Level: level, Class: class, RetryArgs: t.args, Counters: t.counters}
	var n, limit int
	var name string
	switch class {
	case Early:
		o.Counters.Early++
		name, n, limit = "earlyFails", o.Counters.Early, *t.lim.Early
	case LateHandled:
		o.Counters.LateHandled++
		name, n, limit = "lateFailsHandled", o.Counters.LateHandled, *t.lim.LateHandled
	default:
		o.Counters.LateUnhandled++
		name, n, limit = "lateFailsUnhandled", o.Counters.LateUnhandled, *t.lim.LateUnhandled
	}
	if n > limit {
		o.ByLimit, o.Status = true, Failed
		o.Text = fmt.Sprintf("retry limit exceeded: %s=%d limit=%d", name, n, limit)
	}
	return o
}
