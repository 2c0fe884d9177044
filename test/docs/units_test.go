package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
)

// verifyUnits runs systemd's check of the installed units of a folder and returns its report, which is empty if the
// units are correct.
func verifyUnits(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command(needs.Program(t, "systemd-analyze", "systemd"), "verify", "--man=no", dir+"/jjm.service",
		dir+"/jjm.socket")
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		return err.Error()
	}
	return strings.TrimSpace(string(out))
}

// systemd accepts the installed units, also with the additions that docs/SERVICE.md shows: it knows every setting, and
// the programs exist.
func TestUnits_SystemdTakesThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command("sh", "scripts/install.sh", "install")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "BIN="+bin.Dir(t), "DESTDIR=", "PREFIX="+dir+"/usr", "SYSCONFDIR="+dir+"/etc",
		"STATE="+dir+"/state")
	out, err := cmd.CombinedOutput()
	must(t, string(out), err)
	units := dir + "/usr/lib/systemd/system"
	if said := verifyUnits(t, units); said != "" {
		t.Errorf("as installed: %s", said)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/SERVICE.md"))
	if err != nil {
		t.Fatal(err)
	}
	added := regexp.MustCompile("(?s)```ini\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(added) != 2 {
		t.Fatalf("docs/SERVICE.md adds to the unit in %d places", len(added))
	}
	unit, err := os.ReadFile(units + "/jjm.service")
	if err != nil {
		t.Fatal(err)
	}
	change := func(text string) string {
		if err := os.WriteFile(units+"/jjm.service", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return verifyUnits(t, units)
	}
	for _, block := range added {
		if said := change(string(unit) + "\n" + block[1]); said != "" {
			t.Errorf("with\n%s: %s", block[1], said)
		}
	}
	// systemd's check finds a mistake in a unit.
	for _, wrong := range []string{strings.Replace(string(unit), "Restart=", "Restrat=", 1),
		strings.ReplaceAll(string(unit), "/jjm serve", "/jim serve")} {
		if change(wrong) == "" {
			t.Errorf("systemd takes anything, so the test is blind:\n%s", wrong)
		}
	}
}

// The unit gives the daemon enough time to stop with the default settings.
func TestUnits_TheStopHasTheTimeItNeeds(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile(filepath.Join(root, "etc/systemd/jjm.service"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nType=notify\n", "\nKillMode=process\n", "\nTimeoutStopSec=30\n", "\nRestart=always\n",
		"\nStateDirectory=jjm\n", "\nOOMPolicy=continue\n"} {
		if !strings.Contains(string(unit), want) {
			t.Errorf("etc/systemd/jjm.service has no %q", want)
		}
	}
}
