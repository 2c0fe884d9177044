package analyse_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
	"jjm/internal/policy/analyse"
	"jjm/internal/testkit/golden"
)

// decisionRow is a row of gbs_decisions.
type decisionRow struct {
	Batch    jjm.BatchState  `json:"batch"`
	GLF      *string         `json:"glf"`
	Counters countersRow     `json:"counters"`
	Args     []string        `json:"currentRetryArgs"`
	Limits   limitsRow       `json:"limits"`
	Expect   expectedOutcome `json:"expect"`
}

type countersRow struct {
	Early         int `json:"earlyFails"`
	LateHandled   int `json:"lateFailsHandled"`
	LateUnhandled int `json:"lateFailsUnhandled"`
}

type limitsRow struct {
	EarlyMinutes  *int `json:"maxTimeEarlyFailsMin"`
	Early         *int `json:"maxRetryEarlyFails"`
	LateHandled   *int `json:"maxRetryLateFailsHandled"`
	LateUnhandled *int `json:"maxRetryLateFailsUnhandled"`
}

type expectedOutcome struct {
	Level     string      `json:"level"`
	Class     string      `json:"class"`
	Status    string      `json:"status"`
	Text      string      `json:"statusText"`
	RetryArgs []string    `json:"retryArgs"`
	Counters  countersRow `json:"counters"`
}

func (r decisionRow) outcome() analyse.Outcome {
	var log glf.Log
	if r.GLF != nil {
		log = glf.Parse([]byte(*r.GLF))
	}
	return analyse.Table(r.Batch, log, r.GLF != nil, jjm.Counters(r.Counters), r.Args, jjm.Limits(r.Limits))
}

func TestTable_GoldenDecisions(t *testing.T) {
	golden.Rows(t, "jedi/gbs_decisions", func(_ string, row decisionRow) string {
		o := row.outcome()
		got := expectedOutcome{Level: o.Level, Class: o.Class, Status: o.Status, Text: o.Text,
			RetryArgs: o.RetryArgs, Counters: countersRow(o.Counters)}
		if len(got.RetryArgs) == 0 {
			got.RetryArgs = []string{}
		}
		return cmp.Diff(row.Expect, got)
	})
}

// Attempt, called with each golden row as evidence without a wrapper's result, agrees with the table unless a decision
// of jjm changes the row.
func TestAttempt_GoldenRowsAgreeWithTheTableExceptByDecision(t *testing.T) {
	golden.Rows(t, "jedi/gbs_decisions", func(_ string, row decisionRow) string {
		ev := jjm.Evidence{Batch: jjm.Report{State: row.Batch}, Claim: &jjm.Claim{Holder: jjm.HolderWrapper}}
		if row.GLF != nil {
			ev.GLF, ev.HasGLF = *row.GLF, true
		}
		v := analyse.Attempt(analyse.Input{Evidence: ev, Result: jjm.ResultGLF, Counters: jjm.Counters(row.Counters),
			RetryArgs: row.Args, Limits: jjm.Limits(row.Limits), Lost: row.Batch == jjm.BatchUnknown})
		want := row.outcome()
		if want.Status == analyse.Succeeded {
			// A log without a result never completes a local job.
			if v.Action == jjm.Complete || v.Level != analyse.LevelApplication {
				return "completed without a result: " + v.Text
			}
			return ""
		}
		action := map[string]jjm.Action{analyse.Failed: jjm.Fail, analyse.Retry: jjm.Retry,
			analyse.Hold: jjm.Hold}[want.Status]
		type essence struct {
			Level, Class string
			Action       jjm.Action
			Args         []string
			Counters     jjm.Counters
		}
		return cmp.Diff(essence{want.Level, want.Class, action, want.RetryArgs, want.Counters},
			essence{v.Level, v.Class, v.Action, v.RetryArgs, v.Counters})
	})
}

const (
	start = "2008-03-13T13:00:00Z INFO job wrapper start attempt=0 host=wn1 pid=1\n"
	late  = "2008-03-13T13:16:40Z INFO job wrapper end exit=0\n"
)

func said(line string) string { return start + "2008-03-13T13:16:39Z " + line + "\n" + late }

