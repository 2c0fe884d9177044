package condor

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// columns are the expressions that the commands print for each job, in the order of the fields of a record. The option
// -af evaluates them, which -json would not do. The free text is the last column but one, where none of its content can
// be mistaken for another field.
var columns = [...]string{
	markBegin, "ClusterId", "ProcId", "JobStatus", "Owner", "JJMTag", "QDate", "JobStartDate", "LastVacateTime",
	"EnteredCurrentStatus", "ExitBySignal", "ExitCode", "ExitSignal", "NumJobStarts", "HoldReasonCode",
	"HoldReasonSubCode",
	"LastHoldReasonCode", "JJMOverMemory", "RemoteUserCpu", "RemoteSysCpu", "ResidentSetSize_RAW", "RemoteHost",
	"LastRemoteHost",
	"ifThenElse(JobStatus == 5, HoldReason, ifThenElse(JobStatus == 1, LastRejMatchReason, RemoveReason))", markEnd,
}

// The marks are constants that are printed with every job. A line without both marks is not a record.
const (
	markBegin = `"jjm-job"`
	markEnd   = `"jjm-end"`
)

// The values for Report.Source.
const (
	sourceQueue   = "condor_q"
	sourceHistory = "condor_history"
)

// queueArgs returns the condor_q command for the jobs of all users that match a constraint.
func queueArgs(constraint string) []string {
	return tableArgs([]string{sourceQueue, "-allusers"}, constraint)
}

// historyArgs returns the condor_history command for the jobs that match a constraint. condor_history reads backwards
// and stops at the first job that matches stop; if stop is "", it reads the whole history.
func historyArgs(constraint, stop string) []string {
	argv := []string{sourceHistory}
	if stop != "" {
		argv = append(argv, "-since", stop)
	}
	return tableArgs(argv, constraint)
}

func tableArgs(argv []string, constraint string) []string {
	argv = append(argv, "-constraint", constraint, "-af:htV")
	return append(argv, columns[:]...)
}

// query runs a command that lists jobs and parses its answer. It returns the readable and the unreadable records. It
// returns an error of kind Busy if the command failed or its output as a whole cannot be trusted.
func (a *Adapter) query(ctx context.Context, argv []string) ([]record, []adapters.Unread, error) {
	out, err := a.run(ctx, nil, argv...)
	if err != nil {
		return nil, nil, adapters.AsBusy(err)
	}
	if err := checkAnswer(argv[0], out); err != nil {
		return nil, nil, err
	}
	records, unread, err := parseTable(out.Stdout)
	if err != nil {
		return nil, nil, jjm.Errorf(jjm.Busy, "%s: %w", argv[0], err)
	}
	return records, unread, nil
}

// checkAnswer returns an error of kind Busy if a listing command failed.
func checkAnswer(command string, out run.Output) error {
	complaint := complaints(out.Stderr)
	switch {
	case out.Exit != 0 && strings.Contains(complaint, "No history file"):
		return jjm.Errorf(jjm.Busy, "%s: exit %d: %s: set history = false, or HISTORY in HTCondor's configuration",
			command, out.Exit, complaint)
	case out.Exit != 0:
		return jjm.Errorf(jjm.Busy, "%s: exit %d: %s", command, out.Exit, complaint)
	case complaint != "":
		return jjm.Errorf(jjm.Busy, "%s: printed errors: %s", command, complaint)
	}
	return nil
}

// complaints returns the lines of a command's standard error, joined, without the warnings that HTCondor prints about
// its own configuration.
func complaints(stderr []byte) string {
	var lines []string
	for line := range strings.Lines(string(stderr)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(strings.ToUpper(line), "WARNING") {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "; ")
	return strings.ToValidUTF8(text[:min(len(text), 400)], "")
}

// quoteString returns a ClassAd string. Tags and account names contain nothing that needs
// more quoting.
func quoteString(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

// taggedWith returns an expression that matches jobs with one of the tags. It uses stringListMember, which accepts
// hundreds of names without a deeply nested expression.
func taggedWith(tags []jjm.Tag) string {
	words := make([]string, len(tags))
	for i, tag := range tags {
		words[i] = string(tag)
	}
	return fmt.Sprintf("stringListMember(JJMTag, %s) =?= true", quoteString(strings.Join(words, ",")))
}

func ownedBy(owner jjm.Owner) string { return "Owner =?= " + quoteString(owner.User) }

// jjmJobsOf returns an expression that matches the owner's jobs of jjm.
func jjmJobsOf(owner jjm.Owner) string { return "JJMTag =!= undefined && " + ownedBy(owner) }

// jobIDs returns an expression that matches the jobs of one bulk at the given positions, which must ascend.
func jobIDs(cluster int64, procs []int32) string {
	var ranges []string
	for i := 0; i < len(procs); {
		k := i
		for k+1 < len(procs) && procs[k+1] == procs[k]+1 {
			k++
		}
		if k == i {
			ranges = append(ranges, fmt.Sprintf("ProcId == %d", procs[i]))
		} else {
			ranges = append(ranges, fmt.Sprintf("(ProcId >= %d && ProcId <= %d)", procs[i], procs[k]))
		}
		i = k + 1
	}
	return fmt.Sprintf("(ClusterId == %d && (%s))", cluster, strings.Join(ranges, " || "))
}

// jobOf returns the id of the job that a Ref names; ok is false if the Ref's id cannot be an id of HTCondor.
func jobOf(ref adapters.Ref) (id jobID, ok bool) {
	cluster, proc, dotted := strings.Cut(ref.ID, ".")
	if ref.Index >= 0 && dotted || ref.Index < 0 && !dotted {
		return jobID{}, false
	}
	n, err := strconv.ParseInt(cluster, 10, 64)
	if err != nil || n < 0 {
		return jobID{}, false
	}
	if !dotted {
		return jobID{cluster: n, proc: ref.Index}, true
	}
	p, err := strconv.ParseInt(proc, 10, 32)
	return jobID{cluster: n, proc: int32(p)}, err == nil && p >= 0
}

// jobID is the id of a job: "CLUSTER.PROC".
type jobID struct {
	cluster int64
	proc    int32
}

func (id jobID) String() string { return fmt.Sprintf("%d.%d", id.cluster, id.proc) }
