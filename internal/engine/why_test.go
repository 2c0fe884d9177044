package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/policy/why"
	"jjm/internal/testkit/adaptertest"
)

// why returns the causes for which the local jobs of a grid job are not done. It requires that each unfinished local
// job has exactly one cause, from the list of possible causes.
func (w *world) why(id jjm.GridID) wire.Why {
	w.t.Helper()
	all, err := w.engine.Why(context.Background(), wire.Caller{Admin: true}, []jjm.Ref{{Grid: id}})
	w.must(err)
	w.must(all[0].Error.Err())
	jobs := all[0].LeftOut
	for _, c := range all[0].Causes {
		jobs += c.Jobs
		if !slices.Contains(why.Codes(), why.Code(c.Code)) || c.First == "" {
			w.t.Errorf("grid job %s: the cause %+v is not of the list", id, c)
		}
	}
	if jobs != all[0].Unfinished {
		w.t.Errorf("grid job %s: %d local jobs have a cause, %d have not ended: %+v", id, jobs, all[0].Unfinished, all[0])
	}
	if c := all[0].Grid; jobs == 0 && (c == nil || !slices.Contains(why.GridCodes(), why.Code(c.Code))) {
		w.t.Errorf("grid job %s: no local job has a cause, and its own is %+v", id, c)
	}
	return all[0]
}

// causes waits until the given number of local jobs of a grid job have the cause code. It requires that the text of the
// cause contains text, and returns the cause.
func (w *world) causes(id jjm.GridID, code why.Code, jobs int, text string) wire.Cause {
	w.t.Helper()
	var got wire.Cause
	w.until(time.Hour, string(code), func() bool {
		n := 0
		for _, c := range w.why(id).Causes {
			if c.Code == string(code) {
				got, n = c, n+c.Jobs
			}
		}
		return n == jobs
	})
	if !strings.Contains(got.Text, text) {
		w.t.Errorf("cause %+v: want %q in its text", got, text)
	}
	return got
}

