package condor_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/adapters/condor"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// open returns an adapter for the HTCondor of a test bed, with settings that make tests quick.
func open(t testing.TB, bed *testbed.Bed, change func(c *condor.Config)) *condor.Adapter {
	t.Helper()
	env := adapters.Env{State: t.TempDir(), Now: time.Now}
	a, err := condor.New("condor", env, func(config any) error {
		c := config.(*condor.Config)
		c.Bin, c.Env = bed.Bin, bed.Env
		c.Grace = jjm.Duration(time.Second)
		c.Keep = jjm.Duration(5 * time.Minute) // ended jobs stay in the queue, where LoseHistory removes their tags
		if change != nil {
			change(c)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return a.(*condor.Adapter)
}

// command runs a command of HTCondor as the owner of the jobs, or as root.
func command(t adaptertest.TB, bed *testbed.Bed, asRoot bool, argv ...string) string {
	t.Helper()
	out, err := try(bed, asRoot, argv...)
	if err != nil || out.Exit != 0 {
		t.Fatalf("%v: exit %d, error %v: %s", argv, out.Exit, err, out.Stderr)
	}
	return string(out.Stdout)
}

func try(bed *testbed.Bed, asRoot bool, argv ...string) (run.Output, error) {
	env := os.Environ()
	if asRoot {
		env = append(env, "JJM_AS_ROOT=1")
	}
	argv = append([]string{filepath.Join(bed.Bin, argv[0])}, argv[1:]...)
	return run.Run(context.Background(), run.Cmd{Argv: argv, Env: env, Deadline: patience})
}

// loseTag removes the tag of a job, after which jjm no longer finds the job. It repeats the change, because the
// schedd refuses a change while it writes another change of the job.
func loseTag(t adaptertest.TB, bed *testbed.Bed, id string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		out, err := try(bed, true, "condor_qedit", id, "JJMTag", "undefined")
		if err == nil && out.Exit == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: condor_qedit %s: exit %d, error %v: %s", await.Hung, id, out.Exit, err, out.Stderr)
		}
	}
}

func TestConformance(t *testing.T) {
	notHere := map[string]string{}
	var bed *testbed.Bed
	// The check of a lost node takes 30 s and needs a separate pool.
	var killNode func(tb adaptertest.TB, host string)
	if !needs.InCampaign(needs.Systems) {
		bed = testbed.Start(t, "condor")
		notHere["a lost node is reported"] = "it takes 30 s, which only the campaign spends"
	} else {
		bed = testbed.StartAlone(t, "condor2")
		killNode = func(tb adaptertest.TB, _ string) {
			tb.Cleanup(func() { bed.Do(t, "start", "startd") })
			bed.Do(t, "kill", "startd")
			bed.Do(t, "start", "startd")
		}
	}
	other := bed.Owner
	other.User, other.UID = "nobody", 65534
	// HTCondor looks for a lost node until the job's lease ends: 40 minutes by
	// default, 20 s at least.
	lease := func(c *condor.Config) { c.Directives = []string{"job_lease_duration = 20"} }
	// All checks share one adapter, because each new adapter would read the whole history once.
	one := open(t, bed, lease)
	if err := one.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := adaptertest.ShareListings(one, bed.Owner)
	adaptertest.Run(t, func(t *testing.T) adaptertest.System {
		return adaptertest.System{
			Adapter: all, Probed: true, Owner: bed.Owner, Other: &other, Dir: bed.Dir(t), Walltime: 3 * time.Second,
			MemoryMB: 40,
			// A pause of 50 ms is enough between listings, because a listing takes 40 ms of CPU time.
			Parallel: true, Patience: await.Guard(8 * time.Minute), Pause: 50 * time.Millisecond, Jobs: 60, AllExits: true,
			NotHere: notHere, Bin: bed.Bin, Submits: "condor_submit",
			Commands: []string{"condor_q", "condor_history", "condor_submit", "condor_rm", "condor_hold", "condor_release",
				"condor_config_val", "condor_status"},
			WithBin: func(tb adaptertest.TB, bin string) adapters.Adapter {
				return open(t, bed, func(c *condor.Config) { c.Bin = bin })
			},
			Requeue:  func(tb adaptertest.TB, id string) { command(tb, bed, true, "condor_vacate_job", "-fast", id) },
			KillNode: killNode,
			SystemHold: func(tb adaptertest.TB, id string) {
				command(tb, bed, true, "condor_hold", id, "-reason", "disk is full", "-subcode", "7")
			},
			LoseHistory: func(tb adaptertest.TB, id string) { loseTag(tb, bed, id) },
		}
	})
}

// site is a test bed with an adapter and a folder for the files of a test.
type site struct {
	*testing.T
	bed *testbed.Bed
	*condor.Adapter
	dir string
}

func newSite(t *testing.T, bed *testbed.Bed, change func(c *condor.Config)) *site {
	return &site{T: t, bed: bed, Adapter: open(t, bed, change), dir: bed.Dir(t)}
}

func (s *site) bulk(n int, script string) adapters.Bulk {
	s.Helper()
	tag, err := jjm.NewTag("cond")
	if err != nil {
		s.Fatal(err)
	}
	return adapters.Bulk{Tag: tag, Owner: s.bed.Owner, N: n, Dir: s.dir, Argv: []string{"/bin/sh", "-c", script}}
}

func (s *site) submit(b adapters.Bulk) string {
	s.Helper()
	r, err := s.Submit(s.Context(), b)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _, _ = s.Control(context.Background(), b.Owner, adapters.Cancel, refs(b, r.ID)) })
	return r.ID
}

