package condor

import (
	"strconv"
	"strings"

	"jjm"
)

// The hold codes of limits (HTCondor manual, "HoldReasonCode"). What ended a job
// for good is not a hold to us: the job removes itself.
const (
	holdMemory  = 34 // out of memory, by the cgroup
	holdJobTime = 46 // allowed_job_duration
	holdRunTime = 47 // allowed_execute_duration
)

// report says in the words of jjm what HTCondor says.
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

// ended is when a job ended, by attributes that do not change any more. The
// CompletionDate of a completed job comes late, at times by a second; a removed
// job enters its state again when its processes are gone, and when a held one is
// removed, but is taken off its machine only once.
func ended(r record) jjm.Time {
	if r.status != completed && r.vacated > 0 {
		return seconds(r.vacated)
	}
	return seconds(r.entered)
}

// state reads a JobStatus. What is being removed or put on hold is attached to
// its machine until its processes are gone.
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
		return whyRemoved(r)
	case held:
		if over := r.limit(); over == jjm.BatchUnknown {
			return jjm.BatchHold
		} else if !attached {
			return over
		}
		return jjm.BatchRunning
	}
	return jjm.BatchQueued
}

// limit is the end that a held or removed job has by one of its limits;
// BatchUnknown if it has none.
func (r record) limit() jjm.BatchState {
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

// whyRemoved tells a limit, a person and the system apart. HTCondor adds the
// user to the reason of a person, "via condor_rm (by user ann)", and none where
// an expression removed the job.
func whyRemoved(r record) jjm.BatchState {
	if over := r.limit(); over != jjm.BatchUnknown {
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