// The answer to "why" has each cause while it applies, with its time, and with a remedy if a person must act.
func TestWhy_EachCauseIsToldWhenItHolds(t *testing.T) {
	t.Parallel()
	long := adaptertest.SimConfig{Life: 10 * time.Hour}
	for name, test := range map[string]struct {
		o  options
		do func(w *world)
	}{
		"a limit": {options{sim: adaptertest.SimConfig{MaxJobs: 4, Life: 10 * time.Hour}}, func(w *world) {
			id := w.submit(alice, mc(6))
			w.causes(id, why.Running, 4, "they run")
			c := w.causes(id, why.Limit, 2, "simulated: at most")
			w.pass(10 * time.Minute)
			if later := w.causes(id, why.Limit, 2, ""); c.Since == 0 || later.Since != c.Since {
				w.t.Errorf("since %v, 10 minutes ago since %v: want the first refusal", later.Since, c.Since)
			}
		}},
		"a failure beside a learnt limit": {options{sim: adaptertest.SimConfig{MaxJobs: 4, Life: 10 * time.Hour}},
			func(w *world) {
				id := w.submit(alice, mc(6))
				w.causes(id, why.Limit, 2, "simulated: at most")
				w.sim.SetMaxJobs(0)
				w.sim.OnSubmit(slices.Repeat([]adaptertest.Fault{adaptertest.SayBusy}, 1000)...)
				w.pass(20 * time.Minute) // the learnt limit is not forgotten yet
				if c := w.causes(id, why.SubmitFailing, 1, "simulated: busy"); w.site("sim").Learnt == nil {
					w.t.Errorf("cause %+v only once the limit is forgotten", c)
				}
			}},
		"a site's own limit": {options{sim: long, config: func(c *engineConfig) { c.MaxPending = 2 }}, func(w *world) {
			id := w.submit(alice, mc(4))
			c := w.causes(id, why.Limit, 2, "engine.max_pending")
			if c.Since == 0 || c.Since > jjm.At(w.now()) {
				w.t.Errorf("%+v: want the time since which it has waited", c)
			}
		}},
		"a start": {options{sim: adaptertest.SimConfig{Slots: 1, Life: 10 * time.Hour}}, func(w *world) {
			id := w.submit(alice, mc(2))
			w.causes(id, why.Queued, 1, "")
			w.pass(time.Hour)
			before := jjm.At(w.now())
			w.adapter.onList.set(func(l *adapters.Listing) {
				for i := range l.Reports {
					if r := &l.Reports[i]; r.State == jjm.BatchQueued {
						r.State = jjm.BatchStarting
					}
				}
			})
			if c := w.causes(id, why.Starting, 1, ""); c.Since < before {
				w.t.Errorf("%+v: want the time at which the batch system said so, after %v", c, before)
			}
		}},
		"a queue": {options{sim: adaptertest.SimConfig{Slots: 1, Life: 10 * time.Hour}}, func(w *world) {
			id := w.submit(alice, mc(3))
			w.causes(id, why.Running, 1, "it runs on ")
			if c := w.causes(id, why.Queued, 2, "cluster sim"); c.Since == 0 {
				w.t.Errorf("%+v: no time", c)
			}
		}},
		"a suspension by the batch system": {options{sim: long}, func(w *world) {
			id := w.submit(alice, mc(2))
			w.running(id, 2)
			w.adapter.onList.set(func(l *adapters.Listing) {
				for i := range l.Reports {
					if r := &l.Reports[i]; r.Index == 0 && r.State == jjm.BatchRunning {
						r.State = jjm.BatchSuspended
					}
				}
			})
			c := w.causes(id, why.Suspended, 1, "cluster sim has suspended it")
			if c.Since == 0 || c.Remedy == "" {
				w.t.Errorf("%+v: no time, or no remedy", c)
			}
			w.causes(id, why.Running, 1, "it runs on ")
			w.pass(time.Hour)
			for _, when := range []string{"after an hour", "after a restart"} {
				if later := w.causes(id, why.Suspended, 1, ""); later.Since != c.Since {
					w.t.Errorf("%s suspended since %v, before since %v", when, later.Since, c.Since)
				}
				w.reopen()
				w.pass(time.Hour)
			}
			w.adapter.onList.set(nil)
			w.causes(id, why.Running, 2, "they run")
		}},
		"a queue beside excluded hosts": {excluding(adaptertest.SimConfig{Slots: 1, Life: 10 * time.Hour}), func(w *world) {
			id := w.submit(alice, mc(3))
			w.exclude(wire.Exclude{Hosts: []string{"wn13", "wn14"}, Reason: "eats jobs"})
			w.causes(id, why.Queued, 2, "; cluster sim has 2 excluded hosts: jjm exclude --list")
			w.exclude(wire.Exclude{Include: true, Hosts: []string{"wn13", "wn14"}, Reason: "new disk"})
			if c := w.causes(id, why.Queued, 2, "cluster sim"); strings.Contains(c.Text, "excluded") {
				w.t.Errorf("%+v: no host is excluded", c)
			}
		}},
		"an outage": {options{sim: long}, func(w *world) {
			runs := w.submit(alice, mc(2))
			w.running(runs, 2)
			w.sim.Down(10 * time.Hour)
			w.causes(runs, why.Unknown, 2, "cluster sim answers no listing")
			waits := w.submit(alice, mc(3))
			if c := w.causes(waits, why.Silent, 3, "cluster sim does not answer"); c.Since == 0 || c.Remedy == "" {
				w.t.Errorf("%+v: no time, or no remedy", c)
			}
			if c := w.causes(runs, why.Unknown, 2, "cluster sim answers no listing"); c.Since == 0 {
				w.t.Errorf("%+v: no time", c)
			}
		}},
		"a lost answer": {options{sim: adaptertest.SimConfig{Settle: 5 * time.Minute}}, func(w *world) {
			w.sim.OnSubmit(adaptertest.LoseRequest)
			before := jjm.At(w.now())
			id := w.submit(alice, mc(2))
			first := w.causes(id, why.Doubtful, 2, "lost")
			if first.Since < before || first.Since > jjm.At(w.now()) {
				w.t.Errorf("%+v: want a time since the submission at %s", first, before)
			}
			w.pass(time.Minute)
			if c := w.causes(id, why.Doubtful, 2, "lost"); c.Since != first.Since {
				w.t.Errorf("a minute later: since %s, want %s", c.Since, first.Since)
			}
			w.reopen()
			if c := w.causes(id, why.Doubtful, 2, "lost"); c.Since != first.Since {
				w.t.Errorf("after a restart: since %s, want %s", c.Since, first.Since)
			}
		}},
		"a back-off": {options{play: func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
			return adaptertest.Play{Keyword: "-", Signal: 9}
		}}, func(w *world) {
			if c := w.causes(w.submit(alice, mc(1)), why.BackOff, 1, "tried again after"); c.Until <= jjm.At(w.now()) {
				w.t.Errorf("%+v: want a time to come", c)
			}
		}},
		"a hold of the application": {options{play: func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
			return adaptertest.Play{Keyword: "HOLD", Data: "no licence"}
		}}, func(w *world) {
			id := w.submit(alice, mc(1))
			if c := w.causes(id, why.HeldByApp, 1, ""); c.Since == 0 || c.Remedy != "jjm release "+c.First {
				w.t.Errorf("%+v: no time, or no remedy", c)
			}
		}},
		"a pause": {options{sim: long}, func(w *world) {
			w.give(wire.Order{Verb: "pause", Kind: "user", Name: alice.User, Reason: "full disk"})
			id := w.submit(alice, mc(2))
			if c := w.causes(id, why.Paused, 2, "full disk"); c.Since == 0 || c.Remedy != "jjm resume user "+alice.User {
				w.t.Errorf("%+v: no time, or no remedy", c)
			}
		}},
		"a maintenance window": {options{sim: long}, func(w *world) {
			o := w.announce(time.Hour, 5*time.Hour)
			c := w.causes(w.submit(alice, mc(2, lasting("12h"))), why.Maintenance, 2, "new disks")
			if c.Since != o.Since || c.Until != o.Until {
				w.t.Errorf("%+v: want the times of %+v", c, o)
			}
		}},
		"a kill that the batch system ignores": {options{sim: long}, func(w *world) {
			id := w.submit(alice, mc(2))
			w.running(id, 2)
			w.sim.IgnoreCancels(1000)
			before := jjm.At(w.now())
			w.kill(id.String() + ".1")
			c := w.causes(id, why.Killing, 1, "")
			if c.Since < before {
				w.t.Errorf("%+v: want the time of the kill, after %v", c, before)
			}
			w.pass(time.Hour)
			w.reopen()
			if later := w.causes(id, why.Killing, 1, ""); later.Since != c.Since {
				w.t.Errorf("after a restart killing since %v, before since %v", later.Since, c.Since)
			}
			w.causes(id, why.Running, 1, "")
		}},
		"a kill whose cancels fail": {options{sim: long}, func(w *world) {
			id := w.submit(alice, mc(2))
			w.running(id, 2)
			for kind, refuse := range map[jjm.Kind]bool{jjm.Busy: true, jjm.Denied: false} {
				w.adapter.onControl.set(func(adapters.Op) error { return jjm.Errorf(kind, "no permission") })
				w.kill(id.String() + ".1")
				c := w.causes(id, why.Killing, 1, "its cancel has failed since ")
				if !strings.Contains(c.Text, ": no permission; jjm repeats it by itself") ||
					!strings.Contains(c.Remedy, "refuses the cancel") {
					w.t.Errorf("refused as a whole: %v: %+v", refuse, c)
				}
			}
			w.pass(time.Hour)
			w.causes(id, why.Killing, 1, "its cancel has failed since ")
			w.adapter.onControl.set(nil)
			w.until(time.Hour, "the end", func() bool { return w.locals(id)[1].State == jjm.Killed })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, test.o, func(_ *testing.T, w *world) { test.do(w) })
		})
	}
}