func refs(b adapters.Bulk, id string) []adapters.Ref {
	all := make([]adapters.Ref, b.N)
	for i := range all {
		all[i] = adapters.Ref{Tag: b.Tag, ID: id, Index: int32(i)}
	}
	return all
}

func (s *site) control(op adapters.Op, jobs ...adapters.Ref) {
	s.Helper()
	answers, err := s.Control(s.Context(), s.bed.Owner, op, jobs)
	if err != nil {
		s.Fatal(err)
	}
	for _, err := range answers {
		if err != nil {
			s.Fatal(err)
		}
	}
}

// patience is the time after which every wait fails the test.
var patience = await.Guard(8 * time.Minute)

// until repeats the listing until ok returns true for job 0 of a bulk, and returns the job's report.
func (s *site) until(what string, b adapters.Bulk, ok func(r jjm.Report) bool) jjm.Report {
	s.Helper()
	return s.untilOf(0, what, b, ok)
}

func (s *site) untilOf(index int, what string, b adapters.Bulk, ok func(r jjm.Report) bool) jjm.Report {
	s.Helper()
	var last jjm.Report
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		l, err := s.List(s.Context(), b.Owner, time.Now().Add(-time.Hour))
		if err != nil {
			s.Fatal(err)
		}
		for _, r := range l.Reports {
			if r.Tag == b.Tag && r.Index == int32(index) {
				if last = r; ok(r) {
					return r
				}
			}
		}
	}
	s.Fatalf("job %d was not %s within %v, %s: %+v", index, what, patience, await.Hung, last)
	return last
}

func runs(r jjm.Report) bool { return r.State == jjm.BatchRunning }
func over(r jjm.Report) bool { return r.State.Ended() }

// queued returns the output of condor_q for a tag.
func (s *site) queued(tag jjm.Tag, attributes ...string) string {
	s.Helper()
	argv := append([]string{"condor_q", "-allusers", "-constraint", `JJMTag == "` + string(tag) + `"`, "-af:V"},
		attributes...)
	return strings.TrimSpace(command(s, s.bed, false, argv...))
}

func (s *site) lines(name string) int {
	text, _ := os.ReadFile(filepath.Join(s.dir, name))
	return strings.Count(string(text), "\n")
}

