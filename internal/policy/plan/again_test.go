package plan

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

// countsOf counts local jobs by state, without local jobs that gave their work back.
func countsOf(locals []jjm.LocalJob) (counts [jjm.NumStates]int) {
	for i := range locals {
		if locals[i].Phase != jjm.GivenBack {
			counts[locals[i].State]++
		}
	}
	return counts
}

// localsOf returns local jobs with the given states, numbered from 0.
func localsOf(states ...jjm.State) (locals []jjm.LocalJob) {
	for n, st := range states {
		locals = append(locals, jjm.LocalJob{ID: jjm.LocalID{Grid: 7, N: int32(n)}, State: st, Tag: "a"})
	}
	return locals
}

func TestAgain_Table(t *testing.T) {
	const F, C, R, K = jjm.Failed, jjm.Completed, jjm.Running, jjm.Killed
	change := func(locals []jjm.LocalJob, f func(l *jjm.LocalJob)) []jjm.LocalJob { f(&locals[0]); return locals }
	for _, c := range []struct {
		name    string
		locals  []jjm.LocalJob
		facts   AgainFacts
		run     []int32
		stopped string // why local job 0 is not resubmitted
	}{
		{"one of five failed", localsOf(F, C, C, C, C), AgainFacts{}, []int32{0}, ""},
		{"one of four failed, which is not below the share", localsOf(F, C, C, C), AgainFacts{}, nil,
			"1 of 4 ended local jobs failed, a share of 0.25, and the share must be below 0.25"},
		{"others may still complete", localsOf(F, R, R, C), AgainFacts{}, nil, ""},
		{"others are still to be made", localsOf(F), AgainFacts{Closed: false, Status: jjm.GridRunning}, nil, ""},
		{"a killed local job does not count", localsOf(F, K, C, C, C, C), AgainFacts{}, []int32{0}, ""},
		{"the only local job", localsOf(F), AgainFacts{}, []int32{0}, ""},
		{"not asked for", localsOf(F), AgainFacts{Failure: "", Rules: AgainRules{Most: -1}}, nil, ""},
		{"killed", localsOf(F), AgainFacts{Kill: true}, nil, ""},
		{"over", localsOf(F), AgainFacts{Status: jjm.Finished}, nil, ""},
		{"being collected", localsOf(F), AgainFacts{Status: jjm.Prepared}, nil, ""},
		{"failed as a whole", localsOf(F), AgainFacts{Failure: "no disk"}, nil, ""},
		{"resubmitted four times", change(localsOf(F), func(l *jjm.LocalJob) { l.Again.Times = 4 }), AgainFacts{},
			[]int32{0}, ""},
		{"resubmitted five times", change(localsOf(F), func(l *jjm.LocalJob) { l.Again.Times = 5 }), AgainFacts{}, nil,
			"5 of at most 5 automatic resubmissions were made"},
		{"stopped", change(localsOf(F), func(l *jjm.LocalJob) { l.Again.Stopped = "no" }), AgainFacts{}, nil, ""},
		{"a kill of the local job", change(localsOf(F), func(l *jjm.LocalJob) { l.Kill = true }), AgainFacts{}, nil, ""},
		{"given back", change(localsOf(F, F, C, C, C, C), func(l *jjm.LocalJob) { l.Phase = jjm.GivenBack }), AgainFacts{},
			[]int32{1}, ""},
		{"never submitted", change(localsOf(F), func(l *jjm.LocalJob) { l.Phase, l.Tag = jjm.CreateFailed, "" }),
			AgainFacts{}, nil, ""},
	} {
		f := c.facts
		f.Wanted, f.Closed = f.Rules.Most == 0, f.Status != jjm.GridRunning
		f.Locals, f.Counts, f.Rules = c.locals, countsOf(c.locals), AgainRules{Most: 5, FailedShare: 0.25}
		run, stopped := Again(f)
		why := ""
		if len(stopped) > 0 && stopped[0].N == 0 {
			why = stopped[0].Why
		}
		if !slices.Equal(run, c.run) || why != c.stopped {
			t.Errorf("%s: run %v, stopped %v; want %v, %q", c.name, run, stopped, c.run, c.stopped)
		}
	}
}

