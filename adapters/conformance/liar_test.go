package conformance

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/adapters/local"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

// liar is the embedded batch system, which runs real jobs, with a planted defect in one of its methods.
type liar struct {
	*local.Adapter
	caps     func(adapters.Capabilities) adapters.Capabilities
	submit   func(b adapters.Bulk) adapters.Bulk
	pretend  func(b adapters.Bulk) error
	report   func(r jjm.Report) (jjm.Report, bool)
	repeat   func(r jjm.Report) bool
	listed   func(all []jjm.Report) []jjm.Report
	since    bool
	found    func(f adapters.Found) adapters.Found
	account  func(rs []jjm.Report, jobs []adapters.Ref) []jjm.Report
	control  func(op adapters.Op, jobs []adapters.Ref) []adapters.Ref
	answer   func(op adapters.Op, job adapters.Ref) error
	bound    int  // number of jobs that a cancel acts on; 0 for all
	deaf     bool // whether the adapter ignores the end of the context
	anyOwner *jjm.Owner
	probes   func(ctx context.Context, l *liar) error
	checks   func(r jjm.Request) error
	// Find and Account call runs with the ids that they look up.
	runs func(ctx context.Context, ids []string)
	// cancels returns the number of commands that a cancel of n jobs runs; nil for none.
	cancels func(n int) int
}

func (l *liar) Capabilities() adapters.Capabilities {
	c := l.Adapter.Capabilities()
	if l.caps != nil {
		c = l.caps(c)
	}
	return c
}

func (l *liar) ctx(ctx context.Context) context.Context {
	if l.deaf {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

func (l *liar) owner(o jjm.Owner) jjm.Owner {
	if l.anyOwner != nil {
		return *l.anyOwner
	}
	return o
}

func (l *liar) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	if l.pretend != nil {
		if err := l.pretend(b); err != nil {
			return adapters.Receipt{}, err
		}
	}
	if l.submit != nil {
		b = l.submit(b)
	}
	return l.Adapter.Submit(l.ctx(ctx), b)
}

func (l *liar) List(ctx context.Context, owner jjm.Owner, since time.Time) (adapters.Listing, error) {
	if l.since {
		since = time.Time{}
	}
	all, err := l.Adapter.List(l.ctx(ctx), l.owner(owner), since)
	var out []jjm.Report
	for _, r := range all.Reports {
		if l.report != nil {
			changed, keep := l.report(r)
			if !keep {
				continue
			}
			r = changed
		}
		out = append(out, r)
		if l.repeat != nil && l.repeat(r) {
			out = append(out, r)
		}
	}
	if l.listed != nil {
		out = l.listed(out)
	}
	all.Reports = out
	return all, err
}

func (l *liar) Find(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	if l.runs != nil {
		l.runs(ctx, nil)
	}
	all, err := l.Adapter.Find(l.ctx(ctx), l.owner(owner), tags)
	for i := range all {
		if l.found != nil {
			all[i] = l.found(all[i])
		}
	}
	return all, err
}

func (l *liar) Account(ctx context.Context, owner jjm.Owner, jobs []adapters.Ref) ([]jjm.Report, error) {
	if l.runs != nil {
		var ids []string
		for _, job := range jobs {
			ids = append(ids, job.ID)
		}
		l.runs(ctx, ids)
	}
	all, err := l.Adapter.Account(l.ctx(ctx), l.owner(owner), jobs)
	if l.account != nil {
		all = l.account(all, jobs)
	}
	return all, err
}

func (l *liar) Control(ctx context.Context, owner jjm.Owner, op adapters.Op, jobs []adapters.Ref) ([]error, error) {
	if l.cancels != nil && op == adapters.Cancel {
		for range l.cancels(len(jobs)) {
			runTrue(ctx, nil)
		}
	}
	if l.bound > 0 && op == adapters.Cancel {
		return bounded(l, jobs, func(some []adapters.Ref) ([]error, error) {
			return l.Adapter.Control(l.ctx(ctx), l.owner(owner), op, some)
		})
	}
	sent := jobs
	if l.control != nil {
		sent = l.control(op, jobs)
	}
	answers, err := l.Adapter.Control(l.ctx(ctx), l.owner(owner), op, sent)
	for len(answers) < len(jobs) && err == nil {
		answers = append(answers, nil)
	}
	answers = answers[:min(len(answers), len(jobs))]
	for i, job := range jobs {
		if l.answer != nil && err == nil {
			answers[i] = l.answer(op, job)
		}
	}
	return answers, err
}

// prober and checker are liars that also implement adapters.Prober and adapters.Checker.
type prober struct{ *liar }

func (p prober) Probe(ctx context.Context) error { return p.probes(ctx, p.liar) }

// perID is a liar whose commands open a connection for each id.
type perID struct{ *liar }

func (perID) ConnectsPerID() bool { return true }

type checker struct{ *liar }

func (c checker) Check(r jjm.Request) error { return c.checks(r) }

// localSystem is the embedded batch system with the defect that plant makes.
func localSystem(plant func(l *liar, s *System)) func(t TB) System {
	return func(t TB) System {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatalf("%v", err)
		}
		c := local.DefaultConfig()
		c.Slots, c.Grace = 4, jjm.Duration(100*time.Millisecond)
		a, err := local.New("local", adapters.Env{State: t.TempDir()}, c)
		if err != nil {
			t.Fatalf("%v", err)
		}
		l := &liar{Adapter: a}
		s := System{
			Adapter: l, Owner: jjm.Owner{UID: os.Getuid(), GID: os.Getgid(), User: "me"}, Dir: dir,
			Patience: await.Provoked(2 * time.Second), Walltime: time.Second, Jobs: 100,
		}
		if plant != nil {
			plant(l, &s)
		}
		switch {
		case l.probes != nil:
			s.Adapter = prober{l}
		case l.checks != nil:
			s.Adapter = checker{l}
		case l.runs != nil:
			s.Adapter = perID{l}
		}
		return s
	}
}

