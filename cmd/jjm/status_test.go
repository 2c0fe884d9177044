package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

func TestStatus_OfAJobWithoutLocalJobs(t *testing.T) {
	for status, want := range map[string]string{"registered": "job 7 registered: no local jobs yet",
		"broken": "job 7 broken: none made"} {
		if got := plainLine(wire.Status{Lookup: wire.Lookup{ID: 7, Status: status}}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// While a local job waits for its next attempt, its host, times, exit code and message belong to the previous attempt,
// and the text says so.
func TestAttemptText_SaysOfWhichAttemptTheFactsAre(t *testing.T) {
	for want, l := range map[string]jjm.LocalJob{
		"2, the next one; host, times, exit and message are of attempt 1": {Attempt: 2, Phase: jjm.RetryWait},
		"2": {Attempt: 2, State: jjm.Running}, "0": {Phase: jjm.RetryWait},
	} {
		if got := attemptText(&l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The column may be cut, so the most important text is at its beginning: the reason of an end before the progress, and
// the reason why a batch job waits before the reason of the retry.
func TestDetailText_SaysTheReasonFirst(t *testing.T) {
	free := &jjm.Waiting{Reason: "waiting for free cores", Source: "jjm-batch", At: 1}
	sim := jjm.Progress{Phase: "sim", Done: 75, Total: 100}
	for want, l := range map[string]jjm.LocalJob{
		"exit code 3":                       {State: jjm.Failed, Message: "exit code 3", Progress: sim},
		"sim 75 of 100":                     {State: jjm.Running, Progress: sim},
		"sim 75 of 100; found to be slow":   {State: jjm.Running, Message: "found to be slow", Progress: sim},
		"waits for free cores":              {State: jjm.Submitted, Phase: jjm.Queued, Waits: free},
		"waits for free cores; exit code 3": {State: jjm.Submitting, Waits: free, Message: "exit code 3"},
	} {
		if got := detailText(l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWaitsText_NoWordsTwice(t *testing.T) {
	for _, reason := range []string{"waiting for a node", "a node"} {
		got := waitsText(&jjm.Waiting{Reason: reason, Source: "squeue", At: 1})
		if !strings.HasPrefix(got, "a node (squeue at ") {
			t.Errorf("%q: %q", reason, got)
		}
	}
}

func TestAgainText_AGridJobThatCouldNotBePrepared(t *testing.T) {
	broken := wire.Status{Lookup: wire.Lookup{ID: 7, Status: jjm.Broken.String()}}
	const want = "jjm copy 7 makes a new grid job of its job file, once the cause is mended"
	if got := againText(&broken); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	broken.Lookup.Message = "script.sh: no such file"
	if got := causeCell(broken); got != "script.sh: no such file" {
		t.Errorf("its cause in the list: %q", got)
	}
	below := mendings([]wire.Status{broken, broken})
	if diff := cmp.Diff([]string{"do: " + want + "; and so for 1 other grid job"}, below); diff != "" {
		t.Errorf("below the list (-want +got):\n%s", diff)
	}
	kept := wire.Status{Lookup: wire.Lookup{ID: 8, Status: jjm.Registered.String(), Message: "no such file"}, Kept: true}
	if got, want := againText(&kept), "jjm submit 8 submits it again, once the cause is mended"; got != want {
		t.Errorf("a kept one: %q, want %q", got, want)
	}
	if got := causeCell(kept); got != "no such file" {
		t.Errorf("the cause of a kept one in the list: %q", got)
	}
	broken.Lookup.Counts = wire.Counts{Total: 2, Completed: 2}
	if got := againText(&broken); got != "" {
		t.Errorf("one with local jobs: %q", got)
	}
}

func TestAgainText_LocalJobsThatWereNeverSubmitted(t *testing.T) {
	for want, counts := range map[string]wire.Counts{
		"jjm resubmit 7 submits what was never submitted, once the cause is mended":        {Total: 4, Completed: 1, New: 3},
		"jjm resubmit 7 runs again what failed, and submits what was never submitted":      {Total: 4, Failed: 1, New: 3},
		"jjm resubmit 7 --all runs again what was killed":                                  {Total: 4, Killed: 4},
		"jjm resubmit 7 runs again what failed: in the same grid job, with one tar of all": {Total: 4, Failed: 1},
	} {
		over := wire.Status{Lookup: wire.Lookup{ID: 7, Status: jjm.Finished.String(), Counts: counts}}
		if got := againText(&over); got != want {
			t.Errorf("%+v: %q, want %q", counts, got, want)
		}
		over.Lookup.Status = jjm.GridRunning.String()
		if got := againText(&over); got != "" {
			t.Errorf("%+v of a running one: %q", counts, got)
		}
	}
}

func TestRetries_AreShownWithTheReasonAndTheNextTime(t *testing.T) {
	next := jjm.At(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	st := wire.Status{Lookup: wire.Lookup{ID: 9, Status: jjm.GridRunning.String(),
		Counts: wire.Counts{Expected: 3, Total: 3, Submitting: 2, Running: 1}},
		NextAttempts: &wire.NextAttempts{Jobs: 2, First: next},
		Causes:       []jjm.Cause{{Text: "exit code 75", Again: true, Jobs: 2, First: "9.0", Exit: 75, Host: "wn7"}}}
	const want = "; tried again: 2 local jobs: exit code 75; such as 9.0 on wn7"
	if got := plainLine(st); !strings.HasSuffix(got, want) ||
		!strings.Contains(got, "2 wait for another attempt, the next at ") {
		t.Errorf("progress of wait: %q, want %q", got, want)
	}
	if got := causeCell(st); !strings.HasPrefix(got, "2 wait for another attempt, the next at ") ||
		!strings.HasSuffix(got, ": exit code 75") {
		t.Errorf("the cause in the list: %q", got)
	}
	st.NextAttempts = nil
	if got := causeCell(st) + retries(st); got != "" {
		t.Errorf("none waits: %q", got)
	}
}
