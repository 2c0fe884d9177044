package report

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// attemptsOn returns n attempts on a host that each ran for some seconds. The last failed ones failed.
func attemptsOn(host string, n, failed int, seconds, cpu int64) (out []attempt) {
	for i := range n {
		a := attempt{host: host, from: 1000, to: jjm.Time(1000 + 1000*seconds), cpu: cpu * 1000}
		if i >= n-failed {
			a.outcome = attemptFailed
		}
		out = append(out, a)
	}
	return out
}

func TestHosts_TheSlowOrFailingHostIsFirst(t *testing.T) {
	for name, c := range map[string]struct {
		attempts [][]attempt
		want     []string // hosts in order, each with its text
	}{
		"a slow host": {[][]attempt{attemptsOn("a", 4, 0, 10, 0), attemptsOn("b", 3, 0, 24, 0), attemptsOn("c", 4, 0, 10, 0)},
			[]string{"b: mean wall 2.4 times the mean of the other hosts", "a: ", "c: "}},
		"two slow attempts say nothing": {[][]attempt{attemptsOn("a", 5, 0, 10, 0), attemptsOn("b", 2, 0, 99, 0)},
			[]string{"a: ", "b: "}},
		"a failing host": {[][]attempt{attemptsOn("a", 10, 1, 10, 0), attemptsOn("b", 5, 2, 10, 0)},
			[]string{"b: share of failures 4.0 times the share of the other hosts", "a: "}},
		"only one host has failures": {[][]attempt{attemptsOn("a", 9, 0, 10, 0), attemptsOn("b", 6, 3, 10, 0)},
			[]string{"b: the other hosts have no failures", "a: "}},
		"one failure says nothing": {[][]attempt{attemptsOn("a", 9, 0, 10, 0), attemptsOn("b", 3, 1, 10, 0)},
			[]string{"b: ", "a: "}},
		"a single host":    {[][]attempt{attemptsOn("a", 9, 9, 10, 0)}, []string{"a: "}},
		"no host is named": {[][]attempt{attemptsOn("", 1, 0, 10, 0)}, []string{"unknown: "}},
		"no attempts":      {nil, nil},
	} {
		var h Hosts
		for _, on := range c.attempts {
			for i := range on {
				h.add(&on[i])
			}
		}
		all, leftOut := h.Figures()
		var got []string
		for _, f := range all {
			got = append(got, f.Host+": "+f.Odd)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || leftOut != 0 {
			t.Errorf("%s: %d left out, %s", name, leftOut, diff)
		}
	}
}

func TestHosts_FiguresOfAHost(t *testing.T) {
	var h Hosts
	on := append(attemptsOn("a", 3, 1, 90, 30), attemptsOn("a", 1, 0, 30, 0)...)
	on = append(on, attempt{host: "a", from: 1, to: 2, outcome: attemptRuns}, attempt{host: "a", from: 1, to: 9000,
		outcome: attemptKilled}, attempt{host: "b", outcome: attemptRuns})
	for i := range on {
		h.add(&on[i])
	}
	got, _ := h.Figures()
	want := []wire.HostFigures{{Host: "a", Running: 1, Ended: 4, Failed: 1, MeanWallMS: 75_000, MeanCPUMS: 30_000}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	rows := [][]string{{"a", "1", "4", "1", "25.0 %", "1 min 15 s", "30 s", "-"},
		{"c", "2", "0", "0", "-", "-", "-", "-"}}
	if diff := cmp.Diff(rows, HostRows(append(got, wire.HostFigures{Host: "c", Running: 2}))[1:]); diff != "" {
		t.Error(diff)
	}
	for i := range 2 * MostHosts {
		a := attemptsOn(fmt.Sprintf("n%d", i), 1, 0, 10, 0)
		h.add(&a[0])
	}
	if all, leftOut := h.Figures(); len(all) != MostHosts || leftOut != MostHosts+1 {
		t.Errorf("%d hosts, %d left out", len(all), leftOut)
	}
}
