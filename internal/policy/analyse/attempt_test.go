package analyse_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/policy/analyse"
)

func wrapperClaim() *jjm.Claim { return &jjm.Claim{Holder: jjm.HolderWrapper, Host: "wn1", Time: 1000} }
func daemonClaim() *jjm.Claim  { return &jjm.Claim{Holder: jjm.HolderDaemon, Host: "head"} }

// result returns the wrapper's result of an application that ran for 1000 s on wn1.
func result(exit int, text string) *jjm.Result {
	return &jjm.Result{Version: 1, Claim: *wrapperClaim(), Started: 1000, Ended: 1001000, WallMS: 1000000, Exit: exit,
		GLF: text}
}

func wrote(exit int, lines ...string) string {
	s := start
	for _, l := range lines {
		s += "2008-03-13T13:16:39Z " + l + "\n"
	}
	return s + fmt.Sprintf("2008-03-13T13:16:40Z INFO job wrapper end exit=%d\n", exit)
}

func ended(s jjm.BatchState, why string) jjm.Report {
	return jjm.Report{State: s, Host: "wn1", Reason: why, RSSKB: 2 << 20}
}

type want struct {
	level, class string
	action       jjm.Action
	phase        jjm.Phase
	text         string // a part of the verdict's text
}

func check(t *testing.T, v jjm.Verdict, w want) {
	t.Helper()
	got := want{v.Level, v.Class, v.Action, v.Phase, w.text}
	if diff := cmp.Diff(w, got, cmp.AllowUnexported(want{})); diff != "" {
		t.Errorf("%s\ntext: %s", diff, v.Text)
	}
	if !strings.Contains(v.Text, w.text) {
		t.Errorf("text %q does not say %q", v.Text, w.text)
	}
}

