package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// topOf returns a view of n grid jobs, the newest first.
func topOf(n int) *topView {
	v := &topView{now: t0, data: topData{At: jjm.At(t0), Clusters: clustersOfBed()}}
	for id := n; id > 0; id-- {
		st := state("running", wire.Counts{Expected: 100, Total: 100, Completed: id % 90, Failed: id % 7, Running: 3})
		st.Lookup.ID, st.Name, st.Owner = jjm.GridID(id), fmt.Sprintf("mc%03d", n-id), []string{"alice", "bob"}[id%2]
		v.data.Jobs = append(v.data.Jobs, topJob{st, float64(id % 5)})
	}
	return v
}

func texts(lines []topLine) (out []string) {
	for _, l := range lines {
		out = append(out, l.text)
	}
	return out
}

func TestTop_AFrameFitsTheScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := topOf(rapid.IntRange(0, 600).Draw(t, "jobs"))
		for i := range v.data.Jobs {
			v.data.Jobs[i].Name = rapid.String().Draw(t, "name")
			if i == 3 {
				break
			}
		}
		keys := []string{"j", "k", "end", "home", "page down", "page up", "s", "?", "escape", "/", "enter", "b", "backspace"}
		width, height := rapid.IntRange(1, 200).Draw(t, "width"), rapid.IntRange(1, 60).Draw(t, "height")
		for _, key := range rapid.SliceOfN(rapid.SampledFrom(keys), 0, 20).Draw(t, "keys") {
			if v.typing {
				v.typeFilter(key)
			} else {
				v.key(key)
			}
			lines := v.frame(width, height)
			if len(lines) != height {
				t.Fatalf("%d lines, want %d", len(lines), height)
			}
			for _, l := range lines {
				if utf8.RuneCountInString(l.text) > width || plain.Printable(l.text) != l.text {
					t.Fatalf("width %d: %q", width, l.text)
				}
			}
			there := v.selected != 0 && !v.helped && v.position(v.rows()) >= 0
			if height > 12 && there && !slices.Contains(v.shown, v.selected) {
				t.Fatalf("the selected grid job %s is not on the screen: %v", v.selected, v.shown)
			}
		}
	})
}

// A small screen shows the most important lines first: counts, the cluster in trouble, what to do, a grid job.
func TestTop_ASmallScreenHasTheMostImportantLines(t *testing.T) {
	for _, c := range []struct {
		width, height int
		want          []string
	}{
		{80, 24, []string{"   do: scontrol ping shows whether it runs", " local", ">30"}},
		{40, 8, []string{"9 running, 2 failed, 5 of 10 done, 0 hel", "farm breaker open, next probe", "local ok, 2 running",
			"   do: scontrol ping", ">30", "q: quit"}},
		{20, 5, []string{"9 running, 2 failed,", "farm breaker open, n", ">30", "q: quit"}},
		{20, 3, []string{"9 running, 2 failed,", "farm breaker open, n", "q: quit"}},
		{20, 2, []string{"9 running, 2 failed,", "farm breaker open, n"}},
		{20, 1, []string{"9 running, 2 failed,"}},
		{1, 1, []string{"9"}},
	} {
		v := topOf(30)
		v.selected = 30
		v.data.Counts = wire.Counts{Running: 9, Failed: 2, Completed: 5, Expected: 10}
		got := strings.Join(texts(v.frame(c.width, c.height)), "\n")
		for _, want := range c.want {
			if !strings.Contains("\n"+got, "\n"+want) {
				t.Errorf("%d x %d: no line begins with %q:\n%s", c.width, c.height, want, got)
			}
		}
		v.lost = "since 14:20 no daemon answers"
		if got := v.frame(c.width, c.height); !strings.HasPrefix(got[len(got)-1].text, "s") {
			t.Errorf("%d x %d: the last line does not say that no daemon answers: %v", c.width, c.height, texts(got))
		}
	}
}

