package condor

import (
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// These are the hold codes of limits (HTCondor manual, "HoldReasonCode"). A job with such a code has ended and removes
// itself, so jjm does not report it as held.
const (
	holdMemory  = 34 // out of memory, according to the cgroup
	holdJobTime = 46 // allowed_job_duration
	holdRunTime = 47 // allowed_execute_duration
)

// report converts a record into a report.
func report(r record, source string) jjm.Report {
	out := jjm.Report{
		Tag: r.tag, Index: r.proc, ID: r.String(), Source: source, Host: r.host,
		Submitted: seconds(r.queued), Started: seconds(r.started), Restarts: max(0, r.starts-1),
		CPUms: int64(r.cpu * 1000), RSSKB: r.rssKB,
	}
	if out.Host == "" {
		out.Host = r.lastHost
	}
	out.State = state(r, source)
	switch {
	case r.status == idle && r.starts > 0:
		out.Reason = "taken off its machine; HTCondor removes it"
	case r.status == removed && out.State == jjm.BatchRunning:
		out.Reason = "being removed"
	case r.status != completed && r.status != running:
		out.Reason = r.text
	}
	if r.status == held && r.hold >= 0 {
		out.Hold = strconv.Itoa(r.hold) + "/" + strconv.Itoa(max(0, r.holdSub))
	}
	if !out.State.Ended() {
		return out
	}
	out.Ended = ended(r)
	if r.status == completed {
		out.Exit = r.exit
		if r.bySignal {
			out.Signal, out.Exit = r.signal, 128+r.signal
		}
	}
	return out
}

// ended returns the time at which a job ended. It uses only attributes that no longer change: CompletionDate of a
// completed job may appear a second late. A removed job may enter its state several times, because it enters the state
// again when its processes end, and also if it was held before; but it leaves its machine only once.
func ended(r record) jjm.Time {
	if r.status != completed && r.vacated > 0 {
		return seconds(r.vacated)
	}
	return seconds(r.entered)
}

// state translates JobStatus. A job that HTCondor is removing or putting on hold stays attached to its machine until
// its processes end, and so counts as running.
func state(r record, source string) jjm.BatchState {
	attached := source == sourceQueue && r.host != ""
	switch r.status {
	case running, transferring:
		return jjm.BatchRunning
	case suspended:
		return jjm.BatchSuspended
	case completed:
		if r.bySignal || r.exit != 0 {
			return jjm.BatchEndedFailed
		}
		return jjm.BatchEndedOK
	case removed:
		if attached {
			return jjm.BatchRunning
		}
		return removedState(r)
	case held:
		if over := r.limitState(); over == jjm.BatchUnknown {
			return jjm.BatchHold
		} else if !attached {
			return over
		}
		return jjm.BatchRunning
	}
	return jjm.BatchQueued
}

// limitState returns the end state of a held or removed job that exceeded a limit, or BatchUnknown if it exceeded none.
func (r record) limitState() jjm.BatchState {
	code := r.lastHold
	if r.status == held {
		code = r.hold
	}
	switch {
	case r.overMemory || code == holdMemory:
		return jjm.BatchOOM
	case code == holdJobTime || code == holdRunTime:
		return jjm.BatchTimeout
	}
	return jjm.BatchUnknown
}

// removedState returns how a removed job ended, depending on whether a limit, a person or the system removed it.
// HTCondor adds the user to a person's reason: "via condor_rm (by user ann)". It sets no reason if an expression
// removed the job; such a removal counts as a cancel.
func removedState(r record) jjm.BatchState {
	if over := r.limitState(); over != jjm.BatchUnknown {
		return over
	}
	if r.text == "" || strings.Contains(r.text, "(by user ") || strings.Contains(r.text, "via condor_rm") {
		return jjm.BatchCancelled
	}
	return jjm.BatchAborted
}

func seconds(s int64) jjm.Time {
	if s <= 0 || s > 1<<40 {
		return 0
	}
	return jjm.Time(s * 1000)
}
