package plan

import (
	"time"

	"jjm/internal/jjm"
)

// Holder is the holder of an attempt's claim, relative to the batch job to which the attempt points.
type Holder uint8

// The holders.
const (
	HeldByNobody Holder = iota // nobody has claimed the attempt
	HeldByThis                 // a wrapper in the batch job that the attempt points to
	HeldByOther                // a wrapper in another batch job, which the batch system shows under the attempt's tag
	HeldByDaemon               // jjm took the claim: no wrapper can start the attempt any longer
	// HeldUnseen is a claim that names another batch job, which the batch system does not show: a duplicate that the batch
	// system does not list at present, or a forgery by the job.
	HeldUnseen
	numHolders
)

// HolderOf classifies a claim (nil = unclaimed) against the batch id that the attempt points to. A claim without a
// batch id counts as held by this batch job, because it names no other batch job. The job's account can forge the
// claim; therefore shown must be true only if the batch system itself shows the claim's batch job under the attempt's
// tag and index.
func HolderOf(c *jjm.Claim, batchID string, shown bool) Holder {
	switch {
	case c == nil:
		return HeldByNobody
	case c.Holder == jjm.HolderDaemon:
		return HeldByDaemon
	case c.Batch == "" || c.Batch == batchID:
		return HeldByThis
	case shown:
		return HeldByOther
	}
	return HeldUnseen
}

// EndFacts holds the facts that decide whether an attempt has ended.
type EndFacts struct {
	// HasResult is true once the wrapper's result of the current attempt was read, which
	// was ResultAge ago.
	HasResult bool
	ResultAge time.Duration
	// Batch is the last reported state of the batch job to which the attempt points, BatchUnknown if the last successful
	// listing lacks the batch job and accounting does not know it. EndAge is the time since an ended state was first seen.
	Batch  jjm.BatchState
	EndAge time.Duration
	// Claim is the holder of the claim, which was just read. ClaimBatch is the batch id of the holder if Claim is
	// HeldByOther. ClaimAge is the time since the claim was first read.
	Claim      Holder
	ClaimBatch string
	ClaimAge   time.Duration
	// HeartbeatFresh is true if the wrapper's heartbeat is younger than the configured age. It counts only if the
	// attempt is missing.
	HeartbeatFresh bool
	// Beating is true if the wrapper's heartbeat still changes although its batch job was
	// reported as ended: a restarted master reports an old state, while a node that it lost
	// continues the job.
	Beating bool
	// Absence is the verdict of Missing. It counts only if Batch is BatchUnknown.
	Absence AbsenceVerdict
	// NeverRan is true if the batch system proves that no process of the attempt was or will be
	// started.
	NeverRan bool
	// Kill is true if jjm wants to end this attempt.
	Kill bool
	// Hold is true if jjm wants to take this attempt back unless it has started.
	Hold bool
}

// EndRules are the times for which jjm waits for further evidence.
type EndRules struct {
	// ResultSettle is the time after the end of the batch job within which the result of a claimed attempt may still
	// appear. A worker's files may reach the daemon late over a network file system (nfs(5): attributes are cached up to
	// 60 s, acdirmax).
	ResultSettle time.Duration
	// BatchSettle is the time for which a result waits for the batch system's final report, which may outrank the result
	// (OOM and TIMEOUT, decision R4). If it is 0, a result is judged immediately.
	BatchSettle time.Duration
	// UnseenSettle replaces ResultSettle, if it is longer, for a claim that is HeldUnseen, because the batch system may
	// fail to list a running duplicate for this time. It counts from the end of the batch job, or from the time at
	// which the claim was read if that is later.
	UnseenSettle time.Duration
	// Walltime is the longest time for which the batch system lets the attempt run, 0 for no limit.
	Walltime time.Duration
}

// withdrawn reports whether an attempt that jjm kills certainly never ran. The daemon need not take its claim, because
// there is no process that could take it.
func (f EndFacts) withdrawn() bool {
	return f.Kill && f.NeverRan && f.Batch == jjm.BatchCancelled && !f.HasResult
}

