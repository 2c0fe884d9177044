package plan_test

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

var holders = []plan.Holder{plan.HeldByNobody, plan.HeldByThis, plan.HeldByOther, plan.HeldByDaemon, plan.HeldUnseen}

var absences = []plan.AbsenceVerdict{plan.AbsentWait, plan.AskAccounting, plan.Prove, plan.Lost}

var bools = []bool{false, true}

// endings yields every possible input of Ending. Each age is either below or above its limit.
func endings(rules plan.EndRules) iter.Seq[plan.EndFacts] {
	return func(yield func(plan.EndFacts) bool) {
		for n := range 2 * 2 * 2 * 2 * 2 * 2 * 2 * 2 * 12 * 5 * 4 {
			pick := func(k int) int { i := n % k; n /= k; return i }
			f := plan.EndFacts{
				HasResult: bools[pick(2)], HeartbeatFresh: bools[pick(2)], Kill: bools[pick(2)], Beating: bools[pick(2)],
				ResultAge:  []time.Duration{0, rules.BatchSettle}[pick(2)],
				EndAge:     []time.Duration{0, rules.UnseenSettle}[pick(2)],
				ClaimBatch: []string{"", "other"}[pick(2)], ClaimAge: []time.Duration{0, rules.UnseenSettle}[pick(2)],
				Batch: jjm.BatchState(pick(12)), Claim: holders[pick(5)], Absence: absences[pick(4)],
			}
			if !yield(f) {
				return
			}
		}
	}
}

func show(f plan.EndFacts, s plan.EndStep) string { return fmt.Sprintf("%+v\n-> %+v", f, s) }

// elsewhere reports whether the claim points to another batch job.
func elsewhere(f plan.EndFacts) bool { return f.Claim == plan.HeldByOther && f.ClaimBatch != "" }

// overruns reports whether an attempt that the batch system no longer has runs for longer than its walltime.
func overruns(f plan.EndFacts, rules plan.EndRules) bool {
	return !f.Batch.Alive() && f.ClaimAge > rules.Walltime && f.Claim != plan.HeldByDaemon && f.Claim != plan.HeldByNobody
}

func TestEnding_IsSafeForEveryInput(t *testing.T) {
	rules := plan.DefaultEndRules()
	rules.Walltime = time.Second // less than the longer age of a claim
	n := 0
	for f := range endings(rules) {
		n++
		s := plan.Ending(f, rules)
		ended, alive := f.Batch.Ended(), f.Batch.Alive()
		lost := !ended && !alive && f.Absence == plan.Lost && !f.HeartbeatFresh
		for what, bad := range map[string]bool{
			"judged while it may live": s.Do == plan.Judge && !f.HasResult && !ended && !lost,
			"judged without settling the claim": s.Do == plan.Judge && !f.HasResult &&
				(f.Claim == plan.HeldByNobody || elsewhere(f)),
			"judged before its result could arrive": s.Do == plan.Judge && !f.HasResult && ended &&
				f.Claim != plan.HeldByDaemon && f.EndAge < rules.ResultSettle,
			"judged while the batch system may hide it": s.Do == plan.Judge && !f.HasResult && ended &&
				f.Claim == plan.HeldUnseen && min(f.EndAge, f.ClaimAge) < rules.UnseenSettle,
			"judged while its wrapper beats": s.Do == plan.Judge && !f.HasResult && ended && f.Beating &&
				f.Claim != plan.HeldByDaemon,
			"judged before the last word could arrive": s.Do == plan.Judge && f.HasResult && !ended &&
				f.ResultAge < rules.BatchSettle,
			"lost flag":                        s.Lost != (s.Do == plan.Judge && !f.HasResult && !ended),
			"the holder elsewhere was ignored": !f.HasResult && elsewhere(f) && (s.Do != plan.Repoint || s.To != f.ClaimBatch),
			"re-pointed without a reason":      s.Do == plan.Repoint && (f.HasResult || !elsewhere(f)),
			"took a claim that is held":        s.Do == plan.TakeClaim && f.Claim != plan.HeldByNobody,
			"gave up a live job not to be":     s.Do == plan.TakeClaim && !f.Kill && !ended && !lost,
			"took a claim after the result":    s.Do == plan.TakeClaim && f.HasResult,
			"cancelled without a reason": s.Cancel &&
				(ended && !f.Beating || f.HasResult || !f.Kill && f.Claim != plan.HeldByDaemon && !overruns(f, rules)),
			"ran over its walltime for ever": !s.Cancel && s.Do == plan.EndWait && !f.HasResult && overruns(f, rules) &&
				(ended || f.Absence == plan.Lost && f.HeartbeatFresh && !alive),
			"a kill left a job alone":           f.Kill && alive && !f.HasResult && !s.Cancel && s.Do != plan.Repoint,
			"waits for a result without an end": s.Do == plan.WaitForResult && (s.After <= 0 || !f.HasResult && !ended),
			"does not say why":                  s.Why == "",
		} {
			if bad {
				t.Fatalf("%s:\n%s", what, show(f, s))
			}
		}
		g := f
		if ended || alive {
			g.Absence, g.HeartbeatFresh = plan.Lost, !f.HeartbeatFresh
			if plan.Ending(g, rules) != s {
				t.Fatalf("the absence of a batch job that is known decided something:\n%s", show(f, s))
			}
		}
	}
	if n != 61440 {
		t.Fatalf("looked at %d cases", n)
	}
}

