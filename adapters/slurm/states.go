package slurm

import (
	"fmt"
	"strings"

	"jjm/internal/jjm"
)

// stateOf translates a job state of squeue(1) and sacct(1); known is false if jjm does not know the word. A COMPLETING
// job counts as running, because its processes or epilog have not ended and its exit code is not yet final.
func stateOf(word string) (state jjm.BatchState, known bool) {
	switch word {
	case "PENDING", "REQUEUED", "REQUEUE_FED", "EXPEDITING":
		return jjm.BatchQueued, true
	case "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT":
		return jjm.BatchHold, true
	case "CONFIGURING", "POWER_UP_NODE":
		return jjm.BatchStarting, true
	case "RUNNING", "COMPLETING", "RESIZING", "SIGNALING", "STAGE_OUT", "UPDATE_DB":
		return jjm.BatchRunning, true
	case "STOPPED", "SUSPENDED":
		return jjm.BatchSuspended, true
	case "COMPLETED":
		return jjm.BatchEndedOK, true
	case "FAILED":
		return jjm.BatchEndedFailed, true
	case "OUT_OF_MEMORY":
		return jjm.BatchOOM, true
	case "TIMEOUT", "DEADLINE":
		return jjm.BatchTimeout, true
	case "BOOT_FAIL", "LAUNCH_FAILED", "NODE_FAIL", "PREEMPTED", "RECONFIG_FAIL", "REVOKED":
		return jjm.BatchAborted, true
	case "CANCELLED":
		return jjm.BatchCancelled, true
	}
	return jjm.BatchUnknown, false
}

// isHold reports whether a pending reason means that the job is held: by the user, by an
// administrator, or after a failed launch.
func isHold(reason string) bool {
	r := strings.ToLower(strings.Trim(reason, "()"))
	return strings.HasPrefix(r, "jobheld") || strings.HasPrefix(r, "jobhold") || strings.HasSuffix(r, "held")
}

// report converts a row that was read at now into a report.
func (r row) report(now jjm.Time) jjm.Report {
	out := jjm.Report{
		Tag: r.tag, Index: r.index, ID: jobID(r.array, r.index), State: r.state, Host: r.host, Restarts: r.restarts,
		Source: "squeue", Submitted: r.submit,
	}
	waits := r.state == jjm.BatchQueued || r.state == jjm.BatchHold
	switch {
	case r.word != "":
		out.Reason = unknownState("squeue", r.word)
	case waits:
		// Only the reason of a waiting job is current.
		out.Reason = emptyIf(r.reason, "None")
		if r.state == jjm.BatchHold || isHold(r.reason) {
			out.State, out.Hold = jjm.BatchHold, emptyIf(r.reason, "None")
		}
		if r.start > now {
			out.Starts = r.start
		}
		out.Host = ""
	case r.host != "":
		// A job without a host never started; squeue shows the time of its end as its start.
		out.Started = r.start
	}
	if r.state.Ended() {
		out.Ended = r.end
		out.Exit, out.Signal = exits(r.state, r.status)
		out.Reason = endReason(r.state, r.reason, out.Signal)
	}
	return out
}

// unknownState returns the reason for a job in a state that jjm does not know.
func unknownState(source, word string) string {
	return fmt.Sprintf("%s shows the state %.40q, which jjm does not know", source, word)
}

func emptyIf(s, none string) string {
	if s == none {
		return ""
	}
	return s
}

// exits splits a wait status (wait(2)) into exit code and signal. It returns 0, 0 if Slurm itself ended the job,
// because the status is then meaningless: for a time limit it is 15 or 0, depending on whether the job caught the
// signal.
func exits(state jjm.BatchState, status int) (exit, signal int) {
	if state != jjm.BatchEndedOK && state != jjm.BatchEndedFailed {
		return 0, 0
	}
	if signal = status & 0x7f; signal != 0 {
		return 128 + signal, signal
	}
	return status >> 8 & 0xff, 0
}

// openFailed is the number that Slurm reports as the signal of a job whose standard input or output
// could not be opened (ESLURMD_..., "0:53").
const openFailed = 53

// endReason returns the reason why a job ended, or "" if Slurm reports only the state.
func endReason(state jjm.BatchState, reason string, signal int) string {
	switch {
	case reason == "JobLaunchFailure" && signal == openFailed:
		return "JobLaunchFailure: its output or folder could not be opened"
	case reason == "JobLaunchFailure" && signal == 9:
		return "JobLaunchFailure: killed by signal 9; without cgroups Slurm says the same of a job over its memory limit"
	case reason == "JobLaunchFailure":
		return fmt.Sprintf("JobLaunchFailure: ended by signal %d", signal)
	case state == jjm.BatchTimeout && reason == "TimeLimit",
		state == jjm.BatchAborted && (reason == "NodeDown" || reason == "BootFailure"),
		state == jjm.BatchOOM && reason == "OutOfMemory":
		return reason
	}
	return "" // any other reason is from the time when the job waited
}
