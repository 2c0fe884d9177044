package sge

import (
	"fmt"
	"strconv"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// record is one line of the accounting file, without the columns that jjm does not need.
type record struct {
	key
	owner                      string
	host                       string
	submitted, started, ended  jjm.Time
	failed, exit               int
	cpuMS, rssKB, wall, vmemMB int64
	// hRT and hCPU, in seconds, and hVMEM, in MiB, are limits that the job requested; 0 for none.
	hRT, hCPU, hVMEM int64
	// runs is the number of starts of the task so far; read is the time at which the record was read.
	runs int
	read jjm.Time
}

// when returns the time of a record: the end of the task if the record has it. A task that could not be started has no
// end time, and the record of a forced rescheduling has no times at all (measured on 8.1.9).
func (r record) when() jjm.Time {
	switch {
	case r.ended != 0:
		return r.ended
	case r.submitted != 0:
		return r.submitted
	}
	return r.read
}

// The columns of accounting(5), counted from 0.
const (
	colHost      = 1
	colOwner     = 3
	colName      = 4
	colJob       = 5
	colSubmitted = 8
	colStart     = 9
	colEnd       = 10
	colFailed    = 11
	colExit      = 12
	colWall      = 13
	colMaxRSS    = 16
	colTask      = 35
	colCPU       = 36
	colCategory  = 39
	colPETask    = 41
	colMaxVMem   = 42
	columns      = 45 // number of columns in 6.2 and 8.1; later versions add columns
)

// parseRecord parses a line of the accounting file. ok is false for lines that do not concern a task of jjm: comments,
// other jobs, single processes of parallel jobs. It returns an error if the line may concern a task of jjm but cannot
// be parsed.
func parseRecord(line string) (r record, ok bool, err error) {
	if line == "" || line[0] == '#' {
		return r, false, nil
	}
	f := strings.Split(line, ":")
	if len(f) <= colName || !jjm.Tag(f[colName]).Valid() {
		return r, false, nil
	}
	if len(f) < columns {
		return r, false, fmt.Errorf("%d columns, want %d", len(f), columns)
	}
	n := func(col int) int64 {
		v, e := strconv.ParseFloat(f[col], 64)
		if err != nil {
			return 0
		}
		if e != nil || v != v || v > 1e18 || v < -1e18 {
			err = fmt.Errorf("column %d: %.40q is not a number", col+1, f[col])
		}
		return int64(v)
	}
	r.tag, r.owner, r.host = jjm.Tag(f[colName]), f[colOwner], f[colHost]
	r.bulk, r.task = n(colJob), int32(n(colTask))
	r.submitted, r.started, r.ended = seconds(n(colSubmitted)), seconds(n(colStart)), seconds(n(colEnd))
	r.failed, r.exit = int(n(colFailed)), int(n(colExit))
	r.wall, r.rssKB = n(colWall), n(colMaxRSS)
	if cpu, e := strconv.ParseFloat(f[colCPU], 64); e == nil && cpu >= 0 && cpu < 1e12 {
		r.cpuMS = int64(cpu * 1000)
	}
	if len(f) == columns { // further colons in a name would shift the columns
		r.vmemMB = n(colMaxVMem) >> 20
		r.limits(f[colCategory])
	}
	if err != nil {
		return record{}, false, err
	}
	return r, r.bulk > 0 && r.task > 0 && (len(f) != columns || f[colPETask] == "NONE"), nil
}

// unreadRecord describes a line about a task of jjm that parseRecord rejected with the error cause.
func unreadRecord(line string, cause error) unreadLine {
	f := strings.Split(line, ":")
	u := unreadLine{user: f[colOwner], Unread: adapters.Unread{Tag: jjm.Tag(f[colName]), Index: -1,
		Text: fmt.Sprintf("accounting: %v: %.200q", cause, line)}}
	if len(f) < columns {
		return u
	}
	if n, err := strconv.ParseInt(f[colJob], 10, 64); err == nil && n > 0 {
		u.ID = f[colJob]
	}
	if n, err := strconv.ParseInt(f[colTask], 10, 32); err == nil && n > 0 {
		u.Index = int32(n) - 1
	}
	return u
}

// limits sets the limits that the job requested. It reads them from the job's category, such as "-l h_rt=60,h_vmem=300M
// -pe smp 4".
func (r *record) limits(category string) {
	f := strings.Fields(category)
	for i := 0; i+1 < len(f); i++ {
		if f[i] != "-l" {
			continue
		}
		for request := range strings.SplitSeq(f[i+1], ",") {
			switch name, value, _ := strings.Cut(request, "="); name {
			case "h_rt":
				r.hRT = quantity(value)
			case "h_cpu":
				r.hCPU = quantity(value)
			case "h_vmem":
				r.hVMEM = quantity(value) >> 20
			}
		}
	}
}

// quantity parses a number with a multiplier (sge_types(5)). It returns 0 for any other text.
func quantity(text string) int64 {
	factor := 1.0
	if text != "" {
		switch text[len(text)-1] {
		case 'K':
			factor = 1 << 10
		case 'k':
			factor = 1e3
		case 'M':
			factor = 1 << 20
		case 'm':
			factor = 1e6
		case 'G':
			factor = 1 << 30
		case 'g':
			factor = 1e9
		}
	}
	v, err := strconv.ParseFloat(strings.TrimRight(text, "KkMmGg"), 64)
	if v *= factor; err != nil || !(v > 0 && v < 1e18) {
		return 0
	}
	return int64(v)
}

// The values of "failed" with a special meaning (accounting(5), and measured on 8.1.9). All other values are failures
// of the system.
const (
	failedNot      = 0
	failedRerun    = 25  // the job returns to the queue
	failedApp      = 30  // exit code 100: the job is in the error state
	failedLimit    = 37  // the job exceeded h_rt, h_cpu or h_vmem
	failedAfterJob = 100 // a signal ended the job
)

// meanings are the texts of qacct(1) for the values of "failed".
var meanings = map[int]string{
	1: "presumably before job", 3: "before writing config", 4: "before writing PID", 5: "reading config",
	6: "setting processor set", 7: "before prolog", 8: "in prolog", 9: "before pestart", 10: "in pestart",
	11: "before job", 12: "before pestop", 13: "in pestop", 14: "before epilog", 15: "in epilog",
	16: "releasing processor set", 17: "through signal", 18: "shepherd returned error",
	19: "before writing exit_status", 20: "found unexpected error file", 21: "in recognizing job",
	24: "migrating", 25: "rescheduling", 26: "opening input/output file", 27: "searching requested shell",
	28: "changing into working directory", 29: "AFS setup", 30: "application error returned",
	37: "over a limit: h_rt, h_cpu or h_vmem", 100: "ended by a signal",
}

// mayStillWait reports whether a task with this record may be waiting again: it was rescheduled, or is in error (Eqw)
// because it could not be started.
func (r record) mayStillWait() bool {
	switch r.failed {
	case failedNot, failedLimit, failedAfterJob:
		return false
	}
	return true
}

// report returns the end that a record describes. cancelled is set if jjm cancelled the task, which the record does not
// show.
func (r record) report(cancelled bool) jjm.Report {
	rep := jjm.Report{
		Tag: r.tag, Index: r.task - 1, ID: r.id(), Host: r.host, Source: "accounting",
		Submitted: r.submitted, Started: r.started, Ended: r.when(), Restarts: max(0, r.runs-1),
		CPUms: r.cpuMS, RSSKB: r.rssKB, Exit: r.exit,
	}
	if r.failed != failedNot {
		rep.Reason = fmt.Sprintf("failed %d: %s", r.failed, meaning(r.failed))
	}
	if r.exit > 128 && (r.failed == failedAfterJob || r.failed == failedLimit) {
		rep.Signal = r.exit - 128
	}
	r.judge(&rep, cancelled)
	return rep
}

func meaning(failed int) string {
	if text := meanings[failed]; text != "" {
		return text
	}
	return "a code that accounting(5) does not list"
}

// judge sets the end state of a report and the reason.
func (r record) judge(rep *jjm.Report, cancelled bool) {
	switch {
	case r.failed == failedAfterJob && rep.Signal == signalFor99:
		rep.State, rep.Exit, rep.Signal, rep.Reason = jjm.BatchEndedFailed, 99, 0, ""
	case r.failed == failedAfterJob && rep.Signal == signalFor100:
		rep.State, rep.Exit, rep.Signal, rep.Reason = jjm.BatchEndedFailed, 100, 0, ""
	case r.failed == failedNot && r.exit == 0:
		rep.State = jjm.BatchEndedOK
	case r.failed == failedNot:
		rep.State = jjm.BatchEndedFailed
		rep.Reason = r.nearLimit()
	case r.overMemory():
		rep.State = jjm.BatchOOM
	case r.failed == failedLimit, r.failed == failedAfterJob && r.overTime():
		rep.State = jjm.BatchTimeout
	case cancelled:
		rep.State = jjm.BatchCancelled
	case r.failed == failedAfterJob && rep.Signal > 0, r.failed == failedApp:
		rep.State = jjm.BatchEndedFailed
	default:
		rep.State = jjm.BatchAborted
	}
}

// overTime reports whether a killed task had used up a time limit. It is needed because execd also kills tasks at their
// limit by itself, and the record then only names a signal.
func (r record) overTime() bool {
	return r.exit == 128+9 && (r.hRT > 0 && r.wall >= r.hRT || r.hCPU > 0 && r.cpuMS >= 1000*r.hCPU)
}

// overMemory reports whether a killed task had used up its memory limit.
func (r record) overMemory() bool {
	killed := r.failed == failedLimit || r.failed == failedAfterJob && r.exit == 128+9
	return killed && !r.overTime() && r.hVMEM > 0 && r.vmemMB >= r.hVMEM
}

// nearLimit returns an explanation for the failure of a job that may have reached its memory limit. It returns "" if
// the job used less than half of its limit or had no limit. h_vmem limits the address space (setrlimit(2)), so a
// program that reaches the limit is usually not killed: an allocation fails, and the program ends in its own way.
func (r record) nearLimit() string {
	if r.hVMEM == 0 || max(r.vmemMB, r.rssKB>>10) < r.hVMEM/2 {
		return ""
	}
	return fmt.Sprintf("exit %d, with over half of its memory limit (h_vmem %d MiB) in use: an allocation may have failed",
		r.exit, r.hVMEM)
}