func TestAttempt_ExitJobs(t *testing.T) {
	killed := result(137, wrote(137))
	killed.Signal = 9
	full := result(0, wrote(0))
	full.Error = "write done/3.json: no space left on device"
	for name, c := range map[string]struct {
		in analyse.Input
		want
	}{
		"true": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedOK, ""),
			Result: result(0, wrote(0, "SUCCEEDED -"))}},
			want{"EXIT", "", jjm.Complete, "", "exit code 0 after 16 min 40 s on wn1"}},
		"false": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedFailed, ""),
			Result: result(1, wrote(1, "FAILED exit=1"))}},
			want{"EXIT", "", jjm.Fail, jjm.ByApp, "exit code 1 after 16 min 40 s on wn1"}},
		"true, the batch system not heard of since": {analyse.Input{Evidence: jjm.Evidence{Result: result(0, "")}},
			want{"EXIT", "", jjm.Complete, "", "exit code 0"}},
		"true, aborted after its end": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchAborted, "node failure"),
			Result: result(0, "")}},
			want{"EXIT", "", jjm.Complete, "", "exit code 0"}},
		"true, cancelled after its end": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchCancelled, ""),
			Result: result(0, "")}},
			want{"EXIT", "", jjm.Complete, "", "exit code 0"}},
		"true, killed after its end": {analyse.Input{KillIntent: true,
			Evidence: jjm.Evidence{Batch: ended(jjm.BatchCancelled, ""), Result: result(0, "")}},
			want{"EXIT", "", jjm.Complete, "", "exit code 0"}},
		"false, being killed": {analyse.Input{KillIntent: true,
			Evidence: jjm.Evidence{Batch: ended(jjm.BatchCancelled, ""), Result: killed}},
			want{"INTENT", "", jjm.Cancel, jjm.ByPerson, "killed on request after 16 min 40 s on wn1"}},
		"signal": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedFailed, ""), Result: killed}},
			want{"EXIT", "", jjm.Fail, jjm.ByApp, "exit code 137 (SIGKILL, killed, often for want of memory)"}},
		"no such command": {analyse.Input{Evidence: jjm.Evidence{Result: result(127, "")}},
			want{"EXIT", "", jjm.Fail, jjm.ByApp, "exit code 127 (the command was not found)"}},
		"it says why": {analyse.Input{Evidence: jjm.Evidence{Result: result(3, wrote(3, "FAILED no calibration for run 7"))}},
			want{"EXIT", "", jjm.Fail, jjm.ByApp, "exit code 3 after 16 min 40 s on wn1: no calibration for run 7"}},
		"exit 0 and FAILED": {analyse.Input{Evidence: jjm.Evidence{Result: result(0, wrote(0, "FAILED no calibration"))}},
			want{"USER", "", jjm.Fail, jjm.ByApp, "no calibration"}},
		"exit 0 and RETRY": {analyse.Input{Evidence: jjm.Evidence{Result: result(0, wrote(0, "RETRY step2"))}},
			want{"USER", "LATE_HANDLED", jjm.Retry, "", "RETRY: step2; retry 1 of 5"}},
		"asks for retries": {analyse.Input{Retry: true, Evidence: jjm.Evidence{Result: result(1, "")}},
			want{"EXIT", "LATE_UNHANDLED", jjm.Retry, "", "retry 1 of 1 (late)"}},
		"asks for retries, had them": {analyse.Input{Retry: true, Counters: jjm.Counters{LateUnhandled: 1},
			Evidence: jjm.Evidence{Result: result(1, "")}},
			want{"EXIT", "LATE_UNHANDLED", jjm.Fail, jjm.ByLimit,
				"exit code 1 after 16 min 40 s on wn1; retry limit reached: 1 of 1 after late failures"}},
		"asks for none after late failures": {analyse.Input{Retry: true, Limits: jjm.Limits{LateUnhandled: new(int)},
			Evidence: jjm.Evidence{Result: result(1, "")}},
			want{"EXIT", "LATE_UNHANDLED", jjm.Fail, jjm.ByLimit,
				"exit code 1 after 16 min 40 s on wn1; no retries after late failures (their limit is 0)"}},
		"a code that is retried": {analyse.Input{Retry: true, OnExit: []int{75, 1},
			Evidence: jjm.Evidence{Result: result(1, "")}},
			want{"EXIT", "LATE_UNHANDLED", jjm.Retry, "", "exit code 1 after 16 min 40 s on wn1; retry 1 of 1 (late)"}},
		"a code that is not": {analyse.Input{Retry: true, OnExit: []int{75}, Evidence: jjm.Evidence{Result: result(1, "")}},
			want{"EXIT", "", jjm.Fail, jjm.ByApp, "exit code 1 after 16 min 40 s on wn1; retry.on_exit does not list 1"}},
		"a code that is retried, had them": {analyse.Input{Retry: true, OnExit: []int{1},
			Counters: jjm.Counters{LateUnhandled: 1}, Evidence: jjm.Evidence{Result: result(1, "")}},
			want{"EXIT", "LATE_UNHANDLED", jjm.Fail, jjm.ByLimit, "retry limit reached: 1 of 1 after late failures"}},
		"out of memory with a code that is retried": {analyse.Input{Retry: true, OnExit: []int{137},
			Evidence: jjm.Evidence{Batch: ended(jjm.BatchOOM, ""), Result: killed}},
			want{"APPLICATION", "LATE_UNHANDLED", jjm.Retry, "", "memory limit exceeded"}},
		"lost, codes are retried": {analyse.Input{Lost: true, Retry: true, OnExit: []int{75},
			Evidence: jjm.Evidence{Claim: wrapperClaim()}},
			want{"GANGA", "", jjm.Fail, jjm.ByLoss, "retry.on_exit lists no such end"}},
		"no result, the log tells a code that is retried": {analyse.Input{Retry: true, OnExit: []int{75},
			Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedFailed, ""), Claim: wrapperClaim(), HasGLF: true, GLF: wrote(75)}},
			want{"WORKER", "LATE_UNHANDLED", jjm.Retry, "", "left no result"}},
		"never started, codes are retried": {analyse.Input{Retry: true, OnExit: []int{75},
			Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedFailed, ""), Claim: daemonClaim()}},
			want{"BATCH", "EARLY", jjm.Retry, "", "never started"}},
		"RETRY, codes are retried": {analyse.Input{Retry: true, OnExit: []int{75},
			Evidence: jjm.Evidence{Result: result(0, wrote(0, "RETRY step2"))}},
			want{"USER", "LATE_HANDLED", jjm.Retry, "", "RETRY: step2"}},
		"out of memory, exit 0": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchOOM, ""),
			Result: result(0, wrote(0, "SUCCEEDED -"))}},
			want{"APPLICATION", "", jjm.Fail, jjm.ByApp,
				"memory limit exceeded (peak 2048 MiB) after 16 min 40 s on wn1, exit code 0"}},
		"out of time": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchTimeout, "walltime 600 s"),
			Claim: wrapperClaim()}},
			want{"APPLICATION", "", jjm.Fail, jjm.ByApp, "time limit exceeded on wn1: walltime 600 s"}},
		"disk full": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedFailed, ""), Result: full}},
			want{"APPLICATION", "", jjm.Fail, jjm.ByApp, "no space left on device"}},
		"never started": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedFailed, "bad node"),
			Claim: daemonClaim()}},
			want{"BATCH", "EARLY", jjm.Retry, "",
				"never started: its batch job ended FAILED on wn1: bad node; retry 1 of 20 (early)"}},
		"never started, twenty times": {analyse.Input{Counters: jjm.Counters{Early: 20},
			Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedFailed, "")}},
			want{"BATCH", "EARLY", jjm.Fail, jjm.ByLimit, "retry limit reached: 20 of 20 after early failures"}},
		"never started, aborted": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchAborted, ""),
			Claim: daemonClaim()}},
			want{"BATCH", "EARLY", jjm.Retry, "", "never started: the batch system aborted it"}},
		"never started, lost": {analyse.Input{Lost: true, Evidence: jjm.Evidence{Claim: daemonClaim()}},
			want{"BATCH", "EARLY", jjm.Retry, "", "lost it while it waited"}},
		"never started, killed": {analyse.Input{KillIntent: true,
			Evidence: jjm.Evidence{Batch: ended(jjm.BatchCancelled, ""), Claim: daemonClaim()}},
			want{"INTENT", "", jjm.Cancel, jjm.ByPerson, "killed on request before it started"}},
		"cancelled by someone": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchCancelled, "by root"),
			Claim: wrapperClaim()}},
			want{"GRID", "", jjm.Fail, jjm.ByLoss, "by someone else on wn1: by root"}},
		"aborted": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchAborted, "node failure"),
			Claim: wrapperClaim()}},
			want{"GRID", "", jjm.Fail, jjm.ByLoss, "node failure"}},
		"lost": {analyse.Input{Lost: true, Evidence: jjm.Evidence{Claim: wrapperClaim()}},
			want{"GANGA", "", jjm.Fail, jjm.ByLoss, "since it started on wn1 at 1970-01-01T00:00:01"}},
		"no result": {analyse.Input{Evidence: jjm.Evidence{Batch: jjm.Report{State: jjm.BatchEndedFailed, Signal: 9},
			Claim: wrapperClaim(), HasGLF: true, GLF: wrote(0)}},
			want{"WORKER", "", jjm.Fail, jjm.ByLoss, "FAILED, signal 9; the application had ended with exit code 0"}},
		"alive": {analyse.Input{Evidence: jjm.Evidence{Batch: jjm.Report{State: jjm.BatchRunning}}},
			want{text: "no evidence"}},
		"unknown": {analyse.Input{KillIntent: true, Evidence: jjm.Evidence{Claim: daemonClaim()}}, want{text: "no evidence"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.Result = jjm.ResultExit
			check(t, analyse.Attempt(c.in), c.want)
		})
	}
}

