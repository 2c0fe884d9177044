package survival_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// fault is a disturbance of a batch system. do is the verb of the test bed that starts it, undo the verb that ends it,
// daemon the affected daemon, and lasts the duration.
type fault struct {
	do, undo, daemon string
	lasts            time.Duration
	// loses is set if jobs may be lost: jobs of a lost machine, jobs that a controller accepted in its last second, or
	// jobs that were just being launched. Their attempts are then lost, but no local job is.
	loses bool
}

// kind returns the name of the fault in the table.
func (f fault) kind() string {
	switch {
	case f.lasts > 0:
		return f.do + " " + f.daemon
	case f.do == "stop":
		return "restart " + f.daemon
	}
	return f.do + " " + f.daemon + " and at once " + f.undo
}

// healAfter is the time after which an administrator repairs a batch system that is still unhealthy although its fault
// is over.
var healAfter = await.Provoked(25 * time.Second)

// frozen is the duration of a freeze. It is longer than the deadline of a command, and longer than the time for which
// clients of a batch system wait for a missing daemon.
var frozen = await.Provoked(8 * time.Second)

const (
	down = 3 * time.Second
	// forgetting is a duration that is longer than the time after which Slurm forgets ended jobs, at most 10 s in the test
	// bed.
	forgetting = 12 * time.Second
	// rounds is how often the simulated administrator checks the batch system at most. A submission in doubt takes at
	// least a minute.
	rounds = 12
)

// trouble returns the faults of each test bed, in the order of their use. The first fault finds the most errors; the
// short form of the test includes only the first two faults.
func trouble() map[string][]fault {
	return map[string][]fault{
		"slurm": {
			{do: "freeze", undo: "thaw", daemon: "slurmctld", lasts: frozen},
			{do: "lose", undo: "keep", daemon: "history", lasts: forgetting},
			{do: "kill", undo: "start", daemon: "slurmctld", lasts: down, loses: true},
			{do: "kill", undo: "start", daemon: "slurmctld", loses: true},
			{do: "stop", undo: "start", daemon: "slurmctld"},
			{do: "kill", undo: "start", daemon: "slurmdbd", lasts: down},
			{do: "freeze", undo: "thaw", daemon: "slurmdbd", lasts: frozen},
			{do: "stop", undo: "start", daemon: "slurmdbd"},
			{do: "kill", undo: "start", daemon: "munged", lasts: down},
			{do: "freeze", undo: "thaw", daemon: "munged", lasts: frozen},
			{do: "kill", undo: "start", daemon: "n1", lasts: down, loses: true},
		},
		"condor": {
			{do: "freeze", undo: "thaw", daemon: "schedd", lasts: frozen},
			{do: "lose", undo: "keep", daemon: "history", lasts: down},
			{do: "kill", undo: "start", daemon: "schedd", lasts: down},
			{do: "stop", undo: "start", daemon: "schedd"},
			{do: "kill", undo: "start", daemon: "startd", loses: true},
			{do: "freeze", undo: "thaw", daemon: "startd", lasts: frozen},
			{do: "kill", undo: "start", daemon: "collector", lasts: down},
		},
		"sge": {
			{do: "freeze", undo: "thaw", daemon: "qmaster", lasts: frozen},
			{do: "lose", undo: "keep", daemon: "history", lasts: down},
			{do: "kill", undo: "start", daemon: "qmaster", lasts: down},
			{do: "kill", undo: "start", daemon: "qmaster"},
			{do: "stop", undo: "start", daemon: "qmaster"},
			{do: "kill", undo: "start", daemon: "execd", lasts: down},
			{do: "freeze", undo: "thaw", daemon: "execd", lasts: frozen},
		},
	}
}

// moments are the moments at which a fault begins.
func moments() []string { return []string{"submission", "run", "kill"} }

// faultRun is one fault at one moment, with or without a kill of the daemon.
type faultRun struct {
	fault
	moment string
	crash  bool
}

func (b faultRun) String() string {
	if b.crash {
		return fmt.Sprintf("%s during the %s, jjm killed too", b.kind(), b.moment)
	}
	return fmt.Sprintf("%s during the %s", b.kind(), b.moment)
}

// faultRuns returns the runs of one test bed. The whole campaign has all runs. The campaign of batch systems has the
// first fault at each moment, with one kill of jjm, and the second fault during the run. Otherwise there is one run:
// the first fault while local jobs run, with a kill of jjm.
func faultRuns(bed string) []faultRun {
	var out []faultRun
	for i, f := range trouble()[bed] {
		for j, moment := range moments() {
			for _, crash := range []bool{false, true} {
				one := i == 0 && moment == "run" && crash
				some := i == 0 && crash == (j == 0) || i == 1 && moment == "run" && crash
				if whole() || one || some && needs.InCampaign(needs.Systems) {
					out = append(out, faultRun{f, moment, crash})
				}
			}
		}
	}
	return out
}