// The answer to "why" also has the cause for which the grid job as a whole waits. Other accounts get no answer.
func TestWhy_OfTheGridJob(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		first := w.submit(alice, mc(1))
		next := w.submit(alice, mc(1, "after = ["+first.String()+"]"))
		w.until(time.Minute, "after", func() bool {
			c := w.why(next).Grid
			return c != nil && c.Code == string(why.After) && strings.Contains(c.Text, first.String())
		})
		got, err := w.engine.Why(context.Background(), bob, []jjm.Ref{{Grid: next}, {Grid: 99}})
		w.must(err)
		if got[0].Error == nil || got[0].Error.Kind != jjm.Denied || got[0].Causes != nil || got[0].Grid != nil {
			t.Errorf("a stranger is told %+v", got[0])
		}
		if got[1].Error == nil || got[1].Error.Kind != jjm.Gone {
			t.Errorf("of an unknown grid job: %+v", got[1])
		}
		w.final(time.Hour, first, next)
		c := w.why(next).Grid
		if c == nil || c.Code != string(why.Over) || !strings.HasPrefix(c.Text, "it is over: done") || c.Since == 0 {
			t.Errorf("once it is over: %+v", c)
		}
	})
}

// If a grid job waits for files, the answer to "why" names the datasets that it reads, and how a person can end the
// wait.
func TestWhy_OfAGridJobThatWaitsForFiles(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		w.must(w.put("raw", "", 0, 2))
		id := w.submit(alice, fileJob("", "name = \"raw\"\nopen = true\n"))
		w.until(time.Hour, "it waits for files", func() bool {
			c := w.why(id).Grid
			return c != nil && c.Code == string(why.Files)
		})
		c := w.why(id).Grid
		if !strings.HasSuffix(c.Text, "it reads raw") || !strings.Contains(c.Remedy, "jjm dataset close raw") {
			t.Errorf("%+v", c)
		}
		w.pass(time.Hour)
		w.reopen()
		w.until(time.Hour, "it waits for files again", func() bool {
			later := w.why(id).Grid
			return later != nil && later.Code == string(why.Files) && c.Since != 0 && later.Since == c.Since
		})
		w.closeDataset(alice, "raw")
		w.final(time.Hour, id)
	})
}

