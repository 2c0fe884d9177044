package condor

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// Submit submits a bulk on hold. If the schedd is frozen, condor_submit waits forever (more than 135 s were observed).
// The deadline of ctx or the default deadline of package run then ends it, and the error is of kind Ambiguous.
func (a *Adapter) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	what := fmt.Sprintf("submit bulk of %d (tag %.20s)", b.N, b.Tag)
	text, err := a.describe(ctx, b)
	if err != nil {
		return adapters.Receipt{}, a.fail(what, adapters.NotStarted(err))
	}
	out, err := a.run(ctx, []byte(text), "condor_submit", "-terse", "-")
	if err != nil {
		if adapters.Stopped(err) && jjm.KindOf(err) != jjm.Busy {
			err = jjm.Errorf(jjm.Ambiguous, "%w", err)
		}
		return adapters.Receipt{}, a.fail(what, err)
	}
	cluster, err := verdict(out, b.N)
	if err != nil {
		return adapters.Receipt{}, a.fail(what, err)
	}
	return adapters.Receipt{ID: cluster}, nil
}

// describe checks a bulk and returns its submit description.
func (a *Adapter) describe(ctx context.Context, b adapters.Bulk) (string, error) {
	if err := adapters.CheckBulk(b, a.Capabilities()); err != nil {
		return "", err
	}
	if err := a.Check(b.Request); err != nil {
		return "", err
	}
	transfer, err := a.config.transferOf(b)
	if err != nil {
		return "", err
	}
	b.Transfer = transfer
	script := encode(adapters.JobScript(b, `"$JJM_INDEX"`, `"$JJM_BATCH_ID"`))
	if len(script) > maxScript {
		return "", jjm.Errorf(jjm.Invalid, "the command is too long: %d bytes when encoded, want at most %d", len(script),
			maxScript)
	}
	extra, err := a.askHook(ctx, b)
	if err != nil {
		return "", err
	}
	lines := append([]string{}, a.config.Directives...)
	lines = append(lines, adapters.Lines(b.Request.Directives)...)
	lines = append(lines, extra...)
	return a.config.description(b, script, lines), nil
}

// maxScript is the largest size of the job's script, in bytes. The script is one argument of a command, for which
// execve(2) allows 128 KiB.
const maxScript = 120 << 10

// description returns the submit description for a bulk. The lines in extra come first: if two lines set the same
// command, HTCondor uses the last one, so jjm's own lines replace them.
func (c Config) description(b adapters.Bulk, script string, extra []string) string {
	lines := append([]string{}, extra...)
	lines = append(lines, c.requestLines(b.Request, b.Exclude)...)
	lines = append(lines, transferLines(b.Transfer)...)
	lines = append(lines,
		"universe = vanilla",
		"executable = /bin/sh",
		"transfer_executable = false",
		"initialdir = /",
		// The shell decodes its script. Therefore HTCondor interprets nothing in it, neither $(X) and $$(X) nor quotes
		// and newlines.
		`arguments = "-c 'eval ""`+"`printf %b $1`"+`""' jjm `+script+`"`,
		`environment = "PATH=/usr/local/bin:/usr/bin:/bin JJM_INDEX=$(Process) JJM_BATCH_ID=$(Cluster).$(Process)"`,
		"hold = true",
		"batch_name = jjm-"+string(b.Tag),
		"+JJMTag = "+quoteString(string(b.Tag)),
		"+JJMOverMemory = "+overMemory,
		// When HTCondor removes the job, the wrapper receives TERM and has time to report.
		"want_graceful_removal = true",
		fmt.Sprintf("job_max_vacate_time = %d", int64(c.Grace.D().Seconds())),
		fmt.Sprintf("leave_in_queue = (JobStatus == 4) && (time() - EnteredCurrentStatus < %d)", int64(c.Keep.D().Seconds())),
		// A job is over if it started once and no longer runs, or if a limit put it on hold. By default the schedd
		// evaluates both expressions every minute.
		fmt.Sprintf("periodic_remove = (JobStatus == 1 && NumJobStarts > 0) || (JobStatus == 5 && "+
			"(HoldReasonCode =?= %d || HoldReasonCode =?= %d || JJMOverMemory =?= true))", holdJobTime, holdRunTime),
		`+PeriodicRemoveReason = ifThenElse(JobStatus == 5, strcat("over its limit: ", HoldReason), "taken off its machine")`,
		fmt.Sprintf("queue %d", b.N), "")
	return strings.Join(lines, "\n")
}

// overMemory is true for a job that was held or removed because of its memory: by the cgroup (34); by the machine under
// POLICY:HOLD_IF_MEMORY_EXCEEDED (21/102); or by a SYSTEM_PERIODIC_REMOVE whose reason mentions memory while the job
// used more memory than it requested or received. If it requested none, RequestMemory follows the usage.
const overMemory = `ifThenElse(JobStatus == 5, HoldReasonCode == 34 || (HoldReasonCode == 21 && HoldReasonSubCode == 102), ` +
	`LastHoldReasonCode =?= 34 || (LastHoldReasonCode =?= 21 && LastHoldReasonSubCode =?= 102) || ` +
	`(JobStatus == 3 && regexp("memory|residentset|imagesize", RemoveReason, "i") && !regexp("by user ", RemoveReason) && ` +
	`ResidentSetSize_RAW > 1024 * min({RequestMemory, MemoryProvisioned}))) =?= true`

