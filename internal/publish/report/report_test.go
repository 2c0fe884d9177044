package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// t0 is the time at which the grid jobs of the tests were accepted.
var t0 = time.Unix(1_700_000_000, 0)

// reportOf returns the data of a report on n attempts. Every tenth attempt failed, on the host bad.
func reportOf(n int) *Data {
	d := &Data{Now: jjm.At(t0.Add(24 * time.Hour)), Words: map[string][]string{}}
	d.Status.Lookup = wire.Lookup{ID: 17, Status: "finished", Counts: wire.Counts{Expected: n, Total: n,
		Completed: n - n/10, Failed: n / 10}}
	d.Status.Accepted, d.Status.Ended = jjm.At(t0), jjm.At(t0.Add(20*time.Hour))
	for i := range n {
		from := jjm.At(t0.Add(time.Duration(i%3600) * 10 * time.Second))
		a := attempt{id: fmt.Sprintf("17.%d", i), local: int32(i), host: fmt.Sprintf("node%d", i%100), from: from,
			to: from.Add(time.Duration(1+i%60) * time.Minute)}
		if i%10 == 9 {
			a.outcome, a.wasted, a.host = attemptFailed, true, "bad"
		}
		d.attempts = append(d.attempts, a)
	}
	return d
}

// pageOf returns the page of a report. It fails the test if the page is not well-formed, as far as XML and HTML agree.
func pageOf(t *testing.T, d *Data) string {
	t.Helper()
	var b bytes.Buffer
	if err := d.WritePage(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	_, svg, _ := strings.Cut(text, "<svg")
	svg, _, found := strings.Cut("<svg"+svg, "</svg>")
	if !found {
		t.Fatal("no timeline")
	}
	dec := xml.NewDecoder(strings.NewReader(svg + "</svg>"))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return text
		} else if err != nil {
			t.Fatalf("the timeline is not well-formed: %v", err)
		}
	}
}

func TestReport_APageOfManyLocalJobsIsSmall(t *testing.T) {
	for _, n := range []int{0, 1, mostBars, mostBars + 1, 100_000} {
		text := pageOf(t, reportOf(n))
		if len(text) > 1<<20 {
			t.Errorf("%d local jobs: %d bytes", n, len(text))
		}
		if said := strings.Contains(text, "each column shows how many"); said != (n > mostBars) {
			t.Errorf("%d local jobs: the page says that it draws columns: %v", n, said)
		}
		if bars := strings.Count(text, "<rect"); n <= mostBars && bars != n || bars > 4*timeColumns && n > mostBars {
			t.Errorf("%d local jobs: %d bars", n, bars)
		}
	}
}

// After a crash the page in a tar is made again. This may be much later, so the page must not depend on the time at
// which it is made.
func TestReport_APageDoesNotDependOnTheTimeOfItsMaking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := reportOf(20)
		now := jjm.At(time.Now())
		d.Status.Accepted, d.Status.Ended, d.Now = now.Add(-time.Hour), now, now
		for i := range d.attempts {
			d.attempts[i].from, d.attempts[i].to = now.Add(-time.Minute), now
		}
		d.Changes = []jjm.JournalEntry{{Time: now, First: -1, From: "ongoing", To: "finished"}}
		first := pageOf(t, d)
		time.Sleep(48 * time.Hour)
		if diff := cmp.Diff(first, pageOf(t, d)); diff != "" {
			t.Errorf("the page made again two days later is another: %s", diff)
		}
	})
}