// changed returns a defect that changes one fact in every report.
func changed(what func(r *jjm.Report)) func(l *liar, s *System) {
	return func(l *liar, _ *System) {
		l.report = func(r jjm.Report) (jjm.Report, bool) { what(&r); return r, true }
	}
}

// defects returns the planted defects by check and by description.
func defects() map[string]map[string]func(l *liar, s *System) {
	return map[string]map[string]func(l *liar, s *System){
		"every exit code comes back": {
			"codes above 127 are taken for signals": changed(func(r *jjm.Report) {
				if r.Exit > 127 {
					r.Signal, r.Exit = r.Exit-128, 0
				}
			}),
			"failures are OK": changed(func(r *jjm.Report) {
				if r.State == jjm.BatchEndedFailed {
					r.State = jjm.BatchEndedOK
				}
			}),
		},
		"a bulk of two is accepted": {
			"arrays are refused": (*liar).refusesBulks,
			"one of two is lost": func(l *liar, _ *System) {
				l.report = func(r jjm.Report) (jjm.Report, bool) { return r, r.Index == 0 }
			},
		},
		"scattered jobs of a bulk can be cancelled": {
			"only the first two runs are":     (*liar).losesOperands,
			"each costs as much as one":       func(l *liar, _ *System) { l.cancels = func(n int) int { return 3 * n } },
			"some are, and the rest is never": func(l *liar, _ *System) { l.bound = scattered/scatteredCancels - 1 },
			"those between them are, too": func(l *liar, _ *System) {
				l.control = func(_ adapters.Op, jobs []adapters.Ref) []adapters.Ref {
					for _, ref := range jobs[1:] {
						jobs = append(jobs, adapters.Ref{Tag: ref.Tag, ID: ref.ID, Index: ref.Index - 1})
					}
					return jobs
				}
			},
		},
		"ids of many bulks are answered": {
			"only the first is accounted": func(l *liar, _ *System) {
				l.account = func(rs []jjm.Report, _ []adapters.Ref) []jjm.Report { return rs[:min(len(rs), 1)] }
			},
			"only the first is cancelled": func(l *liar, _ *System) {
				l.control = func(_ adapters.Op, jobs []adapters.Ref) []adapters.Ref { return jobs[:1] }
			},
		},
		"looking opens few connections": {
			"one for each id": func(l *liar, _ *System) { l.runs = runTrue },
			"one job is lost": (*liar).losesOne,
		},
		"signals are told from exit codes":   {"signals are lost": changed(func(r *jjm.Report) { r.Signal = 0 })},
		"jobs under a second are not missed": {"times are lost": changed(func(r *jjm.Report) { r.Started = 0 })},
		"the walltime limit is enforced": {"called a failure": changed(func(r *jjm.Report) {
			r.State = map[bool]jjm.BatchState{true: jjm.BatchEndedFailed, false: r.State}[r.State.Ended()]
		})},
		"the memory limit is enforced": {"no limit": func(_ *liar, s *System) { s.MemoryMB = 8 }},
		"the log has what jobs print": {"no log": func(l *liar, _ *System) {
			l.submit = func(b adapters.Bulk) adapters.Bulk { b.Log = ""; return b }
		}},
		"jobs know who they are":   {"another id": changed(func(r *jjm.Report) { r.ID = "1" + r.ID })},
		"odd names pass unchanged": {"arguments are words": func(l *liar, _ *System) { l.submit = words }},
		"hostile text is refused or passes unchanged": {
			"line ends are lost": func(l *liar, _ *System) { l.submit = oneLine },
			"refused as busy": func(l *liar, _ *System) {
				l.pretend = func(b adapters.Bulk) error {
					if filepath.Base(b.Dir) == "-n" {
						return jjm.Errorf(jjm.Busy, "no")
					}
					return nil
				}
			},
			"everything is refused": func(l *liar, _ *System) {
				l.pretend = func(adapters.Bulk) error { return jjm.Errorf(jjm.Invalid, "no") }
			},
		},
		"the environment of the daemon changes nothing": {"a variable decides": func(l *liar, _ *System) {
			l.submit = func(b adapters.Bulk) adapters.Bulk {
				if os.Getenv("SBATCH_HOLD") != "" {
					b.Argv = []string{"/bin/true"}
				}
				return b
			}
		}},
		"a listing carries everything": {
			"no host":            changed(func(r *jjm.Report) { r.Host = "" }),
			"times in hours off": changed(func(r *jjm.Report) { r.Submitted = r.Submitted.Add(-2 * time.Hour) }),
			"accounting knows nothing": func(l *liar, _ *System) {
				l.account = func([]jjm.Report, []adapters.Ref) []jjm.Report { return nil }
			},
			"accounting contradicts": func(l *liar, _ *System) {
				l.account = func(rs []jjm.Report, _ []adapters.Ref) []jjm.Report {
					for i := range rs {
						rs[i].State = jjm.BatchEndedFailed
					}
					return rs
				}
			},
		},
		"since hides what ended before": {"everything is listed": func(l *liar, _ *System) { l.since = true }},
		"a hundred jobs in a bulk": {"one runs twice": func(l *liar, _ *System) {
			l.submit = func(b adapters.Bulk) adapters.Bulk {
				b.Argv[2] += `; [ "$JJM_INDEX" = 3 ] && echo x >> seen.3; :`
				return b
			}
		}},
		"listings are whole while jobs run": {
			"one of twelve is lost": func(l *liar, s *System) {
				l.report = func(r jjm.Report) (jjm.Report, bool) { return r, r.Index != 7 }
			},
			"one that runs is lost now and then": func(l *liar, s *System) {
				var n atomic.Int64
				l.report = func(r jjm.Report) (jjm.Report, bool) {
					return r, r.State != jjm.BatchRunning || n.Add(1)%7 != 0
				}
			},
			"it never ends": changed(func(r *jjm.Report) { r.State = jjm.BatchRunning }),
		},
		"listings are whole while jobs start and end": {
			"one is listed twice": func(l *liar, _ *System) {
				l.repeat = func(r jjm.Report) bool { return r.Index == 3 && r.State.Ended() }
			},
			"ended ones are missing now and then": func(l *liar, _ *System) {
				var n atomic.Int64
				l.report = func(r jjm.Report) (jjm.Report, bool) { return r, n.Add(1)%97 != 0 }
			},
			"an end is taken back": func(l *liar, _ *System) {
				var n atomic.Int64
				l.report = func(r jjm.Report) (jjm.Report, bool) {
					if r.State.Ended() && n.Add(1)%97 == 0 {
						r.State = jjm.BatchRunning
					}
					return r, true
				}
			},
		},
		"all methods may be called at once": {"searches at the same time fail": func(l *liar, _ *System) {
			var n atomic.Int64
			l.pretend = func(adapters.Bulk) error {
				defer n.Add(-1)
				if n.Add(1) > 1 {
					return jjm.Errorf(jjm.Busy, "one at a time")
				}
				time.Sleep(20 * time.Millisecond)
				return nil
			}
		}},
		"known and unknown tags are found": {
			"what is over is absent": func(l *liar, _ *System) {
				var n atomic.Int64
				l.found = func(f adapters.Found) adapters.Found {
					if f.Presence == adapters.Present && n.Add(1) > 1 {
						return adapters.Found{Tag: f.Tag, Presence: adapters.Absent}
					}
					return f
				}
			},
			"all are found": func(l *liar, _ *System) {
				l.found = func(f adapters.Found) adapters.Found { f.Presence = adapters.Present; return f }
			},
		},
		"hundreds of tags in one search": {"the last is lost": func(l *liar, _ *System) {
			var n atomic.Int64
			l.found = func(f adapters.Found) adapters.Found {
				if n.Add(1)%300 == 0 {
					return adapters.Found{Tag: f.Tag, Presence: adapters.Absent}
				}
				return f
			}
		}},
		"two bulks of one tag are both found": {"the first is forgotten": func(l *liar, _ *System) {
			l.found = func(f adapters.Found) adapters.Found { f.IDs = []string{"77"}; return f }
		}},
		"unknown ids are no trouble": {
			"they are errors": func(l *liar, _ *System) {
				l.answer = func(adapters.Op, adapters.Ref) error { return jjm.Errorf(jjm.Invalid, "unknown") }
			},
			"they are accounted": func(l *liar, _ *System) {
				l.account = func(_ []jjm.Report, jobs []adapters.Ref) []jjm.Report { return make([]jjm.Report, len(jobs)) }
			},
		},
		"a recycled id is another's": {"tags are not looked at": func(l *liar, _ *System) { l.ignoreTags() }},
		"a waiting job can be cancelled": {
			"nothing is done": func(l *liar, _ *System) { l.deafTo(adapters.Cancel) },
			"it is forgotten": func(l *liar, _ *System) {
				l.report = func(r jjm.Report) (jjm.Report, bool) { return r, r.State != jjm.BatchCancelled }
			},
		},
		"a running job can be cancelled, twice": {
			"nothing is done":                func(l *liar, _ *System) { l.deafTo(adapters.Cancel) },
			"it is marked and runs on":       (*liar).marksOnly,
			"it is marked when it has ended": (*liar).marksEnds,
		},
		"an ended job can be cancelled without change": {"it becomes cancelled": func(l *liar, _ *System) {
			var hit atomic.Bool
			l.control = func(_ adapters.Op, jobs []adapters.Ref) []adapters.Ref { hit.Store(true); return jobs }
			l.report = func(r jjm.Report) (jjm.Report, bool) {
				if hit.Load() {
					r.State = jjm.BatchCancelled
				}
				return r, true
			}
		}},
		"one job of a bulk can be cancelled": {
			"the whole bulk is": func(l *liar, _ *System) {
				l.control = func(_ adapters.Op, jobs []adapters.Ref) []adapters.Ref {
					one := jobs[0]
					return []adapters.Ref{one, {Tag: one.Tag, ID: one.ID, Index: 0}, {Tag: one.Tag, ID: one.ID, Index: 2}}
				}
			},
			"it is marked and runs on": (*liar).marksOnly,
		},
		"two cancels at once": {
			"the second fails": func(l *liar, _ *System) {
				var n atomic.Int64
				l.answer = func(adapters.Op, adapters.Ref) error {
					if n.Add(1) > 2 {
						return jjm.Errorf(jjm.Conflict, "it is being cancelled")
					}
					return nil
				}
			},
			"they are marked and run on":           (*liar).marksOnly,
			"they are marked when they have ended": (*liar).marksEnds,
		},
		"a thousand ids in one call": {"the last ones are left": func(l *liar, _ *System) {
			l.control = func(_ adapters.Op, jobs []adapters.Ref) []adapters.Ref { return jobs[:min(len(jobs), 990)] }
		}},
		"a held job waits for its release": {
			"nothing is held": func(l *liar, _ *System) { l.deafTo(adapters.HoldJobs) },
			"never released":  func(l *liar, _ *System) { l.deafTo(adapters.Release) },
		},
		"a held bulk never runs before its release": {"it runs at once": func(l *liar, _ *System) {
			l.caps = func(c adapters.Capabilities) adapters.Capabilities { c.TwoPhase = true; return c }
		}},
		"a hold by the batch system is reported": {
			"it is not": func(_ *liar, s *System) { s.SystemHold = func(TB, string) {} },
		},
		"the capabilities are sane": {
			"no bulk fits": func(l *liar, _ *System) {
				l.caps = func(c adapters.Capabilities) adapters.Capabilities { c.MaxBulk = 0; return c }
			},
			"no guarantee": func(l *liar, _ *System) {
				l.caps = func(c adapters.Capabilities) adapters.Capabilities { c.Guarantee = " "; return c }
			},
		},
		"the probe answers": {
			"it does not": func(l *liar, _ *System) {
				l.probes = func(context.Context, *liar) error { return jjm.Errorf(jjm.Busy, "no") }
			},
			"it answers without having asked": func(l *liar, _ *System) {
				l.probes = func(context.Context, *liar) error { return nil }
			},
			"the limits are lost in trouble": func(l *liar, _ *System) {
				l.probes = func(ctx context.Context, l *liar) error {
					if ctx.Err() == nil {
						return nil
					}
					l.caps = func(c adapters.Capabilities) adapters.Capabilities { c.Slots = 0; return c }
					return jjm.Errorf(jjm.Busy, "no")
				}
			},
		},
		"what cannot be expressed is refused": {
			"Submit takes it": func(l *liar, _ *System) {
				l.checks = func(r jjm.Request) error {
					if r.GPUs > 0 {
						return jjm.Errorf(jjm.Invalid, "request.gpus: none here")
					}
					return nil
				}
				l.submit = func(b adapters.Bulk) adapters.Bulk { b.Request.GPUs = 0; return b }
			},
			"nothing is refused":     func(l *liar, _ *System) { l.checks = func(jjm.Request) error { return nil } },
			"the field is not named": func(l *liar, _ *System) { l.checks = noField },
		},
		"a bad bulk is refused": {"NUL is cut off": func(l *liar, _ *System) {
			l.submit = func(b adapters.Bulk) adapters.Bulk {
				for i, a := range b.Argv {
					b.Argv[i], _, _ = strings.Cut(a, "\x00")
				}
				return b
			}
		}},
		"a context that ended stops the call": {"it goes on": func(l *liar, _ *System) { l.deaf = true }},
		"the jobs of two owners are kept apart": {"all are one's own": func(l *liar, s *System) {
			l.anyOwner, s.Other = &s.Owner, &jjm.Owner{UID: 65534, GID: 65534, User: "nobody"}
		}},
		"a rerun is counted": {"nothing happens": func(_ *liar, s *System) {
			s.Requeue = func(TB, string) {}
		}},
		"a lost node is reported": {"nothing happens": func(_ *liar, s *System) {
			s.KillNode = func(TB, string) {}
		}},
		"a job that history forgot is left out": {"it is not": func(_ *liar, s *System) {
			s.LoseHistory = func(TB, string) {}
		}},
	}
}

