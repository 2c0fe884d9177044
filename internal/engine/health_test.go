package engine_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/adapters/idealize"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/policy/why"
	"jjm/internal/testkit/adaptertest"
)

// polled is a further batch system of a world. It sends no events, so the engine must poll it with listings. It may be
// slow or frozen; while it is frozen, each command hangs until it is stopped.
type polled struct {
	sim    *adaptertest.Sim
	w      *world
	slow   atomic.Int64 // how long a listing takes, in nanoseconds
	frozen atomic.Bool
	lists  atomic.Int32 // number of listings begun
}

// add creates a further batch system and makes its jobs start and end in time.
func (w *world) add(name string) *polled {
	p := &polled{w: w, sim: adaptertest.NewSim(adaptertest.SimConfig{
		Name: name, Now: time.Now, Wrapper: &fileClock{w: w}, Play: w.script})}
	ctx := w.t.Context()
	go func() {
		for ctx.Err() == nil {
			p.sim.Step()
			wait(ctx, time.Second)
		}
	}()
	return p
}

// asked does nothing unless the batch system is frozen. It then waits until the command is stopped, and returns an
// error of the given kind.
func (p *polled) asked(ctx context.Context, kind jjm.Kind) error {
	if p.frozen.Load() {
		<-ctx.Done()
		return jjm.Errorf(kind, "%s: stopped: %w", p.sim.Name(), ctx.Err())
	}
	return nil
}

func (p *polled) Name() string                        { return p.sim.Name() }
func (p *polled) Capabilities() adapters.Capabilities { return p.sim.Capabilities() }

func (p *polled) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	if err := p.asked(ctx, jjm.Ambiguous); err != nil {
		return adapters.Receipt{}, err
	}
	p.w.adapter.mu.Lock()
	p.w.adapter.users[b.Tag] = filepath.Base(filepath.Dir(filepath.Dir(b.Dir)))
	p.w.adapter.mu.Unlock()
	return p.sim.Submit(ctx, b)
}

func (p *polled) List(ctx context.Context, o jjm.Owner, since time.Time) (adapters.Listing, error) {
	p.lists.Add(1)
	if err := p.asked(ctx, jjm.Busy); err != nil {
		return adapters.Listing{}, err
	}
	wait(ctx, time.Duration(p.slow.Load()))
	return p.sim.List(ctx, o, since)
}

func (p *polled) Find(ctx context.Context, o jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	if err := p.asked(ctx, jjm.Busy); err != nil {
		return nil, err
	}
	return p.sim.Find(ctx, o, tags)
}

func (p *polled) Account(ctx context.Context, o jjm.Owner, jobs []adapters.Ref) ([]jjm.Report, error) {
	if err := p.asked(ctx, jjm.Busy); err != nil {
		return nil, err
	}
	return p.sim.Account(ctx, o, jobs)
}

func (p *polled) Control(ctx context.Context, o jjm.Owner, op adapters.Op, jobs []adapters.Ref) ([]error, error) {
	if err := p.asked(ctx, jjm.Busy); err != nil {
		return nil, err
	}
	return p.sim.Control(ctx, o, op, jobs)
}

// site returns the state of a cluster as administrators see it.
func (w *world) site(name string) wire.Cluster {
	w.t.Helper()
	for _, c := range w.engine.Clusters(context.Background(), admin) {
		if c.Name == name {
			return c
		}
	}
	w.t.Fatalf("no cluster %s", name)
	return wire.Cluster{}
}

// trouble returns the problems of a grid job that its status shows.
func (w *world) trouble(id jjm.GridID) []string {
	w.t.Helper()
	s, err := w.engine.Status(context.Background(), admin, []jjm.Ref{{Grid: id}})
	w.must(err)
	return s[0].Trouble
}

// logged counts the lines of the engine's log that hold a text.
func (w *world) logged(text string) int { return strings.Count(w.logs.tail(1<<30), text) }

