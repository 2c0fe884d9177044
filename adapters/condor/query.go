package condor

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"jjm"
	"jjm/adapters"
	"jjm/run"
)

// columns are what is asked of a job, in the order of the fields of a record.
// They are expressions; -af evaluates them where -json gives unevaluated ones.
// The free text comes last but one, so that whatever is in it cannot be taken
// for another field.
var columns = [...]string{
	markBegin, "ClusterId", "ProcId", "JobStatus", "Owner", "JJMTag", "QDate", "JobStartDate", "LastVacateTime",
	"EnteredCurrentStatus", "ExitBySignal", "ExitCode", "ExitSignal", "NumJobStarts", "HoldReasonCode",
	"HoldReasonSubCode",
	"LastHoldReasonCode", "JJMOverMemory", "RemoteUserCpu", "RemoteSysCpu", "ResidentSetSize_RAW", "RemoteHost",
	"LastRemoteHost",
	"ifThenElse(JobStatus == 5, HoldReason, ifThenElse(JobStatus == 1, LastRejMatchReason, RemoveReason))", markEnd,
}

// The two marks are constants, printed with every job: what carries neither is
// none of our lines.
const (
	markBegin = `"jjm-job"`
	markEnd   = `"jjm-end"`
)

// What answers to a query, in Report.Source.
const (
	sourceQueue   = "condor_q"
	sourceHistory = "condor_history"
)

// queueArgs asks condor_q for the jobs of all users that fulfil a constraint.
func queueArgs(constraint string) []string {
	return tableArgs([]string{sourceQueue, "-allusers"}, constraint)
}

// historyArgs asks condor_history, which reads backwards and stops at the first
// job that fulfils stop ("" = it reads everything).
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

// query runs a command that lists jobs, and reads its answer. Any doubt is an
// error of kind Busy.
func (a *Adapter) query(ctx context.Context, argv []string) ([]record, error) {
	out, err := a.run(ctx, nil, argv...)
	if err != nil {
		return nil, adapters.AsBusy(err)
	}
	if err := answered(argv[0], out); err != nil {
		return nil, err
	}
	records, err := parseTable(out.Stdout)
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "%s: %w", argv[0], err)
	}
	return records, nil
}

// answered finds trouble in how a listing command ended.
func answered(command string, out run.Output) error {
	complaint := complaints(out.Stderr)
	switch {
	case out.Exit != 0 && strings.Contains(complaint, "No history file"):
		return jjm.Errorf(jjm.Busy, "%s: exit %d: %s: set history = false, or HISTORY in HTCondor's configuration",
			command, out.Exit, complaint)
	case out.Exit != 0:
		return jjm.Errorf(jjm.Busy, "%s: exit %d: %s", command, out.Exit, complaint)
	case complaint != "":
		return jjm.Errorf(jjm.Busy, "%s: it complained: %s", command, complaint)
	}
	return nil
}

// complaints joins the lines of a command's standard error but for warnings,
// which HTCondor prints of its own configuration.
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

// quoteString makes a string of ClassAd expressions. Tags and account names
// hold nothing that needs more.
func quoteString(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

// taggedWith matches jobs of the tags. stringListMember takes hundreds of names
// without a deep expression.
func taggedWith(tags []jjm.Tag) string {
	words := make([]string, len(tags))
	for i, tag := range tags {
		words[i] = string(tag)
	}
	return fmt.Sprintf("stringListMember(JJMTag, %s) =?= true", quoteString(strings.Join(words, ",")))
}

func ownedBy(owner jjm.Owner) string { return "Owner =?= " + quoteString(owner.User) }

// mineOf matches the owner's jobs of jjm.
func mineOf(owner jjm.Owner) string { return "JJMTag =!= undefined && " + ownedBy(owner) }

// jobIDs matches the jobs of one bulk at the given positions, which ascend.
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

// jobOf reads the cluster and position that a Ref names; ok is false for what
// cannot be an id of HTCondor.
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

// jobID is a job's number: "CLUSTER.PROC".
type jobID struct {
	cluster int64
	proc    int32
}

func (id jobID) String() string { return fmt.Sprintf("%d.%d", id.cluster, id.proc) }