// encode encodes a text for printf(1) %b. Letters, digits and harmless characters stay unchanged, other bytes become
// "\0ooo". This form has no special meaning in any language that processes it on the way to the job.
func encode(text string) string {
	var s strings.Builder
	for _, c := range []byte(text) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("_/.,:=+@-", c) >= 0:
			s.WriteByte(c)
		default:
			fmt.Fprintf(&s, `\0%03o`, c)
		}
	}
	return s.String()
}

// clusterLine matches the line that condor_submit -terse prints for a cluster: "119.0 - 119.7".
var clusterLine = regexp.MustCompile(`(?m)^(\d+)\.(\d+) - (\d+)\.(\d+)\s*$`)

// verdict returns the id of the cluster from the answer to a submission of n jobs. It returns an error if the answer
// has no id or is not for n jobs. The error is of kind Ambiguous unless a complaint of condor_submit is in refusals.
func verdict(out run.Output, n int) (cluster string, err error) {
	found := clusterLine.FindAllStringSubmatch(string(out.Stdout), -1)
	complaint := complaints(out.Stderr)
	if out.Exit == 0 && len(found) == 1 {
		m := found[0]
		last, err := strconv.Atoi(m[4])
		if err == nil && m[1] == m[3] && m[2] == "0" && last == n-1 {
			return m[1], nil
		}
	}
	told := fmt.Sprintf("condor_submit: exit %d: %s", out.Exit, complaint)
	if complaint == "" {
		told += fmt.Sprintf("%.200q", out.Stdout)
	}
	if out.Exit == 0 || out.Signal != 0 || len(found) > 0 || strings.Contains(string(out.Stdout), "submitted to cluster") {
		return "", jjm.Errorf(jjm.Ambiguous, "%s", told)
	}
	for _, r := range refusals {
		if strings.Contains(complaint, r.says) {
			if r.remedy != "" {
				told += ": " + r.remedy
			}
			return "", refused(r.kind, r.many, told)
		}
	}
	err = jjm.Errorf(jjm.Ambiguous, "%s", told)
	if complaint != "" && !strings.Contains(complaint, "Failed to commit job submission") { // else the connection broke
		err = adapters.Unexplained(err)
	}
	return "", err
}

// refused returns an error of a kind with the text told; many is set if the error is marked by adapters.TooMany.
func refused(kind jjm.Kind, many bool, told string) error {
	err := jjm.Errorf(kind, "%s", told)
	if many {
		return adapters.TooMany(err)
	}
	return err
}

// remedyAsOwner is the remedy if HTCondor accepts no jobs from an account.
const remedyAsOwner = "HTCondor takes no jobs from this account (never from root): run the daemon as the jobs' owner"

// refusals are complaints of condor_submit after which the queue certainly has no job of the bulk; the first match
// counts. After any other complaint the outcome of the submission is unknown.
var refusals = []struct {
	says   string
	kind   jjm.Kind
	remedy string
	many   bool // whether the error is marked by adapters.TooMany
}{
	{"is not permitted", jjm.Denied, remedyAsOwner, false},
	{"Cannot allocate a cluster id", jjm.Denied, remedyAsOwner, false},
	{"Failed to authenticate", jjm.Denied, "see SEC_CLIENT_AUTHENTICATION_METHODS and the schedd's log", false},
	{`Received "DENIED"`, jjm.Denied, "the schedd allows this account no WRITE", false},
	{"MAX_JOBS_PER_SUBMISSION", jjm.Busy, "set max_bulk of this cluster below it", true},
	{"MAX_JOBS_PER_OWNER", jjm.Busy, "", true},
	{"MAX_JOBS_SUBMITTED", jjm.Busy, "", true},
	{"MAX_JOBS_RUNNING", jjm.Busy, "", false},
	{"Can't find address of", jjm.Busy, "the schedd is down or not in the collector", false},
	{"Failed to connect to", jjm.Busy, "", false},
	{"Parse error in expression", jjm.Invalid, "", false},
	{"Failed to parse command file", jjm.Invalid, "", false},
	{"invalid Queue statement", jjm.Invalid, "", false},
	{"Executable file", jjm.Invalid, "", false},
	{"No 'executable' parameter", jjm.Invalid, "", false},
	{"I don't know about the", jjm.Invalid, "", false},
	{"Unterminated double-quote", jjm.Invalid, "", false},
	{"Unexpected characters following", jjm.Invalid, "", false},
	// If a reason follows this text, the schedd has rejected the whole submission (SUBMIT_REQUIREMENT). Without a reason
	// the connection may have broken.
	{"Failed to commit job submission into the queue.; ERROR: ", jjm.Invalid, "", false},
}