func TestHealth_AFrozenClusterLeavesTheOthersUntouched(t *testing.T) {
	t.Parallel()
	var cold *polled
	clusters := func(w *world) []engine.Cluster {
		cold = w.add("cold")
		cold.frozen.Store(true)
		return []engine.Cluster{{Kind: "sim", Adapter: w.adapter},
			{Kind: "sim", Adapter: idealize.Wrap(cold, engine.Defaults().ClusterDefaults().Config, idealize.Deps{})}}
	}
	inWorld(t, options{clusters: clusters}, func(t *testing.T, w *world) {
		frozen := w.submit(alice, mc(5, `cluster = "cold"`))
		began := time.Now()
		well := w.submit(alice, mc(5, `cluster = "sim"`))
		w.final(5*time.Minute, well)
		w.verify(well, done(5))
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("the grid job beside a frozen cluster took %v", took)
		}
		if c := w.site("sim"); !c.Healthy || c.Breaker != nil {
			t.Errorf("%+v", c)
		}
		if c := w.site("cold"); c.Healthy || c.Since == 0 || len(c.Trouble) != 0 {
			t.Errorf("soon: %+v", c)
		}
		w.pass(20*time.Minute - time.Since(began))
		c := w.site("cold")
		if c.Breaker == nil || c.Breaker.Cause == "" || c.Ceiling != 300 || len(c.Trouble) == 0 {
			t.Errorf("after 20 minutes: %+v", c)
		}
		if tr := w.trouble(frozen); len(tr) == 0 || !strings.HasPrefix(tr[0], "cold has answered no listing since") {
			t.Errorf("status says %q", tr)
		}
		if n := w.logged("answered no listing for long"); n != 1 {
			t.Errorf("%d warnings, want one", n)
		}
		cold.frozen.Store(false)
		w.final(30*time.Minute, frozen)
		cold.ranOnce(frozen, 5)
		if c := w.site("cold"); !c.Healthy || c.Breaker != nil || len(c.Trouble) != 0 {
			t.Errorf("after the thaw: %+v", c)
		}
		if n := cold.sim.Calls().Bulks; n != 1 {
			t.Errorf("the frozen cluster got %d bulks in the end, want 1", n)
		}
	})
}

func TestHealth_ALongAbsenceIsReportedOnce(t *testing.T) {
	t.Parallel()
	config := func(c *engineConfig) { c.AbsentFor = jjm.Duration(10 * time.Hour) }
	sim := adaptertest.SimConfig{Life: 3 * time.Hour}
	inWorld(t, options{sim: sim, config: config}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(7))
		w.running(id, 7)
		w.sim.Lie(1<<30, nil)
		w.pass(14 * time.Minute)
		if tr := w.trouble(id); len(tr) != 0 {
			t.Errorf("too soon: %q", tr)
		}
		cs := w.whyOf(id).Causes
		if len(cs) != 1 || cs[0].Code != string(why.Unknown) || cs[0].Jobs != 7 || cs[0].Since == 0 ||
			cs[0].Text != "the last listing of cluster sim did not have it" {
			t.Errorf("jjm why before the warning: %+v", cs)
		}
		w.pass(5 * time.Minute)
		tr := w.trouble(id)
		if len(tr) != 1 || !strings.HasPrefix(tr[0], "missing from the listings of sim since") {
			t.Errorf("status says %q", tr)
		}
		if c := w.site("sim"); len(c.Trouble) != 1 || !c.Healthy {
			t.Errorf("%+v", c)
		}
		if l := w.lookup(id); l.Counts.Running != 7 {
			t.Errorf("what is unknown changed something: %+v", l)
		}
		w.pass(time.Hour)
		if n := w.logged("missing from the listings for long"); n != 1 {
			t.Errorf("%d warnings, want one", n)
		}
		w.sim.Lie(0, nil)
		w.pass(time.Minute)
		if tr := w.trouble(id); len(tr) != 0 {
			t.Errorf("after it was seen again: %q", tr)
		}
		w.final(4*time.Hour, id)
		w.verify(id, done(7))
	})
}