// Every attempt is judged in the end if the batch system stays healthy: batch jobs end, absences are proven, heartbeats
// stop, and each claim gets or has a holder.
func TestEnding_EveryAttemptIsJudgedInTheEnd(t *testing.T) {
	rules := plan.DefaultEndRules()
	var follow func(f plan.EndFacts, steps int)
	follow = func(f plan.EndFacts, steps int) {
		s := plan.Ending(f, rules)
		if steps > 12 {
			t.Fatalf("still not judged:\n%s", show(f, s))
		}
		for _, next := range nature(f, s, rules) {
			follow(next, steps+1)
		}
	}
	for f := range endings(rules) {
		follow(f, 0)
	}
}

// nature returns all facts that may come next after a step, because batch jobs end, absences grow and heartbeats stop.
// After a judgement it returns none.
func nature(f plan.EndFacts, s plan.EndStep, rules plan.EndRules) []plan.EndFacts {
	with := func(change func(*plan.EndFacts)) plan.EndFacts { g := f; change(&g); return g }
	switch s.Do {
	case plan.Judge:
		return nil
	case plan.TakeClaim:
		return []plan.EndFacts{
			with(func(g *plan.EndFacts) { g.Claim = plan.HeldByDaemon }),
			with(func(g *plan.EndFacts) { g.Claim = plan.HeldByThis }),
			with(func(g *plan.EndFacts) { g.Claim, g.ClaimBatch = plan.HeldByOther, "other" }),
			with(func(g *plan.EndFacts) { g.Claim, g.ClaimBatch = plan.HeldUnseen, "other" }),
		}
	case plan.Repoint:
		return []plan.EndFacts{
			with(func(g *plan.EndFacts) { g.Claim, g.Batch = plan.HeldByThis, jjm.BatchRunning }),
			with(func(g *plan.EndFacts) { g.Claim, g.Batch, g.EndAge = plan.HeldByThis, jjm.BatchEndedFailed, 0 }),
			with(func(g *plan.EndFacts) {
				g.Claim, g.Batch, g.Absence = plan.HeldByThis, jjm.BatchUnknown, plan.AbsentWait
			}),
		}
	}
	switch {
	case f.HasResult || f.Batch.Ended():
		late := with(func(g *plan.EndFacts) {
			g.EndAge, g.ClaimAge, g.ResultAge = rules.UnseenSettle, rules.UnseenSettle, rules.BatchSettle
		})
		silent := late
		silent.Beating = false
		if late == f {
			return []plan.EndFacts{silent}
		}
		return []plan.EndFacts{late, silent}
	case f.Batch.Alive():
		return []plan.EndFacts{
			with(func(g *plan.EndFacts) { g.Batch, g.EndAge = jjm.BatchCancelled, 0 }),
			with(func(g *plan.EndFacts) { g.Batch, g.Absence = jjm.BatchUnknown, plan.AbsentWait }),
			with(func(g *plan.EndFacts) { g.HasResult, g.ResultAge = true, 0 }),
		}
	case f.Absence != plan.Lost:
		return []plan.EndFacts{with(func(g *plan.EndFacts) { g.Absence++ })}
	}
	return []plan.EndFacts{with(func(g *plan.EndFacts) { g.HeartbeatFresh, g.ClaimAge = false, rules.UnseenSettle })}
}