// The golden rows cover only half of the cases. This test combines each batch state with each kind of log.
func TestTable_EveryBatchWordAgainstEveryLog(t *testing.T) {
	logs := map[string]struct {
		text    string
		has     bool
		level   string
		class   string
		status  string
		handled bool
	}{
		"no log":      {"", false, analyse.LevelBatch, analyse.Early, analyse.Retry, false},
		"empty log":   {"", true, analyse.LevelBatch, analyse.Early, analyse.Retry, false},
		"no start":    {late, true, analyse.LevelBatch, analyse.Early, analyse.Retry, false},
		"start only":  {start, true, analyse.LevelWorker, analyse.Early, analyse.Retry, false},
		"no terminal": {start + late, true, analyse.LevelApplication, analyse.LateUnhandled, analyse.Retry, false},
		"two": {start + "2008-03-13T13:16:39Z HOLD x\n" + said("RETRY x")[len(start):], true,
			analyse.LevelApplication, analyse.LateUnhandled, analyse.Retry, false},
		"no data":   {said("SUCCEEDED"), true, analyse.LevelApplication, analyse.LateUnhandled, analyse.Retry, false},
		"succeeded": {said("SUCCEEDED a b"), true, analyse.LevelUser, "", analyse.Succeeded, false},
		"failed":    {said("FAILED no data base"), true, analyse.LevelUser, "", analyse.Failed, false},
		"retry":     {said("RETRY step 2"), true, analyse.LevelUser, analyse.LateHandled, analyse.Retry, true},
		"hold":      {said("HOLD step 2"), true, analyse.LevelUser, analyse.LateHandled, analyse.Hold, true},
	}
	for b := jjm.BatchUnknown; b <= jjm.BatchCancelled; b++ {
		for name, l := range logs {
			want := analyse.Outcome{Level: l.level, Class: l.class, Status: l.status, Handled: l.handled}
			switch {
			case b == jjm.BatchCancelled:
				want = analyse.Outcome{Level: analyse.LevelGrid, Status: analyse.Hold}
			case b == jjm.BatchAborted:
				want = analyse.Outcome{Level: analyse.LevelGrid, Class: analyse.LateUnhandled, Status: analyse.Retry}
			case !b.Ended():
				want = analyse.Outcome{Level: analyse.LevelGanga, Class: analyse.LateUnhandled, Status: analyse.Retry}
			}
			got := analyse.Table(b, glf.Parse([]byte(l.text)), l.has, jjm.Counters{}, nil, jjm.Limits{})
			got.Text, got.RetryArgs, got.Counters = "", nil, jjm.Counters{}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s:\n%s", b, name, diff)
			}
		}
	}
}

func TestTable_LimitsAllowThatManyRetries(t *testing.T) {
	retry, hold, dead := said("RETRY 1"), said("HOLD 1"), start+late
	for name, c := range map[string]struct {
		text     string
		counters jjm.Counters
		want     string
		byLimit  bool
	}{
		"handled at 4":    {retry, jjm.Counters{LateHandled: 4}, analyse.Retry, false},
		"handled at 5":    {retry, jjm.Counters{LateHandled: 5}, analyse.Failed, true},
		"hold at 4":       {hold, jjm.Counters{LateHandled: 4}, analyse.Hold, false},
		"hold at 5":       {hold, jjm.Counters{LateHandled: 5}, analyse.Failed, true},
		"unhandled at 0":  {dead, jjm.Counters{}, analyse.Retry, false},
		"unhandled at 1":  {dead, jjm.Counters{LateUnhandled: 1}, analyse.Failed, true},
		"early at 19":     {"", jjm.Counters{Early: 19}, analyse.Retry, false},
		"early at 20":     {"", jjm.Counters{Early: 20}, analyse.Failed, true},
		"others are full": {dead, jjm.Counters{Early: 20, LateHandled: 5}, analyse.Retry, false},
	} {
		o := analyse.Table(jjm.BatchEndedOK, glf.Parse([]byte(c.text)), true, c.counters, []string{"old"}, jjm.Limits{})
		if o.Status != c.want || o.ByLimit != c.byLimit {
			t.Errorf("%s: %+v", name, o)
		}
		if c.byLimit && !cmp.Equal(o.RetryArgs, []string{"old"}) {
			t.Errorf("%s: retry arguments %q were not kept", name, o.RetryArgs)
		}
	}
}

func TestTable_EarlyIncludesItsBoundary(t *testing.T) {
	for end, class := range map[string]string{
		"13:05:00": analyse.Early, "13:05:01": analyse.LateUnhandled, "12:00:00": analyse.Early,
	} {
		log := glf.Parse([]byte(start + "2008-03-13T" + end + "Z INFO job wrapper end exit=1\n"))
		if o := analyse.Table(jjm.BatchEndedOK, log, true, jjm.Counters{}, nil, jjm.Limits{}); o.Class != class {
			t.Errorf("end at %s: class %s, want %s", end, o.Class, class)
		}
	}
}