// Local jobs of two accounts are missing from listings. Each account sees only its own missing jobs, and an
// administrator sees all.
func TestClusters_NameAnAccountItsOwnMissingJobsAlone(t *testing.T) {
	t.Parallel()
	config := func(c *engineConfig) { c.AbsentFor = jjm.Duration(10 * time.Hour) }
	sim := adaptertest.SimConfig{Life: 3 * time.Hour}
	inWorld(t, options{sim: sim, config: config}, func(t *testing.T, w *world) {
		other := wire.Caller{UID: bob.UID + 1, User: "carol"}
		hers, his := w.submit(alice, mc(3)), w.submit(bob, mc(2))
		w.running(hers, 3)
		w.running(his, 2)
		w.sim.Lie(1<<30, nil)
		w.pass(20 * time.Minute)
		told := func(c wire.Caller) string {
			return strings.Join(w.engine.Clusters(t.Context(), c)[0].Trouble, "\n")
		}
		for _, see := range []struct {
			by   wire.Caller
			want []string
			not  string
		}{
			{alice, []string{"3 local jobs", hers.String() + ".0"}, his.String() + "."},
			{bob, []string{"2 local jobs", his.String() + ".0"}, hers.String() + "."},
			{other, nil, "local job"},
			{admin, []string{"5 local jobs", hers.String() + ".0", his.String() + ".0"}, "nobody"},
		} {
			got := told(see.by)
			for _, want := range see.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s is told %q, want %q", see.by.User, got, want)
				}
			}
			if strings.Contains(got, see.not) {
				t.Errorf("%s is told %q", see.by.User, got)
			}
		}
	})
}

func TestHealth_ALongDoubtfulSubmissionIsReported(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Settle: time.Hour}}, func(t *testing.T, w *world) {
		w.sim.OnSubmit(adaptertest.LoseRequest)
		id := w.submit(alice, mc(3))
		w.pass(20 * time.Minute)
		if tr := w.trouble(id); len(tr) != 1 || !strings.Contains(tr[0], "the submission of 3 local jobs to sim") ||
			!strings.Contains(tr[0], "reply was lost") {
			t.Errorf("status says %q", tr)
		}
		if n := w.logged("not been settled for long"); n != 1 {
			t.Errorf("%d warnings, want one", n)
		}
		w.final(3*time.Hour, id)
		if tr := w.trouble(id); len(tr) != 0 {
			t.Errorf("in the end: %q", tr)
		}
	})
}

func TestPolling_SlowListingsComeLessOften(t *testing.T) {
	t.Parallel()
	var slow *polled
	clusters := func(w *world) []engine.Cluster {
		slow = w.add("slow")
		slow.slow.Store(int64(6 * time.Second))
		return []engine.Cluster{{Kind: "sim", Adapter: slow}}
	}
	long := func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play { return adaptertest.Play{Life: 2 * time.Hour} }
	inWorld(t, options{clusters: clusters, play: long}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		w.running(id, 2)
		before := slow.lists.Load()
		w.pass(11 * time.Minute)
		// A listing takes 6 s, and the next listing begins 60 s after its end.
		if n := slow.lists.Load() - before; n < 9 || n > 11 {
			t.Errorf("%d listings in 11 minutes, want 10", n)
		}
		if c := w.site("slow"); c.Listing.D() != 6*time.Second || c.Interval.D() != time.Minute {
			t.Errorf("%+v", c)
		}
	})
}