func TestEnding_Cases(t *testing.T) {
	rules := plan.EndRules{ResultSettle: time.Minute, UnseenSettle: time.Hour}
	for name, c := range map[string]struct {
		facts plan.EndFacts
		want  plan.EndDo
	}{
		"finished": {plan.EndFacts{HasResult: true, Batch: jjm.BatchEndedOK,
			Claim: plan.HeldByThis}, plan.Judge},
		"finished, batch system down":   {plan.EndFacts{HasResult: true, Claim: plan.HeldByThis}, plan.Judge},
		"failed before its wrapper ran": {plan.EndFacts{Batch: jjm.BatchEndedFailed}, plan.TakeClaim},
		"the claim is got": {plan.EndFacts{Batch: jjm.BatchEndedFailed, Claim: plan.HeldByDaemon},
			plan.Judge},
		"its file is late": {plan.EndFacts{Batch: jjm.BatchEndedOK, Claim: plan.HeldByThis,
			EndAge: time.Second}, plan.WaitForResult},
		"its file never came": {plan.EndFacts{Batch: jjm.BatchEndedOK, Claim: plan.HeldByThis,
			EndAge: time.Minute}, plan.Judge},
		"cancelled, and its wrapper goes on": {plan.EndFacts{Batch: jjm.BatchCancelled, Claim: plan.HeldByThis,
			EndAge: time.Minute, Beating: true, Kill: true}, plan.EndWait},
		"submitted twice, the other runs": {plan.EndFacts{Batch: jjm.BatchEndedFailed, Claim: plan.HeldByOther,
			ClaimBatch: "8"}, plan.Repoint},
		"submitted twice, the other is hidden": {plan.EndFacts{Batch: jjm.BatchEndedFailed, Claim: plan.HeldUnseen,
			ClaimBatch: "8",
			EndAge:     59 * time.Minute}, plan.WaitForResult},
		"its claim names a job that is not there": {plan.EndFacts{Batch: jjm.BatchEndedOK, Claim: plan.HeldUnseen,
			ClaimBatch: "8",
			EndAge:     time.Hour, ClaimAge: time.Hour}, plan.Judge},
		"it was claimed after the end": {plan.EndFacts{Batch: jjm.BatchEndedOK, Claim: plan.HeldUnseen, ClaimBatch: "8",
			EndAge: time.Hour, ClaimAge: time.Minute}, plan.WaitForResult},
		"kill one whose claim names another": {plan.EndFacts{Batch: jjm.BatchRunning, Claim: plan.HeldUnseen,
			ClaimBatch: "8", Kill: true}, plan.EndWait},
		"kill a queued one": {plan.EndFacts{Batch: jjm.BatchQueued, Kill: true}, plan.TakeClaim},
		"kill a running one": {plan.EndFacts{Batch: jjm.BatchRunning, Claim: plan.HeldByThis, Kill: true},
			plan.EndWait},
		"missing":                    {plan.EndFacts{Absence: plan.Prove, Claim: plan.HeldByThis}, plan.EndWait},
		"missing, nobody claimed it": {plan.EndFacts{Absence: plan.Prove}, plan.EndWait},
		"lost":                       {plan.EndFacts{Absence: plan.Lost, Claim: plan.HeldByThis}, plan.Judge},
		"lost, nobody claimed it":    {plan.EndFacts{Absence: plan.Lost}, plan.TakeClaim},
		"lost, heartbeat fresh": {plan.EndFacts{Absence: plan.Lost, Claim: plan.HeldByThis,
			HeartbeatFresh: true}, plan.EndWait},
		"given up, started again by the batch": {plan.EndFacts{Batch: jjm.BatchRunning, Claim: plan.HeldByDaemon},
			plan.EndWait},
	} {
		if s := plan.Ending(c.facts, rules); s.Do != c.want {
			t.Errorf("%s: %s, want %s (%s)", name, s.Do, c.want, s.Why)
		}
	}
}

