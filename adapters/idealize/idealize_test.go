package idealize_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"jjm/adapters"
	"jjm/adapters/idealize"
	"jjm/internal/jjm"
)

var verbs = []idealize.Verb{idealize.Submit, idealize.List, idealize.Find, idealize.Account, idealize.Control,
	idealize.Probe}

// visit is one call of a random sequence.
type visit struct {
	verb  idealize.Verb
	after time.Duration // time since the previous call
	wait  time.Duration // deadline of the call; 0 = none
}

func drawVisits(t *rapid.T) []visit {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) visit {
		return visit{
			verb: rapid.SampledFrom(verbs).Draw(t, "verb"),
			after: time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 300, 2_000, 20_000, 70_000}).Draw(t,
				"after")) * time.Millisecond,
			wait: time.Duration(rapid.SampledFrom([]int{0, 0, 1, 40, 200}).Draw(t, "wait")) * time.Second,
		}
	}), 1, 60).Draw(t, "visits")
}

func drawConfig(t *rapid.T) idealize.Config {
	return settings(func(c *idealize.Config) {
		c.ParallelCommands = rapid.IntRange(1, 5).Draw(t, "places")
		c.CommandsPerMinute = rapid.SampledFrom([]int{0, 1, 2, 5, 20}).Draw(t, "ceiling")
		c.BreakerFailures = rapid.IntRange(0, 4).Draw(t, "failures")
	})
}

// outcome holds the duration and the error of one command in a random sequence.
type outcome struct {
	took time.Duration
	err  error
}

func drawOutcomes(t *rapid.T) []outcome {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) outcome {
		return outcome{
			took: time.Duration(rapid.SampledFrom([]int{0, 10, 3_000, 100_000}).Draw(t, "took")) * time.Millisecond,
			err:  rapid.SampledFrom([]error{nil, nil, errBusy, errAmbiguous, errInvalid}).Draw(t, "err"),
		}
	}), 0, 60).Draw(t, "outcomes")
}

// tell makes the calls, each in a separate goroutine, and returns the adapter that received the calls.
func tell(t *testing.T, c idealize.Config, visits []visit, outcomes []outcome, steps []int) *scripted {
	s := &scripted{steps: func(v idealize.Verb) int {
		return steps[int(v)%len(steps)]
	}, play: func(idealize.Verb) (time.Duration, error) {
		if len(outcomes) == 0 {
			return 0, nil
		}
		o := outcomes[0]
		outcomes = outcomes[1:]
		return o.took, o.err
	}}
	inBubble(t, func(t *testing.T) {
		a := idealize.Wrap(pinging{s}, c, idealize.Deps{})
		var wg sync.WaitGroup
		for i, v := range visits {
			time.Sleep(v.after)
			wg.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				if v.wait > 0 {
					ctx, cancel = context.WithTimeout(ctx, v.wait)
				}
				defer cancel()
				_ = ask(ctx, a, v.verb, tagOf(i))
			})
		}
		wg.Wait()
		if st := status(a); st.Running != 0 || st.Waiting != 0 {
			t.Errorf("all calls are over, but %+v", st)
		}
	})
	return s
}

func tagOf(i int) jjm.Tag { return jjm.Tag("t" + string(rune('a'+i/26)) + string(rune('a'+i%26))) }

func TestIdeal_RandomCallsKeepThePromises(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, visits := drawConfig(rt), drawVisits(rt)
		s := tell(t, c, visits, drawOutcomes(rt), rapid.SliceOfN(rapid.IntRange(1, 4), 1, 6).Draw(rt, "steps"))
		commands := s.ran()
		if s.most > c.ParallelCommands || c.ParallelCommands > 1 && s.mostOf >= c.ParallelCommands {
			rt.Errorf("%d commands at once, %d of them not urgent: want at most %d, and one place kept", s.most, s.mostOf,
				c.ParallelCommands)
		}
		for i := range commands {
			if n := c.CommandsPerMinute; n > 0 && i >= n && commands[i].at.Sub(commands[i-n].at) < time.Minute {
				rt.Errorf("commands %d to %d were begun within %v: want at most %d a minute", i-n, i,
					commands[i].at.Sub(commands[i-n].at), n)
			}
		}
		last := map[jjm.Tag]began{}
		for _, b := range commands {
			if b.verb != idealize.Submit {
				continue
			}
			if before, again := last[b.tag]; again && jjm.KindOf(before.err) != jjm.Busy {
				rt.Errorf("bulk %s was submitted again after %v", b.tag, before.err)
			}
			last[b.tag] = b
		}
	})
}