// A single slow listing does not change the time between listings.
func TestPolling_OneSlowListingMakesNoSlowCluster(t *testing.T) {
	t.Parallel()
	var p *polled
	clusters := func(w *world) []engine.Cluster {
		p = w.add("held-up")
		return []engine.Cluster{{Kind: "sim", Adapter: p}}
	}
	long := func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play { return adaptertest.Play{Life: 2 * time.Hour} }
	inWorld(t, options{clusters: clusters, play: long}, func(t *testing.T, w *world) {
		w.running(w.submit(alice, mc(2)), 2)
		w.pass(30 * time.Second)
		well, before := w.site("held-up").Interval, p.lists.Load()
		p.slow.Store(int64(9 * time.Second))
		for p.lists.Load() == before {
			w.pass(time.Second)
		}
		p.slow.Store(0)
		w.pass(9 * time.Second) // now the slow listing has returned
		held := p.lists.Load()
		w.pass(11 * time.Second)
		if c := w.site("held-up"); c.Interval != well || p.lists.Load() == held {
			t.Errorf("the interval was %v, and is %v; %d listings in 11 s", well, c.Interval, p.lists.Load()-held)
		}
	})
}

func TestPolling_AnUnansweredListingIsNotSlow(t *testing.T) {
	t.Parallel()
	var cold *polled
	clusters := func(w *world) []engine.Cluster {
		cold = w.add("cold")
		return []engine.Cluster{{Kind: "sim", Adapter: cold}}
	}
	long := func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play { return adaptertest.Play{Life: 2 * time.Hour} }
	inWorld(t, options{clusters: clusters, play: long}, func(t *testing.T, w *world) {
		w.running(w.submit(alice, mc(2)), 2)
		well := w.site("cold")
		cold.frozen.Store(true)
		w.pass(3 * time.Minute)
		if c := w.site("cold"); c.Healthy || c.Interval != well.Interval || c.Listing != well.Listing {
			t.Errorf("well: %+v, frozen: %+v", well, c)
		}
		cold.frozen.Store(false)
		// Wait for the listing that hangs, and for the next listing.
		w.pass(engine.Defaults().Command.D() + 2*well.Interval.D())
		if c := w.site("cold"); !c.Healthy {
			t.Errorf("thawed: %+v", c)
		}
	})
}

func TestPolling_AResultAwaitsTheLastWordOfAClusterThatOnlyAnswers(t *testing.T) {
	t.Parallel()
	t.Run("by itself", func(t *testing.T) { lastWord(t, engine.ClusterConfig{}, false) })
	t.Run("unless told not to", func(t *testing.T) {
		lastWord(t, engine.ClusterConfig{BatchSettle: jjm.Duration(2 * time.Second)}, true)
	})
}

// lastWord runs a local job whose wrapper reports success. 12 s later the batch system reports that the job ran out of
// memory. completed says whether the local job is expected to complete nevertheless.
func lastWord(t *testing.T, config engine.ClusterConfig, completed bool) {
	var p *polled
	clusters := func(w *world) []engine.Cluster {
		p = w.add("farm")
		return []engine.Cluster{{Kind: "sim", Adapter: p, Config: config}}
	}
	var end atomic.Int64
	oom := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Attempt == 0 {
			end.Store(time.Now().Add(time.Minute).UnixNano())
		}
		return adaptertest.Play{Life: time.Minute, State: jjm.BatchOOM, Reason: "out of memory"}
	}
	inWorld(t, options{clusters: clusters, play: oom}, func(t *testing.T, w *world) {
		// hide the job for some seconds around its end, until the batch system reports the end
		p.sim.Lie(1<<30, func(adaptertest.SimJob) bool {
			over := time.Since(time.Unix(0, end.Load()))
			return over > -time.Second && over < 12*time.Second
		})
		id := w.submit(alice, mc(1))
		w.running(id, 1)
		w.until(10*time.Minute, "judged", func() bool { return w.lookup(id).Counts.Running == 0 })
		if l := w.locals(id)[0]; (l.State == jjm.Completed) != completed {
			t.Errorf("it is %s: %+v", l.State, l)
		}
	})
}

