package cluster

import (
	"testing"
	"time"

	"jjm/adapters/idealize"
	"jjm/internal/jjm"
	"jjm/internal/policy/why"

	"github.com/google/go-cmp/cmp"
)

// Of several facts that prevent a submission the first one counts. The status and the cause tell the same obstacle; the
// cause adds since when, the remedy, and why a cluster does not answer.
func TestObstacle_TheFirstFactCountsAndIsToldTwice(t *testing.T) {
	order := jjm.Order{Verb: jjm.OrderPause, Kind: jjm.OrderCluster, Name: "c1", By: "ann", Since: 5, Reason: "disks"}
	limited := order
	limited.Until = 9
	site := func(f siteFacts) obstacle { return f.obstacle() }
	here := func(f clusterFacts) obstacle { return f.obstacle() }
	silence := why.Cause{Text: "timed out", Since: 7, Remedy: "ping it"}
	for name, test := range map[string]struct {
		got  obstacle
		text string
		want why.Cause
	}{
		"no fact about the site": {site(siteFacts{}), "", why.Cause{}},
		"a pause before a full disk": {site(siteFacts{order: order, halted: true, low: "low", full: "full"}), order.String(),
			why.Cause{Code: why.Paused, Text: order.String(), Since: 5, Remedy: "jjm resume cluster c1"}},
		"a pause that ends by itself": {site(siteFacts{order: limited, halted: true}), limited.String(),
			why.Cause{Code: why.Paused, Text: limited.String(), Since: 5, Until: 9}},
		"a full disk before a full work area": {site(siteFacts{low: "low", full: "full"}), "low",
			why.Cause{Code: why.DiskLow, Text: "low", Remedy: "make room on that file system"}},
		"a full work area": {site(siteFacts{full: "full"}), "full",
			why.Cause{Code: why.WorkFull, Text: "full", Remedy: "jjm remove grid jobs of bob that are over"}},
		"no fact about the cluster": {here(clusterFacts{name: "c1"}), "", why.Cause{}},
		"a pause before a window": {here(clusterFacts{name: "c1", order: order, paused: true, window: "w"}), order.String(),
			why.Cause{Code: why.Paused, Text: order.String(), Since: 5, Remedy: "jjm resume cluster c1"}},
		"a window before silence": {here(clusterFacts{name: "c1", window: "w", silent: silence}), "w",
			why.Cause{Code: why.Maintenance, Text: "w"}},
		"a window that has not begun": {here(clusterFacts{name: "c1", window: "w", early: 17}), "w",
			why.Cause{Code: why.Maintenance, Text: "w",
				Remedy: "jjm set 17 --walltime TIME, if it needs no longer than until then"}},
		"silence": {here(clusterFacts{name: "c1", silent: silence}), "cluster c1 does not answer",
			why.Cause{Code: why.Silent, Text: "cluster c1 does not answer: timed out", Since: 7,
				Remedy: "ping it"}},
	} {
		if got := test.got.text(); got != test.text {
			t.Errorf("%s: the status is %q: want %q", name, got, test.text)
		}
		if diff := cmp.Diff(test.want, test.got.cause("bob")); diff != "" {
			t.Errorf("%s: the cause differs (-want +got):\n%s", name, diff)
		}
	}
}

// The cause about a limit on commands has the number of commands, the setting with what it keeps for others, and when
// the limit was reached.
func TestCeilingOf(t *testing.T) {
	at := time.UnixMilli(5000)
	for name, test := range map[string]struct {
		line idealize.Line
		want why.Cause
	}{
		"room": {idealize.Line{}, why.Cause{}},
		"places": {idealize.Line{Full: idealize.Parallel, Used: 3, Setting: 4, Kept: 1, Since: at},
			why.Cause{Code: why.Ceiling, Since: jjm.At(at), Text: "3 commands of cluster c1 run at once, as many as may " +
				"(parallel_commands = 4, 1 of them for kills, holds and releases)",
				Remedy: "it is submitted by itself when there is room; a greater parallel_commands of cluster c1 makes room sooner"}},
		"a minute, for one account": {idealize.Line{Full: idealize.PerMinute, Used: 150, Setting: 300, Own: true, Until: at},
			why.Cause{Code: why.Ceiling, Until: jjm.At(at), Text: "150 commands of cluster c1 began within a minute, as many " +
				"as may (commands_per_minute = 300, half for one account)",
				Remedy: "it is submitted by itself when there is room; a greater commands_per_minute of cluster c1 makes room " +
					"sooner"}},
	} {
		if diff := cmp.Diff(test.want, ceilingOf("c1", test.line)); diff != "" {
			t.Errorf("%s: the cause differs (-want +got):\n%s", name, diff)
		}
	}
}
