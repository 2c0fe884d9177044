package conformance

import (
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/said"
)

func TestParseWorkerReport(t *testing.T) {
	got := parseWorkerReport("host n1\nuid 1000\ngid 100\nuser ann\nhello jx\nwrapper 126 ./jjm-wrapper: Permission denied\n")
	want := workerReport{host: "n1", uid: 1000, gid: 100, user: "ann", hello: "jx",
		wrapper: "126 ./jjm-wrapper: Permission denied"}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := parseWorkerReport("uid x\n\nnonsense"); got.uid != -1 || got.gid != -1 {
		t.Errorf("of nonsense: %+v", got)
	}
}

func TestSkew_LiesBetweenTwoReadingsOfThisClock(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	for _, tt := range []struct {
		name        string
		clock       int64
		least, most time.Duration
	}{
		{"the same", 1_700_000_000, -2 * time.Second, time.Second},
		{"an hour ahead", 1_700_003_600, time.Hour - 2*time.Second, time.Hour + time.Second},
		{"a minute behind", 1_699_999_940, -62 * time.Second, -59 * time.Second},
	} {
		least, most := skew(workerReport{clock: tt.clock, asked: at, told: at.Add(2 * time.Second)})
		if least != tt.least || most != tt.most {
			t.Errorf("%s: %v to %v, want %v to %v", tt.name, least, most, tt.least, tt.most)
		}
	}
}

