package pbs

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"jjm/internal/jjm"
)

// job is a parsed job, array or member of a listing.
type job struct {
	raw
	jobID
	tag jjm.Tag
	// hasRecord is false for a member that PBS keeps no record of, because the member has not started or its record was
	// deleted. The listing shows such a member with the attributes of its array.
	hasRecord bool
}

// jobOf parses a listed job; ok is false if the id is unreadable.
func jobOf(r raw, d dialect) (job, bool) {
	id, ok := parseID(r.id)
	if !ok {
		return job{}, false
	}
	j := job{raw: r, jobID: id, tag: jjm.Tag(r.name), hasRecord: true}
	if id.array && !id.whole {
		if d == torque { // Torque appends the index to the names of members
			name, _ := strings.CutSuffix(r.name, "-"+strconv.Itoa(int(id.index)))
			j.tag = jjm.Tag(name)
		} else {
			j.hasRecord = r.member != ""
		}
	}
	return j, true
}

// isTask reports whether the job runs itself. Only a whole array does not: its members run.
func (j job) isTask() bool { return !j.whole }

// report returns jjm's report of a job.
func (j job) report(d dialect, zone *time.Location) jjm.Report {
	r := jjm.Report{
		Tag: j.tag, ID: j.jobID.String(), Index: max(j.index, 0), Source: "qstat",
		Submitted: at(j.ctime, zone), Starts: at(j.starts, zone), Reason: j.comment,
	}
	r.State = j.stateAlive(d)
	if r.State == jjm.BatchHold {
		r.Hold = j.holds
	}
	if j.hasRecord && r.State != jjm.BatchQueued && r.State != jjm.BatchHold {
		r.Host, _, _ = strings.Cut(j.host, "/")
		r.Started = at(j.stime, zone)
		r.CPUms, r.RSSKB = parseDuration(j.cpu).Milliseconds(), kilobytes(j.mem)
	}
	r.Restarts = j.restarts()
	if ended := j.isOver(); ended {
		j.judge(d, &r)
		r.Ended = at(cmp.Or(j.end, j.history, j.mtime), zone)
		if !j.hasRecord {
			r.Ended = 0 // the listed times are those of the array
		}
	}
	if r.Started != 0 && r.Ended != 0 && r.Ended < r.Started {
		r.Ended = r.Started
	}
	return r
}

func at(s string, zone *time.Location) jjm.Time {
	if t := parseTime(s, zone); !t.IsZero() {
		return jjm.At(t)
	}
	return 0
}

// restarts returns the number of starts after the first start, 0 if PBS has no count. If the job waits again, all past
// starts count, because the next start is a further restart.
func (j job) restarts() int {
	n, err := strconv.Atoi(j.runs)
	if err != nil || n < 1 || !j.hasRecord {
		return 0
	}
	if strings.Contains("QHW", j.state) {
		return n
	}
	return n - 1
}

// isOver reports whether the state of a job is final: F (finished), X (an ended member of a live array) or C
// (completed, in Torque).
func (j job) isOver() bool { return j.state == "F" || j.state == "X" || j.state == "C" }

// stateAlive returns the state of a job that has not ended, BatchUnknown for an ended job.
func (j job) stateAlive(dialect) jjm.BatchState {
	if j.state == "Q" && !j.hasRecord && heldBy(j.holds) {
		return jjm.BatchHold // members of a held array have the state Q and the holds of the array
	}
	switch j.state {
	case "Q", "T", "W", "B":
		return jjm.BatchQueued
	case "H":
		return jjm.BatchHold
	case "R":
		if j.substate == "41" { // the job is on its way to the node
			return jjm.BatchStarting
		}
		return jjm.BatchRunning
	case "E":
		return jjm.BatchRunning
	case "S", "U":
		return jjm.BatchSuspended
	}
	return jjm.BatchUnknown
}

// heldBy reports whether Hold_Types names a hold: "n" means no hold.
func heldBy(holds string) bool { return holds != "" && holds != "n" }

// The substates of ended jobs in OpenPBS.
const (
	subTerminated = "91"
	subFinished   = "92"
	subFailed     = "93"
)