func TestReport_HostileTextsAreInert(t *testing.T) {
	const evil = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\u202eevil"
	d := reportOf(3)
	d.Status.Name, d.Status.Owner, d.Status.Lookup.Message, d.attempts[0].host = evil, evil, evil, evil
	d.Status.Causes = []jjm.Cause{{Text: evil, Jobs: 1, First: "17.1", Exit: 3}}
	d.Words["17.1"] = []string{evil}
	d.Status.Endings = []wire.Ending{{Generation: 1, Status: evil, Message: evil, By: evil, Why: evil, Ended: d.Now}}
	d.Changes = []jjm.JournalEntry{{Time: d.Now, First: -1, To: evil, Cause: evil, Actor: evil}}
	text := pageOf(t, d)
	for _, bad := range []string{"<script", "<img", "\x1b", "\u202e", "http:", "https:", "src=\"", "href="} {
		if strings.Contains(strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if !strings.Contains(text, "&lt;script&gt;") {
		t.Error("the texts are missing")
	}
}

func TestReport_FiguresOfAttempts(t *testing.T) {
	d := reportOf(100)
	d.attempts[0].outcome, d.attempts[1].outcome = attemptRuns, attemptKilled
	hosts, leftOut := d.hosts()
	if h := hosts[0]; h.Host != "bad" || h.Ended != 10 || h.Failed != 10 {
		t.Errorf("the worst host is %+v", h)
	}
	// 88 hosts have one completed attempt each, the host node0 has a running attempt, and host bad has the failed
	// attempts. The report lists 20 of these hosts.
	if len(hosts) != MostHosts || leftOut != 70 {
		t.Errorf("%d hosts, %d left out", len(hosts), leftOut)
	}
	slowest, fastest := d.extremes()
	if len(slowest) != 5 || len(fastest) != 5 || slowest[0].wall() < slowest[1].wall() ||
		fastest[0].wall() > fastest[1].wall() || slowest[4].wall() < fastest[4].wall() {
		t.Errorf("slowest %v, fastest %v", slowest, fastest)
	}
	d = &Data{attempts: []attempt{{from: 1000, to: 61_000}, {from: 1000, to: 21_000, outcome: attemptFailed,
		wasted: true}, {from: 1000, to: 1000, outcome: attemptRuns}}, leftOut: 2}
	want := [][2]string{{"attempts", "1 done, 1 failed, 0 killed, 1 running"}, {"wall", "1 min 20 s"},
		{"CPU", "known once the grid job is over"},
		{"wasted", "20 s of wall, 25.0 %: attempts whose work is not needed"},
		{"left out", "the earlier attempts of 2 local jobs: more than 5000 local jobs had several attempts"}}
	if diff := cmp.Diff(want, d.totals()); diff != "" {
		t.Error(diff)
	}
	const year = 365 * 24 * 60 * 60 * 1000
	for range 1000 {
		d.attempts = append(d.attempts, attempt{from: 1, to: 1 + year, outcome: attemptFailed, wasted: true, host: "n"})
	}
	if got := d.totals(); got[1][1] != "365000 d" || !strings.HasPrefix(got[3][1], "365000 d of wall, 99.9 %") {
		t.Errorf("the sum of 1000 years is %q", got)
	}
	if slowest, fastest = d.extremes(); len(slowest) != 1 || len(fastest) != 0 {
		t.Errorf("one attempt is done: slowest %v, fastest %v", slowest, fastest)
	}
}

func TestReport_AttemptsOfLocalJobs(t *testing.T) {
	const now = 90_000
	l := func(st jjm.State, ph jjm.Phase, ended jjm.Time) *jjm.LocalJob {
		return &jjm.LocalJob{ID: jjm.LocalID{Grid: 17, N: 3}, State: st, Phase: ph, Host: "n", Started: 1000, Ended: ended}
	}
	for _, c := range []struct {
		of     *jjm.LocalJob
		want   outcome
		to     jjm.Time
		wasted bool
	}{
		{l(jjm.Completed, "", 5000), attemptDone, 5000, false},
		{l(jjm.Completing, jjm.Merging, 5000), attemptDone, 5000, false},
		{l(jjm.Failed, "", 5000), attemptFailed, 5000, true},
		{l(jjm.Killed, "", 5000), attemptKilled, 5000, true},
		{l(jjm.Submitting, jjm.RetryWait, 5000), attemptFailed, 5000, true},
		{l(jjm.Running, "", 0), attemptRuns, now, false},
	} {
		got := attemptOfLocal(c.of, now)
		want := attempt{id: "17.3", local: 3, host: "n", from: 1000, to: c.to, outcome: c.want, wasted: c.wasted}
		if got != want {
			t.Errorf("%v/%v: %+v, want %+v", c.of.State, c.of.Phase, got, want)
		}
	}
	for _, c := range []struct {
		v      *jjm.Verdict
		want   outcome
		wasted bool
	}{
		{nil, attemptRuns, false},
		{&jjm.Verdict{Action: jjm.Complete}, attemptDone, false},
		{&jjm.Verdict{Action: jjm.Cancel}, attemptKilled, true},
		{&jjm.Verdict{Action: jjm.Fail}, attemptFailed, true},
		{&jjm.Verdict{Action: jjm.Retry}, attemptFailed, true},
		{&jjm.Verdict{Action: jjm.Retry, Handled: true}, attemptFailed, false},
	} {
		a := attemptOfHistory(l(jjm.Failed, "", 1), []wire.Attempt{{Started: 1, Ended: 2, Verdict: c.v}}, 0, now)
		if a.outcome != c.want || a.wasted != c.wasted {
			t.Errorf("%+v: %v, wasted %v", c.v, a.outcome, a.wasted)
		}
	}
}

func TestReport_TheTimelineMarksStartsOfTheDaemonDuringTheGridJob(t *testing.T) {
	d := reportOf(3)
	start := func(after time.Duration) jjm.JournalEntry {
		return jjm.JournalEntry{Time: jjm.At(t0.Add(after)), First: -1, To: "started", Source: jjm.SourceDaemon}
	}
	order := jjm.JournalEntry{Time: jjm.At(t0.Add(time.Hour)), First: -1, To: "paused", Source: "order"}
	d.SetJournal(nil, []jjm.JournalEntry{start(-time.Hour), order, start(10 * time.Hour), start(21 * time.Hour)})
	text := pageOf(t, d)
	if n := strings.Count(text, `<line class="mark start"`); n != 1 {
		t.Errorf("%d marks, want one: of the start between the acceptance and the end", n)
	}
	if !strings.Contains(text, `<line class="mark start" x1="500.00"`) {
		t.Error("the start in the middle of the grid job is not marked in the middle of the timeline")
	}
}

func TestReport_TheTimelineMarksAtMostSoManyStarts(t *testing.T) {
	d := reportOf(3)
	for i := range mostEvents + 7 {
		d.Orders = append(d.Orders, jjm.JournalEntry{Time: jjm.At(t0.Add(time.Duration(i) * time.Minute)),
			Source: jjm.SourceDaemon})
	}
	marks := d.siteMarks(func(at jjm.Time) float64 { return float64(at) })
	if len(marks) != mostEvents || marks[0].X != float64(jjm.At(t0.Add(7*time.Minute))) {
		t.Errorf("%d marks, the first at %v", len(marks), marks[0].X)
	}
}

// An outage is marked only if the grid job has local jobs on the cluster.
func TestReport_TheTimelineMarksOutagesOfItsClusters(t *testing.T) {
	d := reportOf(3)
	outage := func(cluster, why string, after time.Duration) jjm.JournalEntry {
		en := jjm.Outage(cluster, jjm.At(t0.Add(after-time.Minute)), why)
		en.Time = jjm.At(t0.Add(after))
		return en
	}
	const own = "slurm"
	d.Locals = append(d.Locals, jjm.LocalJob{Cluster: own})
	d.SetJournal(nil, []jjm.JournalEntry{outage(own, "squeue: <timed out>", 2*time.Hour),
		outage("other", "x", 3*time.Hour), outage(own, "", 4*time.Hour)})
	text := pageOf(t, d)
	if n := strings.Count(text, `<line class="mark outage"`); n != 2 || strings.Contains(text, "cluster other") {
		t.Errorf("%d marks of outages, want 2", n)
	}
	for _, want := range []string{"silent: cluster " + own + ": it has answered no listing since ",
		": squeue: &lt;timed out&gt;</title>", "answers: cluster " + own + ": it answers again after an outage since "} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