func TestLedger_FindsContradictions(t *testing.T) {
	report := func(index int32, id string, state jjm.BatchState) jjm.Report {
		return jjm.Report{Tag: "a", Index: index, ID: id, State: state}
	}
	r0, r1 := report(0, "7_0", jjm.BatchRunning), report(1, "7_1", jjm.BatchQueued)
	over, bad := report(0, "7_0", jjm.BatchEndedOK), report(0, "7_0", jjm.BatchAborted)
	for _, tt := range []struct {
		name  string
		lag   time.Duration
		looks [][]jjm.Report
		want  string
	}{
		{"all is well", 0, [][]jjm.Report{{r0, r1}, {over, r1}}, ""},
		{"one is missing", 0, [][]jjm.Report{{r0, r1}, {r1}}, "missing"},
		{"one was never there", 0, [][]jjm.Report{{r0}}, "missing"},
		{"one is missing for as long as it may", 3 * time.Second, [][]jjm.Report{{r0, r1}, {r1}, {r1}, {over, r1}, {r1}}, ""},
		{"one is missing for longer", 3 * time.Second, [][]jjm.Report{{r0, r1}, {r1}, {r1}, {r1}, {r1}}, "missing"},
		{"twice", 0, [][]jjm.Report{{r0, r1, r0}}, "twice"},
		{"another id", 0, [][]jjm.Report{{r0, r1}, {report(0, "8_0", jjm.BatchRunning), r1}}, "id"},
		{"back from the end", 0, [][]jjm.Report{{over, r1}, {r0, r1}}, "lives"},
		{"one bad end", 0, [][]jjm.Report{{bad, r1}, {bad, r1}}, ""},
		{"more bad ends than one", 0, [][]jjm.Report{{bad, r1}, {bad, report(1, "7_1", jjm.BatchEndedFailed)}}, "well"},
		{"strangers", 0, [][]jjm.Report{{r0, r1, {Tag: "b", ID: "1"}, {Tag: "b", ID: "1"}}}, ""},
	} {
		book := newLedger(tt.lag)
		book.expect("a", 2)
		var problems []string
		for i, look := range tt.looks {
			problems = append(problems, book.look(time.Unix(int64(i), 0), look)...)
		}
		if got := strings.Join(problems, "; "); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestSchedule_TheFirstAloneThenTogetherThenAlone(t *testing.T) {
	checks := []Check{{Name: "first"}, {Name: "fills", Alone: true}, {Name: "a"}, {Name: "b"}}
	for _, parallel := range []bool{false, true} {
		var order []string
		lock := make(chan struct{}, 1)
		Schedule(checks, func(c Check) bool {
			lock <- struct{}{}
			order = append(order, c.Name)
			<-lock
			return parallel
		})
		if len(order) != 4 || order[0] != "first" || order[3] != "fills" {
			t.Errorf("order %q", order)
		}
	}
}

func TestTry_PanicsAndFatalsAreOutcomes(t *testing.T) {
	for want, test := range map[string]func(*suite){
		"FAILED": func(*suite) { panic("oh") },
		"ok":     func(s *suite) { s.Cleanup(func() {}); s.Logf("well") },
	} {
		o := Try(t.Context(), Check{Name: "x", test: test}, func(TB) System { return System{Adapter: &toy{}} })
		if o.Word() != want {
			t.Errorf("%s: %+v", want, o)
		}
	}
}

// If a check does not apply, NotHere must declare it with a true reason.
func TestRun_WhatDoesNotApplyIsDeclared(t *testing.T) {
	fails := func(s *suite) { s.Errorf("no"); s.Fatalf("not reached by a hasty run") }
	passes := func(*suite) {}
	lacks := func(*suite) string { return "no arms" }
	for _, tt := range []struct {
		name     string
		test     func(*suite)
		lacks    func(*suite) string
		declared string
		site     bool
		word     string
		why      string
	}{
		{"lacking, declared", fails, lacks, "it is a fish", false, "not applicable", "it is a fish"},
		{"lacking, not declared", fails, lacks, "", false, "FAILED", "no arms"},
		{"lacking on a site", fails, lacks, "", true, "not applicable", "no arms"},
		{"declared, and fails", fails, nil, "it is a fish", false, "not applicable", "it is a fish"},
		{"declared, and passes", passes, nil, "it is a fish", false, "FAILED", "it is a fish"},
		{"neither, and passes", passes, nil, "", false, "ok", ""},
		{"neither, and fails", fails, nil, "", false, "FAILED", "no"},
	} {
		o := Try(t.Context(), Check{Name: "x", test: tt.test, lacks: tt.lacks}, func(TB) System {
			s := System{Adapter: &toy{}}
			if tt.declared != "" {
				s.NotHere = map[string]string{"x": tt.declared}
			}
			if tt.site {
				s.Site = &Site{}
			}
			return s
		})
		if said := o.Skipped + strings.Join(o.Failures, "; "); o.Word() != tt.word || !strings.Contains(said, tt.why) {
			t.Errorf("%s: %s, %s", tt.name, o.Word(), said)
		}
	}
}

func TestUndeclared_FindsNamesThatAreNoChecks(t *testing.T) {
	if problems := Undeclared(WithoutCommands("it is a fish")); len(problems) > 0 {
		t.Errorf("%q", problems)
	}
	problems := Undeclared(map[string]string{"the probe answers": "", "the prob answers": "it is a fish"})
	if len(problems) != 2 || !strings.Contains(problems[0], `"the prob answers"`) ||
		!strings.Contains(problems[1], "without a reason") {
		t.Errorf("%q", problems)
	}
}

// For any worker report, parsing does not panic, and ids are numbers from the text.
func FuzzParseWorkerReport(f *testing.F) {
	f.Add("host n1\nuid 1000\ngid 100\nuser ann\nhello jx\nwrapper 0\n")
	f.Add("uid\nuid 99999999999999999999\n\x00 \xff")
	f.Fuzz(func(t *testing.T, text string) {
		v := parseWorkerReport(text)
		if v.uid != -1 && !strings.Contains(text, "uid") || v.gid != -1 && !strings.Contains(text, "gid") {
			t.Errorf("%+v of %q", v, text)
		}
	})
}

func TestWrongExit(t *testing.T) {
	for _, tt := range []struct {
		name  string
		r     jjm.Report
		code  int
		right bool
	}{
		{"0", jjm.Report{State: jjm.BatchEndedOK}, 0, true},
		{"7", jjm.Report{State: jjm.BatchEndedFailed, Exit: 7}, 7, true},
		{"137, as it is", jjm.Report{State: jjm.BatchEndedFailed, Exit: 137}, 137, true},
		{"137, as shells tell it", jjm.Report{State: jjm.BatchEndedFailed, Exit: 137, Signal: 9}, 137, true},
		{"137, as another signal", jjm.Report{State: jjm.BatchEndedFailed, Exit: 137, Signal: 15}, 137, false},
		{"7, OK", jjm.Report{State: jjm.BatchEndedOK, Exit: 7}, 7, false},
		{"7, by a signal", jjm.Report{State: jjm.BatchEndedFailed, Exit: 7, Signal: 9}, 7, false},
		{"7, modulo", jjm.Report{State: jjm.BatchEndedFailed, Exit: 1}, 7, false},
	} {
		if problem := wrongExit(tt.r, tt.code); (problem == "") != tt.right {
			t.Errorf("%s: %q", tt.name, problem)
		}
	}
}

func TestOutOfMemory(t *testing.T) {
	killed := jjm.Report{State: jjm.BatchEndedFailed, Signal: 9}
	told := killed
	told.Reason = "JobLaunchFailure: over its Memory"
	for _, tt := range []struct {
		r     jjm.Report
		noOOM bool
		want  bool
	}{
		{jjm.Report{State: jjm.BatchOOM}, false, true},
		{jjm.Report{State: jjm.BatchOOM}, true, true},
		{told, true, true},
		{told, false, false},
		{killed, true, false},
		{jjm.Report{State: jjm.BatchEndedOK, Reason: "memory"}, true, false},
	} {
		if got := outOfMemory(tt.r, tt.noOOM); got != tt.want {
			t.Errorf("%+v, no OOM %v: %v", tt.r, tt.noOOM, got)
		}
	}
}

// The suite reports what it found as text, and not in Go's syntax.
func TestMessages_AreNoGoSyntax(t *testing.T) {
	found := adapters.Found{Tag: "j7", Presence: adapters.Present, IDs: []string{"41"}}
	o := Try(t.Context(), Check{Name: "all messages", test: func(s *suite) {
		s.Errorf("without an answer they became %+v", adapters.Capabilities{MaxBulk: 20, MaxWalltime: time.Hour})
		s.isThere(found, "45", "41")
		for code, is := range s.wrongExits([]int{7}, []string{"7"}) {
			s.Errorf("a job that exited with %d is reported wrongly, %s", code, is)
		}
	}}, localSystem(defects()["every exit code comes back"]["failures are OK"]))
	if len(o.Failures) != 3 {
		t.Errorf("%d failures", len(o.Failures))
	}
	for _, f := range o.Failures {
		for _, wrong := range said.Wrong(f) {
			t.Error(wrong)
		}
	}
}