func TestHolderOf(t *testing.T) {
	w := func(batch string) *jjm.Claim { return &jjm.Claim{Holder: jjm.HolderWrapper, Batch: batch} }
	for _, c := range []struct {
		claim *jjm.Claim
		shown bool
		want  plan.Holder
	}{
		{nil, true, plan.HeldByNobody}, {w("7"), false, plan.HeldByThis}, {w("8"), true, plan.HeldByOther},
		{w("8"), false, plan.HeldUnseen}, {w(""), false, plan.HeldByThis},
		{&jjm.Claim{Holder: jjm.HolderDaemon, Batch: "8"}, true, plan.HeldByDaemon},
	} {
		if got := plan.HolderOf(c.claim, "7", c.shown); got != c.want {
			t.Errorf("%+v: %s, want %s", c.claim, got, c.want)
		}
	}
}

// world simulates one attempt that was submitted twice, as two batch jobs. Its batch system forgets, restarts and loses
// jobs, and its file system shows results late.
type world struct {
	jobs     [2]batchJob
	pointed  int
	holder   string // who has the claim: "", job "0", job "1", "daemon"
	running  bool   // whether the application runs
	runs     int
	result   int // 0: none, 1: written, 2: visible to the daemon
	absence  plan.AbsenceVerdict
	endAge   time.Duration
	claimAge time.Duration // since the daemon read the claim
	sawClaim bool
	judged   bool
	withJob  bool // whether it was judged with a result
	sawEnded bool
}

type batchJob struct {
	state jjm.BatchState
	gone  bool // listings do not show the job any more
	shown bool // a listing has shown the job at least once
}

const tick = time.Minute

// start begins the wrapper of job i. The wrapper runs the application only if it gets the claim.
func (w *world) start(i int) {
	j := &w.jobs[i]
	if j.state != jjm.BatchQueued {
		return
	}
	j.state = jjm.BatchRunning
	if w.holder == "" {
		w.holder = fmt.Sprint(i)
		w.running = true
		w.runs++
		return
	}
	j.state = jjm.BatchEndedFailed // the other job has the claim, so this wrapper ends
}

// end ends job i. result is set if the job leaves a result.
func (w *world) end(i int, result bool) {
	if w.jobs[i].state.Ended() {
		return
	}
	w.jobs[i].state = jjm.BatchEndedFailed
	if w.holder == fmt.Sprint(i) && w.running {
		w.running = false
		if result {
			w.result = 1
		}
	}
}

func (w *world) facts(kill bool) plan.EndFacts {
	f := plan.EndFacts{HasResult: w.result == 2, Kill: kill, Absence: w.absence, EndAge: w.endAge, ClaimAge: w.claimAge}
	if j := w.jobs[w.pointed]; !j.gone {
		f.Batch = j.state
	}
	switch w.holder {
	case "":
	case "daemon":
		f.Claim = plan.HeldByDaemon
	default:
		shown := w.jobs[w.holder[0]-'0'].shown
		f.Claim = plan.HolderOf(&jjm.Claim{Holder: jjm.HolderWrapper, Batch: w.holder}, fmt.Sprint(w.pointed), shown)
		// A wrapper counts as beating for two more intervals. Its result appears in this time.
		f.Beating = f.Claim == plan.HeldUnseen && (w.running || w.result == 1)
		f.HeartbeatFresh = f.Beating
		f.ClaimBatch = w.holder
	}
	return f
}

