package docs_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// installed is an installation of jjm, made by "make install" below a folder, with a separate state folder.
type installed struct {
	t          *testing.T
	dir, state string
}

// install installs jjm in a folder that ordinary accounts can enter.
func install(t *testing.T) *installed {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "jjms") // the path must be short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	i := &installed{t, dir, dir + "/s"}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(i.state, 0o755); err != nil { // like StateDirectory= of systemd
		t.Fatal(err)
	}
	out, err := makeIn(t, dir, "install", "STATE="+i.state)
	must(t, out, err)
	out, err = makeIn(t, dir, "check", "STATE="+i.state)
	must(t, out, err)
	return i
}

// setting returns the value of a key in an installed unit.
func (i *installed) setting(unit, key string) string {
	i.t.Helper()
	text, err := os.ReadFile(i.dir + "/usr/lib/systemd/system/" + unit)
	if err != nil {
		i.t.Fatal(err)
	}
	m := regexp.MustCompile("(?m)^" + key + "=(.*)$").FindSubmatch(text)
	if m == nil {
		i.t.Fatalf("%s does not set %s", unit, key)
	}
	return string(m[1])
}

// socket opens the socket of the installed unit, as systemd does.
func (i *installed) socket() *os.File {
	i.t.Helper()
	path := i.setting("jjm.socket", "ListenStream")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() { l.Close() })
	mode, err := strconv.ParseUint(i.setting("jjm.socket", "SocketMode"), 8, 32)
	if err != nil {
		i.t.Fatal(err)
	}
	if err := os.Chmod(path, os.FileMode(mode)); err != nil {
		i.t.Fatal(err)
	}
	f, err := l.File()
	if err != nil {
		i.t.Fatal(err)
	}
	return f
}

// start runs the command of the installed service unit as root, with the socket of the socket unit.
func (i *installed) start() (log string) {
	i.t.Helper()
	words := strings.Fields(i.setting("jjm.service", "ExecStart"))
	for k, word := range words {
		if filepath.IsAbs(word) {
			words[k] = i.dir + word
		}
	}
	log = i.dir + "/log"
	out, err := os.Create(log)
	if err != nil {
		i.t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command("/bin/sh", append([]string{"-c", `umask $UMASK; LISTEN_PID=$$ exec "$0" "$@"`}, words...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LISTEN_FDS=1", "UMASK=" + i.setting("jjm.service", "UMask")}
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", out, out
	socket := i.socket()
	defer socket.Close()
	cmd.ExtraFiles = []*os.File{socket}
	if err := cmd.Start(); err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if text, err := os.ReadFile(log); i.t.Failed() {
			i.t.Logf("the daemon's log (%v):\n%s", err, text)
		}
	})
	return log
}

// jjm returns a command that runs jjm as an account, with JJM_STATE set to the state folder.
func (i *installed) jjm(p site.Person, args ...string) *exec.Cmd {
	cmd := p.As(append([]string{i.dir + "/usr/bin/jjm"}, args...)...)
	cmd.Env = append(cmd.Env, "JJM_STATE="+i.state)
	return cmd
}

// After make install an ordinary user can submit a job without any configuration, and the job runs as that user.
func TestService_AnInstalledDaemonRunsJobsAsTheirOwners(t *testing.T) {
	t.Parallel()
	needs.Root(t, "to run a daemon as root, and make an account")
	i := install(t)
	log := i.start()
	alice := site.Account(t)
	await.Nil(t, "the daemon answers", func() error { return i.jjm(alice, "clusters").Run() })
	home := filepath.Join(i.dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	job := filepath.Join(home, "job.toml")
	if err := os.WriteFile(job, []byte(site.Script("id -un; umask")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{home, job} {
		if err := os.Chown(path, alice.UID, alice.GID); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := i.jjm(alice, "submit", "--wait", job).CombinedOutput(); err != nil {
		t.Fatalf("jjm submit --wait: %v\n%s", err, out)
	}
	if out, err := i.jjm(alice, "cat", "1.0").Output(); err != nil || string(out) != alice.Name+"\n0022\n" {
		t.Errorf("the job of %s says who it is: %q, %v", alice.Name, out, err)
	}
	if text, err := os.ReadFile(log); err != nil || strings.Contains(string(text), "level=WARN") {
		t.Errorf("%v: a fresh installation warns:\n%s", err, text)
	}
}

// A daemon that runs as root and runs all jobs as its own account serves only root. The installed configuration is
// changed to this. jjm warns the administrator before it refuses the first user.
func TestService_ADaemonThatServesRootAloneSaysSo(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	needs.Root(t, "to run a daemon as root")
	i := install(t)
	conf := i.dir + "/etc/jjm/jjm.toml"
	text, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	service := strings.Replace(string(text), "run_as = \"owner\"", "run_as = \"service\"", 1)
	if err := os.WriteFile(conf, []byte(service), 0o644); err != nil {
		t.Fatal(err)
	}
	const says = "grid jobs of other accounts are refused"
	out, err := i.jjm(site.Root(), "config", "check", conf).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "run_as") || !strings.Contains(string(out), says) {
		t.Errorf("jjm config check: %v\n%s", err, out)
	}
	log := i.start()
	await.Nil(t, "the daemon answers", func() error { return i.jjm(site.Root(), "clusters").Run() })
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), says) {
		t.Errorf("%v: the daemon's log:\n%s", err, text)
	}
}