func (s *site) busy(what string, err error) {
	s.Helper()
	if jjm.KindOf(err) != jjm.Busy {
		s.Errorf("%s: error %v of kind %v, want busy", what, err, jjm.KindOf(err))
	}
}

// soon returns a context with a short deadline, for calls to a frozen schedd.
func (s *site) soon() context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), await.Provoked(2*time.Second))
	s.Cleanup(cancel)
	return ctx
}

func TestFaults(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	bed := testbed.StartAlone(t, "condor2")
	t.Run("a frozen schedd", func(t *testing.T) { frozen(newSite(t, bed, nil)) })
	t.Run("a killed schedd", func(t *testing.T) { killed(newSite(t, bed, nil)) })
}

// condor_submit hangs when the schedd is frozen, and its request may or may not arrive. When the schedd runs again,
// Find must return whether the request arrived.
func frozen(s *site) {
	thaw := func() { s.bed.Do(s, "thaw", "schedd") }
	s.Cleanup(thaw)
	s.bed.Do(s, "freeze", "schedd")
	b := s.bulk(2, "echo x >> ran")
	_, err := s.Submit(s.soon(), b)
	if jjm.KindOf(err) != jjm.Ambiguous {
		s.Errorf("submit: error %v, want an ambiguous one", err)
	}
	ctx := s.soon()
	_, err = s.List(ctx, b.Owner, time.Now().Add(-time.Hour))
	s.busy("list", err)
	_, err = s.Control(ctx, b.Owner, adapters.Cancel, refs(b, "1"))
	s.busy("cancel", err)
	s.busy("probe", s.Probe(ctx))
	thaw()
	s.resolved(b)
	if s.lines("ran") != 0 {
		s.Error("a held bulk has run")
	}
}

// resolved checks that Find returns a bulk if and only if condor_q shows its jobs.
func (s *site) resolved(b adapters.Bulk) {
	s.Helper()
	var found []adapters.Found
	for end := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		var err error
		if found, err = s.Find(s.Context(), b.Owner, []jjm.Tag{b.Tag}); err == nil {
			break
		}
		if time.Now().After(end) {
			s.Fatalf("%s: find: %v", await.Hung, err)
		}
	}
	jobs := strings.Fields(s.queued(b.Tag, "ClusterId"))
	s.Logf("found %+v; condor_q has %q", found[0], jobs)
	switch {
	case found[0].Presence == adapters.Absent && len(jobs) == 0:
	case found[0].Presence == adapters.Present && len(jobs) == b.N && found[0].IDs[0] == jobs[0]:
		s.control(adapters.Cancel, refs(b, jobs[0])...)
	default:
		s.Errorf("found %+v; condor_q has %q", found[0], jobs)
	}
}

// While the schedd is down, the adapter returns no answers. After its restart, the schedd still has the acknowledged
// and the running jobs.
func killed(s *site) {
	waits, works := s.bulk(3, "echo x >> ran.$JJM_INDEX"),
		s.bulk(1, "echo x >> works; while [ ! -e go ]; do sleep 0.2; done; exit 3")
	id := s.submit(waits)
	s.control(adapters.Release, refs(works, s.submit(works))...)
	s.until("running", works, runs)
	start := func() { s.bed.Do(s, "start", "schedd") }
	s.Cleanup(start)
	s.bed.Do(s, "kill", "schedd")
	l, err := s.List(s.Context(), waits.Owner, time.Now().Add(-time.Hour))
	if s.busy("list", err); len(l.Reports) != 0 {
		s.Errorf("%d reports", len(l.Reports))
	}
	_, err = s.Find(s.Context(), waits.Owner, []jjm.Tag{waits.Tag})
	s.busy("find", err)
	_, err = s.Control(s.Context(), waits.Owner, adapters.Release, refs(waits, id))
	s.busy("release", err)
	_, err = s.Account(s.Context(), waits.Owner, refs(waits, id))
	s.busy("account", err)
	s.busy("probe", s.Probe(s.Context()))
	_, err = s.Submit(s.Context(), s.bulk(1, "true"))
	s.busy("submit", err)
	start()
	s.control(adapters.Release, refs(waits, id)...)
	if r := s.until("over", waits, over); r.State != jjm.BatchEndedOK {
		s.Errorf("acknowledged before the kill: %+v", r)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o666); err != nil {
		s.Fatal(err)
	}
	if r := s.until("over", works, over); r.Exit != 3 || r.Restarts != 0 || s.lines("works") != 1 {
		s.Errorf("running through the kill: %+v, %d runs", r, s.lines("works"))
	}
}