func TestSubmit_OnlyWhatCertainlyDidNothingIsRepeated(t *testing.T) {
	for name, test := range map[string]struct {
		errs     []error
		min, max int // limits for the number of commands
		kind     jjm.Kind
	}{
		"well":                {nil, 1, 1, jjm.Unclassified},
		"busy, busy, well":    {[]error{errBusy, errBusy}, 3, 3, jjm.Unclassified},
		"in doubt":            {[]error{errAmbiguous}, 1, 1, jjm.Ambiguous},
		"busy, then in doubt": {[]error{errBusy, errAmbiguous}, 2, 2, jjm.Ambiguous},
		"refused":             {[]error{errInvalid}, 1, 1, jjm.Invalid},
		"an error of no kind": {[]error{errors.New("bug")}, 1, 1, jjm.Unclassified},
		"busy for many tries": {[]error{errBusy, errBusy, errBusy, errBusy, errBusy, errBusy, errBusy, errBusy, errBusy}, 5,
			8, jjm.Busy},
		"busy after a refusal": {[]error{errInvalid, errBusy}, 1, 1, jjm.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := &scripted{play: once(test.errs...)}
				began := time.Now()
				err := ask(t.Context(), idealize.Wrap(s, settings(nil), idealize.Deps{}), idealize.Submit, "tag")
				got := len(s.ran())
				if jjm.KindOf(err) != test.kind || got < test.min || got > test.max {
					t.Errorf("%d commands, error %v", got, err)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("tried for %v: want seconds", took)
				}
			})
		})
	}
}

func TestRetry_WhatMayBeDoneTwiceIsRepeatedEvenIfInDoubt(t *testing.T) {
	for _, verb := range []idealize.Verb{idealize.List, idealize.Find, idealize.Account, idealize.Control,
		idealize.Probe} {
		inBubble(t, func(t *testing.T) {
			s := &scripted{play: once(errAmbiguous, errBusy)}
			a := idealize.Wrap(pinging{s}, settings(nil), idealize.Deps{})
			if err := ask(t.Context(), a, verb, ""); err != nil || len(s.ran()) != 3 {
				t.Errorf("%v: %d commands, error %v", verb, len(s.ran()), err)
			}
		})
	}
}

func TestRetry_ABackOffEndsWithItsCallerAndHoldsNoPlace(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := &scripted{play: func(v idealize.Verb) (time.Duration, error) {
			if v == idealize.Submit {
				return 0, errBusy
			}
			return 0, nil
		}}
		c := settings(func(c *idealize.Config) { c.ParallelCommands, c.RetryFor = 1, jjm.Duration(time.Hour) })
		a := idealize.Wrap(s, c, idealize.Deps{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		over := make(chan error)
		go func() { over <- ask(ctx, a, idealize.Submit, "tag") }()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		began := time.Now()
		if err := ask(t.Context(), a, idealize.List, ""); err != nil || !time.Now().Equal(began) {
			t.Errorf("a listing during the back-off took %v, error %v", time.Since(began), err)
		}
		if err := <-over; jjm.KindOf(err) != jjm.Busy {
			t.Error(err)
		}
		if time.Since(began) > 7*time.Second {
			t.Errorf("the back-off outlived its caller by %v", time.Since(began)-7*time.Second)
		}
	})
}

func TestLimit_AHangingCommandEndsAtItsDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := idealize.Wrap(&scripted{play: always(time.Hour, nil)}, settings(nil), idealize.Deps{})
		for verb, kind := range map[idealize.Verb]jjm.Kind{idealize.Submit: jjm.Ambiguous, idealize.List: jjm.Busy} {
			began := time.Now()
			err := ask(t.Context(), a, verb, "tag")
			if jjm.KindOf(err) != kind || time.Since(began) != 30*time.Second {
				t.Errorf("%v: %v after %v", verb, err, time.Since(began))
			}
		}
	})
}