// judge sets in r how a job ended. In OpenPBS the end follows from the substate and the exit status together, because a
// deleted job may have any exit status or none. Torque shows only an exit status, which is 271 for deleted jobs.
func (j job) judge(d dialect, r *jjm.Report) {
	status, err := strconv.Atoi(j.exit)
	has := err == nil
	switch {
	case d == openpbs && !j.hasRecord:
		var why string
		r.State, why = endWithoutRecord(j.raw)
		r.Reason = join(r.Reason, why)
	case d == openpbs && j.substate == subTerminated, d == torque && status == signalled+15:
		r.State = jjm.BatchCancelled
	case has:
		exitStatus(status, d, r)
	case j.substate == subFinished:
		r.State = jjm.BatchEndedOK
	case j.stime == "": // it never started, so only a deletion can have ended it
		r.State = jjm.BatchCancelled
	default:
		r.State = jjm.BatchAborted
		r.Reason = join(r.Reason, "PBS has no exit status")
	}
}

// endWithoutRecord returns how a member of an array ended if PBS keeps no record of the member, and the evidence. For
// such a member PBS shows only the exit status, substate and times of its array. OpenPBS 23.06.06 comments every such
// member with "Subjob finished", even a member that was deleted while it waited (recorded in
// testdata/deleted_waiting_subjob.txt), and the comment stays on members that still wait. The missing fields decide: a
// member that never ran has no host, no run count and no used resources. PBS Pro before 2021 kept how the member had
// ended, and its comment says so (stat_job.c, status_subjob).
func endWithoutRecord(r raw) (state jjm.BatchState, why string) {
	ran := r.host != "" || r.runs != "" || r.member != "" || r.cpu != "" || r.mem != ""
	switch {
	case strings.HasPrefix(r.comment, "Subjob failed"):
		return jjm.BatchEndedFailed, "PBS has deleted its exit status"
	case !ran:
		return jjm.BatchCancelled, "PBS has no record that it ran"
	case strings.HasPrefix(r.comment, "Subjob finished"):
		return jjm.BatchEndedOK, ""
	case strings.HasPrefix(r.comment, "Subjob terminated"), r.state == "F":
		return jjm.BatchCancelled, ""
	}
	return jjm.BatchUnknown, "PBS does not show how it ended"
}

// signalled is what PBS adds to the number of the signal that killed a job's own shell. The sum is the job's exit
// status.
const signalled = 256

// ownStatus explains the exit statuses that PBS itself sets (OpenPBS and Torque, pbs_job.h). The statuses for exceeded
// limits differ between the two dialects (see overLimit).
var ownStatus = map[int]string{
	-1: "could not start, before its files were set up", -2: "could not start: no home folder or no such account",
	-3: "could not start, to be tried again", -4: "aborted when the node's daemon was started again",
	-5: "aborted when the node's daemon was started again, checkpointed",
	-6: "aborted when the node's daemon was started again, not to be run again",
	-7: "could not be restored from its checkpoint",
	-8: "could not start: bad account", -9: "could not start: output files",
}

// overLimit has the exit statuses of jobs that exceeded a limit, by dialect.
var overLimit = map[dialect]map[int]jjm.BatchState{
	openpbs: {-27: jjm.BatchOOM, -28: jjm.BatchTimeout, -29: jjm.BatchTimeout},
	torque:  {-10: jjm.BatchOOM, -11: jjm.BatchTimeout, -12: jjm.BatchTimeout},
}

// exitStatus sets in r how a job ended according to its exit status. The shell that runs a job's script exits with
// 128+n if signal n killed the script; a script that exits with that number itself looks the same.
func exitStatus(status int, d dialect, r *jjm.Report) {
	switch state, over := overLimit[d][status]; {
	case over:
		r.State = state
	case status < 0:
		r.State = jjm.BatchAborted
		r.Reason = join(r.Reason, "exit status "+strconv.Itoa(status)+": "+cmp.Or(ownStatus[status], "set by PBS itself"))
	case status == 0:
		r.State = jjm.BatchEndedOK
	case status > signalled:
		r.State, r.Signal, r.Exit = jjm.BatchEndedFailed, status-signalled, 128+status-signalled
	default:
		r.State, r.Exit = jjm.BatchEndedFailed, status
		if status > 128 && status <= 128+64 {
			r.Signal = status - 128
		}
	}
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
