package slurm_test

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/adapters/slurm"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// open returns an adapter for the Slurm of a test bed. change may change its configuration.
func open(t adaptertest.TB, bed *testbed.Bed, change func(*slurm.Config)) *slurm.Adapter {
	t.Helper()
	c := slurm.DefaultConfig()
	c.Bin, c.Env = bed.Bin, bed.Env
	change(&c)
	a, err := slurm.Open("slurm", adapters.Env{State: t.TempDir(), Now: time.Now}, c)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return a
}

func probed(t *testing.T, a *slurm.Adapter) *slurm.Adapter {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Guard(4*time.Minute))
	defer cancel()
	if err := a.Probe(ctx); err != nil {
		t.Fatal(err)
	}
	return a
}

// admin runs scontrol as root and returns its output, whatever its exit code is.
func admin(t adaptertest.TB, bed *testbed.Bed, args ...string) run.Output {
	t.Helper()
	env := append(os.Environ(), "SLURM_CONF="+bed.Env["SLURM_CONF"])
	out, err := run.Run(context.Background(), run.Cmd{
		Argv: append([]string{"/usr/bin/scontrol"}, args...), Env: env, Deadline: await.Guard(5 * time.Minute),
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return out
}

func mustAdmin(t adaptertest.TB, bed *testbed.Bed, args ...string) {
	t.Helper()
	if out := admin(t, bed, args...); out.Exit != 0 {
		t.Fatalf("scontrol %v: exit %d: %s", args, out.Exit, out.Stderr)
	}
}

// system returns a test bed in the form that the suite needs. All checks share the adapter, which uses a partition of
// one node that no other test uses, so that the suite may fill the node and take it down.
func system(t *testing.T, bed *testbed.Bed, a adapters.Adapter, change func(*slurm.Config)) adaptertest.System {
	return adaptertest.System{
		Adapter: a, Probed: true, Owner: bed.Owner, Dir: bed.Dir(t),
		Patience: await.Guard(4 * time.Minute),
		Pause:    100 * time.Millisecond, Parallel: true, Jobs: 60, MemoryMB: 50, NoOOM: true,
		Requeue: func(t adaptertest.TB, id string) {
			mustAdmin(t, bed, "update", "JobId="+id, "Requeue=1")
			mustAdmin(t, bed, "requeue", id)
		},
		SystemHold: func(t adaptertest.TB, id string) { mustAdmin(t, bed, "hold", id) },
		KillNode: func(t adaptertest.TB, host string) {
			mustAdmin(t, bed, "update", "NodeName="+host, "State=DOWN", "Reason=test")
			t.Cleanup(func() { nodeUp(t, bed, host) })
		},
		NotHere: map[string]string{
			"the jobs of two owners are kept apart":     "the bed's commands act for one account only",
			"a held bulk never runs before its release": "Slurm's bulks are not held: sbatch is found again by its tag",
			"a job that history forgot is left out":     "slurmdbd forgets nobody on command; TestFaults has a controller that forgot",
		},
		Bin:      bed.Bin,
		Commands: []string{"sbatch", "squeue", "sacct", "scancel", "scontrol", "sinfo"},
		WithBin: func(t adaptertest.TB, bin string) adapters.Adapter {
			return open(t, bed, func(c *slurm.Config) { change(c); c.Bin = bin })
		},
	}
}

// nodeUp waits until a node accepts jobs again.
func nodeUp(t adaptertest.TB, bed *testbed.Bed, host string) {
	t.Helper()
	for end := time.Now().Add(await.Guard(3 * time.Minute)); ; time.Sleep(300 * time.Millisecond) {
		out := admin(t, bed, "-o", "show", "node", host)
		if strings.Contains(string(out.Stdout), "State=IDLE ") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("node %s does not come back: %s", host, out.Stdout)
		}
		admin(t, bed, "update", "NodeName="+host, "State=RESUME")
	}
}

func TestConformance_Sbatch(t *testing.T) {
	t.Parallel()
	bed := testbed.Start(t, "slurm")
	change := func(c *slurm.Config) { c.Queue = "two" }
	a := adaptertest.ShareListings(probed(t, open(t, bed, change)), bed.Owner)
	adaptertest.Run(t, func(t *testing.T) adaptertest.System {
		s := system(t, bed, a, change)
		s.Submits = "sbatch"
		s.AllExits = true
		if needs.InCampaign(needs.Systems) {
			s.Walltime = time.Minute // Slurm's smallest limit; the kill comes up to half a minute later
		} else {
			s.NotHere["the walltime limit is enforced"] = "it takes two minutes, which only the campaign spends"
		}
		return s
	})
}

// The test runs the suite on an adapter that submits through slurmrestd. It uses fewer jobs than the suite with
// sbatch, because only Submit differs.
func TestConformance_Rest(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	bed := testbed.Start(t, "slurm")
	change := func(c *slurm.Config) { c.Queue, c.Rest = "three", bed.Vars["REST_UNIX"] }
	a := adaptertest.ShareListings(probed(t, open(t, bed, change)), bed.Owner)
	adaptertest.Run(t, func(t *testing.T) adaptertest.System {
		s := system(t, bed, a, change)
		s.Commands = nil // this adapter submits without commands
		s.NotHere["the walltime limit is enforced"] = "Slurm's least limit is a minute, which the suite with sbatch waits for"
		maps.Copy(s.NotHere, adaptertest.WithoutCommands(
			"faulty commands are for the suite with sbatch; slurmrestd is no command"))
		s.Jobs = 40
		return s
	})
}

// The test submits a bulk to slurmrestd over TCP, with a token that the adapter requests from the controller.
func TestRest_ATokenOverTCP(t *testing.T) {
	t.Parallel()
	bed := testbed.Start(t, "slurm")
	a := probed(t, open(t, bed, func(c *slurm.Config) { c.Rest = bed.Vars["REST_TCP"] }))
	b := bulk(t, bed, 2, "exit 0")
	r := submit(t, a, b)
	if f := present(t, a, b); len(f.IDs) != 1 || f.IDs[0] != r.ID {
		t.Errorf("found %+v, the receipt has %s", f, r.ID)
	}
}

// The QOS "ten" in the real accounting accepts 10 jobs of a user. This limit does not count for other QOSes. The
// adapter rejects a larger bulk before sbatch runs.
func TestBeds_SlurmsAccountingTellsItsLimits(t *testing.T) {
	t.Parallel()
	bed := testbed.Start(t, "slurm")
	a := probed(t, open(t, bed, func(c *slurm.Config) { c.QOS = "ten" }))
	await.True(t, "bulks of 10 in the QOS", func() bool { return a.MaxBulkOf(jjm.Request{}) == 10 })
	if c := a.Capabilities(); c.MaxQueued <= 10 {
		t.Errorf("%d jobs of the account, want more: other QOSes have no such limit", c.MaxQueued)
	}
	b := bulk(t, bed, 11, "exit 0")
	if _, err := a.Submit(t.Context(), b); err == nil {
		t.Error("11 jobs in the QOS are accepted")
	}
}

// A job runs on the node that is left. While all nodes of its partition are excluded, a job is not refused for good.
func TestBeds_JobsStayOffExcludedNodes(t *testing.T) {
	t.Parallel()
	bed := testbed.Start(t, "slurm")
	ways := map[string]func(*slurm.Config){"sbatch": func(*slurm.Config) {}, "slurmrestd": func(c *slurm.Config) {
		c.Rest = bed.Vars["REST_UNIX"]
	}}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			in := func(queue string) *slurm.Adapter {
				return probed(t, open(t, bed, func(c *slurm.Config) { way(c); c.Queue = queue }))
			}
			a := in("all")
			if unknown, err := a.UnknownHosts(t.Context(), []string{"n1", "n77"}); err != nil ||
				!slices.Equal(unknown, []string{"n77"}) {
				t.Errorf("unknown are %q, %v", unknown, err)
			}
			b := bulk(t, bed, 1, "exit 0")
			b.Exclude = []string{"n1", "n2"}
			submit(t, a, b)
			await.True(t, "the job ends on n3", func() bool {
				r := listed(t, a, b)[0]
				if r.Host != "" && r.Host != "n3" {
					t.Errorf("it is on %s", r.Host)
				}
				return r.State == jjm.BatchEndedOK
			})
			two := in("two")
			b = bulk(t, bed, 1, "exit 0")
			b.Exclude = []string{"n2"}
			if r, err := two.Submit(t.Context(), b); err != nil {
				wantKind(t, "the only node is excluded", err, jjm.Busy)
			} else if _, err := two.Control(t.Context(), b.Owner, adapters.Cancel,
				[]adapters.Ref{{Tag: b.Tag, ID: r.ID}}); err != nil {
				t.Error(err)
			}
		})
	}
}
