package engine_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/adapters"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/testkit/adaptertest"
)

func minutes(n int) jjm.Duration { return jjm.Duration(time.Duration(n) * time.Minute) }

// heldConfig sets rules that end holds within minutes.
func heldConfig(c *engineConfig) {
	c.Hold = []plan.HoldRule{
		{Code: "13/*", Do: "release", Times: 2, After: minutes(1)},
		{Code: "13/*", Do: "retry"},
		{Text: regexp.MustCompile("no such user"), Do: "fail", After: minutes(2)},
	}
	c.HoldMaxAge, c.HoldMaxAgeGLF = minutes(20), minutes(40)
}

// heldOften decides which attempts the batch system holds: local job 1 twice; the first attempt of 2 always; 3 and 5
// always; 4 once, so that a release ends the hold.
func heldOften(id jjm.AttemptID, held int) (code, text string) {
	switch {
	case id.N == 1 && held < 2, id.N == 2 && id.Attempt == 0:
		return "13/2", "no such file"
	case id.N == 3:
		return "7/1", "there is no such user"
	case id.N == 4 && held < 1, id.N == 5:
		return "9/9", "out of luck"
	}
	return "", ""
}

// asksForHold plays attempts in which the applications of local jobs 6 and 7 ask to be held.
func asksForHold(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
	if id.N >= 6 && id.Attempt == 0 {
		return adaptertest.Play{Keyword: "HOLD", Data: "look at me"}
	}
	return adaptertest.Play{}
}

func releaseOf(key, rest string) func(*stage) error {
	return func(s *stage) error {
		ref, err := jjm.ParseRef(s.ids[key].String() + rest)
		if err != nil {
			return err
		}
		return s.engine.Release(context.Background(), alice, []jjm.Ref{ref}, wire.ReleaseHow{})[0].Error.Err()
	}
}

// heldScenario returns a scenario with a local job for each way in which a hold can end.
func heldScenario() scenario {
	return scenario{
		sim: adaptertest.SimConfig{MaxBulk: 5}, play: asksForHold, hold: heldOften, config: heldConfig,
		only: []string{"hold", "release-held", "settle", "verdict"},
		actions: []action{
			{0, submitAs("a", mc(8))},
			{15 * time.Minute, releaseOf("a", ".4")},
			{15 * time.Minute, releaseOf("a", ".6")},
		},
		wants: map[string]want{"a": ends(jjm.Finished, 8,
			map[int32]jjm.State{0: jjm.Completed, 1: jjm.Completed, 2: jjm.Completed,
				3: jjm.Failed, 4: jjm.Completed, 5: jjm.Failed, 6: jjm.Completed, 7: jjm.Failed})},
		also: func(s *stage) { s.verifyHolds(s.ids["a"]) },
	}
}

// verifyHolds requires that each rule was applied at most as often as it allows, and that users see why jobs failed.
// Both must be true even if the daemon died: a release whose end was not stored is repeated, but counts only once.
func (w *world) verifyHolds(id jjm.GridID) {
	w.t.Helper()
	locals := w.locals(id)
	for n, want := range []int32{0, 0, 1, 0, 0, 0, 1, 0} {
		if locals[n].Attempt != want {
			w.t.Errorf("local job %s ended with attempt %d, want %d", locals[n].ID, locals[n].Attempt, want)
		}
	}
	for n, want := range map[int32]string{
		3: "the rule for text no such user says fail; held by the batch system: 7/1: there is no such user",
		5: "held by the batch system for 40 min, the longest that a hold may last here: 9/9: out of luck",
		7: "held by the application for 40 min, the longest that a hold may last here: ",
	} {
		if l := locals[n]; l.Phase != jjm.BySystem || !strings.HasPrefix(l.Message, want) {
			w.t.Errorf("local job %s: %s, %q; want %q", l.ID, l.Phase, l.Message, want)
		}
	}
	// one rule that was applied makes two entries: for the decision and for its execution
	for n, most := range map[int32]map[string]int{1: {"says release": 2, "says retry": 0},
		2: {"says release": 2, "says retry": 2},
		// a release may be in the journal twice, because alice repeats a request that was not answered
		3: {"says release": 0}, 4: {"released by alice": 2}, 6: {"released by alice": 2}} {
		for text, want := range most {
			if got := w.journaled(id, n, text); got > want || (got == 0) != (want == 0) {
				w.t.Errorf("the journal of local job %d says %q %d times, want %d at most", n, text, got, want)
			}
		}
	}
}

