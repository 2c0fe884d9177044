package slurm

import (
	"os"
	"strings"
	"testing"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// refused returns the error for a sbatch of one job that failed and printed a text.
func refused(text string) error { return refusedAll(text, 1) }

// refusedAll returns the error for a sbatch of n jobs that failed and printed a text.
func refusedAll(text string, n int) error {
	_, err := receipt(run.Output{Exit: 1, Stderr: []byte("sbatch: error: " + text + "\n")}, n)
	return err
}

// receipt takes the first text of the table that it finds in the output of sbatch. Each text must therefore be found
// with its own kind of error, and not be hidden by an earlier text.
func TestRefusals_EachTextHasItsKind(t *testing.T) {
	kinds := map[answer]jjm.Kind{ambiguous: jjm.Ambiguous, busy: jjm.Busy, tooMany: jjm.Busy, denied: jjm.Denied,
		invalid: jjm.Invalid, tooLarge: jjm.Invalid}
	for _, r := range refusals {
		err := refused(r.text)
		if jjm.KindOf(err) != kinds[r.means] || adapters.IsTooMany(err) != (r.means == tooMany) ||
			adapters.IsUnexplained(err) {
			t.Errorf("%s: %v of kind %s, too many: %v; want %s", r.text, err, jjm.KindOf(err), adapters.IsTooMany(err),
				kinds[r.means])
		}
		if r.source == "" {
			t.Errorf("%s has no source", r.text)
		}
	}
}

// testdata/errno.txt has the error texts of Slurm's source. Each text that can answer a submission must be in the
// table.
func TestRefusals_HaveTheTextsOfSlurm(t *testing.T) {
	text, err := os.ReadFile("testdata/errno.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "of no submission: ") {
			continue
		}
		if _, known := find(line); !known && !strings.Contains(line, unexplainedPolicy) {
			t.Errorf("%q is not in the table", line)
		}
	}
}

// A rejection because of a limit on the number of submitted jobs is of kind Busy and marked by TooMany. A rejection
// because of a limit that a single job exceeds by itself is of kind Invalid.
func TestRefusals_LimitsOfAccounting(t *testing.T) {
	const policy = "\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, " +
		"user's size and/or time limits)"
	for text, want := range map[string]struct {
		kind                 jjm.Kind
		tooMany, unexplained bool
	}{
		"AssocMaxSubmitJobLimit" + policy:           {jjm.Busy, true, false},
		"AssocGrpSubmitJobsLimit" + policy:          {jjm.Busy, true, false},
		"QOSMaxSubmitJobPerUserLimit" + policy:      {jjm.Busy, true, false},
		"QOSGrpSubmitJobsLimit" + policy:            {jjm.Busy, true, false},
		"MaxSubmitJobsPerAccount" + policy:          {jjm.Busy, true, false},
		"QOSMaxWallDurationPerJobLimit" + policy:    {jjm.Invalid, false, false},
		"AssocMaxCpuPerJobLimit" + policy:           {jjm.Invalid, false, false},
		"QOSGrpMemLimit" + policy:                   {jjm.Invalid, false, false},
		"QOSMinCpuNotSatisfied" + policy:            {jjm.Invalid, false, false},
		"MaxCpuPerAccount" + policy:                 {jjm.Invalid, false, false},
		policy:                                      {jjm.Busy, true, true},
		"Batch job submission failed: Gremlins ate": {jjm.Ambiguous, false, true},
	} {
		err := refused(text)
		if jjm.KindOf(err) != want.kind || adapters.IsTooMany(err) != want.tooMany ||
			adapters.IsUnexplained(err) != want.unexplained {
			t.Errorf("%.40q: %s, too many %v, unexplained %v; want %+v", text, jjm.KindOf(err), adapters.IsTooMany(err),
				adapters.IsUnexplained(err), want)
		}
	}
}

// An array beyond MaxArraySize is submitted as smaller arrays. If arrays are switched off, Slurm refuses a single job
// with the same text.
func TestRefusals_ALargeArray(t *testing.T) {
	const text = "Batch job submission failed: Invalid job array specification"
	if err := refusedAll(text, 2); jjm.KindOf(err) != jjm.Busy || !adapters.IsTooMany(err) {
		t.Errorf("two jobs: %v of kind %s", err, jjm.KindOf(err))
	}
	if err := refusedAll(text, 1); jjm.KindOf(err) != jjm.Invalid || adapters.IsTooMany(err) {
		t.Errorf("one job: %v of kind %s", err, jjm.KindOf(err))
	}
}

// If a limit of the accounting rejects a submission, slurmrestd does not name the limit. Whatever its HTTP status
// is, the error is of kind Busy and marked by TooMany and Unexplained.
func TestRefusals_OfSlurmrestd(t *testing.T) {
	for _, status := range []int{400, 500} {
		_, err := restReceipt(status, []byte(`{"errors":[{"error":"`+unexplainedPolicy+`","error_code":2050}]}`), 3)
		if jjm.KindOf(err) != jjm.Busy || !adapters.IsTooMany(err) || !adapters.IsUnexplained(err) {
			t.Errorf("HTTP %d: %v of kind %s", status, err, jjm.KindOf(err))
		}
	}
}