// TestFaults_BatchSystemInTrouble disturbs the real batch systems while a grid job is submitted, runs or is killed, and
// kills jjm at the same moments. No local job is lost, none runs twice, and all end as designed. A run that fails does
// not end the campaign. The table is logged after each run and at the end.
func TestFaults_BatchSystemInTrouble(t *testing.T) {
	t.Parallel()
	table := tallies{of: map[string]*tally{}, began: time.Now()}
	t.Cleanup(func() { table.print(t) })
	for bed := range trouble() {
		t.Run(bed, func(t *testing.T) {
			t.Parallel()
			name := bed
			if bed == "condor" && (whole() || needs.InCampaign(needs.Systems)) {
				name = "condor2"
			}
			b := testbed.StartAlone(t, name)
			section, uid := bedSection(t, b, bed, "")
			if bed == "condor" {
				// HTCondor looks for a lost starter for 40 minutes by default, and a removed job stays as long. 40 s is
				// longer than any trouble here.
				section += "directives = [\"job_lease_duration = 40\"]\n"
			}
			for _, bt := range faultRuns(bed) {
				t.Run(bt.String(), func(t *testing.T) {
					b.Do(t, "up") // an earlier run may have left a fault behind
					// Lost attempts must not exceed the limit of retries.
					s := bedSite(t, section, uid, 3)
					var e *ended
					healed := false
					defer func() { table.add(t, bed, bt, e, healed) }()
					e = s.play(b, bt, &healed)
				})
			}
		})
	}
}

// design returns the grid job of the run. It has 12 local jobs, or 30 in the whole campaign. Of every ten local jobs,
// each kind of end occurs once. At the moment "kill" all of them run until the grid job is killed.
func (b faultRun) design() design {
	jobs := 12
	if whole() {
		jobs = 30
	}
	d := design{jobs: jobs, glf: true, mix: "most", key: "once"}
	if b.moment == "kill" {
		d = design{jobs: jobs, glf: true, seconds: 600, key: "once", killed: true}
	}
	if b.loses {
		d.extra = 1
	}
	return d
}

// play carries out one run up to the end of its grid job and checks everything. Once the batch system needed a repair,
// healed is set.
func (s *site) play(b *testbed.Bed, bt faultRun, healed *bool) *ended {
	s.t.Helper()
	d := bt.design()
	s.startReady()
	var r *driven
	switch bt.moment {
	case "submission":
		r = s.disturbed(b, bt, func() *driven { return s.goDrive(s.t.Context(), driveMix, d) })
	case "run":
		r = s.goDrive(s.t.Context(), driveMix, d)
		s.started(d, 5)
		s.disturbed(b, bt, func() *driven { return r })
	case "kill":
		submitted := s.goDrive(s.t.Context(), driveOnly, d).wait(s.t)
		s.started(d, 5)
		r = s.disturbed(b, bt, func() *driven {
			return s.goDrive(s.t.Context(), func(ctx context.Context, s *site, _ design) (jjm.GridID, error) {
				return submitted, s.killAll(ctx, submitted.String())
			}, d)
		})
	}
	for round := 1; !s.overWithin(r, healAfter); round++ {
		s.t.Logf("not over %v after the trouble: %s\nthe end of the daemon's log:\n%s", healAfter, s.unfinished(),
			tail(s.logText(), 5))
		if round > rounds {
			s.t.Fatalf("%s: neither time nor an administrator helps", await.Hung)
		}
		if s.repair(b) {
			*healed = true
			d.extra++
		}
	}
	return s.verify(r.id, d)
}

// unfinished describes the local jobs that are not over.
func (s *site) unfinished() string {
	var text strings.Builder
	for _, l := range s.status(s.only()).Locals {
		if !l.State.Final() {
			fmt.Fprintf(&text, "\n%s attempt %d %s/%s %s %s", l.ID, l.Attempt, l.State, l.Phase, l.BatchID, l.Message)
		}
	}
	return text.String()
}

// repair acts like an administrator who finds that the batch system is still unhealthy. It repairs the batch system,
// and releases held local jobs, for example jobs that the batch system cancelled by itself. It returns false if it
// found nothing to repair, because jjm then only waits, for example for a submission in doubt.
func (s *site) repair(b *testbed.Bed) bool {
	s.t.Helper()
	found := b.Do(s.t, "heal")
	var refs []string
	for _, l := range s.status(s.only()).Locals {
		if l.State == jjm.Held {
			refs = append(refs, l.ID.String())
		}
	}
	if len(refs) > 0 {
		must(s, wire.VerbRelease(), wire.ReleaseRequest{Many: wire.Refs(refs...)})
	}
	s.t.Logf("an administrator finds %q and releases %v", found, refs)
	return found != "" || len(refs) > 0
}

// overWithin waits for the end of a grid job, and reports whether it came in time.
func (s *site) overWithin(r *driven, within time.Duration) bool {
	s.t.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(2 * pollEvery) {
		if s.overNow(r) {
			return true
		}
	}
	return false
}

// disturbed starts the fault, calls meanwhile, kills the daemon in the middle of the fault if the run requires a kill,
// and ends the fault.
func (s *site) disturbed(b *testbed.Bed, bt faultRun, meanwhile func() *driven) *driven {
	s.t.Helper()
	b.Do(s.t, bt.do, bt.daemon)
	over := false
	defer func() {
		if !over {
			b.Do(s.t, bt.undo, bt.daemon)
		}
	}()
	r := meanwhile()
	time.Sleep(bt.lasts / 2) // half the duration of the fault, not a wait for a result
	if bt.crash {
		s.kill()
		s.start("")
	}
	must(s, wire.VerbPing(), wire.PingRequest{}) // jjm answers in spite of the fault
	time.Sleep(bt.lasts / 2)
	b.Do(s.t, bt.undo, bt.daemon)
	over = true
	return r
}
