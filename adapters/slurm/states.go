package slurm

import (
	"fmt"
	"strings"

	"jjm"
)

// stateOf returns what a job state of squeue(1) and sacct(1) means to jjm.
// COMPLETING is a job that is over but whose processes and epilog are not: its
// exit is final only afterwards.
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

// isHold tells the pending reasons that wait for a person. They hold: the
// user's own, the administrator's, and those after a failed launch.
func isHold(reason string) bool {
	r := strings.ToLower(strings.Trim(reason, "()"))
	return strings.HasPrefix(r, "jobheld") || strings.HasPrefix(r, "jobhold") || strings.HasSuffix(r, "held")
}

// report makes a report of a line of squeue, asked at now.
func (r row) report(now jjm.Time) jjm.Report {
	out := jjm.Report{
		Tag: r.tag, Index: r.index, ID: jobID(r.array, r.index), State: r.state, Host: r.host, Restarts: r.restarts,
		Source: "squeue", Submitted: r.submit,
	}
	waits := r.state == jjm.BatchQueued || r.state == jjm.BatchHold
	switch {
	case waits:
		// Only of a waiting job is the reason fresh; others keep an old one.
		out.Reason = unless(r.reason, "None")
		if r.state == jjm.BatchHold || isHold(r.reason) {
			out.State, out.Hold = jjm.BatchHold, unless(r.reason, "None")
		}
		if r.start > now {
			out.Starts = r.start
		}
		out.Host = ""
	case r.host != "":
		// A job without a host never started: its times are those of its end.
		out.Started = r.start
	}
	if r.state.Ended() {
		out.Ended = r.end
		out.Exit, out.Signal = exits(r.state, r.status)
		out.Reason = ending(r.state, r.reason, out.Signal)
	}
	return out
}

func unless(s, none string) string {
	if s == none {
		return ""
	}
	return s
}

// exits splits a wait status (wait(2)). Of a job that Slurm itself ended it
// tells nothing of the job: 15 or 0 for a time limit, by whether the job
// caught the signal.
func exits(state jjm.BatchState, status int) (exit, signal int) {
	if state != jjm.BatchEndedOK && state != jjm.BatchEndedFailed {
		return 0, 0
	}
	if signal = status & 0x7f; signal != 0 {
		return 128 + signal, signal
	}
	return status >> 8 & 0xff, 0
}

// openFailed is what Slurm gives as the signal of a job whose standard input or
// output could not be opened (ESLURMD_..., "0:53").
const openFailed = 53

// ending says why a job is over, where Slurm has more to say than the state.
func ending(state jjm.BatchState, reason string, signal int) string {
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
	return "" // what else stands there is of the time when it waited
}
