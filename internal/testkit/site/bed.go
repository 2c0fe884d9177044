package site

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"jjm/internal/testkit/await"
	"jjm/internal/testkit/testbed"
)

// OnBed returns the section of a configuration for a cluster of scripts/testbed. The cluster is named after its kind.
func OnBed(b *testbed.Bed, kind string) string {
	env := []string{}
	for _, name := range slices.Sorted(maps.Keys(b.Env)) {
		env = append(env, fmt.Sprintf("%s = %q", name, b.Env[name]))
	}
	return fmt.Sprintf("[[cluster]]\nname = %q\nkind = %q\nbin = %q\nenv = {%s}\n", kind, kind, b.Bin,
		strings.Join(env, ", "))
}

// KnownToSlurm adds people to the accounting of a Slurm bed until the end of the test. The bed enforces limits, and
// therefore accepts only jobs of known accounts. The commands of the bed run as its owner, who is not permitted to add
// accounts.
//
// Slurm keeps an account that has active jobs. A job may be left: the test may have stopped the program that submitted
// it. KnownToSlurm cancels such jobs.
func KnownToSlurm(t testing.TB, b *testbed.Bed, people ...Person) {
	t.Helper()
	run := func(name string, args ...string) error {
		cmd := exec.Command("/usr/bin/"+name, args...)
		for name, value := range b.Env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
		}
		return nil
	}
	for _, p := range people {
		if err := run("sacctmgr", "-i", "-Q", "add", "user", p.Name, "account=grid", "DefaultAccount=grid"); err != nil {
			t.Error(err)
		}
		t.Cleanup(func() {
			await.Nil(t, "Slurm's accounting forgets "+p.Name, func() error {
				if err := run("scancel", "--user="+p.Name); err != nil {
					return err
				}
				return run("sacctmgr", "-i", "-Q", "delete", "user", p.Name)
			})
		})
	}
}
