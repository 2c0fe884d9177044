package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/adapters"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// forger is a batch system whose commands alice has replaced: under her account she decides what the commands do and
// answer.
type forger struct {
	*faulty
	mu sync.Mutex
	// reports are added to the answers of List and Account. If set, found replaces the answer of Find, receipt the id that
	// a submission returns, and answers the answers of Control.
	reports []jjm.Report
	found   func(jjm.Tag) adapters.Found
	receipt string
	answers func(adapters.Op, []adapters.Ref) ([]error, error)
	// controlled holds the jobs of all Control calls, by account.
	controlled map[string][]adapters.Ref
}

// forge changes the forged answers.
func (f *forger) forge(change func(*forger)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *forger) List(ctx context.Context, o jjm.Owner, since time.Time) (adapters.Listing, error) {
	l, err := f.faulty.List(ctx, o, since)
	f.mu.Lock()
	defer f.mu.Unlock()
	if o.User == alice.User {
		l.Reports = append(l.Reports, f.reports...)
	}
	return l, err
}

func (f *forger) Account(ctx context.Context, o jjm.Owner, jobs []adapters.Ref) ([]jjm.Report, error) {
	r, err := f.faulty.Account(ctx, o, jobs)
	f.mu.Lock()
	defer f.mu.Unlock()
	if o.User == alice.User {
		r = append(r, f.reports...)
	}
	return r, err
}

func (f *forger) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	r, err := f.faulty.Submit(ctx, b)
	f.mu.Lock()
	defer f.mu.Unlock()
	if b.Owner.User == alice.User && f.receipt != "" {
		r, err = adapters.Receipt{ID: f.receipt}, nil
	}
	return r, err
}

func (f *forger) Find(ctx context.Context, o jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	found, err := f.faulty.Find(ctx, o, tags)
	f.mu.Lock()
	defer f.mu.Unlock()
	if o.User == alice.User && f.found != nil {
		for i := range found {
			found[i] = f.found(found[i].Tag)
		}
	}
	return found, err
}

func (f *forger) Control(ctx context.Context, o jjm.Owner, op adapters.Op, refs []adapters.Ref) ([]error, error) {
	f.mu.Lock()
	if f.controlled == nil {
		f.controlled = map[string][]adapters.Ref{}
	}
	f.controlled[o.User] = append(f.controlled[o.User], refs...)
	answers := f.answers
	f.mu.Unlock()
	if o.User == alice.User && answers != nil {
		return answers(op, refs)
	}
	return f.faulty.Control(ctx, o, op, refs)
}

// forgedWorld returns options with a forger as the batch system, and a function that returns this forger.
func forgedWorld(o options) (options, func() *forger) {
	var f *forger
	o.clusters = func(w *world) []engine.Cluster {
		f = &forger{faulty: w.adapter}
		return []engine.Cluster{{Kind: "sim", Adapter: f}}
	}
	return o, func() *forger { return f }
}

// said returns a forged report about a local job.
func said(l jjm.LocalJob, state jjm.BatchState, change ...func(*jjm.Report)) jjm.Report {
	r := jjm.Report{Tag: l.Tag, Index: l.Pos, ID: l.BatchID, State: state, Host: "forged"}
	for _, c := range change {
		c(&r)
	}
	return r
}

func TestForgedListing_DoesNotConcernOtherAccounts(t *testing.T) {
	t.Parallel()
	other := func(r *jjm.Report) { r.ID = "sim99_0" }
	for name, state := range map[string]jjm.BatchState{"failed": jjm.BatchEndedFailed, "held": jjm.BatchHold,
		"queued": jjm.BatchQueued} {
		for _, change := range []func(*jjm.Report){nil, other} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				o, f := forgedWorld(options{sim: adaptertest.SimConfig{Life: 3 * time.Hour}})
				inWorld(t, o, func(t *testing.T, w *world) {
					hers, his := w.submit(alice, mc(2)), w.submit(bob, mc(4))
					w.running(hers, 2)
					w.running(his, 4)
					w.pass(time.Minute)
					before := w.locals(his)
					f().forge(func(f *forger) {
						for _, l := range before {
							r := said(l, state, func(r *jjm.Report) { r.Exit = 7 })
							if change != nil {
								change(&r)
							}
							f.reports = append(f.reports, r)
						}
					})
					w.pass(40 * time.Minute)
					if now := w.locals(his); !cmp.Equal(now, before) {
						t.Errorf("after alice's listings bob's local jobs changed:\n%s", cmp.Diff(before, now))
					}
					if !w.logs.has("reports jobs of other accounts") {
						t.Error("no line in the log")
					}
					w.final(5*time.Hour, his)
					w.verify(his, done(4))
					for _, ref := range f().controlled[alice.User] {
						if ref.Tag == before[0].Tag {
							t.Errorf("under alice's account %+v was acted on, which is bob's", ref)
						}
					}
				})
			})
		}
	}
}

