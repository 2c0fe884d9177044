package gatekeepers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"jjm/internal/testkit/testbed"
)

// This file injects faults.

// holdOf replaces jjm-gatekeeper by a script that counts a person's submissions and delays them: before they start as
// long as the file "halt" exists, and after they were accepted as long as the file "hold" exists.
func (s *site) holdOf(t testing.TB, p *person) {
	t.Helper()
	for _, err := range []error{os.Remove(s.path("bin")), os.Mkdir(s.path("bin"), 0o755), os.Chmod(s.path("bin"), 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"halt", "hold"} {
		_ = os.Remove(s.path(name))
	}
	write(t, s.path("bin/jjm-gatekeeper"), fmt.Sprintf(`#!/bin/sh
[ "$2" = submit ] && [ "$(id -un)" = %[1]s ] || exec %[2]s/jjm-gatekeeper "$@"
touch %[3]s/$$
while [ -e %[6]s ]; do sleep 0.3; done
answer=$(%[2]s/jjm-gatekeeper "$@")
code=$?
touch %[4]s/$$
while [ -e %[5]s ]; do sleep 0.3; done
[ -z "$answer" ] || echo "$answer"
exit $code
`, p.owner.User, bin.Dir(t), p.folderFor(t, s.path("begun")), p.folderFor(t, s.path("answered")), s.path("hold"), s.path("halt")), 0o755)
}

// submissions returns the number of the submissions that holdOf has counted. which is "begun" or "answered".
func (s *site) submissions(which string) int {
	files, _ := os.ReadDir(s.path(which))
	return len(files)
}

// holdNow delays submissions until release is called. how is "halt" or "hold".
func (s *site) holdNow(t testing.TB, how string) (release func()) {
	t.Helper()
	write(t, s.path(how), "", 0o644)
	return func() {
		if err := os.Remove(s.path(how)); err != nil {
			t.Fatal(err)
		}
	}
}

// frozenCluster is a cluster of a real Slurm whose commands hang until thaw, like those of a frozen slurmctld.
func frozenCluster(t testing.TB, dir string, slurm *testbed.Bed) string {
	t.Helper()
	shims, ice := filepath.Join(dir, "frozen"), filepath.Join(dir, "ice")
	if err := os.RemoveAll(shims); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(shims, 0o755); err != nil {
		t.Fatal(err)
	}
	commands, err := os.ReadDir(slurm.Bin)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands {
		write(t, filepath.Join(shims, c.Name()),
			fmt.Sprintf("#!/bin/sh\nwhile [ -e %s ]; do sleep 0.2; done\nexec %s \"$@\"\n", ice,
				filepath.Join(slurm.Bin, c.Name())), 0o755)
	}
	write(t, ice, "", 0o644)
	t.Cleanup(func() { _ = os.Remove(ice) }) // commands that a killed daemon started then end
	frozen := *slurm
	frozen.Bin = shims
	return bedClusterNamed(&frozen, "frozen", "slurm")
}

// thaw lets the commands of frozenCluster continue.
func (s *site) thaw(t testing.TB) {
	t.Helper()
	if err := os.Remove(s.path("ice")); err != nil {
		t.Fatal(err)
	}
}

// waves calls submit(0), submit(1) and so on, in n waves of fifty calls at a time. In the first wave the daemon runs;
// in the second it is killed and started again; in the third it is down; in the fourth it is started.
func (s *site) waves(t testing.TB, n int, submit func(i int)) {
	t.Helper()
	meanwhile := []func(){func() {}, s.restart, func() {}, s.start}
	for wave := range n {
		if wave == 2 {
			s.stop(syscall.SIGTERM)
		}
		done := make(chan bool)
		for i := range 50 {
			go func() {
				defer func() { done <- true }()
				submit(50*wave + i)
			}()
		}
		for i := range 50 {
			if i == 25 {
				meanwhile[wave]()
			}
			<-done
		}
	}
}