// words splits arguments at blanks, as a shell does.
func words(b adapters.Bulk) adapters.Bulk {
	b.Argv = append(b.Argv[:4:4], strings.Fields(strings.Join(b.Argv[4:], " "))...)
	return b
}

// oneLine replaces newlines by blanks.
func oneLine(b adapters.Bulk) adapters.Bulk {
	for i, a := range b.Argv[4:] {
		b.Argv[4+i] = strings.ReplaceAll(a, "\n", " ")
	}
	return b
}

func noField(r jjm.Request) error {
	if r.GPUs > 0 {
		return jjm.Errorf(jjm.Invalid, "it cannot be done")
	}
	return nil
}

// deafTo makes the batch system ignore one operation and report success.
func (l *liar) deafTo(deaf adapters.Op) {
	l.control = func(op adapters.Op, jobs []adapters.Ref) []adapters.Ref {
		if op == deaf {
			return nil
		}
		return jobs
	}
}

// refusesBulks makes a system that refuses arrays, as OpenPBS does with "-r n".
func (l *liar) refusesBulks(*System) {
	l.pretend = func(b adapters.Bulk) error {
		if b.N > 1 {
			return jjm.Errorf(jjm.Invalid, "exit 2: cannot submit non-rerunable Array Job")
		}
		return nil
	}
}

