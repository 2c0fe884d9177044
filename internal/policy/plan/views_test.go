package plan_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/testkit/golden"
)

// masterRow is a row of ganga_master_status. The expected columns are null if Ganga's design defines no status; then
// jjm's own rules apply.
type masterRow struct {
	Subjobs []string `json:"subjobs"`
	Seed    *string  `json:"seed"`
	Swapped *string  `json:"seed_swapped_29843"`
}

// counts returns the number of local jobs by state.
func (r masterRow) counts() (c [jjm.NumStates]int, err error) {
	for _, word := range r.Subjobs {
		var s jjm.State
		if err := s.UnmarshalText([]byte(word)); err != nil {
			return c, err
		}
		c[s]++
	}
	return c, nil
}

// byRules computes the status a second time, from an independent reading of Ganga's table.
func byRules(c [jjm.NumStates]int, runningFirst bool) string {
	order := []struct {
		word   string
		states []jjm.State
	}{
		{"submitted", []jjm.State{jjm.Submitted, jjm.Submitting}},
		{"running", []jjm.State{jjm.Running, jjm.Completing}},
		{"failed", []jjm.State{jjm.Failed, jjm.Held}},
		{"completed", []jjm.State{jjm.Completed, jjm.CompletedFrozen}},
		{"killed", []jjm.State{jjm.Killed}},
		{"failed", []jjm.State{jjm.FailedFrozen}}, // ganga.md 4: ignored unless nothing else is left
	}
	if runningFirst {
		order[0], order[1] = order[1], order[0]
	}
	for _, rule := range order {
		for _, s := range rule.states {
			if c[s] > 0 {
				return rule.word
			}
		}
	}
	return "new"
}

func TestMaster_GoldenStatus(t *testing.T) {
	golden.Rows(t, "jedi/ganga_master_status", func(_ string, row masterRow) string {
		c, err := row.counts()
		if err != nil {
			return err.Error()
		}
		for _, col := range []struct {
			name string
			want *string
			swap bool
		}{{"seed", row.Seed, false}, {"seed_swapped_29843", row.Swapped, true}} {
			want := byRules(c, col.swap)
			if col.want != nil {
				want = *col.want
			}
			if got := plan.Master(c, false, col.swap); got != want {
				return fmt.Sprintf("%v, %s: %s, want %s", row.Subjobs, col.name, got, want)
			}
		}
		return ""
	})
}

// The golden rows are samples. This test covers every set of states.
func TestMaster_EverySetOfStates(t *testing.T) {
	for c := range subsets() {
		for _, swap := range bools {
			if got, want := plan.Master(c, false, swap), byRules(c, swap); got != want {
				t.Errorf("%v: %s, want %s", c, got, want)
			}
			more := plan.Master(c, true, swap)
			monitorable := more == "submitted" || more == "running"
			alive := c[jjm.Submitting]+c[jjm.Submitted]+c[jjm.Running]+c[jjm.Completing] > 0
			if alive && more != plan.Master(c, false, swap) {
				t.Errorf("%v: more to come changed %s", c, more)
			}
			if !monitorable && (more != "new" || sum(c) != c[jjm.New]) {
				t.Errorf("%v with more to come: %s", c, more)
			}
			if more == "submitted" && c[jjm.Submitting]+c[jjm.Submitted] == 0 && sum(c) != c[jjm.New]+c[jjm.Killed] {
				t.Errorf("%v with more to come: %s, but some ran", c, more)
			}
		}
	}
}