func TestTraps(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	bed := testbed.Start(t, "condor")
	traps := map[string]func(s *site){
		"a completed job is not turned into a removed one": cancelCompleted,
		"an eviction is no second run":                     evicted,
		"hold codes are told":                              holdCodes,
		"a running job is not held, as that kills it":      holdRunning,
		"root's jobs are denied":                           rootDenied,
		"the request reaches HTCondor":                     requested,
		"a submit requirement refuses for good":            siteRefuses,
		"a listing begins where it was asked to":           sinceCounts,
	}
	for name, trap := range traps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trap(newSite(t, bed, nil))
		})
	}
	t.Run("a job that left the queue is in the history, as it was", func(t *testing.T) {
		t.Parallel()
		leaves(newSite(t, bed, func(c *condor.Config) { c.Keep = 0 }))
	})
	t.Run("the event log pokes", func(t *testing.T) {
		t.Parallel()
		pokes(newSite(t, bed, func(c *condor.Config) { c.EventLog = bed.Vars["EVENT_LOG"] }))
	})
	t.Run("a limit of the schedd is met", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, bed, func(c *condor.Config) { c.MaxBulk = 50_000 })
		if err := s.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c := s.Capabilities(); c.MaxBulk != 20_000 || c.MaxQueued != 200_000 || c.Slots < 1 {
			t.Errorf("%+v", c)
		}
	})
}

// A cancel must not call condor_rm for a completed job that is still in the queue, because that would turn the job into
// a removed job.
func cancelCompleted(s *site) {
	b := s.bulk(1, "exit 4")
	id := s.submit(b)
	s.control(adapters.Release, refs(b, id)...)
	s.until("over", b, over)
	s.control(adapters.Cancel, refs(b, id)...)
	if got := s.queued(b.Tag, "JobStatus", "ExitCode"); got != "4 4" {
		s.Errorf("condor_q says %q, want the completed job", got)
	}
}

// By default HTCondor runs an evicted job again. The job must not run again here.
func evicted(s *site) {
	b := s.bulk(1, "echo x >> ran; exec sleep 100")
	id := s.submit(b)
	s.control(adapters.Release, refs(b, id)...)
	s.until("running", b, func(r jjm.Report) bool { return runs(r) && s.lines("ran") == 1 })
	command(s, s.bed, true, "condor_vacate_job", "-fast", id+".0")
	if r := s.until("over", b, over); r.State != jjm.BatchAborted || !strings.Contains(r.Reason, "taken off its machine") {
		s.Errorf("%+v", r)
	}
	if n := s.lines("ran"); n != 1 {
		s.Errorf("%d runs", n)
	}
}