func TestLimit_ACancelGoesBeforeHangingAndWaitingListings(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := &scripted{play: func(v idealize.Verb) (time.Duration, error) {
			if v == idealize.Control {
				return time.Second, nil
			}
			return time.Hour, nil
		}}
		c := settings(func(c *idealize.Config) { c.BreakerFailures, c.CommandsPerMinute = 0, 10 })
		a := idealize.Wrap(s, c, idealize.Deps{})
		var wg sync.WaitGroup
		defer wg.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 50 {
			wg.Go(func() { _ = ask(ctx, a, idealize.List, "") })
		}
		synctest.Wait()
		if st := status(a); st.Running != 3 || st.Waiting != 47 {
			t.Errorf("%+v", st)
		}
		began := time.Now()
		if err := ask(ctx, a, idealize.Control, ""); err != nil || time.Since(began) != time.Second {
			t.Errorf("the cancel took %v, error %v", time.Since(began), err)
		}
	})
}

func TestLimit_TheCeilingKeepsATenthForCancels(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := &scripted{play: always(0, nil)}
		c := settings(func(c *idealize.Config) { c.CommandsPerMinute = 20 })
		a := idealize.Wrap(s, c, idealize.Deps{})
		for range 18 {
			_ = ask(t.Context(), a, idealize.List, "")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 59*time.Second)
		defer cancel()
		if err := ask(ctx, a, idealize.List, ""); jjm.KindOf(err) != jjm.Busy || len(s.ran()) != 18 {
			t.Errorf("%d commands, error %v", len(s.ran()), err)
		}
		time.Sleep(500 * time.Millisecond)
		for range 2 {
			if err := ask(t.Context(), a, idealize.Control, ""); err != nil {
				t.Error(err)
			}
		}
		if st := status(a); st.Used != 20 || st.Ceiling != 20 {
			t.Errorf("%+v", st)
		}
		if err := ask(t.Context(), a, idealize.List, ""); err != nil {
			t.Error("a minute later:", err)
		}
	})
}

func TestBreaker_OpensAndRunsNothingUntilAProbeIsAnswered(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		down := true
		s := &scripted{play: func(idealize.Verb) (time.Duration, error) {
			if down {
				return 0, errBusy
			}
			return 0, nil
		}}
		log := &book{}
		a := idealize.Wrap(s, settings(nil), idealize.Deps{Log: log.logger()})
		_ = ask(t.Context(), a, idealize.List, "")
		st := status(a).Breaker
		if st.State != idealize.Open || len(s.ran()) != 3 || st.Cause == "" || time.Until(st.NextProbe) > 10*time.Second {
			t.Fatalf("%d commands, %+v", len(s.ran()), st)
		}
		for _, verb := range []idealize.Verb{idealize.Submit, idealize.List, idealize.Find, idealize.Control} {
			if err := ask(t.Context(), a, verb, "tag"); jjm.KindOf(err) != jjm.Busy {
				t.Errorf("%v: %v", verb, err)
			}
		}
		if len(s.ran()) != 3 {
			t.Errorf("%d commands: an open breaker sends none", len(s.ran()))
		}
		time.Sleep(10 * time.Second)
		if err := ask(t.Context(), a, idealize.Submit, "tag"); err == nil || len(s.ran()) != 3 {
			t.Error("a submission was used to find out")
		}
		_ = ask(t.Context(), a, idealize.List, "") // the probe
		if st := status(a).Breaker; len(s.ran()) != 4 || st.State != idealize.Open ||
			time.Until(st.NextProbe).Round(time.Second) != 20*time.Second {
			t.Errorf("%d commands, %+v", len(s.ran()), st)
		}
		down = false
		time.Sleep(20 * time.Second)
		if err := ask(t.Context(), a, idealize.List, ""); err != nil || status(a).Breaker.State != idealize.Closed {
			t.Errorf("%v, %+v", err, status(a).Breaker)
		}
		if err := ask(t.Context(), a, idealize.Submit, "tag"); err != nil {
			t.Error(err)
		}
		if w, i := log.count("does not answer"), log.count("batch system answers"); w != 1 || i != 1 {
			t.Errorf("%d warnings and %d all-clears, want one each: %q", w, i, log.lines)
		}
	})
}

