package main

import (
	"testing"

	"jjm/wire"
)

func TestStatus_OfAJobWithoutLocalJobs(t *testing.T) {
	for status, want := range map[string]string{"registered": "job 7 registered: not known yet",
		"broken": "job 7 broken: none made"} {
		if got := plainLine(wire.Status{Lookup: wire.Lookup{ID: 7, Status: status}}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
