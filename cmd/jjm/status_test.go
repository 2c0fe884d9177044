package main

import (
	"strings"
	"testing"

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