func TestTop_TheColumnsFitInto80(t *testing.T) {
	v := topOf(1)
	j := &v.data.Jobs[0]
	j.Lookup.ID, j.Lookup.Counts = 123456, wire.Counts{Expected: 100000, Total: 100000, Completed: 50000, Failed: 25000}
	j.Name, j.Owner, j.PerMinute = "a long name of a grid job", "alice", 1234
	j.ExpectedEnd = &wire.ExpectedEnd{At: jjm.At(t0.Add(48 * time.Hour))}
	lines := texts(v.frame(80, 0))
	got := strings.Fields(lines[len(lines)-1])
	want := []string{"123456", "a",
		"long…", "alice", "running", "50000/100000", "=====!!...", "25000", "1234", "Nov", "16"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTop_KeysSortFilterAndSelect(t *testing.T) {
	v := topOf(30)
	v.frame(80, 24)
	ids := func() (ids []string) {
		for _, j := range v.rows()[:min(3, len(v.rows()))] {
			ids = append(ids, j.Lookup.ID.String())
		}
		return ids
	}
	for _, c := range []struct {
		keys     string
		want     []string
		selected jjm.GridID
	}{
		{"j j", []string{"30", "29", "28"}, 29},
		{"k k k", []string{"30", "29", "28"}, 30},
		{"end", []string{"30", "29", "28"}, 1},
		{"home s s", []string{"30", "28", "26"}, 30}, // by user: alice has the even ids
		{"s", []string{"30", "29", "28"}, 30},        // by share done; id % 90 + id % 7 is over
		{"/ M C 0 0 1 enter", []string{"29"}, 0},
		{"j", []string{"29"}, 29},
		{"/ x", nil, 0},
		{"escape s s s", []string{"30", "29", "28"}, 0},
	} {
		for _, key := range strings.Fields(c.keys) {
			if v.typing {
				v.typeFilter(key)
			} else {
				v.key(key)
			}
		}
		v.frame(80, 24)
		if diff := cmp.Diff(c.want, ids()); diff != "" && c.keys != "s" {
			t.Errorf("%s: %s", c.keys, diff)
		}
		if v.selected != c.selected {
			t.Errorf("%s: %s is selected, want %s", c.keys, v.selected, c.selected)
		}
	}
}

func TestTop_KeysOfATerminal(t *testing.T) {
	got := keysOf("j\x1b[A\x1bOB\x1b[5~\r\x7fé\x1b[200~\x03\x1b[1;5C\xff\x1b")
	want := []string{"j", "up", "down", "page up", "enter", "backspace", "é", "ctrl-c", "escape"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	rapid.Check(t, func(t *rapid.T) {
		for _, key := range keysOf(string(rapid.SliceOf(rapid.Byte()).Draw(t, "input"))) {
			if plain.Printable(key) != key || key == "" {
				t.Fatalf("key %q", key)
			}
		}
	})
}

func TestTop_RatesAreThoseOfTheLastMinutes(t *testing.T) {
	m := topMeter{jobs: map[jjm.GridID]*topPace{}}
	at := func(s int) jjm.Time { return jjm.At(t0.Add(time.Duration(s) * time.Second)) }
	job := func(id jjm.GridID, accepted jjm.Time, n wire.Counts) wire.Status {
		st := state("running", n)
		st.Lookup.ID, st.Accepted = id, accepted
		return st
	}
	old := job(1, 1, wire.Counts{Total: 100, Completed: 40, Running: 10})
	if r := m.add(at(0), []wire.Status{old}); r != nil {
		t.Errorf("a rate from one answer: %v", r)
	}
	if got := m.perMinute(&old); got != 0 {
		t.Errorf("%v per minute from one answer", got)
	}
	old.ExpectedEnd = &wire.ExpectedEnd{Ended: 30, Within: jjm.Duration(10 * time.Minute)}
	if got := m.perMinute(&old); got != 3 {
		t.Errorf("%v per minute by the daemon, want 3", got)
	}
	// 10 local jobs ended, 5 of them failed. A new grid job submitted 20, and an unknown older grid job had submitted 50
	// before.
	old.Lookup.Counts = wire.Counts{Total: 100, Completed: 45, Failed: 5, Running: 10}
	fresh, other := job(2, at(20), wire.Counts{Total: 20, Submitted: 20}), job(3, 1, wire.Counts{Total: 50, Running: 50})
	got := m.add(at(30), []wire.Status{old, fresh, other})
	if diff := cmp.Diff(&topRates{Submitted: 60, Ended: 20, Failed: 10}, got); diff != "" {
		t.Error(diff)
	}
	if got := m.perMinute(&old); got != 20 {
		t.Errorf("%v per minute, want 20", got)
	}
	// Local jobs that are tried again count as submitted again, and nothing is negative.
	old.Lookup.Counts = wire.Counts{Total: 100, Completed: 45, Submitting: 5, Running: 10}
	m.add(at(45), []wire.Status{old, fresh, other})
	old.Lookup.Counts = wire.Counts{Total: 100, Completed: 45, Running: 15}
	got = m.add(at(60), []wire.Status{old, fresh, other})
	if diff := cmp.Diff(&topRates{Submitted: 35, Ended: 10, Failed: 5}, got); diff != "" {
		t.Error(diff)
	}
	// Marks that are older than the window are forgotten.
	for s := 62; s <= 400; s += 2 {
		got = m.add(at(s), []wire.Status{old, fresh, other})
	}
	if diff := cmp.Diff(&topRates{}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTop_TheBarShowsTheCounts(t *testing.T) {
	for _, c := range []struct {
		n    wire.Counts
		want string
	}{
		{wire.Counts{}, ".........."},
		{wire.Counts{Expected: 10, Completed: 10}, "=========="},
		{wire.Counts{Expected: 10, Total: 8, Completed: 3, Failed: 1, Killed: 1, Running: 2, Completing: 1}, "===!!>>>.."},
		{wire.Counts{Total: 1000, Completed: 999}, "=========."},
	} {
		if got := countBar(c.n, 10); got != c.want {
			t.Errorf("%+v: %q, want %q", c.n, got, c.want)
		}
	}
}

func TestTop_WhyShowsCausesAndRemedies(t *testing.T) {
	v := topOf(1)
	v.reasonsOf = 1
	v.reasons = whyLines(wire.Why{ID: 1, Grid: &wire.Cause{Code: "after", Text: "grid job 9\x1b[2J is not over"},
		Causes: []wire.Cause{{Code: "held", Text: "disk full", Remedy: "jjm release 1", Jobs: 3, First: "1.4"}}, LeftOut: 2})
	got := strings.Join(texts(v.frame(80, 24)), "\n")
	for _, want := range []string{"after: grid job 9\\x1b[2J is not over", "held: 3 local jobs, such as 1.4: disk full",
		"do: jjm release 1", "others: 2 local jobs with other causes", "escape: back"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