func holdCodes(s *site) {
	b := s.bulk(1, "exit 0")
	id := s.submit(b)
	if r := s.until("listed", b, func(jjm.Report) bool {
		return true
	}); r.State != jjm.BatchHold || r.Hold != "15/0" || r.Reason == "" {
		s.Errorf("at first: %+v", r)
	}
	s.control(adapters.Release, refs(b, id)...)
	s.until("over", b, over)
	waits := s.bulk(1, "exit 0")
	waits.Request.Cores = 1000 // no machine has so many cores
	id = s.submit(waits)
	s.control(adapters.Release, refs(waits, id)...)
	if r := s.until("told why it waits", waits, func(r jjm.Report) bool {
		return r.Reason != ""
	}); r.State != jjm.BatchQueued {
		s.Errorf("%+v", r)
	}
	command(s, s.bed, false, "condor_hold", id, "-reason", "disk is full", "-subcode", "99")
	r := s.until("held", waits, func(r jjm.Report) bool { return r.State == jjm.BatchHold })
	if r.Hold != "1/99" || !strings.HasPrefix(r.Reason, "disk is full") {
		s.Errorf("%+v", r)
	}
}

func holdRunning(s *site) {
	b := s.bulk(1, "exec sleep 100")
	id := s.submit(b)
	s.control(adapters.Release, refs(b, id)...)
	s.until("running", b, runs)
	answers, err := s.Control(s.Context(), b.Owner, adapters.HoldJobs, refs(b, id))
	if err != nil || jjm.KindOf(answers[0]) != jjm.Conflict {
		s.Errorf("%v, error %v", answers, err)
	}
	if got := s.queued(b.Tag, "JobStatus"); got != "2" {
		s.Errorf("JobStatus %q", got)
	}
}

func rootDenied(s *site) {
	root := open(s, s.bed, func(c *condor.Config) {
		c.Env = map[string]string{"JJM_AS_ROOT": "1", "CONDOR_CONFIG": s.bed.Env["CONDOR_CONFIG"]}
	})
	b := s.bulk(1, "true")
	_, err := root.Submit(s.Context(), b)
	if jjm.KindOf(err) != jjm.Denied || !strings.Contains(err.Error(), "run the daemon as the jobs' owner") {
		s.Errorf("error %v", err)
	}
	if got := s.queued(b.Tag, "ClusterId"); got != "" {
		s.Errorf("it is in the queue: %q", got)
	}
}

func requested(s *site) {
	s.Adapter = open(s, s.bed, func(c *condor.Config) {
		c.Queues = map[string]string{"long": `TARGET.Kind =?= "long"`}
		c.ProjectAttribute, c.Account = "ProjectName", "physics"
	})
	b := s.bulk(1, "true")
	b.Request = jjm.Request{
		Cores: 2, MemoryMB: 300, ScratchMB: 5, GPUs: 1, Walltime: jjm.Duration(time.Hour), Queue: "long", Project: "atlas",
	}
	s.submit(b)
	got := s.queued(b.Tag, "RequestCpus", "RequestMemory", "RequestDisk", "RequestGPUs", "AllowedJobDuration",
		"ProjectName", "AcctGroup", "JobMaxVacateTime")
	if want := `2 300 5120 1 3600 "atlas" "physics" 1`; got != want {
		s.Errorf("condor_q says %s, want %s", got, want)
	}
}

func siteRefuses(s *site) {
	refused := open(s, s.bed, func(c *condor.Config) {
		c.Hook = adapters.Hook(filepath.Join(s.dir, "hook"))
	})
	if err := os.WriteFile(filepath.Join(s.dir, "hook"), []byte("#!/bin/sh\necho '+Refuse = true'\n"), 0o755); err != nil {
		s.Fatal(err)
	}
	b := s.bulk(3, "true")
	_, err := refused.Submit(s.Context(), b)
	if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "this site takes no jobs with Refuse") {
		s.Errorf("error %v", err)
	}
	if got := s.queued(b.Tag, "ClusterId"); got != "" {
		s.Errorf("it is in the queue: %q", got)
	}
}