// journaled counts the entries about a local job whose cause holds a text.
func (w *world) journaled(id jjm.GridID, n int32, text string) int {
	w.t.Helper()
	entries, err := w.engine.History(context.Background(), admin, jjm.Ref{Grid: id, Locals: true, First: n, Last: n}, 0)
	w.must(err)
	found := 0
	for _, e := range entries {
		if strings.Contains(e.Cause, text) {
			found++
		}
	}
	return found
}

func (w *world) release(c wire.Caller, ref string) wire.Released {
	w.t.Helper()
	r, err := jjm.ParseRef(ref)
	w.must(err)
	return w.engine.Release(context.Background(), c, []jjm.Ref{r}, wire.ReleaseHow{})[0]
}

// A hold has a maximum age. The time of an outage does not count towards its age, because nothing shows that the job
// was held then.
func TestHold_AgesOnlyWhileTheBatchSystemIsWell(t *testing.T) {
	t.Parallel()
	o := options{sim: adaptertest.SimConfig{Life: time.Minute}, hold: heldOften, config: heldConfig}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(6))
		w.pass(10 * time.Minute)
		w.sim.Down(2 * time.Hour)
		w.pass(2*time.Hour + 5*time.Minute)
		if l := w.locals(id)[5]; l.Phase != jjm.BatchHeld || l.Holding.Age.D() < 13*time.Minute ||
			l.Holding.Age.D() > 16*time.Minute {
			t.Errorf("after 15 minutes of listings: %s/%s, %+v", l.State, l.Phase, l.Holding)
		}
		w.setSkew(72 * time.Hour)
		w.pass(5 * time.Minute)
		w.shut()
		w.pass(3 * time.Hour)
		w.open()
		w.pass(5 * time.Minute)
		if l := w.locals(id)[5]; l.Phase != jjm.BatchHeld || l.Holding.Age.D() > 28*time.Minute {
			t.Errorf("after a jump of the clock and a stop of the daemon: %s/%s, %+v", l.State, l.Phase, l.Holding)
		}
		w.final(2*time.Hour, id)
		w.verifyQuiet()
	})
}

// The rules of a cluster come before the rules of the site. Jobs that report by exit code have another maximum age of
// holds than jobs that report by log file.
func TestHold_RulesOfTheClusterComeFirst(t *testing.T) {
	t.Parallel()
	o := options{hold: heldOften, config: heldConfig, configs: map[string]engine.ClusterConfig{
		"sim": {Hold: []plan.HoldRule{{Kind: "other", Do: "retry"}, {Kind: "sim", Code: "13/2", Do: "wait"}}}}}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(3))
		w.pass(15 * time.Minute)
		if l := w.locals(id)[2]; l.Phase != jjm.BatchHeld || l.Holding.Releases != 0 {
			t.Errorf("a rule that waits: %+v", l.Holding)
		}
		w.final(time.Hour, id)
		for _, l := range w.locals(id)[1:] {
			if l.State != jjm.Failed || l.Phase != jjm.BySystem ||
				!strings.HasPrefix(l.Message, "held by the batch system for 20 min") {
				t.Errorf("local job %s: %s/%s %q", l.ID, l.State, l.Phase, l.Message)
			}
		}
		w.verifyQuiet()
	})
}

func TestHold_PeopleSeeWhoHoldsAndWhy(t *testing.T) {
	t.Parallel()
	site := func(w *world) []engine.Cluster { return []engine.Cluster{{Kind: "condor", Adapter: w.adapter}} }
	hold := func(id jjm.AttemptID, held int) (code, text string) {
		return []string{"", "13/2", "13/2", "1/0"}[id.N%4],
			[]string{"", "no such file", "no such file", "via condor_hold (by user alice)"}[id.N%4]
	}
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{Keyword: "HOLD", Data: "look at me"}
	}
	inWorld(t, options{hold: hold, play: play, clusters: site}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(4))
		w.pass(5 * time.Minute)
		var got []string
		for _, h := range w.status(id).Holds {
			got = append(got, fmt.Sprintf("%d by %s %s %s from %s", h.Jobs, h.By, h.Code, h.Text, h.First))
		}
		want := []string{"2 by batch system 13/2 no such file from 1.1",
			"1 by application  " + w.locals(id)[0].Message + " from 1.0",
			"1 by operator 1/0 via condor_hold (by user alice) from 1.3"}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("held:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		w.reopen()
		if n := len(w.status(id).Holds); n != 3 {
			t.Errorf("%d kinds of holds after a restart", n)
		}
		w.kill(id.String())
		w.final(time.Hour, id)
		if h := w.status(id).Holds; h != nil {
			t.Errorf("held at the end: %+v", h)
		}
	})
}

