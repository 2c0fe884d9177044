package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestDemo_RunsTheMainJobAndComparesEveryByte(t *testing.T) {
	home, dir := demoFolder(t), shortDir(t)
	cmd := exec.Command("sh", "scripts/demo.sh")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "DEMO_DIR="+dir, "DEMO_BIN="+bin.Dir(t))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("demo: %v\n%s", err, out)
	}
	for _, want := range []string{"== the record", "the same, byte for byte", "one run of 200 events", "done: 20"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	for _, file := range []string{"output.tar", "state/records/1/record.xml", "state/records/1/jobs-0000.xml"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
}

// demoFolder returns a folder with the files that the demonstration needs, except the programs. Each of the 20 local
// jobs has a tenth of its events, because their number does not matter here.
func demoFolder(t *testing.T) string {
	t.Helper()
	home := shortDir(t)
	for _, name := range []string{"scripts/demo.sh", "etc/examples/montecarlo.toml",
		"etc/examples/mc.sh", "etc/examples/mc.awk", "etc/examples/merge.sh"} {
		copyTo(t, filepath.Join(home, name), filepath.Join(root, name))
	}
	job := filepath.Join(home, "etc/examples/montecarlo.toml")
	text, err := os.ReadFile(job)
	if err != nil {
		t.Fatal(err)
	}
	small := strings.NewReplacer("\nevents = 2000\n", "\nevents = 200\n", "\nevents_per_job = 100\n",
		"\nevents_per_job = 10\n").Replace(string(text))
	if err := os.WriteFile(job, []byte(small), 0o755); err != nil {
		t.Fatal(err)
	}
	return home
}

// nobody is the account of the second demonstration (Debian's nobody).
const nobody = 65534

// TestDemo_RunsAsAnOrdinaryUser runs the demonstration as another account than root. If the tests do not run as root,
// it does nothing, because the other test of the demonstration has then already used an ordinary account.
func TestDemo_RunsAsAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		return
	}
	home := demoFolder(t)
	for _, name := range []string{"jjm", "jjm-daemon", "jjm-wrapper"} {
		copyTo(t, filepath.Join(home, "bin", name), bin.Path(t, name))
	}
	if err := os.Chown(home, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "scripts/demo.sh")
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "DEMO_DIR=" + home + "/demo", "USER=nobody"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the same, byte for byte") {
		t.Fatalf("demo as an ordinary user: %v\n%s", err, out)
	}
}

func copyTo(t *testing.T, path, from string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
}

// shortDir returns a temporary folder that everybody may enter, with a path short enough for a socket.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "jjmt")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