func TestMoreToCome_UntilNothingIsLeftToSubmit(t *testing.T) {
	var none, some [jjm.NumStates]int
	some[jjm.New], some[jjm.Completed] = 1, 3
	for _, c := range []struct {
		status       jjm.GridStatus
		kill, closed bool
		counts       [jjm.NumStates]int
		want         bool
	}{
		{jjm.Defined, false, false, none, true},
		{jjm.GridRunning, false, true, some, true},
		{jjm.GridRunning, false, true, none, false},
		{jjm.Aborting, true, false, some, false},
		{jjm.Prepared, false, false, none, false},
		{jjm.Broken, false, false, some, false},
	} {
		if got := plan.MoreToCome(c.status, c.kill, c.closed, c.counts[jjm.New]); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// byJ11 computes the status a second time, from an independent reading of requirement J11 and decisions R9-R12.
func byJ11(f plan.GRAMFacts) jjm.GRAM {
	live := sum(f.Counts) - ended(f.Counts) - f.Unsubmitted
	allRefused := f.Unsubmitted == sum(f.Counts)
	noMore := f.Closed || f.Status == jjm.Aborting
	switch {
	case f.Status == jjm.GridFailed || f.Status == jjm.Broken:
		return jjm.GRAMFailed
	case f.Status.Final():
		return jjm.GRAMDone
	case f.Status == jjm.Paused:
		return jjm.GRAMSuspended
	case f.Closed && live > 0 && live == f.Counts[jjm.Held] && f.Status != jjm.Prepared && f.Status != jjm.Aborting:
		return jjm.GRAMSuspended
	case f.Status == jjm.Prepared, f.EverRan,
		noMore && live == 0 && !allRefused && f.Status != jjm.Registered: // R11: registered..ready 32
		return jjm.GRAMActive
	case f.EverSubmitted:
		return jjm.GRAMPending
	}
	return jjm.GRAMUnsubmitted
}

func TestGRAM_EverySetOfStatesWithEveryFlag(t *testing.T) {
	for c := range subsets() {
		for n := range jjm.NumGridStatuses << 5 {
			f := plan.GRAMFacts{Status: jjm.GridStatus(n >> 5), Counts: c, EverSubmitted: n&1 != 0, EverRan: n&2 != 0,
				Closed: n&4 != 0}
			if n&8 != 0 {
				f.Reason = "disk full"
			}
			if n&16 != 0 {
				f.Unsubmitted = c[jjm.New]
			}
			state, code, message := plan.GRAM(f)
			if want := byJ11(f); state != want {
				t.Fatalf("%+v: %s, want %s", f, state, want)
			}
			if over := state == jjm.GRAMDone || state == jjm.GRAMFailed; over != f.Status.Final() {
				t.Fatalf("%+v: %s", f, state)
			}
			if (code != 0) != (state == jjm.GRAMFailed) || code != 0 && code != 17 || message == "" {
				t.Fatalf("%+v: %s, code %d, message %q", f, state, code, message)
			}
		}
	}
}

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		f    plan.ExitFacts
		want int
	}{
		{plan.ExitFacts{Status: jjm.GridRunning, Locals: 1, Exit: 3}, -1},
		{plan.ExitFacts{Status: jjm.Prepared, Locals: 4}, -1},
		{plan.ExitFacts{Status: jjm.Done, Locals: 1}, 0},
		{plan.ExitFacts{Status: jjm.GridFailed, Locals: 1, Exit: 3}, 3},
		{plan.ExitFacts{Status: jjm.GridFailed, Locals: 1, Exit: 0}, 1},
		{plan.ExitFacts{Status: jjm.GridFailed, Locals: 1, Exit: -1}, 1},
		{plan.ExitFacts{Status: jjm.Aborted, Locals: 1, Exit: 143}, 143},
		{plan.ExitFacts{Status: jjm.Aborted, Locals: 1, Exit: -1}, 1},
		{plan.ExitFacts{Status: jjm.Done, Locals: 9, Exit: 3}, 0},
		{plan.ExitFacts{Status: jjm.Finished, Locals: 9}, 1},
		{plan.ExitFacts{Status: jjm.Finished, Locals: 9, NotDone: 42}, 42},
		{plan.ExitFacts{Status: jjm.Broken}, 1},
	} {
		if got := plan.ExitCode(c.f); got != c.want {
			t.Errorf("%+v: %d, want %d", c.f, got, c.want)
		}
	}
}

// Logs use the words of decisions, so each decision must have a word.
func TestWords(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range []fmt.Stringer{plan.EndWait, plan.WaitForResult, plan.TakeClaim, plan.Repoint, plan.Judge,
		plan.BulkWait, plan.BulkAdopt, plan.BulkSubmit, plan.BulkRefuse,
		plan.Nothing, plan.Prepare, plan.Generate, plan.KillLocals, plan.Collect, plan.Finish} {
		word := fmt.Sprintf("%T %s", s, s)
		if seen[word] {
			t.Errorf("%s twice", word)
		}
		seen[word] = true
	}
	for v := plan.AbsentWait; v <= plan.Lost; v++ {
		if v.String() == "" {
			t.Errorf("absence verdict %d has no word", v)
		}
	}
	if _, err := json.Marshal(plan.Absence{Since: 1}); err != nil {
		t.Error(err)
	}
}