// sinceCounts tests the argument since of List, both for jobs in the queue and for jobs in the history.
func sinceCounts(s *site) {
	b := s.bulk(2, "exit 0")
	id := s.submit(b)
	s.control(adapters.Cancel, refs(b, id)[1])
	s.control(adapters.Release, refs(b, id)[0])
	r := s.until("over", b, over)
	for age, want := range map[time.Duration]int{-time.Minute: 2, time.Hour: 0} {
		l, err := s.List(s.Context(), b.Owner, r.Ended.Time().Add(age))
		if err != nil {
			s.Fatal(err)
		}
		n := 0
		for _, r := range l.Reports {
			if r.Tag == b.Tag {
				n++
			}
		}
		if n != want {
			s.Errorf("%d jobs that ended since %v, want %d", n, age, want)
		}
	}
}

// Without Keep, the end of a job is only in the history, and equals the end that the queue showed. Completed jobs leave
// the queue immediately, jobs over a limit a while later.
func leaves(s *site) {
	b := s.bulk(4, `[ $JJM_INDEX = 3 ] && exec sleep 1000; sleep 0.$JJM_INDEX; exit 6`)
	b.Request.Walltime = jjm.Duration(await.Guard(time.Minute)) // the three short jobs end long before
	id := s.submit(b)
	s.control(adapters.Release, refs(b, id)...)
	ends := map[int32]jjm.Report{}
	left := 0
	for end := time.Now().Add(patience); left < b.N; time.Sleep(500 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("%d jobs have left the queue within %v", left, patience)
		}
		l, err := s.List(s.Context(), b.Owner, time.Now().Add(-time.Hour))
		if err != nil {
			s.Fatal(err)
		}
		left = 0
		for _, r := range l.Reports {
			if r.Tag != b.Tag || !r.State.Ended() {
				continue
			}
			if was, known := ends[r.Index]; known && (was.Ended != r.Ended || was.State != r.State) {
				s.Errorf("it had ended as %+v, now as %+v", was, r)
			}
			ends[r.Index] = r
			if r.Source == "condor_history" {
				left++
			}
		}
	}
	if r := ends[0]; r.State != jjm.BatchEndedFailed || r.Exit != 6 || ends[3].State != jjm.BatchTimeout {
		s.Errorf("%+v, and over its limit: %+v", r, ends[3])
	}
	got, err := s.Account(s.Context(), b.Owner, []adapters.Ref{{Tag: b.Tag, ID: id + ".0", Index: -1}})
	if err != nil || len(got) != 1 || got[0] != ends[0] {
		s.Errorf("accounted %+v, error %v, listed %+v", got, err, ends[0])
	}
	found, err := s.Find(s.Context(), b.Owner, []jjm.Tag{b.Tag})
	if err != nil || found[0].Presence != adapters.Present || found[0].IDs[0] != id {
		s.Errorf("found %+v, error %v", found, err)
	}
	s.control(adapters.Cancel, refs(b, id)...)
}

func pokes(s *site) {
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan error, 1)
	go func() { done <- s.Adapter.Run(ctx) }()
	s.submit(s.bulk(1, "true"))
	await.Closed(s, "a poke", s.Changed())
	cancel()
	if err := <-done; err != nil {
		s.Error(err)
	}
}

// The bed has one machine. A job that excludes another machine runs. A job that excludes this machine waits while a
// later job runs to its end.
func TestBeds_JobsStayOffAnExcludedMachine(t *testing.T) {
	t.Parallel()
	s := newSite(t, testbed.Start(t, "condor"), func(*condor.Config) {})
	run := func(exclude ...string) adapters.Bulk {
		b := s.bulk(1, "exit 0")
		b.Exclude = exclude
		s.control(adapters.Release, refs(b, s.submit(b))...)
		return b
	}
	ended := func(b adapters.Bulk) jjm.Report { return s.until("over", b, over) }
	machine := ended(run("wn77.example.org")).Host
	off := run(machine)
	ended(run())
	s.until("queued", off, func(r jjm.Report) bool {
		if machine == "" || r.Started != 0 {
			t.Fatalf("machine %q is excluded: %+v", machine, r)
		}
		return r.State == jjm.BatchQueued
	})
}