// ranOnce requires that a grid job of n local jobs is done, and that each local job ran once on this batch system.
func (p *polled) ranOnce(id jjm.GridID, n int) {
	p.w.t.Helper()
	if l := p.w.lookup(id); l.Status != "done" || l.Counts.Completed != n {
		p.w.t.Errorf("%+v", l)
	}
	runs := p.sim.Runs()
	for attempt, times := range runs {
		if times != 1 {
			p.w.t.Errorf("%v ran %d times", attempt, times)
		}
	}
	if len(runs) != n {
		p.w.t.Errorf("%d attempts ran, want %d", len(runs), n)
	}
}

// probed is a batch system that reports its limits only in answer to probes. The first probes fail.
type probed struct {
	*faulty
	fail  atomic.Int32 // how many of the next probes fail
	bulk  atomic.Int32
	limit atomic.Int32 // the limit that a probe reports
}

func (p *probed) Capabilities() adapters.Capabilities {
	c := p.Sim.Capabilities()
	c.MaxBulk = int(p.bulk.Load())
	return c
}

func (p *probed) Probe(context.Context) error {
	if p.fail.Add(-1) >= 0 {
		return jjm.Errorf(jjm.Busy, "no answer")
	}
	p.bulk.Store(p.limit.Load())
	return nil
}

func TestProbe_TheDaemonWorksBeforeTheFirstAnswerAndLearnsFromEach(t *testing.T) {
	t.Parallel()
	var p *probed
	sizes := make(chan int, 100)
	clusters := func(w *world) []engine.Cluster {
		p = &probed{faulty: w.adapter}
		p.fail.Store(2)
		p.bulk.Store(2)
		p.limit.Store(50)
		w.adapter.onSubmit.set(func(b adapters.Bulk) { sizes <- b.N })
		return []engine.Cluster{{Kind: "sim", Adapter: p}}
	}
	says := func(w *world) string { return strings.Join(w.engine.Clusters(t.Context(), admin)[0].Trouble, "\n") }
	inWorld(t, options{clusters: clusters}, func(t *testing.T, w *world) {
		w.pass(time.Second)
		if got := says(w); !strings.Contains(got, "sim could not be probed for its limits since ") ||
			!strings.Contains(got, "no answer") {
			t.Errorf("after the first probe the trouble is %q", got)
		}
		defer func() {
			if got := says(w); got != "" {
				t.Errorf("after an answer the trouble is %q", got)
			}
		}()
		first := w.submit(alice, mc(4))
		w.final(10*time.Minute, first)
		if n := len(sizes); n != 2 {
			t.Errorf("%d bulks for 4 local jobs before any answer, want 2", n)
		}
		w.pass(3 * time.Minute)
		for len(sizes) > 0 {
			<-sizes
		}
		second := w.submit(alice, mc(40))
		w.final(10*time.Minute, second)
		if n := len(sizes); n != 1 {
			t.Errorf("%d bulks for 40 local jobs after the answer, want 1", n)
		}
		w.verify(second, done(40))
	})
}

// After an outage the cluster is probed as soon as it has answered a listing. Otherwise jjm would show for half a
// minute that the cluster answers, and that it cannot be probed.
func TestProbe_FollowsTheFirstListingAfterAnOutage(t *testing.T) {
	t.Parallel()
	var p *probed
	clusters := func(w *world) []engine.Cluster {
		p = &probed{faulty: w.adapter}
		p.bulk.Store(2)
		p.limit.Store(50)
		return []engine.Cluster{{Kind: "sim", Adapter: p}}
	}
	sim := adaptertest.SimConfig{Life: 10 * time.Hour}
	inWorld(t, options{sim: sim, clusters: clusters}, func(t *testing.T, w *world) {
		w.running(w.submit(alice, mc(2)), 2)
		for _, length := range []time.Duration{7 * time.Minute, 7*time.Minute + 13*time.Second, 8 * time.Minute} {
			p.fail.Store(1 << 20)
			w.sim.Down(length)
			w.until(7*time.Minute, "a failed probe", func() bool {
				return strings.Contains(strings.Join(w.site("sim").Trouble, "\n"), ", last tried ")
			})
			p.fail.Store(0)
			w.until(time.Hour, "the end of the outage", func() bool { return w.site("sim").Healthy })
			w.pass(time.Millisecond)
			if c := w.site("sim"); !c.Healthy || len(c.Trouble) != 0 {
				t.Errorf("after an outage of %v: healthy %t, trouble %q", length, c.Healthy, c.Trouble)
			}
		}
	})
}