// For any facts, Again resubmits no local job that was already resubmitted Most times, none if too large a share of the
// local jobs failed, and none after a kill. Once no local job runs, there is a decision for every failed local job.
func TestAgain_IsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := AgainFacts{Wanted: true, Status: jjm.GridRunning, Kill: rapid.Bool().Draw(t, "kill"),
			Closed: rapid.Bool().Draw(t, "closed"), Rules: AgainRules{Most: rapid.IntRange(0, 5).Draw(t, "most"),
				FailedShare: rapid.Float64Range(0.01, 1).Draw(t, "share")}}
		states := rapid.SliceOfN(rapid.SampledFrom([]jjm.State{jjm.Failed, jjm.Completed, jjm.Completed, jjm.Killed,
			jjm.Running}), 1, 20).Draw(t, "states")
		f.Locals = localsOf(states...)
		for i := range f.Locals {
			l := &f.Locals[i]
			l.Kill = l.State == jjm.Killed || rapid.IntRange(0, 9).Draw(t, "killed") == 0
			l.Again.Times = rapid.IntRange(0, 6).Draw(t, "times")
			if l.State == jjm.Failed {
				l.Phase = rapid.SampledFrom([]jjm.Phase{jjm.ByApp, jjm.ByLimit, jjm.GivenBack}).Draw(t, "phase")
			}
		}
		f.Counts = countsOf(f.Locals)
		run, stopped := Again(f)
		failed, ended := f.Counts[jjm.Failed], f.Counts[jjm.Failed]+f.Counts[jjm.Completed]
		alone := f.Closed && len(f.Locals) == 1
		if len(run) > 0 && (f.Kill || !alone && float64(failed) >= f.Rules.FailedShare*float64(ended)*(1+1e-9)) {
			t.Fatalf("%+v: %v run again", f, run)
		}
		for _, n := range run {
			l := &f.Locals[n]
			if l.State != jjm.Failed || l.Kill || l.Phase == jjm.GivenBack || l.Again.Times >= f.Rules.Most {
				t.Fatalf("%+v runs again", l)
			}
		}
		decided := len(run) + len(stopped)
		for i := range f.Locals {
			if l := &f.Locals[i]; l.State == jjm.Failed && !l.Kill && l.Phase != jjm.GivenBack {
				decided--
			}
		}
		if !f.Kill && f.Closed && f.Counts[jjm.Running] == 0 && decided != 0 {
			t.Fatalf("%+v: run %v, stopped %v", f, run, stopped)
		}
	})
}

func TestAutoKill(t *testing.T) {
	const F, C, R, K = jjm.Failed, jjm.Completed, jjm.Running, jjm.Killed
	for _, c := range []struct {
		name   string
		limit  int
		states []jjm.State
		closed bool
		kills  bool
	}{
		{"as many failed as the limit", 2, []jjm.State{F, F, R}, true, true},
		{"more failed", 2, []jjm.State{F, F, F, R}, true, true},
		{"fewer failed", 2, []jjm.State{F, K, R}, true, false},
		{"one completed", 2, []jjm.State{F, F, C, R}, true, false},
		{"never", 0, []jjm.State{F, F, R}, true, false},
		{"never, as Ganga writes it", -1, []jjm.State{F, F, R}, true, false},
		{"nothing is left to kill", 2, []jjm.State{F, F, K}, true, false},
		{"more is to be made", 2, []jjm.State{F, F}, false, true},
	} {
		why := AutoKill(c.limit, countsOf(localsOf(c.states...)), c.closed)
		if (why != "") != c.kills || c.kills && !strings.Contains(why, "failed, and none completed") {
			t.Errorf("%s: %q", c.name, why)
		}
	}
}

// Grid resubmits failed local jobs, or kills the grid job because too many failed, before it collects the outputs. A
// kill on request outranks both.
func TestGrid_ActsByItselfBeforeTheEnd(t *testing.T) {
	counts := countsOf(localsOf(jjm.Failed, jjm.Completed))
	f := GridFacts{Status: jjm.GridRunning, Prepared: true, Closed: true, Made: 2, Counts: counts, EverSubmitted: true}
	for _, c := range []struct {
		name   string
		change func(*GridFacts)
		do     GridDo
		status jjm.GridStatus
	}{
		{"nothing", func(*GridFacts) {}, Collect, jjm.Prepared},
		{"again", func(f *GridFacts) { f.Again = true }, RunAgain, jjm.GridRunning},
		{"again while paused", func(f *GridFacts) { f.Again, f.Paused = true, "a test" }, RunAgain, jjm.Paused},
		{"again, but killed", func(f *GridFacts) { f.Again, f.Kill = true, true }, Collect, jjm.Aborting},
		{"killed by itself", func(f *GridFacts) { f.AutoKill, f.Made = "2 failed", 3 }, KillItself, jjm.GridRunning},
	} {
		facts := f
		c.change(&facts)
		if a := Grid(facts); a.Do != c.do || a.Status != c.status {
			t.Errorf("%s: %s as %s, want %s as %s", c.name, a.Do, a.Status, c.do, c.status)
		}
	}
}