// overruns reports whether an attempt has run longer than its batch job could: its claim was read
// longer ago than the walltime.
func (f EndFacts) overruns(rules EndRules) bool {
	return rules.Walltime > 0 && f.ClaimAge > rules.Walltime && f.Claim != HeldByDaemon && f.Claim != HeldByNobody
}

// wait returns the remaining time for which jjm waits for the result of a claimed attempt whose batch job has ended. If
// the batch system does not show the claim's holder, the holder may have started after this end.
func (f EndFacts) wait(rules EndRules) time.Duration {
	if f.Claim == HeldUnseen {
		return max(rules.ResultSettle, rules.UnseenSettle) - min(f.EndAge, f.ClaimAge)
	}
	return rules.ResultSettle - f.EndAge
}

// EndDo is an action on an attempt that is ending.
type EndDo uint8

// The actions.
const (
	// EndWait: do nothing; ask again when something changes, or after EndStep.After.
	EndWait EndDo = iota
	// WaitForResult: the attempt has ended, and its result may still appear; or the result is there, and the batch
	// system's final report may still come. Ask again after EndStep.After. The local job is completing.
	WaitForResult
	// TakeClaim: create the daemon's claim, atomically, read who holds it now,
	// and ask again.
	TakeClaim
	// Repoint: the attempt's batch job is EndStep.To; store that, and ask
	// again with that job's facts. No verdict.
	Repoint
	// Judge: the evidence is complete; call Local.
	Judge
)

// EndStep is the next action on an attempt that is ending, with its arguments.
type EndStep struct {
	Do EndDo
	// To is the batch id to point to (Repoint).
	To string
	// After is the time after which to ask again at the latest, 0 if only a new fact can change the decision.
	After time.Duration
	// Cancel is true if the batch job must also be cancelled, because it must no longer run the attempt, or can no
	// longer run it. A repeated cancel is harmless.
	Cancel bool
	// Lost is true (with Judge) if the attempt ends because the batch system certainly does
	// not have the attempt. The caller passes Lost on as LocalInput.Lost.
	Lost bool
	// Why is the reason, for the journal and for people.
	Why string
}

// Ending decides about an attempt whose batch job ended or vanished, whose result appeared, or
// that jjm wants to kill. The first match counts:
//
//	kill, the batch system proves: never ran  Judge: no wrapper can claim it
//	claim of another batch job, no result     Repoint to it
//	result, batch job not ended               WaitForResult up to BatchSettle, then Judge
//	result                                    Judge
//	batch job ended, nobody holds the claim   TakeClaim: it never started and never will
//	batch job ended, the daemon holds it      Judge: never started
//	batch job ended, its wrapper holds it     WaitForResult up to ResultSettle
//	batch job ended, HeldUnseen               WaitForResult up to UnseenSettle
//	after that, the heartbeat still changes   EndWait (kill, or over its walltime: and cancel)
//	after that                                Judge
//	alive, kill, nobody holds the claim       TakeClaim, and cancel
//	alive, the daemon holds it                EndWait, and cancel: it can only exit
//	alive, hold, nobody holds the claim       TakeClaim; the cancel comes once the daemon holds it
//	alive                                     EndWait (kill: and cancel)
//	unknown, kill, nobody holds the claim     TakeClaim, and cancel
//	unknown, hold, nobody holds the claim     TakeClaim
//	unknown, not Lost                         EndWait (kill, or the daemon holds it: and cancel)
//	Lost, but the heartbeat is fresh          EndWait (over its walltime: and cancel)
//	Lost, nobody holds the claim              TakeClaim
//	Lost, HeldUnseen                          EndWait until UnseenSettle after the claim was first read
//	Lost                                      Judge, as lost
//
// An attempt is judged only after a result, an end in the batch system, or a proven absence, never because its state is
// unknown. The claim is always settled first, because an attempt without a claim could start after it was given up. An
// attempt is pointed to another batch job whether that job still runs or not: only the end of the batch job that holds
// the claim may end the attempt. If the batch system no longer has the batch job, nothing ends it at its walltime;
// therefore jjm then orders the wrapper to end.
func Ending(f EndFacts, rules EndRules) EndStep {
	switch {
	case f.withdrawn():
		return EndStep{Do: Judge, Why: "cancelled in the batch system before it started"}
	case f.HasResult:
		return endWithResult(f, rules)
	case f.Claim == HeldByOther && f.ClaimBatch != "":
		return EndStep{Do: Repoint, To: f.ClaimBatch, Why: "its wrapper runs in batch job " + f.ClaimBatch}
	case f.Batch.Ended():
		return endWithoutResult(f, rules)
	case f.Batch.Alive():
		return endAlive(f)
	}
	return endUnknown(f, rules)
}

