package docs_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/testkit/needs"
)

// makeIn runs a make target that installs everything below dir. It does not build programs that are already built.
func makeIn(t *testing.T, dir, target string, settings ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("make", append([]string{"-s", "--no-print-directory", target, "BUILD=true", "BIN=" + bin.Dir(t),
		"DESTDIR=" + dir, "PREFIX=/usr"}, settings...)...)
	cmd.Dir = root
	// The tests may themselves run under make.
	cmd.Env = append(os.Environ(), "BIN="+bin.Dir(t), "MAKEFLAGS=", "MFLAGS=", "MAKELEVEL=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// files returns the paths of all files below a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// An installation uses a state folder other than the default; the socket unit names it. A check without this setting
// fails and names the state folder to use. It does not suggest an installation, which would reset the state folder.
func TestInstall_ACheckWithoutTheStateNamesIt(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	dir := t.TempDir()
	out, err := makeIn(t, dir, "install", "STATE=/data/jjm")
	must(t, out, err)
	out, err = makeIn(t, dir, "check")
	if err == nil || !strings.Contains(out, "give STATE=/data/jjm again") || strings.Contains(out, "run install.sh") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err = makeIn(t, dir, "check", "STATE=/data/jjm"); err != nil && !strings.Contains(out, "configuration") {
		t.Errorf("%v\n%s", err, out)
	}
}

// An installation with a state folder that differs from the one of the existing configuration changes nothing, and the
// error names both. A check with that folder fails and names both too.
func TestInstall_AnotherStateThanTheConfigurationIsRefused(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	dir := t.TempDir()
	out, err := makeIn(t, dir, "install")
	must(t, out, err)
	socket := dir + "/usr/lib/systemd/system/jjm.socket"
	before, err := os.ReadFile(socket)
	must(t, string(before), err)
	const want = `/etc/jjm/jjm.toml has state = "/var/lib/jjm", not STATE=/srv/jjm: `
	if out, err = makeIn(t, dir, "install", "STATE=/srv/jjm"); err == nil || !strings.Contains(out, want) {
		t.Errorf("install: %v\n%s\nwant %s", err, out, want)
	}
	if after, err := os.ReadFile(socket); err != nil || string(after) != string(before) {
		t.Errorf("a refused installation changed the socket: %v\n%s", err, after)
	}
	moved := strings.ReplaceAll(string(before), "/var/lib/jjm", "/srv/jjm")
	if err := os.WriteFile(socket, []byte(moved), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err = makeIn(t, dir, "check", "STATE=/srv/jjm"); err == nil || !strings.Contains(out, want) {
		t.Errorf("check: %v\n%s\nwant %s", err, out, want)
	}
}

func must(t *testing.T, out string, err error) string {
	t.Helper()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// An installation works in any folder, passes the check, and can be removed. The removal keeps files that an
// administrator wrote.
func TestInstall_WorksIsCheckedAndGoesAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := makeIn(t, dir, "install")
	printed := strings.Fields(must(t, out, err))
	got := files(t, dir)
	for i := range printed {
		printed[i] = strings.TrimPrefix(printed[i], dir)
	}
	slices.Sort(printed)
	slices.Sort(got)
	if !slices.Equal(printed, got) || len(got) < 20 {
		t.Errorf("it says that it installed\n%s\nand installed\n%s", strings.Join(printed, "\n"), strings.Join(got, "\n"))
	}
	out, err = makeIn(t, dir, "check")
	must(t, out, err)
	unit, err := os.ReadFile(dir + "/usr/lib/systemd/system/jjm.service")
	if err != nil || !strings.Contains(string(unit), "ExecStart=/usr/bin/jjm serve --config /etc/jjm/jjm.toml") {
		t.Errorf("the unit: %v\n%s", err, unit)
	}
	installedWorks(t, dir)

	// A changed configuration survives an upgrade and an uninstallation.
	conf := dir + "/etc/jjm/jjm.toml"
	if err := os.WriteFile(conf, []byte("log = \"debug\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir + "/usr/libexec/jjm/jjm-wrapper"); err != nil {
		t.Fatal(err)
	}
	if out, err = makeIn(t, dir, "check"); err == nil || !strings.Contains(out, "jjm-wrapper is missing") {
		t.Errorf("a missing program: %v\n%s", err, out)
	}
	out, err = makeIn(t, dir, "install")
	must(t, out, err)
	out, err = makeIn(t, dir, "check")
	must(t, out, err)
	out, err = makeIn(t, dir, "uninstall")
	must(t, out, err)
	if left := files(t, dir); !slices.Equal(left, []string{"/etc/jjm/jjm.toml"}) {
		t.Errorf("left: %v", left)
	}
	if text, err := os.ReadFile(conf); err != nil || string(text) != "log = \"debug\"\n" {
		t.Errorf("the configuration became %q, %v", text, err)
	}
	if err := os.Remove(conf); err != nil {
		t.Fatal(err)
	}
	// An unchanged configuration is removed. A second uninstallation is no error.
	out, err = makeIn(t, dir, "install")
	must(t, out, err)
	out, err = makeIn(t, dir, "uninstall")
	must(t, out, err)
	out, err = makeIn(t, dir, "uninstall")
	if left := files(t, dir); must(t, out, err) != "" || len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// installedWorks runs a grid job with the installed programs, and so shows that the programs find each other.
func installedWorks(t *testing.T, dir string) {
	t.Helper()
	home, err := os.MkdirTemp("", "jjmi") // the path must be short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	env := []string{"PATH=" + filepath.Join(dir, "usr/bin") + ":" + os.Getenv("PATH"), "HOME=" + home,
		"JJM_STATE=" + home + "/s"}
	serve(t, home, env)
	job := filepath.Join(home, "job.toml")
	if err := os.WriteFile(job, []byte("type = \"script\"\n[params]\ncommand = [\"/bin/echo\", \"hello\"]\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(dir+"/usr/bin/jjm", "submit", "--wait", job)
	cmd.Env = env
	cmd.WaitDelay = time.Second // provoked: the started daemon keeps the output of the command open
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("a grid job: %v\n%s", err, out)
	}
	core := exec.Command(dir+"/usr/bin/jjm-lookup", "1")
	core.Env = env
	if out, err := core.CombinedOutput(); err != nil || !strings.Contains(string(out), "=") {
		t.Errorf("jjm-lookup: %v\n%s", err, out)
	}
}

// The scripts of each gatekeeper are installed only below DESTDIR and can be removed. The check names missing scripts.
func TestInstall_Languages(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{"gram", "blahp", "arc"} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if out, err := makeIn(t, dir, "check-"+lang); err == nil || !strings.Contains(out, "is missing") {
				t.Errorf("nothing is installed, and the check says %v\n%s", err, out)
			}
			for range 2 {
				out, err := makeIn(t, dir, "install-"+lang)
				must(t, out, err)
			}
			if got := files(t, dir); len(got) < 4 {
				t.Errorf("installed: %v", got)
			}
			out, err := makeIn(t, dir, "uninstall-"+lang)
			must(t, out, err)
			if left := files(t, dir); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
	if out, err := makeIn(t, t.TempDir(), "check-blahp"); err == nil {
		t.Errorf("check-blahp: %s", out)
	}
}