// If a local job completes and an output is missing, the verdict has a notice about the output. If the local job does
// not complete, the verdict has no such notice.
func TestAttempt_NoticesMissingOutputs(t *testing.T) {
	lacks := func(exit int, line string) *jjm.Result {
		r := result(exit, wrote(exit, line))
		r.Unmet = []jjm.Unmet{{Pattern: "*.root", Why: "no file matches this pattern"},
			{Pattern: "a\nb" + strings.Repeat("x", 300), Why: "missing"}}
		return r
	}
	long := "a b" + strings.Repeat("x", 197) + "..."
	want := []jjm.Notice{{Kind: jjm.NoOutput, Text: "output *.root: no file matches this pattern"},
		{Kind: jjm.NoOutput, Text: "output " + long + ": missing"}}
	for name, c := range map[string]struct {
		in      analyse.Input
		notices []jjm.Notice
		text    string
	}{
		"exit": {analyse.Input{Result: jjm.ResultExit, Evidence: jjm.Evidence{Result: lacks(0, "SUCCEEDED -")}}, want,
			"; no output for *.root, " + long},
		"glf": {analyse.Input{Result: jjm.ResultGLF, Evidence: jjm.Evidence{Result: lacks(0, "SUCCEEDED -")}}, want,
			"; no output for *.root, " + long},
		"exit, it failed": {analyse.Input{Result: jjm.ResultExit, Evidence: jjm.Evidence{Result: lacks(3, "INFO x")}}, nil,
			"exit code 3 after 16 min 40 s on wn1"},
		"the type says complete": {analyse.Input{Result: jjm.ResultExit, Opinion: &jjm.Opinion{Action: jjm.Complete,
			Text: "fine"},
			Evidence: jjm.Evidence{Result: lacks(3, "INFO x")}}, want, "; no output for *.root, " + long},
		"it asks for a retry": {analyse.Input{Result: jjm.ResultGLF, Evidence: jjm.Evidence{Result: lacks(0, "RETRY x")}},
			nil,
			"retry 1 of 5 (late, asked for)"},
		"no keyword": {analyse.Input{Result: jjm.ResultGLF, Evidence: jjm.Evidence{Result: lacks(0, "INFO x")}},
			[]jjm.Notice{{Kind: jjm.NoKeyword, Text: "no keyword in the log: did the command call $GBS_LOG? " +
				`If it never does, set result = "exit" in the job file`}}, "retry 1 of 1 (late)"},
	} {
		v := analyse.Attempt(c.in)
		if diff := cmp.Diff(c.notices, v.Notices); diff != "" {
			t.Errorf("%s: notices (-want +got):\n%s", name, diff)
		}
		if !strings.HasSuffix(v.Text, c.text) {
			t.Errorf("%s: the text is %q, want it to end with %q", name, v.Text, c.text)
		}
	}
}