func TestBreaker_AProbeThatSucceedsKeepsItClosed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := &scripted{play: func(v idealize.Verb) (time.Duration, error) {
			if v == idealize.List {
				return 0, errBusy // an answer that cannot be read
			}
			return 0, nil
		}}
		a := idealize.Wrap(pinging{s}, settings(nil), idealize.Deps{})
		for range 20 {
			_ = ask(t.Context(), a, idealize.List, "")
			if err := ask(t.Context(), a, idealize.Control, ""); err != nil {
				t.Fatal("a cancel suffers from bad listings:", err)
			}
		}
	})
}

func TestBreaker_OnlyTheProbeRunsWhileItFails(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := &scripted{play: always(0, errBusy)}
		a := idealize.Wrap(pinging{s}, settings(nil), idealize.Deps{})
		for range 600 {
			_ = ask(t.Context(), a, idealize.List, "")
			_ = ask(t.Context(), a, idealize.Submit, "tag")
			time.Sleep(time.Second)
		}
		for i, b := range s.ran() {
			if i >= 3 && b.verb != idealize.Probe {
				t.Errorf("command %d is %v", i, b.verb)
			}
		}
		// After the first three commands only probes run: 0, 10, 30, 70, 150, 270, 390 and 510 s later.
		if n := len(s.ran()); n < 3+6 || n > 3+10 {
			t.Errorf("%d commands in ten minutes", n)
		}
	})
}

func TestBreaker_AccountingThatIsDownStopsNothingElse(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := &scripted{play: func(v idealize.Verb) (time.Duration, error) {
			if v == idealize.Account {
				return 0, errBusy
			}
			return 0, nil
		}}
		a := idealize.Wrap(s, settings(nil), idealize.Deps{})
		for range 10 {
			_ = ask(t.Context(), a, idealize.Account, "")
		}
		if n := len(s.ran()); n != 3 || status(a).Accounting.State != idealize.Open {
			t.Errorf("accounting was asked %d times, %+v", n, status(a).Accounting)
		}
		for _, verb := range []idealize.Verb{idealize.Submit, idealize.List, idealize.Control} {
			if err := ask(t.Context(), a, verb, "tag"); err != nil {
				t.Errorf("%v: %v", verb, err)
			}
		}
	})
}

func TestBreaker_ACallCutShortByItsCallerDoesNotCount(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := &scripted{play: always(time.Hour, nil)}
		a := idealize.Wrap(s, settings(nil), idealize.Deps{})
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_ = ask(ctx, a, idealize.List, "")
			cancel()
		}
		if st := status(a).Breaker; st.Failures != 0 || st.State != idealize.Closed {
			t.Errorf("%+v", st)
		}
	})
}

func TestReset_ClosesTheBreaker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := &scripted{play: once(errBusy, errBusy, errBusy)}
		a := idealize.Wrap(s, settings(nil), idealize.Deps{})
		if err := ask(t.Context(), a, idealize.List, ""); err == nil {
			t.Fatal("want it open")
		}
		a.(interface{ Reset() }).Reset()
		if err := ask(t.Context(), a, idealize.Submit, "tag"); err != nil || status(a).Breaker.State != idealize.Closed {
			t.Errorf("%v, %+v", err, status(a).Breaker)
		}
	})
}

func TestControl_ReturnsTheResultOfEachJob(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := &scripted{play: always(0, nil), results: []error{nil, errBusy}}
		a := idealize.Wrap(s, settings(nil), idealize.Deps{})
		r, err := a.Control(t.Context(), jjm.Owner{}, adapters.Cancel, make([]adapters.Ref, 2))
		if err != nil || len(r) != 2 || r[0] != nil || r[1] == nil || len(s.ran()) != 1 {
			t.Errorf("%v, %v, %d commands", r, err, len(s.ran()))
		}
		s.results = []error{errBusy, errBusy}
		r, err = a.Control(t.Context(), jjm.Owner{}, adapters.Cancel, make([]adapters.Ref, 2))
		if err != nil || len(r) != 2 || r[0] == nil || len(s.ran()) < 3 {
			t.Errorf("of none done: %v, %v, %d commands: want it tried again", r, err, len(s.ran()))
		}
	})
}

// able is an adapter with every optional interface.
type able struct {
	*scripted
	ran, closed bool
	changed     chan struct{}
}