// losesOperands makes a cancel act only on the first two jobs and report success for all jobs. The qdel of OpenPBS does
// this with several jobs of one array.
func (l *liar) losesOperands(*System) {
	l.control = func(op adapters.Op, jobs []adapters.Ref) []adapters.Ref {
		if op == adapters.Cancel {
			return jobs[:min(len(jobs), 2)]
		}
		return jobs
	}
}

// losesOne makes a system that accepts its first job and then knows nothing of it.
func (l *liar) losesOne(*System) {
	var lost atomic.Pointer[jjm.Tag]
	l.runs = func(ctx context.Context, _ []string) { runTrue(ctx, nil) }
	l.submit = func(b adapters.Bulk) adapters.Bulk { lost.CompareAndSwap(nil, &b.Tag); return b }
	shown := func(r jjm.Report) bool { tag := lost.Load(); return tag == nil || r.Tag != *tag }
	l.report = func(r jjm.Report) (jjm.Report, bool) { return r, shown(r) }
	l.account = func(rs []jjm.Report, _ []adapters.Ref) []jjm.Report {
		return slices.DeleteFunc(rs, func(r jjm.Report) bool { return !shown(r) })
	}
	l.found = func(f adapters.Found) adapters.Found {
		if tag := lost.Load(); tag != nil && f.Tag == *tag {
			return absent(f)
		}
		return f
	}
}