// An application that succeeds without leaving a required output has failed: the local job fails or is retried as after
// any failure of the application, and the text names the pattern.
func TestAttempt_ARequiredOutputMustBeThere(t *testing.T) {
	lacks := func(exit int, lines ...string) jjm.Evidence {
		r := result(exit, wrote(exit, lines...))
		r.Unmet = []jjm.Unmet{{Pattern: "*.root", Why: "no file matches this pattern", Required: true},
			{Pattern: "log.txt", Why: "missing"}}
		return jjm.Evidence{Batch: ended(jjm.BatchEndedOK, ""), Result: r}
	}
	out := func(ev jjm.Evidence, s jjm.BatchState) jjm.Evidence {
		ev.Batch.State = s
		return ev
	}
	const text = "a required output is not there: *.root (no file matches this pattern); exit code 0 after 16 min 40 s on wn1"
	several := lacks(0)
	several.Result.Unmet = nil
	for _, p := range []string{"a", "b", "c", "d"} {
		several.Result.Unmet = append(several.Result.Unmet, jjm.Unmet{Pattern: p, Why: "missing", Required: true})
	}
	for name, c := range map[string]struct {
		in analyse.Input
		want
	}{
		"exit": {analyse.Input{Evidence: lacks(0, "SUCCEEDED -")}, want{"APPLICATION", "", jjm.Fail, jjm.ByApp, text}},
		"exit, asks for retries": {analyse.Input{Retry: true, Evidence: lacks(0, "SUCCEEDED -")},
			want{"APPLICATION", "LATE_UNHANDLED", jjm.Retry, "", text + "; retry 1 of 1 (late)"}},
		"exit, had them": {analyse.Input{Retry: true, Counters: jjm.Counters{LateUnhandled: 1},
			Evidence: lacks(0, "SUCCEEDED -")}, want{"APPLICATION", "LATE_UNHANDLED", jjm.Fail, jjm.ByLimit, text}},
		"exit, after other codes": {analyse.Input{Retry: true, OnExit: []int{75}, Evidence: lacks(0, "SUCCEEDED -")},
			want{"APPLICATION", "", jjm.Fail, jjm.ByApp, text + "; retry.on_exit does not list 0"}},
		"exit, after 0": {analyse.Input{Retry: true, OnExit: []int{0}, Evidence: lacks(0, "SUCCEEDED -")},
			want{"APPLICATION", "LATE_UNHANDLED", jjm.Retry, "", text}},
		"exit, without a log": {analyse.Input{Evidence: lacks(0)}, want{"APPLICATION", "", jjm.Fail, jjm.ByApp, text}},
		"several": {analyse.Input{Evidence: several}, want{"APPLICATION", "", jjm.Fail, jjm.ByApp,
			"4 required outputs are not there: a (missing), b (missing), c (missing), ...; exit code 0"}},
		"exit code 3": {analyse.Input{Evidence: lacks(3)}, want{"EXIT", "", jjm.Fail, jjm.ByApp, "exit code 3"}},
		"exit, FAILED": {analyse.Input{Evidence: lacks(0, "FAILED no tape")}, want{"USER", "", jjm.Fail, jjm.ByApp,
			"no tape"}},
		"exit, RETRY": {analyse.Input{Evidence: lacks(0, "RETRY x")},
			want{"USER", "LATE_HANDLED", jjm.Retry, "", "RETRY: x"}},
		"exit, being killed": {analyse.Input{KillIntent: true, Evidence: lacks(0)},
			want{"INTENT", "", jjm.Cancel, jjm.ByPerson, ""}},
		"exit, out of memory": {analyse.Input{Evidence: out(lacks(0), jjm.BatchOOM)},
			want{"APPLICATION", "", jjm.Fail, jjm.ByApp, "memory limit"}},
		"exit, batch system not heard of since": {analyse.Input{Evidence: out(lacks(0), jjm.BatchUnknown)},
			want{"APPLICATION", "", jjm.Fail, jjm.ByApp, text}},
		"glf": {analyse.Input{Result: jjm.ResultGLF, Evidence: lacks(0, "SUCCEEDED -")},
			want{"APPLICATION", "LATE_UNHANDLED", jjm.Retry, "", text + "; retry 1 of 1 (late)"}},
		"glf, no keyword": {analyse.Input{Result: jjm.ResultGLF, Evidence: lacks(0)},
			want{"APPLICATION", "LATE_UNHANDLED", jjm.Retry, "", "no keyword"}},
		"glf, HOLD": {analyse.Input{Result: jjm.ResultGLF, Evidence: lacks(0, "HOLD x")},
			want{"USER", "LATE_HANDLED", jjm.Hold, jjm.HeldByApp, "HOLD: x"}},
		"glf, cancelled by someone": {analyse.Input{Result: jjm.ResultGLF,
			Evidence: out(lacks(0, "SUCCEEDED -"), jjm.BatchCancelled)}, want{"GRID", "", jjm.Hold, jjm.HeldByBatch, ""}},
		"the type says complete": {analyse.Input{Opinion: &jjm.Opinion{Action: jjm.Complete}, Evidence: lacks(0)},
			want{"APPLICATION", "", jjm.Fail, jjm.ByApp, text}},
		"the type says fail": {analyse.Input{Opinion: &jjm.Opinion{Action: jjm.Fail, Text: "empty"}, Evidence: lacks(0)},
			want{"TYPE", "", jjm.Fail, jjm.ByApp, "empty"}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.in.Result == "" {
				c.in.Result = jjm.ResultExit
			}
			v := analyse.Attempt(c.in)
			check(t, v, c.want)
			if len(v.Notices) > 0 && v.Notices[0].Kind == jjm.NoOutput {
				t.Errorf("what did not complete is noticed: %+v", v.Notices)
			}
		})
	}
}