func TestReset_ClosesTheBreakerForAdministratorsOnly(t *testing.T) {
	t.Parallel()
	var cold *polled
	clusters := func(w *world) []engine.Cluster {
		cold = w.add("cold")
		cold.frozen.Store(true)
		c := engine.Defaults().ClusterDefaults()
		c.BreakerWait, c.BreakerWaitMax = jjm.Duration(5*time.Hour), jjm.Duration(5*time.Hour)
		return []engine.Cluster{{Kind: "sim", Adapter: idealize.Wrap(cold, c.Config, idealize.Deps{})}}
	}
	inWorld(t, options{clusters: clusters}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		w.pass(20 * time.Minute)
		if w.site("cold").Breaker == nil {
			t.Fatal("want it open")
		}
		cold.frozen.Store(false)
		for _, c := range []struct {
			caller wire.Caller
			name   string
			kind   jjm.Kind
		}{{alice, "cold", jjm.Denied}, {admin, "nowhere", jjm.Gone}} {
			if err := w.engine.Reset(t.Context(), c.caller, c.name); jjm.KindOf(err) != c.kind {
				t.Errorf("%s, %s: %v", c.caller.User, c.name, err)
			}
		}
		if w.site("cold").Breaker == nil {
			t.Fatal("want it open still")
		}
		w.must(w.engine.Reset(t.Context(), admin, "cold"))
		w.final(30*time.Minute, id)
		cold.ranOnce(id, 2)
	})
}

// counting counts the commands with which the engine looks for missing jobs.
type counting struct {
	*faulty
	accounts, finds, cancels atomic.Int32
	answered                 atomic.Int32 // calls of Find that returned an answer
}

func (c *counting) Account(ctx context.Context, o jjm.Owner, jobs []adapters.Ref) ([]jjm.Report, error) {
	c.accounts.Add(1)
	return c.faulty.Account(ctx, o, jobs)
}

func (c *counting) Find(ctx context.Context, o jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	c.finds.Add(1)
	found, err := c.faulty.Find(ctx, o, tags)
	if err == nil {
		c.answered.Add(1)
	}
	return found, err
}

func (c *counting) Control(ctx context.Context, o jjm.Owner, op adapters.Op, refs []adapters.Ref) ([]error, error) {
	c.cancels.Add(1)
	return c.faulty.Control(ctx, o, op, refs)
}

func TestAbsence_ManyAreAskedAboutWithOneCommand(t *testing.T) {
	t.Parallel()
	var c *counting
	clusters := func(w *world) []engine.Cluster {
		c = &counting{faulty: w.adapter}
		return []engine.Cluster{{Kind: "sim", Adapter: c}}
	}
	sim := adaptertest.SimConfig{Wait: time.Hour}
	inWorld(t, options{sim: sim, clusters: clusters}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(60))
		w.until(10*time.Minute, "queued", func() bool { return w.lookup(id).Counts.Submitted == 60 })
		w.pass(time.Minute)
		var all []int32
		for n := range int32(60) {
			all = append(all, n)
		}
		c.finds.Store(0)
		w.sim.Vanish(w.refs(id, all...)...)
		w.until(30*time.Minute, "given up", func() bool {
			return w.locals(id)[59].Attempt == 1 || w.locals(id)[59].State.Final()
		})
		if a, f, x := c.accounts.Load(), c.finds.Load(), c.cancels.Load(); a > 2 || f > 2 || x > 2 || a*f*x == 0 {
			t.Errorf("for 60 lost local jobs: %d accountings, %d searches, %d cancels: want one or two each", a, f, x)
		}
	})
}
