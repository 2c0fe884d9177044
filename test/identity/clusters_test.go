package identity_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/testkit/needs"
)

// If jobs run as their owners, the test of a cluster refuses to run as root and names the remedy. If an account is
// named, the test runs as that account, in the account's folder, without root's rights.
func TestClustersTest_AsAnAccount(t *testing.T) {
	needs.Root(t, "to become another account")
	dir, err := os.MkdirTemp("", "jjm-as-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	config := filepath.Join(dir, "jjm.toml")
	text := fmt.Sprintf(
		"state = %q\nwrapper = %q\nrun_as = \"owner\"\n[[cluster]]\nname = \"here\"\nkind = \"local\"\ngrace = \"50ms\"\n",
		filepath.Join(dir, "state"), bin.Path(t, "jjm-wrapper"))
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(config, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	test := func(cred *syscall.Credential, args ...string) (string, int) {
		cmd := exec.Command(bin.Path(t, "jjm-daemon"),
			append([]string{"clusters", "test", "here", "--config", config}, args...)...)
		cmd.Env, cmd.Dir = []string{"PATH=/usr/bin:/bin"}, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := test(nil); code == 0 || !strings.Contains(out, "--as USER") {
		t.Errorf("root: exit code %d\n%s", code, out)
	}
	for _, name := range []string{"root", "nosuchaccount", "-x"} {
		if out, code := test(nil, "--as="+name); code == 0 {
			t.Errorf("as %s: exit code 0\n%s", name, out)
		}
	}
	out, code := test(nil, "--as", "nobody")
	if code != 0 || !strings.Contains(out, "as nobody, with jobs in "+filepath.Join(dir, "state", "work", "nobody")) {
		t.Errorf("as nobody: exit code %d\n%s", code, out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "state/work/nobody/.test-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
