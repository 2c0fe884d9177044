package engine_test

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/testkit/needs"
)

// chaos describes one random history of a site.
type chaos struct {
	sim      adaptertest.SimConfig
	faults   []adaptertest.Fault
	miss     int
	jobs     []string
	plays    []adaptertest.Play // the plays of first and second attempts, by local job
	actions  []action
	point    string
	nth      int
	downtime time.Duration
	account  *jjm.Owner
}

func drawChaos(t *rapid.T, points []string) chaos {
	minutes := func(name string, most int) time.Duration {
		return time.Duration(rapid.IntRange(0, most*60).Draw(t, name)) * time.Second
	}
	c := chaos{
		sim: adaptertest.SimConfig{
			MaxBulk: rapid.IntRange(1, 6).Draw(t, "bulk"), Slots: rapid.IntRange(1, 8).Draw(t, "slots"),
			TwoPhase: rapid.Bool().Draw(t, "two-phase"), Settle: minutes("settle", 1), Wait: minutes("wait", 1),
			Life: time.Second + minutes("life", 10), Jitter: time.Minute, Seed: rapid.Uint64().Draw(t, "seed"),
		},
		faults: rapid.SliceOfN(rapid.SampledFrom([]adaptertest.Fault{adaptertest.Accept, adaptertest.Accept,
			adaptertest.LoseReply, adaptertest.LoseRequest, adaptertest.SayBusy, adaptertest.Refuse}), 0, 5).Draw(t, "faults"),
		miss:  rapid.IntRange(0, 1).Draw(t, "miss"),
		point: rapid.SampledFrom(points).Draw(t, "crash"), nth: rapid.IntRange(1, 4).Draw(t, "nth"),
		downtime: minutes("downtime", 10),
		account:  rapid.SampledFrom([]*jjm.Owner{nil, service}).Draw(t, "account"),
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "grid jobs") {
		n := rapid.IntRange(1, 7).Draw(t, "local jobs")
		text := rapid.SampledFrom([]func(int, ...string) string{mc, plain}).Draw(t, "type")(n)
		c.actions = append(c.actions, action{minutes("submit", 3), submitAs(fmt.Sprint(i), text)})
		c.jobs = append(c.jobs, text)
	}
	for range 10 {
		c.plays = append(c.plays, rapid.SampledFrom([]adaptertest.Play{{}, {}, {}, {}, {Keyword: "RETRY", Data: "x"},
			{Keyword: "FAILED", Data: "x"},
			{Keyword: "-", Exit: 2}, {NoClaim: true, Exit: 1}, {NoResult: true, Exit: 1}, {State: jjm.BatchOOM, Exit: 137},
			{Keyword: "-", Signal: 9}, {State: jjm.BatchAborted, NoResult: true}}).Draw(t, "play"))
	}
	for range rapid.IntRange(0, 4).Draw(t, "actions") {
		c.actions = append(c.actions, action{minutes("when", 15), drawAction(t, len(c.jobs))})
	}
	slices.SortStableFunc(c.actions, func(a, b action) int { return cmp.Compare(a.at, b.at) })
	return c
}

// drawAction draws an action of users or of the batch system.
func drawAction(t *rapid.T, jobs int) func(*stage) error {
	key := fmt.Sprint(rapid.IntRange(0, jobs-1).Draw(t, "of"))
	n := rapid.Int32Range(0, 6).Draw(t, "local")
	onRef := func(do func(*stage, adapters.Ref)) func(*stage) error {
		return func(s *stage) error {
			if id := s.ids[key]; id != 0 {
				for _, l := range s.locals(id) {
					if l.ID.N == n && l.Tag != "" {
						do(s, adapters.Ref{Tag: l.Tag, Index: l.Pos})
					}
				}
			}
			return nil
		}
	}
	switch rapid.IntRange(0, 7).Draw(t, "action") {
	case 0:
		return onRef(func(s *stage, r adapters.Ref) { s.sim.Vanish(r) })
	case 1:
		return onRef(func(s *stage, r adapters.Ref) { s.sim.Abort("node failure", r) })
	case 2:
		return onRef(func(s *stage, r adapters.Ref) { s.sim.Requeue(r) })
	case 3:
		return func(s *stage) error { s.sim.Down(10 * time.Minute); return nil }
	case 4:
		return func(s *stage) error { s.sim.Lie(20, nil); return nil }
	case 5:
		return func(s *stage) error { s.sim.IgnoreCancels(3); return nil }
	case 6:
		return killIfThere(key, fmt.Sprintf(".%d-%d", n, n+1))
	}
	return killIfThere(key, "")
}

// killIfThere returns an action that kills a job. The action succeeds if the job does not exist yet or no longer
// exists.
func killIfThere(key, rest string) func(*stage) error {
	return func(s *stage) error {
		if s.ids[key] == 0 {
			return nil
		}
		err := killOf(key, rest)(s)
		if k := jjm.KindOf(err); k == jjm.Gone || k == jjm.Busy { // Busy: the local job is not made yet
			return nil
		}
		return err
	}
}

// play returns the play of an attempt. The third attempt and all later ones succeed.
func (c *chaos) play(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
	if id.Attempt > 1 {
		return adaptertest.Play{}
	}
	return c.plays[(int(id.N)+int(id.Grid)+5*int(id.Attempt))%len(c.plays)]
}

// lives is the number of random histories that a property test draws, unless the flag -rapid.checks sets the number.
// The whole campaign draws 25 times as many.
const lives = 12

// drawLives sets the number of cases that rapid draws to lives, or 25 times lives in the whole campaign.
func drawLives(t *testing.T) {
	f := flag.Lookup("rapid.checks")
	if f == nil {
		t.Fatal("rapid has no flag rapid.checks any more")
	}
	before := f.Value.String()
	if before != f.DefValue {
		return // the command line sets the number
	}
	n := lives
	if whole() {
		n *= 25
	}
	if err := f.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(before) })
}

// whole reports whether the whole campaign is requested (make test-faults).
func whole() bool { return needs.InCampaign(needs.Faults) }

func TestProperty_WhateverHappensNothingIsLostOrDoubled(t *testing.T) {
	drawLives(t)
	points := failpoints(t)
	rapid.Check(t, func(rt *rapid.T) {
		c := drawChaos(rt, points)
		ok := t.Run("", func(t *testing.T) {
			crash := &crasher{point: c.point, nth: c.nth, downtime: c.downtime}
			inWorld(t, options{sim: c.sim, play: c.play, crash: crash, account: c.account}, func(t *testing.T, w *world) {
				sc := scenario{sim: c.sim, faults: c.faults, miss: c.miss, actions: c.actions}
				s := sc.begin(w)
				s.run(sc)
				s.pass(time.Hour)
				for _, id := range s.ids {
					l := w.lookup(id)
					var status jjm.GridStatus
					w.must(status.UnmarshalText([]byte(l.Status)))
					w.verify(id, want{status: status, gram: l.GRAM, jobs: -1})
				}
				w.verifyQuiet()
			})
		})
		if !ok {
			rt.Fatalf("see above")
		}
	})
}
