package jjm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Silent reads the name of the cluster from the text that Outage wrote, whatever the reason says.
func TestProperty_SilentReadsWhatOutageWrote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z][a-z0-9_.-]{0,20}`).Draw(t, "cluster")
		why := rapid.OneOf(rapid.String(), rapid.Just("cluster x: it answers again")).Draw(t, "why")
		since := Time(rapid.Int64Range(0, 1<<42).Draw(t, "since"))
		en := Outage(name, since, why)
		if got := en.Silent(); got != name || (en.To == answers) != (why == "") || en.Source != SourceOutage {
			t.Fatalf("%q: %+v", got, en)
		}
		if got := Outage(name, since, "").beginning(); got.Silent() != name || got.To != silent ||
			got.Cause != strings.TrimSuffix(Outage(name, since, "x").Cause, ": x") {
			t.Fatalf("%+v", got)
		}
	})
	for _, en := range []JournalEntry{{}, {Source: SourceDaemon, Cause: "the daemon"},
		{Source: "order", Cause: Outage("a", 1, "x").Cause}, {Source: SourceOutage, Cause: "x"}} {
		if got := en.Silent(); got != "" {
			t.Errorf("%+v: %q", en, got)
		}
	}
}

// A daemon that starts every 5 seconds gets four entries in 10 minutes. Each start has an entry, or is counted by one.
func TestStarts_ACrashLoopGetsFewEntries(t *testing.T) {
	const all = 600 // in 50 minutes
	began := At(time.Date(2026, 11, 1, 3, 0, 0, 0, time.UTC))
	var s Starts
	var entries []JournalEntry
	for i := range all {
		next, add := s.Next(began.Add(time.Duration(i) * 5 * time.Second))
		entries = append(entries, add...)
		s = next
		shown := s.WithRest(entries, 0)
		if last := shown[len(shown)-1]; last.Time != began.Add(time.Duration(i)*5*time.Second) {
			t.Fatalf("start %d is not the last entry: %+v", i, last)
		}
	}
	if len(entries) != 4+5*startsShown || s.More != 117 {
		t.Fatalf("%d entries, %+v", len(entries), s)
	}
	for i, want := range []string{"the daemon", "the daemon", "the daemon", "the daemon, after 116 other starts since " +
		began.Local(), "the daemon"} {
		if e := entries[i]; e.Cause != want || e.Source != SourceDaemon || e.To != "started" {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
}

// The fourth start within ten minutes is marked, also before the next one: in order of time among the other entries.
func TestStarts_TheFourthStartIsMarked(t *testing.T) {
	var s Starts
	var entries []JournalEntry
	for i := range startsShown + 1 {
		next, add := s.Next(Time(1000 + i))
		s, entries = next, append(entries, add...)
	}
	order := JournalEntry{Time: 5000, To: "paused", Source: "order"}
	got := s.WithRest(append(entries, order), 0)
	if len(got) != startsShown+2 || got[startsShown].Time != 1003 || got[startsShown].Cause != "the daemon" ||
		got[startsShown+1] != order {
		t.Errorf("%+v", got)
	}
	if got := s.WithRest(append(entries, order), 2); len(got) != 2 || got[0].Time != 1003 {
		t.Errorf("the last 2: %+v", got)
	}
	next, add := s.Next(1000 + Time(startsSpan.Milliseconds()))
	if len(add) != 2 || add[0].Time != 1003 || len(next.Rest()) != 0 {
		t.Errorf("%+v, then %+v", add, next)
	}
}

// A clock that was set back does not silence the journal.
func TestStarts_AClockSetBackGetsAnEntry(t *testing.T) {
	if next, add := (Starts{Since: 1_000_000}).Next(5); len(add) != 1 || next.Since != 5 {
		t.Errorf("%+v, %+v", next, add)
	}
}

// An outage that began before the time from is shown from this time on, with its beginning in the entries or without.
func TestDuring_ShowsAnOutageFromTheBeginning(t *testing.T) {
	at := func(t Time, en JournalEntry) JournalEntry { en.Time = t; return en }
	began, ended := at(5, Outage("a", 1, "no route")), at(30, Outage("a", 1, ""))
	again := at(40, Outage("a", 35, "no route"))
	guessed := at(10, Outage("a", 1, "").beginning())
	order := JournalEntry{Time: 20, To: "paused", Source: "order"}
	for name, c := range map[string]struct{ entries, want []JournalEntry }{
		"began before":               {[]JournalEntry{began, order, ended}, []JournalEntry{at(10, began), order, ended}},
		"never ended":                {[]JournalEntry{began, order}, []JournalEntry{at(10, began), order}},
		"only the end is known":      {[]JournalEntry{order, ended, again}, []JournalEntry{guessed, order, ended, again}},
		"over before":                {[]JournalEntry{at(1, began), at(3, ended), order}, []JournalEntry{order}},
		"within":                     {[]JournalEntry{at(12, began), ended}, []JournalEntry{at(12, began), ended}},
		"after":                      {[]JournalEntry{at(51, began), at(60, ended)}, nil},
		"of a cluster of other jobs": {[]JournalEntry{at(5, Outage("b", 1, "x")), at(30, Outage("b", 1, ""))}, nil},
	} {
		if got := During(c.entries, []LocalJob{{Cluster: "a"}}, 10, 50); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
}