// If the batch system refuses a release, the refusal is reported and the release is not repeated. If the batch system
// could not answer, the release is repeated.
func TestHold_AReleaseThatFails(t *testing.T) {
	t.Parallel()
	o := options{hold: heldOften, config: heldConfig}
	inWorld(t, o, func(t *testing.T, w *world) {
		var refused, busy atomic.Int32
		w.adapter.onControl.set(func(op adapters.Op) error {
			switch {
			case op != adapters.Release:
				return nil
			case refused.Add(1) == 1:
				return jjm.Errorf(jjm.Denied, "access is denied")
			case busy.Add(1) <= 3:
				return jjm.Errorf(jjm.Busy, "not now")
			}
			return nil
		})
		id := w.submit(alice, mc(2))
		w.pass(90 * time.Second)
		if l := w.locals(id)[1]; refused.Load() != 1 || l.Holding.Releases != 1 || l.Holding.Trouble != "access is denied" ||
			w.journaled(id, 1, "not released: access is denied") != 1 {
			t.Errorf("refused %d times: %+v", refused.Load(), l.Holding)
		}
		w.until(10*time.Minute, "asked again", func() bool { return busy.Load() >= 3 })
		if l := w.locals(id)[1]; l.Holding.Releases != 2 || l.Attempt != 0 {
			t.Errorf("busy %d times: attempt %d, %+v", busy.Load(), l.Attempt, l.Holding)
		}
		w.final(time.Hour, id)
		w.verify(id, done(2)) // each local job was held twice: then came the second release, or the next attempt
		w.verifyQuiet()
	})
}

func TestRelease_IsForOwnersAndAdministrators(t *testing.T) {
	t.Parallel()
	o := options{hold: heldOften, play: asksForHold, config: func(c *engineConfig) { heldConfig(c); c.Hold = nil }}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(8))
		w.pass(5 * time.Minute)
		for _, ref := range []string{"1", "1.*", "1.4"} {
			if r := w.release(bob, ref); jjm.KindOf(r.Error.Err()) != jjm.Denied {
				t.Errorf("bob releases %s: %+v", ref, r)
			}
		}
		over := wire.Released{NoChange: true, Notes: []string{"local job " + id.String() + ".0 is completed"}}
		for ref, want := range map[string]wire.Released{"1.0": over, "1.4": {Jobs: 1}} {
			want.Ref = ref
			if diff := cmp.Diff(want, w.release(alice, ref)); diff != "" {
				t.Errorf("alice releases %s: -want +got\n%s", ref, diff)
			}
		}
		for ref, want := range map[string]jjm.Kind{"1.8": jjm.Gone, "9": jjm.Gone} {
			if r := w.release(admin, ref); jjm.KindOf(r.Error.Err()) != want {
				t.Errorf("release of %s: %+v, want %s", ref, r, want)
			}
		}
		w.pass(2 * time.Minute)
		if l := w.locals(id)[4]; l.State != jjm.Completed && l.State != jjm.Running {
			t.Errorf("released: %s/%s %+v", l.State, l.Phase, l.Holding)
		}
		// Local jobs 1, 2, 3 and 5 are held by the batch system, 6 and 7 because their applications asked for a hold.
		if r := w.release(admin, "1"); r.Jobs != 6 || r.Error != nil {
			t.Errorf("the administrator releases all: %+v\n%s", r, w.describe(id))
		}
		entries, err := w.engine.History(t.Context(), admin, jjm.Ref{Grid: id, Locals: true, First: 6, Last: 6}, 0)
		w.must(err)
		found := false
		for _, e := range entries {
			found = found || e.Actor == admin.Actor() && e.Cause == "released by "+admin.Actor() &&
				e.To == "submitting/retry-wait"
		}
		if !found {
			t.Errorf("journal: %+v", entries)
		}
		w.final(3*time.Hour, id)
		l := w.locals(id)
		if l[6].State != jjm.Completed || l[6].Attempt != 1 || l[7].State != jjm.Completed {
			t.Errorf("%s", w.describe(id))
		}
		if r := w.release(alice, "1"); !r.NoChange || r.Error != nil {
			t.Errorf("release of what is over: %+v", r)
		}
		w.verifyQuiet()
	})
}