func endWithResult(f EndFacts, rules EndRules) EndStep {
	if !f.Batch.Ended() && f.ResultAge < rules.BatchSettle {
		return EndStep{Do: WaitForResult, After: rules.BatchSettle - f.ResultAge,
			Why: "the result is there; waiting for the batch system's last word"}
	}
	return EndStep{Do: Judge, Why: "the result is there"}
}

func endWithoutResult(f EndFacts, rules EndRules) EndStep {
	switch {
	case f.Claim == HeldByNobody:
		return EndStep{Do: TakeClaim, Why: "ended in the batch system (" + f.Batch.String() + ") without a claim"}
	case f.Claim == HeldByDaemon:
		return EndStep{Do: Judge, Why: "ended in the batch system (" + f.Batch.String() + ") and never started"}
	case f.wait(rules) > 0:
		return EndStep{Do: WaitForResult, After: f.wait(rules),
			Why: "ended in the batch system (" + f.Batch.String() + "); waiting for its result"}
	case f.Beating:
		return EndStep{Do: EndWait, Cancel: f.Kill || f.overruns(rules),
			Why: "ended in the batch system (" + f.Batch.String() + "), but its wrapper shows signs of life"}
	}
	return EndStep{Do: Judge, Why: "ended in the batch system (" + f.Batch.String() + ") and left no result"}
}

func endAlive(f EndFacts) EndStep {
	switch {
	case f.Claim == HeldByDaemon:
		return EndStep{Do: EndWait, Cancel: true, Why: "given up; waiting for its batch job to go"}
	case f.Kill && f.Claim == HeldByNobody:
		return EndStep{Do: TakeClaim, Cancel: true, Why: "to be killed before it starts"}
	case f.Kill:
		return EndStep{Do: EndWait, Cancel: true, Why: "being killed"}
	case f.Hold && f.Claim == HeldByNobody: // no cancel, which could end an attempt that starts meanwhile
		return EndStep{Do: TakeClaim, Why: "to be held before it starts"}
	}
	return EndStep{Do: EndWait, Why: "alive"}
}

func endUnknown(f EndFacts, rules EndRules) EndStep {
	switch {
	case f.Absence != Lost && f.Kill && f.Claim == HeldByNobody:
		return EndStep{Do: TakeClaim, Cancel: true, Why: "to be killed; the batch system does not show it"}
	case f.Absence != Lost && f.Hold && f.Claim == HeldByNobody:
		return EndStep{Do: TakeClaim, Why: "to be held; the batch system does not show it"}
	case f.Absence != Lost:
		return EndStep{Do: EndWait, Cancel: f.Kill || f.Claim == HeldByDaemon,
			Why: "not in the listing, and not proven absent"}
	case f.HeartbeatFresh:
		return EndStep{Do: EndWait, Cancel: f.overruns(rules), Why: "the batch system lost it, but its wrapper shows signs of life"}
	case f.Claim == HeldByNobody:
		return EndStep{Do: TakeClaim, Why: "lost by the batch system without a claim"}
	case f.Claim == HeldUnseen && f.ClaimAge < rules.UnseenSettle:
		return EndStep{Do: EndWait, After: rules.UnseenSettle - f.ClaimAge,
			Why: "lost by the batch system, which may hide the one that claimed it"}
	}
	return EndStep{Do: Judge, Lost: true, Why: "lost by the batch system"}
}