// runTrue runs the command "true" with ids among its arguments.
func runTrue(ctx context.Context, ids []string) {
	_, _ = run.Run(ctx, run.Cmd{Argv: append([]string{"true"}, ids...), Deadline: await.Guard(5 * time.Minute)})
}

// marksOnly makes a cancel that ends nothing: jobs that were seen to beat are listed as cancelled.
func (l *liar) marksOnly(s *System) {
	l.deafTo(adapters.Cancel)
	l.report = func(r jjm.Report) (jjm.Report, bool) {
		if beats, _ := filepath.Glob(filepath.Join(s.Dir, "beats*")); r.State == jjm.BatchRunning && len(beats) > 0 {
			r.State, r.Ended = jjm.BatchCancelled, jjm.At(time.Now())
		}
		return r, true
	}
}

// marksEnds makes a cancel without effect: jobs run to their own end, and are then listed as cancelled.
func (l *liar) marksEnds(*System) {
	l.deafTo(adapters.Cancel)
	l.report = func(r jjm.Report) (jjm.Report, bool) {
		if r.State.Ended() {
			r.State = jjm.BatchCancelled
		}
		return r, true
	}
}

// ignoreTags makes the adapter act on the job that has the id now, whatever its tag is.
func (l *liar) ignoreTags() {
	l.control = func(_ adapters.Op, jobs []adapters.Ref) []adapters.Ref {
		all, _ := l.Adapter.List(context.Background(), jjm.Owner{UID: os.Getuid()}, time.Time{})
		out := append([]adapters.Ref{}, jobs...)
		for i := range out {
			for _, r := range all.Reports {
				if belongs(r.ID, out[i].ID) || r.ID == out[i].ID {
					out[i].Tag = r.Tag
				}
			}
		}
		return out
	}
}

func TestChecks_EachFindsItsDefect(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	var alone, together []func()
	for check, planted := range defects() {
		for what, plant := range planted {
			one := func() {
				t.Run(check+": "+what, func(t *testing.T) { wantFailure(t, check, localSystem(plant)) })
			}
			if check == "the environment of the daemon changes nothing" { // the process has only one environment
				alone = append(alone, one)
			} else {
				together = append(together, one)
			}
		}
	}
	atOnceAll(together)
	atOnceAll(alone)
}

// atOnceAll runs functions in parallel. t.Parallel would run only as many as there are processors, although the
// functions spend nearly all of their time waiting.
func atOnceAll(all []func()) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, one := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			one()
		})
	}
	wg.Wait()
}

// For every check of the suite there is a planted defect, with which another test shows that the check can fail.
func TestChecks_NoneIsWithoutADefect(t *testing.T) {
	can := map[string]bool{}
	for check := range defects() {
		can[check] = true
	}
	for _, d := range faultDefects() {
		can[d.check] = true
	}
	for check := range siteDefects() {
		can[check] = true
	}
	for _, c := range Checks() {
		if !can[c.Name] {
			t.Errorf("no defect is planted for %q", c.Name)
		}
	}
}
