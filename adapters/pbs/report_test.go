package pbs

import (
	"testing"
	"time"

	"jjm/internal/jjm"
)

// The ends of jobs were recorded on OpenPBS 23.06.06 (recordings exit_statuses, mem_enforced, mom_kill, qhold_ok).
// The ends for Torque are taken from its source.
func TestReport_DistinguishesEnds(t *testing.T) {
	const began = "Sat Nov 21 01:16:26 2026"
	tests := []struct {
		name         string
		d            dialect
		r            raw
		state        jjm.BatchState
		exit, signal int
	}{
		{"ok", openpbs, raw{state: "F", substate: "92", exit: "0"}, jjm.BatchEndedOK, 0, 0},
		{"exit 7", openpbs, raw{state: "F", substate: "93", exit: "7"}, jjm.BatchEndedFailed, 7, 0},
		{"exit 255", openpbs, raw{state: "F", substate: "93", exit: "255"}, jjm.BatchEndedFailed, 255, 0},
		{"signal 11", openpbs, raw{state: "F", substate: "93", exit: "139"}, jjm.BatchEndedFailed, 139, 11},
		{"killed shell", openpbs, raw{state: "F", substate: "93", exit: "265"}, jjm.BatchEndedFailed, 137, 9},
		{"qdel while running", openpbs, raw{state: "F", substate: "91", exit: "271"}, jjm.BatchCancelled, 0, 0},
		{"qdel -W force", openpbs, raw{state: "F", substate: "91", exit: "0"}, jjm.BatchCancelled, 0, 0},
		{"qdel -W force, node down", openpbs, raw{state: "F", substate: "91"}, jjm.BatchCancelled, 0, 0},
		{"walltime", openpbs, raw{state: "F", substate: "93", exit: "-29"}, jjm.BatchTimeout, 0, 0},
		{"memory", openpbs, raw{state: "F", substate: "93", exit: "-27"}, jjm.BatchOOM, 0, 0},
		{"cpu time by limit", openpbs, raw{state: "F", substate: "93", exit: "-28"}, jjm.BatchTimeout, 0, 0},
		{"cpu time by signal", openpbs, raw{state: "F", substate: "93", exit: "137"}, jjm.BatchEndedFailed, 137, 9},
		{"bad shell", openpbs, raw{state: "F", substate: "93", exit: "254"}, jjm.BatchEndedFailed, 254, 0},
		{"no home", openpbs, raw{state: "F", substate: "93", exit: "-2"}, jjm.BatchAborted, 0, 0},
		{"no exit status", openpbs, raw{state: "F", substate: "93"}, jjm.BatchAborted, 0, 0},
		{"X with a record", openpbs, raw{id: "25[3].h", state: "X", substate: "93", exit: "3", member: "3"},
			jjm.BatchEndedFailed, 3, 0},
		{"X deleted before its start", openpbs,
			raw{id: "25[3].h", state: "X", substate: "70", exit: "1", comment: "Subjob terminated"}, jjm.BatchCancelled, 0, 0},
		{"X without a record", openpbs,
			raw{id: "25[3].h", state: "X", substate: "70", exit: "1", comment: "Subjob finished"}, jjm.BatchCancelled, 0, 0},
		{"X that failed, its record gone", openpbs,
			raw{id: "25[3].h", state: "X", substate: "70", exit: "1", comment: "Subjob failed"}, jjm.BatchEndedFailed, 0, 0},
		{"stale exit status", openpbs, raw{state: "R", substate: "42", exit: "-4", runs: "2"}, jjm.BatchRunning, 0, 0},
		{"on its way to the node", openpbs, raw{state: "R", substate: "41"}, jjm.BatchStarting, 0, 0},
		{"exiting", openpbs, raw{state: "E", substate: "50"}, jjm.BatchRunning, 0, 0},
		{"suspended", openpbs, raw{state: "S"}, jjm.BatchSuspended, 0, 0},
		{"held", openpbs, raw{state: "H", holds: "u"}, jjm.BatchHold, 0, 0},
		{"waiting for its time", openpbs, raw{state: "W"}, jjm.BatchQueued, 0, 0},
		{"moved away", openpbs, raw{state: "M", substate: "94"}, jjm.BatchUnknown, 0, 0},
		{"torque: ok", torque, raw{state: "C", exit: "0"}, jjm.BatchEndedOK, 0, 0},
		{"torque: deleted", torque, raw{state: "C", exit: "271"}, jjm.BatchCancelled, 0, 0},
		{"torque: walltime", torque, raw{state: "C", exit: "-11"}, jjm.BatchTimeout, 0, 0},
		{"torque: memory", torque, raw{state: "C", exit: "-10"}, jjm.BatchOOM, 0, 0},
		{"torque: cpu time", torque, raw{state: "C", exit: "-12"}, jjm.BatchTimeout, 0, 0},
		{"torque: killed", torque, raw{state: "C", exit: "265"}, jjm.BatchEndedFailed, 137, 9},
	}
	for _, tt := range tests {
		if tt.r.id == "" {
			tt.r.id = "25.pbshost"
		}
		tt.r.stime = began
		j, ok := jobOf(tt.r, tt.d)
		if !ok {
			t.Fatalf("%s: no job", tt.name)
		}
		r := j.report(tt.d, time.UTC)
		if r.State != tt.state || r.Exit != tt.exit || r.Signal != tt.signal {
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
}

// The test reads listings of array members for which OpenPBS keeps no record of their own. The first three listings
// were recorded (deleted_waiting_subjob). The other listings have the traces of a run that recorded members have.
func TestEndWithoutRecord(t *testing.T) {
	const said = "Subjob finished"
	tests := []struct {
		name string
		r    raw
		want jjm.BatchState
	}{
		{"deleted in a held array", raw{state: "X", substate: "20", comment: said}, jjm.BatchCancelled},
		{"and its array has ended well", raw{state: "F", substate: "92", exit: "0", comment: said}, jjm.BatchCancelled},
		{"with its whole array", raw{state: "F", substate: "91", comment: said}, jjm.BatchCancelled},
		{"its array failed", raw{state: "F", substate: "93", exit: "1", comment: said}, jjm.BatchCancelled},
		{"its array began", raw{state: "X", substate: "70", comment: "Job Array Began"}, jjm.BatchCancelled},
		{"no comment", raw{state: "F", substate: "92", exit: "0"}, jjm.BatchCancelled},
		{"older: terminated", raw{state: "X", substate: "70", comment: "Subjob terminated"}, jjm.BatchCancelled},
		{"older: failed", raw{state: "X", substate: "70", exit: "1", comment: "Subjob failed"}, jjm.BatchEndedFailed},
		{"a host", raw{state: "X", comment: said, host: "n1/0"}, jjm.BatchEndedOK},
		{"a run count", raw{state: "X", comment: said, runs: "1"}, jjm.BatchEndedOK},
		{"an array id", raw{state: "X", comment: said, member: "25[].h"}, jjm.BatchEndedOK},
		{"resources used", raw{state: "X", comment: said, mem: "6416kb"}, jjm.BatchEndedOK},
		{"it ran, and nobody says how", raw{state: "X", comment: "Job Array Began", runs: "1"}, jjm.BatchUnknown},
	}
	for _, tt := range tests {
		if got, why := endWithoutRecord(tt.r); got != tt.want {
			t.Errorf("%s: %v (%s), want %v", tt.name, got, why, tt.want)
		}
	}
}

func TestReport_OneRestartForOneRerun(t *testing.T) {
	for _, tt := range []struct {
		state, runs string
		want        int
	}{{"Q", "", 0}, {"Q", "1", 1}, {"R", "1", 0}, {"R", "2", 1}, {"F", "2", 1}, {"H", "0", 0}} {
		j, _ := jobOf(raw{id: "1.h", state: tt.state, runs: tt.runs}, openpbs)
		if got := j.report(openpbs, time.UTC).Restarts; got != tt.want {
			t.Errorf("state %s, run_count %q: %d restarts, want %d", tt.state, tt.runs, got, tt.want)
		}
	}
}

func TestReport_AWaitingMemberHasNotStartedWithItsArray(t *testing.T) {
	j, _ := jobOf(raw{id: "25[9].h", state: "Q", stime: "Sat Nov 21 01:16:26 2026", host: "n1/0", runs: "1",
		cpu: "00:00:09"}, openpbs)
	if r := j.report(openpbs, time.UTC); r.Started != 0 || r.Host != "" || r.Restarts != 0 || r.CPUms != 0 {
		t.Errorf("%+v", r)
	}
}

func TestDialectOf(t *testing.T) {
	for text, want := range map[string]dialect{
		"pbs_version = 23.06.06\n": openpbs, "pbs_version = 2020.1.4.20200901154547\n": openpbs,
		"Version: 6.1.2\nCommit: 661e\n": torque, "version: 2.5.12\n": torque, "": unknownDialect,
		"SGE 8.1.9": unknownDialect,
	} {
		if got := dialectOf([]byte(text), nil); got != want {
			t.Errorf("%q: %v", text, got)
		}
		if got := dialectOf(nil, []byte(text)); got != want {
			t.Errorf("%q on stderr: %v", text, got)
		}
	}
}
