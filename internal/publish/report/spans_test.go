package report

import (
	"slices"
	"strings"
	"testing"

	"jjm/internal/jjm"
)

// most is a bound of spans for the tests.
const most = 24

func TestSpans_OfAttempts(t *testing.T) {
	var entries []jjm.JournalEntry
	move := func(at jjm.Time, from, to string) {
		entries = append(entries, jjm.JournalEntry{Time: at, Grid: 1, First: 2, Last: 2, From: from, To: to})
	}
	move(10, "new", "submitting")
	move(20, "submitting", "submitting/doubtful")
	move(30, "submitting/doubtful", "submitted/queued")
	move(40, "submitted/queued", "running")
	move(50, "running", "running") // an entry that changes no state
	move(60, "running", "submitting/retry-wait")
	move(70, "submitting/retry-wait", "submitted/queued")
	move(80, "submitted/queued", "running")
	entries = append(entries, jjm.JournalEntry{Time: 85, Grid: 1, First: -1, Last: -1, From: "ready", To: "running"})
	got := Spans(entries, 2, 100, most)
	want := []Span{{"queued", 0, 10, 40}, {"running", 0, 40, 60}, {"queued", 1, 60, 80}, {"running", 1, 80, 100}}
	if !slices.Equal(got, want) || len(Spans(entries, 3, 100, most)) > 0 {
		t.Errorf("%v, want %v", got, want)
	}
	move(90, "running", "failed/application")
	if got := Spans(entries, 2, 100, most); got[3].To != 90 {
		t.Errorf("an ended attempt: %v", got)
	}
	for at := jjm.Time(1000); at < 1200; at += 2 {
		move(at, "failed", "submitting")
		move(at+1, "submitting", "failed")
	}
	if got := Spans(entries, 2, 9999, most); len(got) != most || got[most-1].Attempt != 101 {
		t.Errorf("%d spans, want the last %d: %v", len(got), most, got)
	}
}

// The journal has one entry for many local jobs that change at the same time.
func TestSpans_OfRanges(t *testing.T) {
	entries := []jjm.JournalEntry{{Time: 10, Grid: 1, First: 0, Last: 9, From: "new", To: "submitting"},
		{Time: 20, Grid: 1, First: 0, Last: 9, From: "submitting", To: "submitted"},
		{Time: 30, Grid: 1, First: 4, Last: 5, From: "submitted", To: "running"},
		{Time: 40, Grid: 1, First: 5, Last: 5, From: "running", To: "completed"}}
	for n, want := range map[int32][]Span{
		3: {{"queued", 0, 10, 100}}, 4: {{"queued", 0, 10, 30}, {"running", 0, 30, 100}},
		5: {{"queued", 0, 10, 30}, {"running", 0, 30, 40}}, 10: nil,
	} {
		if got := Spans(entries, n, 100, most); !slices.Equal(got, want) {
			t.Errorf("local job %d: %v, want %v", n, got, want)
		}
	}
}

func TestStarted_AShortRunIsShown(t *testing.T) {
	for name, c := range map[string]struct {
		spans []Span
		at    jjm.Time
		want  []Span
	}{
		"a short run":     {[]Span{{"queued", 1, 10, 40}}, 30, []Span{{"queued", 1, 10, 30}, {"running", 1, 30, 40}}},
		"never started":   {[]Span{{"queued", 0, 10, 40}}, 0, []Span{{"queued", 0, 10, 40}}},
		"another attempt": {[]Span{{"queued", 1, 10, 40}}, 5, []Span{{"queued", 1, 10, 40}}},
		"it is running":   {[]Span{{"running", 0, 10, 40}}, 20, []Span{{"running", 0, 10, 40}}},
		"nothing known":   {nil, 20, nil},
	} {
		if got := Started(c.spans, c.at); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// The timeline of the report shows how long each attempt was queued, and how long its result was collected.
func TestReport_TheTimelineShowsQueuesAndCollections(t *testing.T) {
	entry := func(at jjm.Time, from, to string) jjm.JournalEntry {
		return jjm.JournalEntry{Time: at, First: 0, Last: 0, From: from, To: to}
	}
	d := &Data{Now: 200_000, Status: reportOf(0).Status}
	d.Status.Accepted, d.Status.Ended = 1000, 101_000
	d.attempts = []attempt{{id: "17.0", from: 11_000, to: 21_000, outcome: attemptFailed},
		{id: "17.0", n: 1, from: 41_000, to: 61_000}}
	d.SetJournal([]jjm.JournalEntry{entry(1000, "new", "submitting"), entry(11_000, "submitted/queued", "running"),
		entry(21_000, "running", "submitting/retry-wait"), entry(41_000, "submitted/queued", "running"),
		entry(61_000, "running", "completing/collecting"), entry(71_000, "completing", "completed")}, nil)
	var got []string
	for _, b := range d.chart().Bars {
		got = append(got, b.Class, b.Title)
	}
	want := []string{"queued", "", "failed", "17.0 attempt 0 on : failed after 10 s, queued 10 s", "queued", "",
		"collecting", "", "done", "17.0 attempt 1 on : done after 20 s, queued 20 s, collected in 10 s"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if text := pageOf(t, d); strings.Count(text, `class="queued"`) != 2 || strings.Count(text, `class="collecting"`) != 1 {
		t.Errorf("%s", text)
	}
}
