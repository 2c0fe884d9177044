package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// A report shows what each local job requests against what the attempts used, as a table and as bars.
func TestReport_RequestedAgainstUsed(t *testing.T) {
	d := reportOf(0)
	d.Status.Request = jjm.Request{Cores: 2, MemoryMB: 1000}
	want := []Resource{{Name: "cores", Requested: "2"}, {Name: "memory", Requested: "1000 MiB"},
		{Name: "walltime", Requested: "not set"}}
	if diff := cmp.Diff(want, Resources(&d.Status, false)); diff != "" {
		t.Error(diff)
	}
	d.Status.Lookup.Usage = &jjm.Usage{UserMS: 40_000, SysMS: 10_000, WallMS: 50_000, MaxRSSKB: 250 * 1024, Ended: 1}
	table := [][]string{{"RESOURCE", "REQUESTED", "USED"},
		{"cores", "2", "50 s of processor time, 50.0 % of the cores"},
		{"memory", "1000 MiB", "250 MiB at most, 25.0 %"}, {"walltime", "not set", "50 s in all"}}
	if diff := cmp.Diff(table, d.Resources()); diff != "" {
		t.Error(diff)
	}
	text := pageOf(t, d)
	for _, bar := range []string{`class="used" width="50"`, `class="used" width="25"`} {
		if !strings.Contains(text, bar) {
			t.Errorf("no bar %s in\n%s", bar, text)
		}
	}
	one := wire.Status{Request: jjm.Request{MemoryMB: 1}, Detail: &wire.LocalDetail{Used: d.Status.Lookup.Usage}}
	if got := Resources(&one, true)[1]; got.Percent != 100 || got.Used != "250 MiB at most, 25000.0 %" {
		t.Errorf("more than requested: %+v", got)
	}
}
