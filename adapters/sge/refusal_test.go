package sge

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/testkit/testbed"
)

// receipt takes the first text of the table that it finds in the output of qsub. Each text must therefore be found
// with its own kind of error, and not be hidden by an earlier text.
func TestRefusals_EachTextHasItsKind(t *testing.T) {
	kinds := map[answer]jjm.Kind{ambiguous: jjm.Ambiguous, busy: jjm.Busy, tooLarge: jjm.Busy, denied: jjm.Denied,
		invalid: jjm.Invalid}
	for _, r := range refusals {
		text := "Unable to run job: " + strings.ToUpper(strings.ReplaceAll(r.text, "%s", "12"))
		_, err := receipt(run.Output{Exit: 1, Stderr: []byte(text + ".\nExiting.\n")}, 3)
		if jjm.KindOf(err) != kinds[r.means] || adapters.IsTooMany(err) != (r.means == tooLarge) ||
			adapters.IsUnexplained(err) || r.source == "" {
			t.Errorf("%s: %v of kind %s", r.text, err, jjm.KindOf(err))
		}
	}
}

// max_u_jobs and max_jobs count an array as one job, so a smaller array does not help.
func TestRefusals_LimitsPass(t *testing.T) {
	for text, many := range map[string]bool{
		"job rejected: only 2 jobs are allowed per user (current job count: 2)":     false,
		"job rejected: Only 2 jobs are allowed per cluster":                         false,
		"job 7 was rejected because it couldn't be written":                         false,
		"job 7 was rejected because it can't be written: No space left on device":   false,
		"job rejected: you tried to submit a job with more than 50 tasks":           true,
		"job rejected: You try to submit a job with more than 50 tasks":             true,
		"a text that nobody knows, of an exit code for a full system (sge_conf(5))": false,
	} {
		exit := 1
		if strings.Contains(text, "sge_conf") {
			exit = exitFull
		}
		_, err := receipt(run.Output{Exit: exit, Stderr: []byte("Unable to run job: " + text + ".\n")}, 60)
		if jjm.KindOf(err) != jjm.Busy || adapters.IsTooMany(err) != many {
			t.Errorf("%s: %v of kind %s, too many: %v", text, err, jjm.KindOf(err), adapters.IsTooMany(err))
		}
	}
}

// Every text with which the installed qmaster rejects a job is known.
func TestInstalled_QmastersTextsHaveAKind(t *testing.T) {
	testbed.Start(t, "sge") // which installs it
	const binary = "/usr/lib/gridengine/sge_qmaster"
	data, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	verb := regexp.MustCompile(`%[-.0-9]*[sdu]`)
	found := 0
	for word := range bytes.SplitSeq(data, []byte{0}) {
		text := verb.ReplaceAllString(strings.ReplaceAll(string(word), "%%", "%"), "12")
		if !strings.HasPrefix(text, "job rejected: ") && !strings.Contains(text, " was rejected because ") {
			continue
		}
		found++
		_, err := receipt(run.Output{Exit: 1, Stderr: []byte("Unable to run job: " + text + "\n")}, 3)
		if jjm.KindOf(err) == jjm.Ambiguous {
			t.Errorf("%s: %v", text, err)
		}
	}
	if found < 15 {
		t.Errorf("only %d texts in %s: is it read wrongly?", found, binary)
	}
}
