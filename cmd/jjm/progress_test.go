package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

var t0 = time.Unix(1_700_000_000, 0)

func state(status string, n wire.Counts, phases ...jjm.Progress) wire.Status {
	return wire.Status{Lookup: wire.Lookup{ID: 17, Status: status, Counts: n}, Phases: phases}
}

func TestBarLine_ShowsLessWhereThereIsLessRoom(t *testing.T) {
	st := state("running", wire.Counts{Expected: 250, Total: 250, Completed: 110, Failed: 2, Running: 20},
		jjm.Progress{Phase: "simulate", Done: 2340, Total: 5000})
	p := &pace{}
	p.add(t0, 0.4)
	p.add(t0.Add(10*time.Minute), fraction(st))
	now := t0.Add(10 * time.Minute)
	for _, c := range []struct {
		width int
		want  string
	}{
		{140, "job 17 []  48.5%  110/250  2 failed  20 running  ETA 1 h  simulate 2340 of 5000  2.1/min"},
		{80, "job 17 []  48.5%  110/250  2 failed  20 running  ETA 1 h"},
		{60, "job 17 []  48.5%  110/250  2 failed  20 running"},
		{40, "job 17 []  48.5%  110/250"},
		{20, "job 17  48.5%"},
		{8, "job 17 "},
		{1, ""},
	} {
		got := barLine(st, p, now, c.width)
		if utf8.RuneCountInString(got) > max(c.width-1, 0) {
			t.Errorf("width %d: %d columns: %q", c.width, utf8.RuneCountInString(got), got)
		}
		if strip := func(s string) string { return strings.Map(dropBar, s) }; strip(got) != strip(c.want) {
			t.Errorf("width %d:\n got %q\nwant %q", c.width, got, c.want)
		}
	}
}

// dropBar removes the characters of a progress bar from a line, so that the rest can be compared. It is a mapping for
// strings.Map.
func dropBar(r rune) rune {
	if strings.ContainsRune("=> ", r) {
		return -1
	}
	return r
}

func TestBarLine_SaysWhatIsGoingOn(t *testing.T) {
	for _, c := range []struct {
		name string
		st   wire.Status
		want string
	}{
		{"nothing known", state("registered", wire.Counts{}),
			"[>                                       ]    0%  0/0  registered"},
		{"waiting", state("pending", wire.Counts{Expected: 4}), "0%  0/4  pending"},
		{"one job by its phase", state("running", wire.Counts{Expected: 1, Total: 1, Running: 1},
			jjm.Progress{Phase: "simulate", Done: 117, Total: 250}),
			"46.8%  0/1  1 running  simulate 117 of 250"},
		{"a phase without an end", state("running", wire.Counts{Expected: 1, Total: 1, Running: 1},
			jjm.Progress{Phase: "scan", Done: 5}), "0%  0/1  1 running  scan 5"},
		{"almost", state("running", wire.Counts{Expected: 1000, Completed: 999, Running: 1}), "99.9%  999/1000"},
		{"collecting", state("prepared", wire.Counts{Expected: 2, Total: 2, Completed: 2}), "100%  2/2  collecting output"},
		{"done", state("done", wire.Counts{Expected: 2, Total: 2, Completed: 2}),
			"[========================================]  100%  2/2"},
		{"hostile phase", state("running", wire.Counts{Expected: 1, Running: 1}, jjm.Progress{Phase: "\x1b[2J\r\n"}),
			`\x1b[2J\r\n`},
		{"more than all", state("running", wire.Counts{Expected: 1, Completed: 5}), "100%  5/1"},
	} {
		if got := barLine(c.st, &pace{}, t0, 120); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q in it", c.name, got, c.want)
		}
	}
}

func TestBarLine_NeverWrapsNorControlsTheTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1000)
		st := state(rapid.SampledFrom([]string{"running", "done", "pending", "?"}).Draw(t, "status"),
			wire.Counts{Expected: n.Draw(t, "e"), Total: n.Draw(t, "t"), Completed: n.Draw(t, "c"), Failed: n.Draw(t, "f"),
				Running: n.Draw(t, "r")},
			jjm.Progress{Phase: rapid.String().Draw(t, "phase"), Done: int64(n.Draw(t, "d")), Total: int64(n.Draw(t, "o"))})
		p := &pace{}
		for i := range 3 {
			p.add(t0.Add(time.Duration(i)*time.Minute), rapid.Float64Range(0, 1).Draw(t, "done"))
		}
		width := rapid.IntRange(1, 200).Draw(t, "width")
		line := barLine(st, p, t0.Add(3*time.Minute), width)
		if utf8.RuneCountInString(line) >= width && width > 1 {
			t.Fatalf("%d columns of %d: %q", utf8.RuneCountInString(line), width, line)
		}
		if plain.Printable(line) != line {
			t.Fatalf("%q", line)
		}
	})
}

func TestBar_FillsFromEmptyToFull(t *testing.T) {
	for _, c := range []struct {
		f    float64
		want string
	}{{0, ">    "}, {0.2, "=>   "}, {0.99, "====>"}, {1, "====="}, {2, "====="}} {
		if got := bar(c.f, 5); got != c.want {
			t.Errorf("bar(%v) = %q, want %q", c.f, got, c.want)
		}
	}
}

