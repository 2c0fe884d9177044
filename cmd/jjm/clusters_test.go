package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Before the first listing of a cluster there is no duration of a listing: "0 ms" would look like a fast listing.
func TestListingText_OfAClusterThatNobodyListedYet(t *testing.T) {
	for want, c := range map[string]wire.Cluster{
		"":                      {Interval: jjm.Duration(5e9)},
		"0 ms every 5 s":        {Interval: jjm.Duration(5e9), LastSeen: 1},
		"5 ms, none while idle": {Listing: jjm.Duration(5e6), LastSeen: 1},
	} {
		if got := listingText(c); got != want {
			t.Errorf("last seen %d: %q, want %q", c.LastSeen, got, want)
		}
	}
}

// If the line about an outage contains the cause, no other line repeats the cause or the name of the cluster.
func TestClusterNotes_TellACauseOnce(t *testing.T) {
	troubles := []string{"farm has answered no listing since 2026-11-25 08:00 CET: squeue: exit 1",
		"farm could not be probed for its limits since 2026-11-25 08:00 CET: sinfo: exit 2"}
	probed := "could not be probed for its limits since 2026-11-25 08:00 CET: sinfo: exit 2"
	for want, c := range map[string]wire.Cluster{
		"no listing: squeue: exit 1":                                         {Cause: "squeue: exit 1"},
		"has answered no listing since 2026-11-25 08:00 CET: squeue: exit 1": {Healthy: true},
	} {
		c.Name, c.Trouble = "farm", troubles
		if diff := cmp.Diff([]string{want, probed}, clusterNotes(c)); diff != "" {
			t.Error(diff)
		}
	}
}

// The line after an outage says what to do about it.
func TestClusterNotes_TellTheRemedyAfterTheOutage(t *testing.T) {
	breaker := &wire.Breaker{State: "open", Cause: "squeue: exit 1"}
	for name, c := range map[string]wire.Cluster{"no listing: squeue: exit 1": {Cause: "squeue: exit 1"},
		"circuit breaker open: squeue: exit 1; next probe -": {Breaker: breaker}} {
		c.Remedy = "scontrol ping shows whether it runs"
		if diff := cmp.Diff([]string{name, "do: " + c.Remedy}, clusterNotes(c)); diff != "" {
			t.Error(diff)
		}
	}
}

// The lines below the table contain a limit that jjm learnt from refusals, with its times and the batch system's
// message.
func TestClusterNotes_TellALearntLimit(t *testing.T) {
	since := jjm.At(time.Date(2026, 11, 25, 8, 0, 0, 0, time.Local))
	c := wire.Cluster{Name: "farm", Healthy: true, Learnt: []wire.LearntLimit{
		{Account: "alice (uid 1000)", Jobs: 1, Since: since, Until: since.Add(time.Hour), Cause: "sbatch: exit 1: no"},
		{Account: "bob (uid 1001)", Jobs: 10, Since: since, Until: since.Add(time.Hour), Cause: "sbatch: exit 1: too many"}}}
	zone := since.Time().Local().Format("MST")
	want := []string{
		"takes at most 1 job of alice (uid 1000): learnt 2026-11-25 08:00:00 " + zone + ", forgotten 2026-11-25 09:00:00 " +
			zone + ": sbatch: exit 1: no",
		"takes at most 10 jobs of bob (uid 1001): learnt 2026-11-25 08:00:00 " + zone + ", forgotten 2026-11-25 09:00:00 " +
			zone + ": sbatch: exit 1: too many"}
	if diff := cmp.Diff(want, clusterNotes(c)); diff != "" {
		t.Error(diff)
	}
}