func TestAttempt_GLFJobs(t *testing.T) {
	missing := result(0, wrote(0, "SUCCEEDED a.root b.root /data/c.root"))
	missing.Outputs = []jjm.Output{{Name: "work/a.root", Absent: "no such file"}, {Name: "b.root", Bytes: 3},
		{Name: "c.root", Absent: "size cap"}, {Name: "other.log", Absent: "no match"}}
	fine := result(0, wrote(0, "SUCCEEDED b.root"))
	fine.Outputs = missing.Outputs
	full := result(0, start)
	full.Error = "no space left on device"
	for name, c := range map[string]struct {
		in analyse.Input
		want
	}{
		"succeeded": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedOK, ""), Result: fine}},
			want{"USER", "", jjm.Complete, "", "SUCCEEDED: b.root"}},
		"succeeded, unknown to the batch system": {analyse.Input{Lost: true, Evidence: jjm.Evidence{Result: fine}},
			want{"USER", "", jjm.Complete, "", ""}},
		"succeeded, aborted": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchAborted, ""), Result: fine}},
			want{"USER", "", jjm.Complete, "", ""}},
		"succeeded, batch job failed": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedFailed, ""),
			Result: fine}},
			want{"USER", "", jjm.Complete, "", ""}},
		"succeeded, cancelled by someone": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchCancelled, ""),
			Result: fine}},
			want{"GRID", "", jjm.Hold, jjm.HeldByBatch, "by someone else"}},
		"succeeded, cancelled by jjm": {analyse.Input{KillIntent: true,
			Evidence: jjm.Evidence{Batch: ended(jjm.BatchCancelled, ""), Result: fine}},
			want{"USER", "", jjm.Complete, "", ""}},
		"succeeded, out of memory": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchOOM, ""), Result: fine}},
			want{"APPLICATION", "LATE_UNHANDLED", jjm.Retry, "", "exit code 0 and SUCCEEDED notwithstanding"}},
		"succeeded, out of time": {analyse.Input{Counters: jjm.Counters{LateUnhandled: 1},
			Evidence: jjm.Evidence{Batch: ended(jjm.BatchTimeout, ""), Result: fine}},
			want{"APPLICATION", "LATE_UNHANDLED", jjm.Fail, jjm.ByLimit, "time limit exceeded"}},
		"succeeded, files missing": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedOK, ""),
			Result: missing}},
			want{"APPLICATION", "LATE_UNHANDLED", jjm.Retry, "",
				"2 of the files it names are missing: work/a.root (no such file), c.root (size cap)"}},
		"succeeded, no result": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedOK, ""), HasGLF: true,
			GLF: wrote(0, "SUCCEEDED -"), Claim: wrapperClaim()}},
			want{"APPLICATION", "LATE_UNHANDLED", jjm.Retry, "", "not collected"}},
		"failed": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedOK, ""),
			Result: result(0, wrote(0, "FAILED no tape"))}},
			want{"USER", "", jjm.Fail, jjm.ByApp, "no tape"}},
		"retry": {analyse.Input{Evidence: jjm.Evidence{Result: result(0, wrote(0, `RETRY "step 2" x`))}},
			want{"USER", "LATE_HANDLED", jjm.Retry, "", "retry 1 of 5 (late, asked for)"}},
		"retry, being killed": {analyse.Input{KillIntent: true,
			Evidence: jjm.Evidence{Result: result(0, wrote(0, "RETRY x"))}},
			want{"INTENT", "", jjm.Cancel, jjm.ByPerson, ""}},
		"retry, out of time": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchTimeout, ""),
			Result: result(0, wrote(0, "RETRY x"))}},
			want{"USER", "LATE_HANDLED", jjm.Retry, "", ""}},
		"hold": {analyse.Input{Evidence: jjm.Evidence{Result: result(0, wrote(0, "HOLD x"))}},
			want{"USER", "LATE_HANDLED", jjm.Hold, jjm.HeldByApp, "HOLD: x"}},
		"hold, being killed": {analyse.Input{KillIntent: true, Evidence: jjm.Evidence{Result: result(0, wrote(0, "HOLD x"))}},
			want{"INTENT", "", jjm.Cancel, jjm.ByPerson, ""}},
		"exit 2": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedOK, ""),
			Result: result(2, wrote(2, "SUCCEEDED b.root"))}},
			want{"APPLICATION", "LATE_UNHANDLED", jjm.Retry, "", "exit code 2 after 16 min 40 s on wn1; retry 1 of 1 (late)"}},
		"nothing said": {analyse.Input{Evidence: jjm.Evidence{Result: result(0, wrote(0))}},
			want{"APPLICATION", "LATE_UNHANDLED", jjm.Retry, "",
				`no keyword in the log: did the command call $GBS_LOG? If it never does, set result = "exit" in the job file; ` +
					`exit code 0 after`}},
		"no data": {analyse.Input{Evidence: jjm.Evidence{Result: result(0, wrote(0, "HOLD"))}},
			want{"APPLICATION", "LATE_UNHANDLED", jjm.Retry, "", "HOLD without data"}},
		"too much said": {analyse.Input{Evidence: jjm.Evidence{Result: result(0, wrote(0, "HOLD x", "RETRY y"))}},
			want{"APPLICATION", "LATE_UNHANDLED", jjm.Retry, "",
				"2 of SUCCEEDED, FAILED, RETRY, HOLD in the log (first HOLD, last RETRY)"}},
		"disk full": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedFailed, ""), Result: full}},
			want{"APPLICATION", "LATE_UNHANDLED", jjm.Retry, "", "wrapper: no space left on device"}},
		"wrapper died": {analyse.Input{Evidence: jjm.Evidence{Batch: jjm.Report{State: jjm.BatchEndedFailed, Exit: 1},
			HasGLF: true, GLF: start, Claim: wrapperClaim()}},
			want{"WORKER", "EARLY", jjm.Retry, "",
				"without an end record on wn1; the batch system says FAILED, exit 1; retry 1 of 20"}},
		"claimed, no log": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedFailed, ""),
			Claim: wrapperClaim()}},
			want{"BATCH", "EARLY", jjm.Retry, "", "no start record"}},
		"never started": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedFailed, ""), Claim: daemonClaim()}},
			want{"BATCH", "EARLY", jjm.Retry, "", "never started"}},
		"started without a claim file": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchEndedFailed, ""),
			HasGLF: true, GLF: start}},
			want{"WORKER", "EARLY", jjm.Retry, "", "without an end record"}},
		"the log's records lost": {analyse.Input{Evidence: jjm.Evidence{Result: result(0,
			"2008-03-13T13:16:39Z SUCCEEDED -\n")}},
			want{"USER", "", jjm.Complete, "", "SUCCEEDED"}},
		"lost": {analyse.Input{Lost: true, Evidence: jjm.Evidence{Claim: wrapperClaim(), HasGLF: true, GLF: start}},
			want{"GANGA", "LATE_UNHANDLED", jjm.Retry, "", "lost it"}},
		"cancelled by someone": {analyse.Input{Evidence: jjm.Evidence{Batch: ended(jjm.BatchCancelled, ""),
			Claim: wrapperClaim()}},
			want{"GRID", "", jjm.Hold, jjm.HeldByBatch, "by someone else"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.Result = jjm.ResultGLF
			check(t, analyse.Attempt(c.in), c.want)
		})
	}
}