// Bob's jobs are lost, although listings under alice's account say that they run.
func TestForgedListing_KeepsNoLostJobOfOthersAlive(t *testing.T) {
	t.Parallel()
	o, f := forgedWorld(options{sim: adaptertest.SimConfig{Life: 3 * time.Hour}})
	inWorld(t, o, func(t *testing.T, w *world) {
		hers, his := w.submit(alice, mc(2)), w.submit(bob, mc(3))
		w.running(hers, 2)
		w.running(his, 3)
		f().forge(func(f *forger) {
			for _, l := range w.locals(his) {
				f.reports = append(f.reports, said(l, jjm.BatchRunning))
			}
		})
		w.sim.Vanish(w.refs(his, 0, 1, 2)...)
		w.until(2*time.Hour, "they are tried again", func() bool { return w.locals(his)[2].Attempt == 1 })
		w.final(12*time.Hour, his)
		w.verify(his, done(3))
	})
}

// Under alice's account, the receipt of a submission names the id of another account's bulk, and a search confirms it.
// The engine must believe neither.
func TestForgedReceipt_WithTheIDOfOthersIsDoubted(t *testing.T) {
	t.Parallel()
	o, f := forgedWorld(options{sim: adaptertest.SimConfig{Life: time.Hour}})
	inWorld(t, o, func(t *testing.T, w *world) {
		his := w.submit(bob, mc(3))
		w.running(his, 3)
		before := w.locals(his)
		f().forge(func(f *forger) {
			f.receipt = "sim1"
			f.found = func(tag jjm.Tag) adapters.Found {
				return adapters.Found{Tag: tag, Presence: adapters.Present, IDs: []string{"sim1"}}
			}
		})
		hers := w.submit(alice, mc(2))
		w.pass(10 * time.Minute)
		for _, l := range w.locals(hers) {
			if strings.HasPrefix(l.BatchID, "sim1") {
				t.Errorf("%s counts as %s, which is bob's", l.ID, l.BatchID)
			}
		}
		if !w.logs.has("is a bulk of another account") {
			t.Error("no line in the log")
		}
		w.kill(hers.String())
		w.pass(10 * time.Minute)
		if now := w.locals(his); !cmp.Equal(now, before) {
			t.Errorf("bob's local jobs changed:\n%s", cmp.Diff(before, now))
		}
		w.final(3*time.Hour, his)
		w.verify(his, done(3))
	})
}

// Whatever commands under alice's account answer, bob's local jobs do not change.
func TestForgedAnswers_DoNotChangeOthersJobs(t *testing.T) {
	drawLives(t)
	rapid.Check(t, func(rt *rapid.T) {
		states := []jjm.BatchState{jjm.BatchQueued, jjm.BatchHold, jjm.BatchRunning, jjm.BatchSuspended, jjm.BatchEndedOK,
			jjm.BatchEndedFailed, jjm.BatchCancelled, jjm.BatchAborted, jjm.BatchOOM}
		type lie struct {
			n, state int
			id       string
		}
		lies := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) lie {
			return lie{rapid.IntRange(-1, 4).Draw(t, "of"), rapid.IntRange(0, len(states)-1).Draw(t, "state"),
				rapid.SampledFrom([]string{"", "sim1", "sim1_0", "sim2_1", "sim77_2", "other"}).Draw(t, "id")}
		}), 1, 12).Draw(rt, "reports")
		receipt := rapid.SampledFrom([]string{"", "sim1", "sim1_1", "sim9", "x"}).Draw(rt, "receipt")
		presence := rapid.SampledFrom([]adapters.Presence{adapters.Present, adapters.Absent, adapters.NotYetKnown}).Draw(rt,
			"found")
		kinds := rapid.SampledFrom([]jjm.Kind{jjm.Unclassified, jjm.Busy, jjm.Gone, jjm.Denied, jjm.Invalid,
			jjm.Ambiguous}).Draw(rt, "answers")
		o, f := forgedWorld(options{sim: adaptertest.SimConfig{Life: 5 * time.Hour,
			TwoPhase: rapid.Bool().Draw(rt, "two-phase")}})
		inWorld(t, o, func(t *testing.T, w *world) {
			his := w.submit(bob, mc(4))
			w.running(his, 4)
			w.pass(time.Minute)
			before := w.locals(his)
			f().forge(func(f *forger) {
				f.receipt = receipt
				for _, l := range lies {
					of := before[max(l.n, 0)%4]
					f.reports = append(f.reports, said(of, states[l.state], func(r *jjm.Report) {
						if r.Index = int32(l.n); l.id != "" {
							r.ID = l.id
						}
					}))
				}
				f.found = func(tag jjm.Tag) adapters.Found {
					return adapters.Found{Tag: tag, Presence: presence, IDs: []string{"sim1", before[0].BatchID}}
				}
				f.answers = func(_ adapters.Op, refs []adapters.Ref) ([]error, error) {
					if kinds == jjm.Unclassified {
						return make([]error, len(refs)), nil
					}
					return nil, jjm.Errorf(kinds, "alice says so")
				}
			})
			hers := w.submit(alice, mc(3))
			w.pass(15 * time.Minute)
			w.kill(hers.String())
			w.pass(15 * time.Minute)
			if now := w.locals(his); !cmp.Equal(now, before) {
				t.Errorf("bob's local jobs changed:\n%s", cmp.Diff(before, now))
			}
		})
		if t.Failed() {
			rt.FailNow()
		}
	})
}
