package conformance

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
)

// siteSystem opens the embedded batch system in the same way as at a site: all checks share one worker report.
func siteSystem(t TB, site *Site, plant func(l *liar, s *System)) func(t TB) System {
	if site.Wrapper == "" {
		site.Wrapper = filepath.Join(t.TempDir(), "jjm-wrapper")
		if err := os.WriteFile(site.Wrapper, []byte("#!/bin/sh\nexit 0\n"), 0o700); err != nil {
			t.Fatalf("%v", err)
		}
	}
	me, err := user.Current()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return localSystem(func(l *liar, s *System) {
		s.Site, s.Parallel, s.Jobs, s.Owner.User = site, true, 8, me.Username
		if plant != nil {
			plant(l, s)
		}
	})
}

func TestSite_AGoodSitePasses(t *testing.T) {
	reported := 0
	open := siteSystem(t, &Site{}, func(_ *liar, s *System) { s.Patience = await.Guard(4 * time.Minute) })
	sum := Run(t.Context(), ForSite(), open, func(o Outcome) {
		reported++
		if o.Word() != "ok" && (o.Check.Site || o.Word() != "not applicable") {
			t.Errorf("%s: %s %s %v", o.Check.Name, o.Skipped, o.NotTried, o.Failures)
		}
	})
	if sum.Failed+sum.NotTried != 0 || reported != len(ForSite()) {
		t.Errorf("%d failed, %d of %d were reported", sum.Failed, reported, len(ForSite()))
	}
}

// A system without arrays, whose listings contain few facts, passes as well. The checks of missing facts and of arrays
// are not applicable, with the reason.
func TestSite_WhatAClusterDoesNotHaveIsNotTested(t *testing.T) {
	facts := []string{"host", "submitted", "started", "ended", "exit", "signal"}
	inner := siteSystem(t, &Site{Kind: "command"}, func(l *liar, s *System) {
		s.Patience = await.Guard(4 * time.Minute)
		l.report = func(r jjm.Report) (jjm.Report, bool) {
			r.Host, r.Submitted, r.Started, r.Ended, r.Exit, r.Signal = "", 0, 0, 0, 0, 0
			if r.State == jjm.BatchEndedFailed {
				r.State = jjm.BatchEndedOK
			}
			return r, true
		}
		l.caps = func(c adapters.Capabilities) adapters.Capabilities { c.MaxBulk, c.Accounting = 1, false; return c }
		l.pretend = func(b adapters.Bulk) error {
			if b.N > 1 {
				return jjm.Errorf(jjm.Invalid, "%d jobs are too many", b.N)
			}
			return nil
		}
	})
	open := func(t TB) System {
		s := inner(t)
		s.Adapter = partial{s.Adapter.(*liar), facts}
		return s
	}
	left := map[string]string{}
	sum := Run(t.Context(), ForSite(), open, func(o Outcome) {
		switch o.Word() {
		case "FAILED", "not tried":
			t.Errorf("%s: %v", o.Check.Name, o.Failures)
		case "not applicable":
			left[o.Check.Name] = o.Skipped
		}
	})
	for check, why := range map[string]string{
		"one job of a bulk can be cancelled": "it has no arrays", "every exit code comes back": "does not have exit",
		"signals are told from exit codes": "does not have signal", "since hides what ended before": "does not have ended",
	} {
		if !strings.Contains(left[check], why) {
			t.Errorf("%s: %q, want %q", check, left[check], why)
		}
	}
	if sum.Failed > 0 || len(left) > 11 {
		t.Errorf("%d sum.Failed; not applicable were %v", sum.Failed, left)
	}
}

// partial is a liar whose listings lack facts.
type partial struct {
	*liar
	facts []string
}

func (p partial) Unlisted() []string { return p.facts }

// The remedy for an administrator fits the cause and the kind of cluster.
func TestRemedy_FitsTheCauseAndTheCluster(t *testing.T) {
	const visit, lives = "a worker sees the work area, both ways", "the capabilities are sane"
	slurm, described := &Site{Kind: "slurm"}, &Site{Kind: "command", Description: "/etc/jjm/adapters/x.toml"}
	for name, c := range map[string]struct {
		check string
		site  *Site
		cause cause
		want  string
		not   string
	}{
		"its own":                  {visit, slurm, causeProperty, "mount the work folder", "shared_fs"},
		"another way with condor":  {visit, &Site{Kind: "condor"}, causeProperty, "or set shared_fs = false", ""},
		"nothing was submitted":    {visit, slurm, causeSubmit, "accepted no job", "mount"},
		"nobody knows":             {visit, described, causeDoubt, "not known whether", "accepted no job"},
		"what is to say so":        {visit, described, causeDoubt, "[[submit.outcome]] in /etc/jjm", "mount"},
		"the queue is long":        {visit, slurm, causeWaiting, "longer --patience", "mount"},
		"nobody knows any":         {lives, slurm, causeProperty, "authors of jjm's adapter for slurm", ""},
		"the description":          {lives, described, causeProperty, "[capabilities] in /etc/jjm/adapters", "authors"},
		"its part of the cause":    {lives, described, causeUnlisted, "[list] and [states] in /etc/jjm", "[capabilities]"},
		"not what it is not about": {lives, described, causeWaiting, "longer --patience", "[capabilities]"},
		"which command submits":    {visit, slurm, causeWaiting, "starts none of them", "qsub"},
		"that of a description":    {visit, described, causeWaiting, "is that of [submit] in /etc/jjm", "sbatch"},
	} {
		got := named(t, c.check).remedy(c.site, c.cause)
		if !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: %q, want %q and not %q", name, got, c.want, c.not)
		}
	}
}