func TestAttempt_RetryArgumentsAreReplacedOnlyByTheApplication(t *testing.T) {
	in := analyse.Input{Result: jjm.ResultGLF, RetryArgs: []string{"old"},
		Evidence: jjm.Evidence{Result: result(0, wrote(0, `RETRY "step 2" x`))}}
	if v := analyse.Attempt(in); !cmp.Equal(v.RetryArgs, []string{"step 2", "x"}) || !v.Handled {
		t.Errorf("after RETRY: %+v", v)
	}
	in.Evidence.Result = result(1, wrote(1, "RETRY new"))
	if v := analyse.Attempt(in); !cmp.Equal(v.RetryArgs, []string{"old"}) || v.Handled {
		t.Errorf("after an exit code: %+v", v)
	}
}

// evidence draws arbitrary evidence.
func evidence(t *rapid.T) jjm.Evidence {
	texts := []string{"", start, start + late, wrote(0, "SUCCEEDED -"), wrote(0, "FAILED x"), wrote(0, "RETRY x"),
		wrote(0, "HOLD x"), wrote(3), wrote(3, "SUCCEEDED -"), "\x00\xff garbage\n"}
	ev := jjm.Evidence{
		Batch:  jjm.Report{State: jjm.BatchState(rapid.IntRange(0, int(jjm.BatchCancelled)).Draw(t, "batch"))},
		HasGLF: rapid.Bool().Draw(t, "has glf"),
		Claim:  rapid.SampledFrom([]*jjm.Claim{nil, wrapperClaim(), daemonClaim()}).Draw(t, "claim"),
	}
	if ev.HasGLF {
		ev.GLF = rapid.SampledFrom(texts).Draw(t, "glf")
	}
	if rapid.Bool().Draw(t, "has result") {
		ev.Result = result(rapid.SampledFrom([]int{0, 0, 1, 137}).Draw(t, "exit"),
			rapid.SampledFrom(texts).Draw(t, "result glf"))
		ev.Result.Error = rapid.SampledFrom([]string{"", "", "disk full"}).Draw(t, "error")
	}
	return ev
}