// The answer to "why" shows the end of a local job while its grid job is live, when the grid job is over, and when it
// is archived.
func TestWhy_OfLocalJobsThatAreOver(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		switch id.N {
		case 0:
			return adaptertest.Play{}
		case 1:
			return adaptertest.Play{Keyword: "FAILED", Data: "no calibration"}
		}
		return adaptertest.Play{Keyword: "HOLD", Data: "no licence"}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(3))
		w.causes(id, why.HeldByApp, 1, "")
		check := func(when string) {
			t.Helper()
			for n, want := range []string{"it is over: completed", "it is over: failed/application: "} {
				ref := jjm.Ref{Grid: id, Locals: true, First: int32(n), Last: int32(n)}
				all, err := w.engine.Why(context.Background(), alice, []jjm.Ref{ref})
				w.must(err)
				w.must(all[0].Error.Err())
				ended := all[0].Ended
				if len(ended) != 1 || !strings.HasPrefix(ended[0].Text, want) || ended[0].Since == 0 || ended[0].Jobs != 1 ||
					(n == 1) != (ended[0].Remedy != "") {
					t.Errorf("%s, %v: %+v", when, ref, all[0])
				}
			}
		}
		w.until(time.Hour, "two over", func() bool {
			ref := jjm.Ref{Grid: id, Locals: true, First: 0, Last: 1}
			all, err := w.engine.Why(context.Background(), alice, []jjm.Ref{ref})
			w.must(err)
			return all[0].Unfinished == 0
		})
		check("while the grid job lives")
		w.kill(id.String())
		w.until(time.Hour, "over", func() bool { return w.why(id).Grid != nil && w.why(id).Grid.Code == string(why.Over) })
		check("when the grid job is over")
		w.until(100*24*time.Hour, "in the history", func() bool { return w.archived(id) })
		check("from the history")
		all, err := w.engine.Why(context.Background(), alice, []jjm.Ref{{Grid: id, Locals: true, First: 9, Last: 9}})
		w.must(err)
		if jjm.KindOf(all[0].Error.Err()) != jjm.Gone {
			t.Errorf("of a local job that does not exist: %+v", all[0])
		}
	})
}
