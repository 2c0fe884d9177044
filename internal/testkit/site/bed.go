package site

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

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
func KnownToSlurm(t testing.TB, b *testbed.Bed, people ...Person) {
	t.Helper()
	account := func(args ...string) {
		cmd := exec.Command("/usr/bin/sacctmgr", append([]string{"-i", "-Q"}, args...)...)
		for name, value := range b.Env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("sacctmgr %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
	for _, p := range people {
		account("add", "user", p.Name, "account=grid", "DefaultAccount=grid")
		t.Cleanup(func() { account("delete", "user", p.Name) })
	}
}