// For any evidence, Attempt returns no action unless the evidence shows an end, and completes a local job only with a
// result.
func TestAttempt_NeverJudgesWithoutAnEndNorCompletesWithoutAResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := analyse.Input{Evidence: evidence(t),
			Result:     rapid.SampledFrom([]string{jjm.ResultGLF, jjm.ResultExit}).Draw(t, "result"),
			Opinion:    opinion().Draw(t, "opinion"),
			KillIntent: rapid.Bool().Draw(t, "kill"), Retry: rapid.Bool().Draw(t, "retry"), Lost: rapid.Bool().Draw(t, "lost"),
			Counters: jjm.Counters{Early: rapid.IntRange(0, 21).Draw(t, "early"),
				LateHandled:   rapid.IntRange(0, 6).Draw(t, "handled"),
				LateUnhandled: rapid.IntRange(0, 2).Draw(t, "unhandled")}}
		v := analyse.Attempt(in)
		ev := in.Evidence
		if over := ev.Result != nil || ev.Batch.State.Ended() || in.Lost; over == (v.Action == "") {
			t.Fatalf("over %v, action %q: %s", over, v.Action, v.Text)
		}
		if v.Text == "" {
			t.Fatal("no text")
		}
		byType := v.Level == analyse.LevelType
		if byType && in.Opinion == nil {
			t.Fatalf("the type said nothing, yet: %s", v.Text)
		}
		if v.Action == jjm.Complete && (ev.Result == nil || ev.Result.Exit != 0 && !byType || ev.Result.Error != "" ||
			ev.Batch.State == jjm.BatchOOM || ev.Batch.State == jjm.BatchTimeout) {
			t.Fatalf("completed: %s", v.Text)
		}
		if in.KillIntent && (v.Action == jjm.Retry || v.Action == jjm.Hold) {
			t.Fatalf("to be killed, yet %s", v.Action)
		}
		if !in.KillIntent && v.Action == jjm.Cancel {
			t.Fatal("killed without intent")
		}
		checkCounters(t, in.Counters, v)
	})
}

// checkCounters requires that exactly one counter grows, by one, if the verdict has a class, and that no counter grows
// otherwise. It also requires that a retry stays within its limit.
func checkCounters(t *rapid.T, before jjm.Counters, v jjm.Verdict) {
	want := before
	limit, n := 0, 0
	switch v.Class {
	case analyse.Early:
		want.Early++
		limit, n = 20, want.Early
	case analyse.LateHandled:
		want.LateHandled++
		limit, n = 5, want.LateHandled
	case analyse.LateUnhandled:
		want.LateUnhandled++
		limit, n = 1, want.LateUnhandled
	}
	if v.Counters != want {
		t.Fatalf("class %q: counters %+v after %+v", v.Class, v.Counters, before)
	}
	if (v.Action == jjm.Retry) && (v.Class == "" || n > limit) {
		t.Fatalf("retry %d of %d (%s)", n, limit, v.Class)
	}
	if (v.Phase == jjm.ByLimit) != (v.Class != "" && n > limit) {
		t.Fatalf("phase %q at %d of %d", v.Phase, n, limit)
	}
}