// siteDefects are faulty sites, by the check that finds the fault.
func siteDefects() map[string]func(t *testing.T) func(t TB) System {
	seen := func(change func(v *workerReport)) func(t *testing.T) func(t TB) System {
		return func(t *testing.T) func(t TB) System {
			now := time.Now()
			v := &workerReport{host: "n1", uid: os.Getuid(), gid: os.Getgid(), user: "ann", wrapper: "0", clock: now.Unix(),
				asked: now, told: now}
			change(v)
			return siteSystem(t, &Site{seen: v}, nil)
		}
	}
	return map[string]func(t *testing.T) func(t TB) System{
		"a worker sees the work area, both ways": func(t *testing.T) func(t TB) System {
			return siteSystem(t, &Site{}, func(l *liar, _ *System) {
				l.submit = func(b adapters.Bulk) adapters.Bulk { b.Dir = t.TempDir(); return b }
			})
		},
		"the wrapper can be executed there": seen(func(v *workerReport) { v.wrapper = "126 Permission denied" }),
		"jobs run as the right account":     seen(func(v *workerReport) { v.uid = 65534 }),
		"the clocks agree":                  seen(func(v *workerReport) { v.clock += 3600 }),
	}
}

func TestSiteChecks_EachFindsItsDefect(t *testing.T) {
	for check, open := range siteDefects() {
		t.Run(check, func(t *testing.T) {
			t.Parallel()
			wantFailure(t, check, open(t))
		})
	}
}

func TestSite_WithoutASharedFileSystemChecksOfFilesAreSkipped(t *testing.T) {
	open := siteSystem(t, &Site{}, func(l *liar, _ *System) {
		l.caps = func(c adapters.Capabilities) adapters.Capabilities { c.SharedFS = false; return c }
	})
	for _, name := range []string{"a worker sees the work area, both ways", "odd names pass unchanged"} {
		if o := Try(t.Context(), named(t, name), open); o.Word() != "not applicable" {
			t.Errorf("%s: %s %v", name, o.Word(), o.Failures)
		}
	}
}

// If a batch system accepts jobs but prints no ids, one check reports this, with the remedy, and the remaining checks
// are not tried.
func TestRun_OneSubmissionInDoubtIsEnough(t *testing.T) {
	open := siteSystem(t, &Site{Kind: "slurm"}, func(l *liar, _ *System) {
		l.pretend = func(b adapters.Bulk) error { return jjm.Errorf(jjm.Ambiguous, "exit 0: it printed nothing") }
	})
	var told []string
	sum := Run(t.Context(), ForSite(), open, func(o Outcome) {
		told = append(told, fmt.Sprint(o.Check.Name, o.Failures, o.Remedy))
	})
	want := Sum{Failed: 1, NotTried: len(ForSite()) - 1, Why: "it is not known whether the batch system takes jobs"}
	if sum != want || len(told) != 1 || !strings.Contains(told[0], "it printed nothing") ||
		!strings.Contains(told[0], "it is not known whether the batch system took the job") {
		t.Errorf("%+v, want %+v: %q", sum, want, told)
	}
}

// All other checks of the site judge the worker report of the first check. Without a worker report they are not tried.
func TestSite_WithoutAWorkersReportItIsNotJudged(t *testing.T) {
	open := siteSystem(t, &Site{}, nil)
	for _, c := range siteChecks()[1:] {
		if o := Try(t.Context(), c, open); o.Word() != "not tried" || !strings.Contains(o.NotTried, "see the first check") {
			t.Errorf("%s: %s %q %q", c.Name, o.Word(), o.NotTried, o.Failures)
		}
	}
}

// idle is a batch system that accepts jobs and starts none.
type idle struct{ *liar }

func (i idle) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	b.Argv = []string{"/bin/sh", "-c", "exec sleep 60"}
	return i.liar.Submit(ctx, b)
}

// If no job starts within the patience, one check reports this, and the others are not tried. If a person interrupts
// the test, the remaining checks are not tried either.
func TestRun_WhatCannotBeTriedIsCounted(t *testing.T) {
	inner := siteSystem(t, &Site{Kind: "slurm"}, func(l *liar, s *System) {
		s.Patience = time.Second // provoked: no job starts
		l.report = func(r jjm.Report) (jjm.Report, bool) {
			r.State, r.Host, r.Started = jjm.BatchQueued, "", 0
			return r, true
		}
	})
	waits := func(t TB) System {
		s := inner(t)
		s.Adapter = idle{s.Adapter.(*liar)}
		return s
	}
	var told []string
	sum := Run(t.Context(), ForSite(), waits, func(o Outcome) {
		told = append(told, fmt.Sprint(o.Check.Name, o.Failures, o.Remedy))
	})
	want := Sum{Failed: 1, NotTried: len(ForSite()) - 1, Why: "no job started within 1 s"}
	if sum != want || len(told) != 1 || !strings.Contains(told[0], "accepts jobs and starts none") ||
		!strings.Contains(told[0], "sbatch") {
		t.Errorf("%+v, want %+v: %q", sum, want, told)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open := siteSystem(t, &Site{}, func(_ *liar, s *System) { s.Patience = await.Guard(4 * time.Minute) })
	sum = Run(ctx, ForSite(), open, func(o Outcome) {
		cancel()
		if strings.Contains(fmt.Sprint(o), "context canceled") {
			t.Errorf("%+v", o)
		}
	})
	if sum.Failed != 0 || sum.NotTried == 0 || sum.Why != "the test was interrupted" {
		t.Errorf("%+v", sum)
	}
}