func (a *able) Run(context.Context) error       { a.ran = true; return nil }
func (a *able) Changed() <-chan struct{}        { return a.changed }
func (a *able) Check(jjm.Request) error         { return errInvalid }
func (a *able) Close() error                    { a.closed = true; return nil }
func (a *able) Diagnosis() string               { return "able ping" }
func (a *able) MaxBulkOf(jjm.Request) int       { return 3 }
func (a *able) Probe(ctx context.Context) error { return a.command(ctx, idealize.Probe, "") }

func TestWrap_PassesOnOptionalInterfaces(t *testing.T) {
	inner := &able{scripted: &scripted{play: always(0, nil)}, changed: make(chan struct{})}
	a := idealize.Wrap(inner, settings(nil), idealize.Deps{})
	err := errors.Join(a.(adapters.Runner).Run(t.Context()), a.(io.Closer).Close(), a.(adapters.Prober).Probe(t.Context()))
	if err != nil || !inner.ran || !inner.closed || len(inner.scripted.ran()) != 1 {
		t.Errorf("%v, %+v", err, inner)
	}
	if a.(adapters.Watcher).Changed() != (<-chan struct{})(inner.changed) ||
		!errors.Is(a.(adapters.Checker).Check(jjm.Request{}), errInvalid) {
		t.Error("watcher or checker is not the inner one")
	}
	if n := a.(adapters.BulkLimiter).MaxBulkOf(jjm.Request{}); n != 3 {
		t.Errorf("bulks of %d, want 3", n)
	}
	if got := a.(adapters.Diagnoser).Diagnosis(); got != "able ping" {
		t.Errorf("the diagnosis is %q", got)
	}
	if a.Name() != "scripted" || a.Capabilities().MaxBulk != 7 {
		t.Error(a.Name(), a.Capabilities())
	}
	plain := idealize.Wrap(&scripted{play: always(0, nil)}, settings(nil), idealize.Deps{})
	if _, ok := plain.(adapters.Prober); ok {
		t.Error("an adapter without a probe got one")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := plain.(adapters.Runner).Run(ctx); err != nil {
		t.Error(err)
	}
	if plain.(adapters.Watcher).Changed() != nil || plain.(adapters.Checker).Check(jjm.Request{}) != nil ||
		plain.(io.Closer).Close() != nil || plain.(adapters.Diagnoser).Diagnosis() != "" ||
		plain.(adapters.BulkLimiter).MaxBulkOf(jjm.Request{}) != 0 {
		t.Error("an ability that is not there does something")
	}
}

func TestConfig_BadSettingsAreNamed(t *testing.T) {
	if ps := idealize.Defaults().Check(); len(ps) != 0 {
		t.Error(ps)
	}
	bad := idealize.Config{CommandsPerMinute: -1, BreakerFailures: -1, BreakerWaitMax: -1}
	want := map[string]bool{"command": true, "parallel_commands": true, "commands_per_minute": true,
		"breaker_failures": true, "breaker_wait": true, "breaker_wait_max": true}
	for _, p := range bad.Check() {
		delete(want, p.Field)
	}
	if len(want) != 0 {
		t.Errorf("not found: %v", want)
	}
}

func TestObserve_EachCallThatWasSent(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		type seen struct {
			verb idealize.Verb
			took time.Duration
			err  error
		}
		var all []seen
		s := &scripted{play: once(errBusy, nil, errInvalid)}
		a := idealize.Wrap(s, settings(nil), idealize.Deps{Observe: func(v idealize.Verb, took time.Duration, err error) {
			all = append(all, seen{v, took, err})
		}})
		if err := ask(t.Context(), a, idealize.List, ""); err != nil {
			t.Error(err)
		}
		if err := ask(t.Context(), a, idealize.Submit, ""); err == nil {
			t.Error("a refused submission is none")
		}
		if len(all) != 3 || all[0].verb != idealize.List || !errors.Is(all[0].err, errBusy) || all[1].err != nil ||
			all[2].verb != idealize.Submit || !errors.Is(all[2].err, errInvalid) {
			t.Errorf("%v", all)
		}
		s.play = always(3*time.Second, nil)
		err := ask(t.Context(), a, idealize.Control, "")
		if want := (seen{idealize.Control, 3 * time.Second, nil}); err != nil || all[3] != want {
			t.Errorf("%v, %v", err, all)
		}
	})
}

func TestVerbs_AreAll(t *testing.T) {
	if got := idealize.Verbs(); !slices.Equal(got, verbs) {
		t.Errorf("%v", got)
	}
}