// The message names the host as the batch system does, because administrators exclude hosts by this name.
func TestAttempt_TheHostHasTheNameOfTheBatchSystem(t *testing.T) {
	for name, test := range map[string]struct {
		batch, listed, want string
	}{
		"the last report":   {"n3", "n2", "exit code 3 after 16 min 40 s on n3"},
		"earlier listings":  {"", "n2", "exit code 3 after 16 min 40 s on n2"},
		"only its own name": {"", "", "exit code 3 after 16 min 40 s on wn1"},
	} {
		ev := jjm.Evidence{Batch: jjm.Report{State: jjm.BatchEndedFailed, Host: test.batch},
			Result: result(3, wrote(3, "FAILED exit=3"))}
		if got := analyse.Attempt(analyse.Input{Evidence: ev, Host: test.listed}).Text; got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestAttempt_TextsOfHostileJobsFitOnALine(t *testing.T) {
	nasty := strings.Repeat("\x1b[2J\x00\r\n\xff</message>é", 5000)
	r := result(0, wrote(0, "FAILED "+nasty))
	broken := result(1, nasty)
	broken.Error = nasty
	broken.Claim.Host = nasty
	for name, ev := range map[string]jjm.Evidence{
		"log":    {Result: r},
		"error":  {Result: broken},
		"reason": {Batch: jjm.Report{State: jjm.BatchAborted, Reason: nasty, Host: nasty}},
	} {
		for _, mode := range []string{jjm.ResultExit, jjm.ResultGLF} {
			v := analyse.Attempt(analyse.Input{Evidence: ev, Result: mode})
			if len(v.Text) > 1000 || !utf8.ValidString(v.Text) || strings.ContainsAny(v.Text, "\x00\n\r\x1b") {
				t.Errorf("%s, %s: text %.80q (%d bytes)", name, mode, v.Text, len(v.Text))
			}
		}
	}
}

// opinion draws an opinion of a job type. The opinion may be invalid.
func opinion() *rapid.Generator[*jjm.Opinion] {
	return rapid.Custom(func(t *rapid.T) *jjm.Opinion {
		if rapid.Bool().Draw(t, "none") {
			return nil
		}
		actions := []jjm.Action{jjm.Complete, jjm.Retry, jjm.Hold, jjm.Fail, jjm.Cancel, "", "x"}
		args := [][]string{nil, {}, {"a b"}, {"two\nlines"}}
		return &jjm.Opinion{Action: rapid.SampledFrom(actions).Draw(t, "action"), Text: "because",
			RetryArgs: rapid.SampledFrom(args).Draw(t, "args")}
	})
}

// If the application ran to its end, the job type's opinion decides, and its retries and holds count against the retry
// limits.
func TestAttempt_TheTypesJudgement(t *testing.T) {
	failed := jjm.Evidence{Result: result(75, wrote(75))}
	for _, c := range []struct {
		name string
		in   analyse.Input
		op   jjm.Opinion
		want jjm.Action
		text string
	}{
		{"complete", analyse.Input{Evidence: failed}, jjm.Opinion{Action: jjm.Complete}, jjm.Complete, "says complete"},
		{"retry, without retries asked for", analyse.Input{Evidence: failed}, jjm.Opinion{Action: jjm.Retry, Text: "no luck"},
			jjm.Retry, "no luck after 16 min 40 s on wn1; retry 1 of 5"},
		{"hold", analyse.Input{Evidence: failed}, jjm.Opinion{Action: jjm.Hold}, jjm.Hold, "says hold"},
		{"fail what exited 0", analyse.Input{Evidence: jjm.Evidence{Result: result(0, wrote(0))}},
			jjm.Opinion{Action: jjm.Fail, Text: "empty"}, jjm.Fail, "empty"},
		{"the last retry", analyse.Input{Evidence: failed, Counters: jjm.Counters{LateHandled: 5}},
			jjm.Opinion{Action: jjm.Retry}, jjm.Fail, "retry limit reached"},
		{"nonsense", analyse.Input{Evidence: failed}, jjm.Opinion{Action: "again"}, jjm.Fail,
			"want complete, retry, hold or fail"},
		{"arguments of two lines", analyse.Input{Evidence: failed},
			jjm.Opinion{Action: jjm.Retry, RetryArgs: []string{"a\nb"}}, jjm.Fail, "more than one line"},
		{"killed meanwhile", analyse.Input{Evidence: failed, KillIntent: true}, jjm.Opinion{Action: jjm.Retry}, jjm.Cancel,
			"killed on request"},
		{"killed, and not content", analyse.Input{Evidence: jjm.Evidence{Result: result(0, wrote(0))}, KillIntent: true},
			jjm.Opinion{Action: jjm.Fail}, jjm.Cancel, "killed on request"},
		{"no memory", analyse.Input{Evidence: jjm.Evidence{Result: result(75, wrote(75)),
			Batch: jjm.Report{State: jjm.BatchOOM}}}, jjm.Opinion{Action: jjm.Complete}, jjm.Fail, "memory limit"},
		{"no result", analyse.Input{Evidence: jjm.Evidence{Batch: jjm.Report{State: jjm.BatchEndedFailed, Exit: 75},
			Claim: wrapperClaim()}}, jjm.Opinion{Action: jjm.Complete}, jjm.Fail, "FAILED, exit 75"},
		{"a file is missing", analyse.Input{Result: jjm.ResultGLF, Evidence: jjm.Evidence{Result: lacking()}},
			jjm.Opinion{Action: jjm.Complete}, jjm.Retry, "x.dat"},
	} {
		c.in.Opinion = &c.op
		if v := analyse.Attempt(c.in); v.Action != c.want || !strings.Contains(v.Text, c.text) {
			t.Errorf("%s: %s: %s, want %s: %s", c.name, v.Action, v.Text, c.want, c.text)
		}
	}
}

// lacking returns a result that reports an output which does not exist.
func lacking() *jjm.Result {
	r := result(0, wrote(0, "SUCCEEDED x.dat"))
	r.Outputs = []jjm.Output{{Name: "x.dat", Absent: "no such file"}}
	return r
}

// The text of a verdict contains the measured run time of the attempt. If no run time was measured, the text has none.
func TestAttempt_TellsTheMeasuredTime(t *testing.T) {
	for ms, want := range map[int64]string{59: "exit code 0 after 59 ms on wn1",
		61_400: "exit code 0 after 1 min 1 s on wn1",
		0:      "exit code 0 on wn1"} {
		r := result(0, "")
		r.WallMS, r.Ended = ms, r.Started
		if v := analyse.Attempt(analyse.Input{Evidence: jjm.Evidence{Result: r}}); v.Text != want {
			t.Errorf("%d ms: %q, want %q", ms, v.Text, want)
		}
	}
}
