package match

import (
	"slices"
	"testing"

	"jjm/internal/jjm"
)

func TestIsBatch_ABulksIDNamesAllItsJobs(t *testing.T) {
	for _, c := range []struct {
		asked, id string
		want      bool
	}{
		{"4711", "4711", true}, {"4711", "4711_3", true}, {"4711", "4711.3", true}, {"4711", "4711[3]", true},
		{"4711[]", "4711[3]", true}, {"4711[].pbs1", "4711[3]", true}, {"4711.pbs1", "4711", true},
		{"4711_3", "4711_3", true}, {"4711[3].pbs1", "4711[3]", true}, {"4711.3", "4711.3", true},
		{"4711_3", "4711_30", false}, {"4711_3", "4711_4", false}, {"4711", "47110", false}, {"4711", "47110_3", false},
		{"4711_3", "4711", false}, {"4711", "", false}, {"", "", false}, {"4711.3", "4711.4", false},
	} {
		if got := IsBatch(c.asked, c.id); got != c.want {
			t.Errorf("IsBatch(%q, %q) = %v, want %v", c.asked, c.id, got, c.want)
		}
	}
	for id, want := range map[string]string{"4711": "4711", "4711_3": "4711", "4711[3].pbs1": "4711", ".x": ".x"} {
		if got := BulkOf(id); got != want {
			t.Errorf("BulkOf(%q) = %q, want %q", id, got, want)
		}
	}
}

func TestRunsOn_HostsAndTimes(t *testing.T) {
	l := jjm.LocalJob{State: jjm.Running, Host: "node7.example.org", Started: 1000}
	for _, c := range []struct {
		host string
		at   jjm.Time
		want bool
	}{
		{"node7", 0, true}, {"node7.example.org", 0, true}, {"node", 0, false}, {"node70", 0, false},
		{"node7", 1000, true}, {"node7", 5000, true}, {"node7", 999, false},
	} {
		if got := RunsOn(&l, c.host, c.at, c.at); got != c.want {
			t.Errorf("RunsOn(%s, %d) = %v, want %v", c.host, c.at, got, c.want)
		}
	}
	if RunsOn(&l, "node7", 900, 999) || !RunsOn(&l, "node7", 900, 1000) {
		t.Error("a local job runs in a minute if it started before the end of the minute")
	}
	l.State = jjm.Submitted
	if RunsOn(&l, "node7", 0, 0) {
		t.Error("a queued local job runs on a host")
	}
}

func TestGridsOf_NumbersInNamesOfOutputs(t *testing.T) {
	for name, want := range map[string][]jjm.GridID{"mc.17.3.out.root": {17}, "out.root": nil, "v1.2.17.3.log": {2, 17},
		"17": nil, "a.0.3.b": nil, "": nil} {
		if got := GridsOf(name); !slices.Equal(got, want) {
			t.Errorf("GridsOf(%q) = %v, want %v", name, got, want)
		}
	}
}
