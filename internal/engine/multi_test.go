package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// pair returns the options of a world with a small cluster named sim and a larger cluster named big.
func pair(small, big adaptertest.SimConfig) options {
	big.Name = "big"
	return options{sim: small, more: []adaptertest.SimConfig{big}}
}

func slots(n int) adaptertest.SimConfig { return adaptertest.SimConfig{Slots: n} }

// on counts the local jobs of a grid job by their cluster.
func (w *world) on(id jjm.GridID) map[string]int {
	w.t.Helper()
	n := map[string]int{}
	for _, l := range w.locals(id) {
		n[l.Cluster]++
	}
	return n
}

func (w *world) order(c wire.Caller, o wire.Order) ([]jjm.Order, error) {
	return w.engine.Order(context.Background(), c, &o)
}

func (w *world) give(o wire.Order) []jjm.Order {
	w.t.Helper()
	got, err := w.order(admin, o)
	w.must(err)
	return got
}

func (w *world) status(id jjm.GridID) wire.Status {
	w.t.Helper()
	s, err := w.engine.Status(context.Background(), admin, []jjm.Ref{{Grid: id}})
	w.must(err)
	w.must(s[0].Lookup.Error.Err())
	return s[0]
}

func TestSpread_ASmallAndABigClusterFinishTogether(t *testing.T) {
	t.Parallel()
	for name, clusters := range map[string]string{
		"any": `clusters = "any"`, "a list": `clusters = ["sim", "big"]`, "cluster": `cluster = "any"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, pair(slots(2), slots(10)), func(t *testing.T, w *world) {
				id := w.submit(alice, mc(60, clusters))
				w.final(time.Hour, id)
				w.verify(id, done(60))
				w.verifyQuiet()
				if n := w.on(id); n["sim"] < 8 || n["sim"] > 14 {
					t.Errorf("of 60 local jobs on 2 and 10 slots: %v", n)
				}
				s := w.status(id)
				if len(s.ClusterJobs) != 2 || s.ClusterJobs[0].ID != id.String()+"@big" ||
					s.ClusterJobs[1].ID != id.String()+"@sim" ||
					s.ClusterJobs[0].Counts.Completed+s.ClusterJobs[1].Counts.Completed != 60 {
					t.Errorf("cluster jobs: %+v", s.ClusterJobs)
				}
				w.verifyAfterReopening(id)
				if again := w.status(id); len(again.ClusterJobs) != 2 || again.ClusterJobs[1] != s.ClusterJobs[1] {
					t.Errorf("cluster jobs of the history: %+v", again.ClusterJobs)
				}
				ids, err := w.records.Query(id, "//clusterjob/@id")
				if err != nil || strings.Join(ids, " ") != id.String()+"@big "+id.String()+"@sim" {
					t.Errorf("record: %v, %v", ids, err)
				}
			})
		})
	}
}

func TestSpread_AFailingClusterGetsNothingAndKeepsItsJobs(t *testing.T) {
	t.Parallel()
	inWorld(t, pair(adaptertest.SimConfig{Slots: 4, Life: 20 * time.Minute}, slots(4)), func(t *testing.T, w *world) {
		only := w.submit(alice, mc(4, `cluster = "sim"`))
		w.running(only, 4)
		before := w.lookup(only)
		w.sim.Down(2 * time.Hour)
		w.pass(time.Minute) // a minute is enough for a listing to fail
		id := w.submit(alice, mc(20, `clusters = ["sim", "big"]`))
		w.final(time.Hour, id)
		w.verify(id, done(20))
		if n := w.on(id); n["big"] != 20 {
			t.Errorf("spread over %v while one is down", n)
		}
		if now := w.lookup(only); now != before {
			t.Errorf("the jobs of the cluster that is down: %+v, before %+v", now, before)
		}
		w.final(3*time.Hour, only)
		w.verify(only, done(4))
		w.pass(2 * time.Hour) // the cluster is back
		w.verifyQuiet()
	})
}

// A bulk is moved to another cluster only if its cluster certainly does not have it. While this is in doubt, the bulk
// stays.
func TestSpread_OnlyABulkThatDoesNotExistMoves(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault adaptertest.Fault
		down  time.Duration // how long the cluster is down after the submission
		moves bool
	}{
		"busy":         {adaptertest.SayBusy, 0, true},
		"refused":      {adaptertest.Refuse, 0, true},
		"lost request": {adaptertest.LoseRequest, time.Hour, false},
		"lost reply":   {adaptertest.LoseReply, time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			small := adaptertest.SimConfig{Slots: 4, Settle: 5 * time.Minute}
			inWorld(t, pair(small, slots(4)), func(t *testing.T, w *world) {
				w.adapter.miss.set(-1) // searches never miss a bulk
				w.sim.OnSubmit(test.fault)
				w.adapter.onSubmit.set(func(adapters.Bulk) {
					if test.down > 0 {
						go func() { time.Sleep(time.Second); w.sim.Down(test.down) }()
					}
				})
				id := w.submit(alice, mc(8, `clusters = ["sim", "big"]`))
				w.pass(30 * time.Minute)
				l := w.lookup(id)
				if done := l.Status == "done"; done != (name != "lost request") {
					t.Errorf("after half an hour: %+v\n%s", l, w.describe(id))
				}
				if !test.moves && w.on(id)["sim"] != 4 {
					t.Errorf("the doubtful ones are on %v", w.on(id))
				}
				w.final(3*time.Hour, id)
				w.pass(time.Hour) // the cluster is back
				w.verify(id, done(8))
				w.verifyQuiet()
				if name == "refused" && w.on(id)["big"] != 8 {
					t.Errorf("after a refusal: %v", w.on(id))
				}
			})
		})
	}
}

func TestSpread_ARetryMayGoToAnotherCluster(t *testing.T) {
	t.Parallel()
	o := pair(slots(2), slots(2))
	o.play = func(id jjm.AttemptID, job adaptertest.SimJob) adaptertest.Play {
		if strings.HasPrefix(job.ID, "sim") {
			return adaptertest.Play{NoClaim: true, Exit: 1}
		}
		return adaptertest.Play{}
	}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(4, `clusters = "any"`))
		w.until(time.Hour, "some failed on sim", func() bool {
			for _, l := range w.locals(id) {
				if l.Attempt > 0 {
					return true
				}
			}
			return false
		})
		w.give(wire.Order{Verb: "pause", Kind: "cluster", Name: "sim", Reason: "every job fails"})
		w.final(6*time.Hour, id)
		w.verify(id, done(4))
		if n := w.on(id); n["big"] != 4 {
			t.Errorf("ended on %v", n)
		}
	})
}

func TestSpread_KillReachesEveryCluster(t *testing.T) {
	t.Parallel()
	long := adaptertest.SimConfig{Slots: 3, Life: 10 * time.Hour}
	inWorld(t, pair(long, long), func(t *testing.T, w *world) {
		id := w.submit(alice, mc(10, `clusters = "any"`))
		w.running(id, 6)
		w.kill(id.String())
		w.final(time.Hour, id)
		w.verify(id, want{status: jjm.Aborted, gram: jjm.GRAMDone, jobs: 10, states: endsOf(10, jjm.Killed)})
		w.verifyQuiet()
	})
}

func TestAccept_ChoosesTheClustersThatMeetTheRequest(t *testing.T) {
	t.Parallel()
	inWorld(t, pair(slots(2), slots(2)), func(t *testing.T, w *world) {
		for _, test := range []struct{ lines, want string }{
			{"clusters = [\"sim\", \"bog\"]", `clusters: unknown cluster "bog": this site has sim, big`},
			{"clusters = \"any\"\n[request]\ngpus = 1",
				"request.gpus: not supported by cluster sim: leave it out, or name another cluster"},
			{"[request]\ndirectives = \"--x\"", "request.directives: not supported by cluster sim"},
		} {
			_, err := w.engine.Submit(t.Context(), alice, wire.Submit{Name: "j.toml", Text: mc(1, test.lines), BaseDir: w.dir})
			if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %s", test.lines, err, test.want)
			}
		}
	})
}

// limited returns options with one cluster that has the given limits.
func limited(c engine.ClusterConfig) options {
	return options{sim: adaptertest.SimConfig{MaxBulk: 7, Life: time.Minute},
		configs: map[string]engine.ClusterConfig{"sim": c}}
}

func TestLimits_AreNeverExceeded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config engine.ClusterConfig
		most   int // largest number of jobs in the batch system
		mine   int // largest number of jobs of one owner
	}{
		"max_running":          {engine.ClusterConfig{MaxRunning: 5}, 5, 5},
		"max_running_per_user": {engine.ClusterConfig{MaxRunningPerUser: 3}, 6, 3},
		"both":                 {engine.ClusterConfig{MaxRunning: 5, MaxRunningPerUser: 3, MaxPendingPerUser: 2}, 5, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, limited(test.config), func(t *testing.T, w *world) {
				a, b := w.submit(alice, mc(20)), w.submit(bob, mc(20))
				c := w.submit(alice, plain(5))
				w.until(3*time.Hour, "over", func() bool {
					alive := map[int]int{}
					for _, o := range []jjm.Owner{owner(alice), owner(bob)} {
						l, err := w.sim.List(t.Context(), o, time.Now())
						w.must(err)
						for _, r := range l.Reports {
							if r.State.Alive() {
								alive[o.UID]++
							}
						}
					}
					if alive[alice.UID]+alive[bob.UID] > test.most || alive[alice.UID] > test.mine || alive[bob.UID] > test.mine {
						t.Fatalf("in the batch system: %v", alive)
					}
					return w.lookup(a).Status == "done" && w.lookup(b).Status == "done" && w.lookup(c).Status == "done"
				})
				w.verify(a, done(20))
				w.verify(b, done(20))
			})
		})
	}
}

func TestOrders_PauseKeepsWorkWaitingUntilItsTime(t *testing.T) {
	t.Parallel()
	for _, o := range []wire.Order{
		{Kind: "cluster", Name: "sim"}, {Kind: "type", Name: "montecarlo"}, {Kind: "user", Name: "alice"},
	} {
		t.Run(o.Kind, func(t *testing.T) {
			t.Parallel()
			inWorld(t, options{sim: adaptertest.SimConfig{Slots: 2}}, func(t *testing.T, w *world) {
				first := w.submit(alice, mc(2))
				w.running(first, 2)
				o.Verb, o.Reason, o.For = "pause", "new disks", jjm.Duration(3*time.Hour)
				w.give(o)
				id := w.submit(alice, mc(3))
				w.pass(time.Hour)
				if l := w.lookup(first); l.Status != "done" {
					t.Errorf("what ran: %+v", l)
				}
				w.reopen()
				l := w.lookup(id)
				if l.Status != "pending" || l.GRAM != jjm.GRAMUnsubmitted ||
					!strings.Contains(l.Message, o.Kind+" "+o.Name+" is paused by "+admin.Actor()+" since ") ||
					!strings.Contains(l.Message, " until ") || !strings.Contains(l.Message, ": new disks") {
					t.Errorf("while paused: %+v", l)
				}
				if n := w.sim.Calls().Submits; n != 1 {
					t.Errorf("%d submissions", n)
				}
				w.pass(time.Hour + 55*time.Minute)
				if l := w.lookup(id); l.Status != "pending" {
					t.Errorf("just before the end: %+v", l)
				}
				w.final(10*time.Minute, id)
				w.verify(id, done(3))
				if rest, err := w.engine.Order(t.Context(), bob, nil); err != nil || len(rest) != 0 {
					t.Errorf("in force afterwards: %v, %v", rest, err)
				}
			})
		})
	}
}

func TestOrders_DrainRefusesNewGridJobsOnly(t *testing.T) {
	t.Parallel()
	inWorld(t, pair(slots(2), slots(2)), func(t *testing.T, w *world) {
		id := w.submit(alice, mc(12, "key = \"k\"", `cluster = "sim"`))
		w.give(wire.Order{Verb: "drain", Kind: "cluster", Name: "sim", Reason: "it moves"})
		w.reopen()
		try := func(text string) error {
			_, err := w.engine.Submit(t.Context(), alice, wire.Submit{Name: "j.toml", Text: text, BaseDir: w.dir})
			return err
		}
		if err := try(mc(1)); jjm.KindOf(err) != jjm.Denied ||
			!strings.Contains(err.Error(), "cluster sim is drained by admin") || !strings.Contains(err.Error(), "it moves") ||
			!strings.Contains(err.Error(), `clusters = ["big"] in the job file, or "any"`) {
			t.Errorf("a new grid job: %v", err)
		}
		if err := try(mc(12, "key = \"k\"", `cluster = "sim"`)); err != nil {
			t.Errorf("the same again: %v", err)
		}
		both := w.submit(alice, mc(6, `clusters = "any"`))
		w.final(time.Hour, id, both)
		w.verify(id, done(12))
		w.verify(both, done(6))
		if n := w.on(both); n["big"] != 6 {
			t.Errorf("new work went to %v", n)
		}
		if ended := w.give(wire.Order{Verb: "resume", Kind: "cluster", Name: "sim"}); len(ended) != 1 ||
			ended[0].Reason != "it moves" {
			t.Errorf("resumed: %v", ended)
		}
		if ended := w.give(wire.Order{Verb: "resume", Kind: "cluster", Name: "sim"}); len(ended) != 0 {
			t.Errorf("resumed twice: %v", ended)
		}
		w.must(try(mc(1)))
		history, err := w.engine.History(t.Context(), bob, jjm.Ref{}, 0)
		if err != nil || len(history) != 2 || history[0].To != "drained" || history[0].Actor != admin.Actor() ||
			history[1].To != "resumed" || history[1].Actor != admin.Actor() {
			t.Errorf("journal: %+v, %v", history, err)
		}
	})
}

func TestOrders_AreForAdministratorsAndExistingClusters(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		pause := wire.Order{Verb: "pause", Kind: "cluster", Name: "sim", Reason: "x"}
		if _, err := w.order(bob, pause); jjm.KindOf(err) != jjm.Denied {
			t.Errorf("bob: %v", err)
		}
		for _, change := range []func(*wire.Order){
			func(o *wire.Order) { o.Name = "sin" },
			func(o *wire.Order) { o.Kind, o.Name = "type", "mantecarlo" },
			func(o *wire.Order) { o.Until = jjm.At(w.now().Add(-time.Minute)) },
		} {
			o := pause
			change(&o)
			if _, err := w.order(admin, o); jjm.KindOf(err) != jjm.Invalid {
				t.Errorf("%+v: %v", o, err)
			}
		}
		w.give(pause)
		if c := w.engine.Clusters(t.Context(), admin)[0]; len(c.Orders) != 1 || c.Orders[0].By != admin.Actor() {
			t.Errorf("clusters shows %+v", c.Orders)
		}
	})
}

func TestStatus_SaysWhatABatchJobWaitsFor(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Slots: 1, Life: time.Hour}}, func(t *testing.T, w *world) {
		starts := jjm.At(time.Now().Add(5 * time.Hour))
		w.adapter.onList.set(func(l *adapters.Listing) {
			for i := range l.Reports {
				if r := &l.Reports[i]; r.State == jjm.BatchQueued {
					r.Reason, r.Starts, r.Source = "Priority", starts, "squeue"
				} else if r.State == jjm.BatchHold {
					r.Hold, r.Source = "13/2", "condor_q"
				}
			}
		})
		id := w.submit(alice, mc(3))
		w.pass(time.Minute)
		w.sim.HoldInBatch("no such file", w.refs(id, 2)...)
		w.pass(time.Minute)
		locals := w.locals(id)
		if locals[0].Waits != nil {
			t.Errorf("one that runs waits for %+v", locals[0].Waits)
		}
		if got := locals[1].Waits; got == nil || got.Reason != "Priority" || got.Starts != starts || got.Source != "squeue" ||
			got.At == 0 {
			t.Errorf("one that waits: %+v", got)
		}
		if got := locals[2].Waits; got == nil || got.Reason != "no such file" || got.Hold != "13/2" ||
			got.Source != "condor_q" {
			t.Errorf("one that is held: %+v", got)
		}
		w.pass(time.Minute)
		if said, err := w.records.Query(id, "//localjob[@hold='13/2']/@waits"); err != nil || len(said) != 1 ||
			said[0] != "no such file" {
			t.Errorf("record: %v, %v", said, err)
		}
		w.kill(id.String())
		w.final(time.Hour, id)
	})
}