func TestPace_EstimatesFromTheLastMinutes(t *testing.T) {
	p := &pace{}
	if _, ok := p.left(t0); ok {
		t.Error("an estimate from nothing")
	}
	p.add(t0, 0)
	for i := 1; i <= 10; i++ { // at first the jobs are slow
		p.add(t0.Add(time.Duration(i)*time.Minute), float64(i)/1000)
	}
	now := t0.Add(10 * time.Minute)
	for i := 1; i <= 20; i++ { // then the jobs are ten times as fast
		now = now.Add(time.Minute)
		p.add(now, 0.01+float64(i)/100)
	}
	left, ok := p.left(now)
	if want := 79 * time.Minute; !ok || left < want-2*time.Minute || left > want+2*time.Minute {
		t.Errorf("left %v, want about %v", left, want)
	}
	if len(p.marks) > 10 {
		t.Errorf("%d marks are kept", len(p.marks))
	}
	later, _ := p.left(now.Add(time.Hour))
	if later <= left {
		t.Errorf("standing still, the estimate does not grow: %v after %v", later, left)
	}
	p.add(now, 0.05)
	if _, ok := p.left(now); ok {
		t.Error("an estimate after going back")
	}
}

func TestScreen_ReplacesWhatItDrew(t *testing.T) {
	var s screen
	if got := s.draw([]string{"a"}); got != "a" {
		t.Errorf("first %q", got)
	}
	if got := s.draw([]string{"b", "c", "d"}); got != "\r\x1b[Jb\nc\nd" {
		t.Errorf("second %q", got)
	}
	if got := s.draw([]string{"e"}); got != "\r\x1b[2A\x1b[Je" {
		t.Errorf("third %q", got)
	}
	if got := s.clear(); got != "\r\x1b[J" {
		t.Errorf("clear %q", got)
	}
	if got := s.clear(); got != "" {
		t.Errorf("clear of nothing %q", got)
	}
}

func TestBars_KeepToTheHeight(t *testing.T) {
	w := &waiter{paces: map[jjm.GridID]*pace{}}
	for i := range 100 {
		st := state("running", wire.Counts{Expected: 1})
		st.Lookup.ID = jjm.GridID(i + 1)
		w.states, w.paces[st.Lookup.ID] = append(w.states, st), &pace{}
	}
	w.lost = jjm.Errorf(jjm.Busy, "stopping")
	lines := w.bars(t0, 60, 10)
	if len(lines) > 9 || lines[len(lines)-2] != "and 93 more" || lines[len(lines)-1] != "no daemon answers; trying again" {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}

// If several grid jobs are followed, only the lines of changed grid jobs are printed again. When a lost daemon answers
// again, the lines of all grid jobs are printed.
func TestWaiter_TellsNews(t *testing.T) {
	var said bytes.Buffer
	w := &waiter{c: &cli{err: &said}, warned: map[string]bool{}}
	at := t0
	show := func(want string, lost error, done ...int) {
		t.Helper()
		said.Reset()
		w.lost, w.states, at = lost, nil, at.Add(plainEvery)
		for i, n := range done {
			st := state("running", wire.Counts{Expected: 3, Total: 3, Completed: n})
			st.Lookup.ID = jjm.GridID(i + 1)
			w.states = append(w.states, st)
		}
		w.show(at)
		if said.String() != want {
			t.Errorf("%q, want %q", said.String(), want)
		}
	}
	show("job 1 running: 3 of 3 done\njob 2 running: 0 of 3 done\n", nil, 3, 0)
	show("", nil, 3, 0)
	show("job 2 running: 1 of 3 done\n", nil, 3, 1)
	show(lostLine+"\n", jjm.Errorf(jjm.Busy, "stopping"), 3, 1)
	show("job 1 running: 3 of 3 done\njob 2 running: 1 of 3 done\n", nil, 3, 1)
}

// A warning that came shortly after the last line of progress is printed before the command gives up waiting, once.
func TestWaiter_TellsLateWarningsBeforeItGivesUp(t *testing.T) {
	var said bytes.Buffer
	w := &waiter{c: &cli{err: &said}, warned: map[string]bool{}}
	st := state("running", wire.Counts{Expected: 3, Total: 3})
	st.Warnings = []wire.Warning{{Text: "early", Line: "early"}}
	w.states = []wire.Status{st}
	w.show(t0)
	w.states[0].Warnings = append(w.states[0].Warnings, wire.Warning{Text: "late", Line: "late"})
	w.show(t0.Add(plainEvery / 2))
	if want := "job 17 running: 0 of 3 done\njob 17 warning: early\n"; said.String() != want {
		t.Errorf("%q, want %q", said.String(), want)
	}
	said.Reset()
	ctx, cancel := context.WithDeadline(t.Context(), t0)
	defer cancel()
	if err := w.end(ctx, ctx.Err()); err == nil || said.String() != "job 17 warning: late\n" {
		t.Errorf("%q, %v: want the late warning", said.String(), err)
	}
	said.Reset()
	w.quiet, w.warned = true, map[string]bool{}
	if err := w.end(ctx, ctx.Err()); err == nil || said.String() != "" {
		t.Errorf("%q, %v: want nothing but the error with --quiet", said.String(), err)
	}
}

func TestLastLine_SaysHowItEnded(t *testing.T) {
	st := state("finished", wire.Counts{Expected: 3, Total: 3, Completed: 2, Failed: 1})
	st.Lookup.Message = "1 failed\x07"
	if got := lastLine(st); got != `job 17 finished: 1 failed\a` {
		t.Errorf("%q", got)
	}
	st.Lookup.Message = ""
	if got := lastLine(st); got != "job 17 finished: 2 of 3 done, 1 failed" {
		t.Errorf("%q", got)
	}
	if got := lastLine(state("broken", wire.Counts{})); got != "job 17 broken" {
		t.Errorf("%q", got)
	}
}