// ask calls Ending once and carries out its decision.
func (w *world) ask(t *rapid.T, kill bool) {
	f := w.facts(kill)
	w.sawClaim = w.sawClaim || w.holder != ""
	s := plan.Ending(f, plan.EndRules{ResultSettle: 2 * tick, UnseenSettle: 3 * tick})
	switch s.Do {
	case plan.Judge:
		w.judged, w.withJob = true, f.HasResult
	case plan.TakeClaim:
		if w.holder == "" {
			w.holder = "daemon"
		}
	case plan.Repoint:
		w.pointed = int(s.To[0] - '0')
		w.endAge, w.absence, w.sawEnded = 0, plan.AbsentWait, false
	}
	if s.Cancel && rapid.Bool().Draw(t, "cancel works") {
		w.end(w.pointed, rapid.Bool().Draw(t, "leaves a result"))
	}
}

// age makes the times that the daemon measures one tick longer.
func (w *world) age() {
	for i := range w.jobs {
		w.jobs[i].shown = w.jobs[i].shown || !w.jobs[i].gone
	}
	j := w.jobs[w.pointed]
	switch {
	case !j.gone && j.state.Ended():
		if w.sawEnded {
			w.endAge += tick
		}
		w.sawEnded = true
	case j.gone && w.absence < plan.Prove:
		w.absence++
	case j.gone:
		w.end(w.pointed, false) // before jjm proves an absence, it cancels the job
		w.absence = plan.Lost
	}
	if w.sawClaim {
		w.claimAge += tick
	}
	if w.result == 1 {
		w.result = 2
	}
}

func TestEnding_NeverTwiceNeverLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{jobs: [2]batchJob{{state: jjm.BatchQueued}, {state: jjm.BatchQueued}}}
		kill := rapid.Bool().Draw(t, "kill")
		for range 40 {
			i := rapid.IntRange(0, 1).Draw(t, "job")
			switch rapid.SampledFrom([]string{"start", "end", "die", "forget", "restart", "ask", "ask", "age"}).Draw(t,
				"event") {
			case "start":
				w.start(i)
			case "end":
				w.end(i, true)
			case "die":
				w.end(i, false)
			case "forget":
				w.jobs[i].gone = true
			case "restart": // the batch system restarts an ended job
				if !w.running && !w.jobs[i].gone {
					if i == w.pointed { // with the next listing the daemon forgets the earlier end
						w.endAge, w.sawEnded = 0, false
					}
					w.jobs[i].state = jjm.BatchQueued
				}
			case "ask":
				if !w.judged {
					w.ask(t, kill)
				}
			case "age":
				w.age()
			}
			checkWorld(t, w)
		}
		for step := 0; !w.judged; step++ { // from now on everything is healthy
			if step > 40 {
				t.Fatalf("not judged: %+v", w)
			}
			w.end(0, true)
			w.end(1, true)
			w.age()
			w.ask(t, kill)
		}
		checkWorld(t, w)
	})
}

// checkWorld requires that an attempt runs at most once. After a judgement without a result, the attempt does not run,
// cannot start, and has no result on its way.
func checkWorld(t *rapid.T, w *world) {
	if w.runs > 1 {
		t.Fatal("the application ran twice")
	}
	if w.judged && !w.withJob && (w.running || w.result != 0 || w.holder == "") {
		t.Fatalf("judged without its result, but running %v, result %d, claim %q", w.running, w.result, w.holder)
	}
}

// A killed attempt is judged without a claim if the batch system proves that the attempt never ran. For all other
// attempts this proof changes nothing.
func TestEnding_OnlyAKillOfWhatNeverRanNeedsNoClaim(t *testing.T) {
	rules := plan.DefaultEndRules()
	for f := range endings(rules) {
		plain := plan.Ending(f, rules)
		f.NeverRan = true
		got := plan.Ending(f, rules)
		if withdrawn := f.Kill && f.Batch == jjm.BatchCancelled && !f.HasResult; !withdrawn && got != plain {
			t.Fatalf("it counts where it must not:\n%s", show(f, got))
		} else if withdrawn && (got.Do != plan.Judge || got.Cancel || got.Lost || got.Why == "") {
			t.Fatalf("not judged:\n%s", show(f, got))
		}
	}
}
