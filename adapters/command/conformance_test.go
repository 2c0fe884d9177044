package command_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/adapters/command"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// A description of Slurm passes the suite on a real Slurm.
func TestConformance_Slurm(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	bed := testbed.Start(t, "slurm")
	with := func(t testing.TB, bin string) adapters.Adapter {
		return open(t, shipped(t, "slurm.toml"), func(c *command.Config) {
			// A separate partition, because the suite of adapters/slurm takes down the nodes of its partition.
			c.Bin, c.Env, c.Queue = bin, bed.Env, "four"
		})
	}
	a := with(t, bed.Bin).(adaptertest.Shareable) // all checks share this adapter
	if err := a.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := adaptertest.ShareListings(a, bed.Owner)
	adaptertest.Run(t, func(t *testing.T) adaptertest.System {
		return adaptertest.System{
			Adapter: all, Probed: true, Owner: bed.Owner, Dir: bed.Dir(t),
			Request: jjm.Request{MemoryMB: 64}, Patience: await.Guard(6 * time.Minute),
			Pause: 100 * time.Millisecond, Parallel: true,
			Jobs: 60,
			Requeue: func(t adaptertest.TB, id string) {
				scontrol(t, bed, "update", "JobId="+id, "Requeue=1")
				scontrol(t, bed, "requeue", id)
			},
			SystemHold: func(t adaptertest.TB, id string) { scontrol(t, bed, "hold", id) },
			NotHere: map[string]string{
				"the jobs of two owners are kept apart":     "the bed's commands act for one account only",
				"the walltime limit is enforced":            "Slurm's least limit is a minute, which the suite of adapters/slurm waits for",
				"the memory limit is enforced":              "without cgroups Slurm says JobLaunchFailure, and a description cannot tell more",
				"a held bulk never runs before its release": "the description submits in one phase",
				"a lost node is reported":                   "the suite of adapters/slurm does it",
				"a job that history forgot is left out":     "slurmdbd forgets nobody on command",
			},
			Bin: bed.Bin, Commands: []string{"sbatch", "squeue", "scancel", "scontrol", "sacct", "sinfo"}, Submits: "sbatch",
			AsksAlone: true,
			WithBin:   func(_ adaptertest.TB, bin string) adapters.Adapter { return with(t, bin) },
		}
	})
}

// scontrol runs the command scontrol of Slurm as root, and fails the test if the command fails.
func scontrol(t adaptertest.TB, bed *testbed.Bed, args ...string) {
	t.Helper()
	out, err := run.Run(context.Background(), run.Cmd{
		Argv: append([]string{"/usr/bin/scontrol"}, args...), Env: []string{"SLURM_CONF=" + bed.Env["SLURM_CONF"]},
		Deadline: await.Guard(5 * time.Minute),
	})
	if err != nil || out.Exit != 0 {
		t.Fatalf("scontrol %v: exit %d, error %v: %s", args, out.Exit, err, out.Stderr)
	}
}

// shipped returns the path of a description in etc/adapters.
func shipped(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "etc", "adapters", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// open returns an adapter for the description at path, after change has changed its configuration.
func open(t testing.TB, path string, change func(c *command.Config)) adapters.Adapter {
	t.Helper()
	a, err := command.New("site", adapters.Env{State: t.TempDir()}, func(into any) error {
		c := into.(*command.Config)
		if change != nil {
			change(c)
		}
		return c.Description.UnmarshalText([]byte(path))
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}
