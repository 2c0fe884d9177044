package gatekeepers_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	awaits "jjm/internal/testkit/await"
	"jjm/internal/testkit/programs"
	"jjm/internal/testkit/testbed"
)

// site is an installation of jjm behind a gatekeeper.
type site struct {
	t      testing.TB
	dir    string // has bin, state, jjm.toml and the daemon's log
	owner  jjm.Owner
	daemon *exec.Cmd
	done   chan struct{}
}

// openSite returns a site in a folder, whose daemon runs as an account. With root's account, jobs run as their owners.
// The folder may have files of an earlier test.
func openSite(t testing.TB, dir string, owner jjm.Owner, clusters string) *site {
	t.Helper()
	s := &site{t: t, dir: dir, owner: owner}
	for _, old := range []string{"bin", "state"} {
		if err := os.RemoveAll(filepath.Join(dir, old)); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.MkdirAll(dir, 0o755), os.Chmod(dir, 0o755), os.Symlink(bin.Dir(t), s.path("bin")),
		os.Mkdir(s.state(), 0o755), os.Chmod(s.state(), 0o755), os.Chown(s.state(), owner.UID, owner.GID),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	runAs := "service"
	if owner.UID == 0 {
		runAs = "owner"
	}
	write(t, s.path("jjm.toml"), `log = "debug"
reserve_bytes = 0 # a disk that is full is full
run_as = "`+runAs+`"
[engine]
poll = "2s"
harvest = "200ms"
result_settle = "2s"
batch_settle = "300ms"
cancel_again = "1s"
grace = "1s"
publish_every = "100ms"
[gate]
mode = "0666"
`+clusters, 0o644)
	t.Cleanup(s.close)
	return s
}

// localCluster is the embedded batch system.
const localCluster = "[[cluster]]\nname = \"local\"\nkind = \"local\"\nslots = 12\ngrace = \"2s\"\n"

// bedCluster returns the cluster of a bed.
func bedCluster(b *testbed.Bed, kind string) string { return bedClusterNamed(b, kind, kind) }

func bedClusterNamed(b *testbed.Bed, name, kind string) string {
	var env []string
	for _, key := range slices.Sorted(maps.Keys(b.Env)) {
		env = append(env, fmt.Sprintf("%s = %q", key, b.Env[key]))
	}
	return fmt.Sprintf("[[cluster]]\nname = %q\nkind = %q\nbin = %q\nenv = {%s}\n", name, kind, b.Bin,
		strings.Join(env, ", "))
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }
func (s *site) state() string           { return s.path("state") }

// start starts the daemon and waits until it answers.
func (s *site) start() {
	s.t.Helper()
	log, err := os.OpenFile(s.path("daemon.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.daemon = exec.Command(bin.Path(s.t, "jjm-daemon"), "serve", "--config", s.path("jjm.toml"))
	s.daemon.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + s.dir, "JJM_STATE=" + s.state()}
	s.daemon.Dir, s.daemon.Stdout, s.daemon.Stderr = "/", log, log
	s.daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: credential(s.owner)}
	if err := s.daemon.Start(); err != nil {
		s.t.Fatalf("start the daemon: %v", err)
	}
	done := make(chan struct{})
	s.done = done
	go func(cmd *exec.Cmd) { _ = cmd.Wait(); close(done) }(s.daemon)
	for deadline := time.Now().Add(patience); ; time.Sleep(pollEvery) {
		if _, err := client.Call(context.Background(), s.client(), wire.VerbPing(), wire.PingRequest{}); err == nil {
			return
		}
		select {
		case <-done:
			s.t.Fatalf("the daemon ended:\n%s", s.log())
		default:
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: the daemon does not answer:\n%s", awaits.Hung, s.log())
		}
	}
}

// stop ends the daemon by a signal. After SIGKILL the daemon cannot clean up.
func (s *site) stop(signal syscall.Signal) {
	if s.daemon == nil {
		return
	}
	_ = s.daemon.Process.Signal(signal)
	select {
	case <-s.done:
	case <-time.After(patience):
		_ = s.daemon.Process.Kill()
		<-s.done
		s.t.Errorf("%s: the daemon did not end on %v", awaits.Hung, signal)
	}
	s.daemon = nil
}

// restart kills the daemon and starts it again.
func (s *site) restart() {
	s.t.Helper()
	s.stop(syscall.SIGKILL)
	s.start()
}

// close kills the rest of the site's jobs and its daemon.
func (s *site) close() {
	if s.daemon != nil {
		var left []string
		for _, g := range s.list() {
			if !final(g.Lookup.Status) {
				left = append(left, g.Lookup.ID.String())
			}
		}
		if len(left) > 0 {
			_, _ = client.Call(context.Background(), s.client(), wire.VerbKill(),
				wire.KillRequest{Many: wire.Refs(left...)})
			for deadline := time.Now().Add(patience); time.Now().Before(deadline) && s.alive(); time.Sleep(pollEvery) {
			}
		}
		s.stop(syscall.SIGTERM)
	}
	if s.t.Failed() {
		s.t.Logf("the daemon's log ends:\n%s", s.log())
	}
	_ = os.RemoveAll(s.state())
	_ = os.RemoveAll(s.path("bin"))
	_ = os.Remove(s.path("daemon.log"))
}

// alive reports whether any grid job of the site is not over.
func (s *site) alive() bool {
	return slices.ContainsFunc(s.list(), func(g wire.Status) bool { return !final(g.Lookup.Status) })
}

func final(word string) bool {
	var st jjm.GridStatus
	return st.UnmarshalText([]byte(word)) == nil && st.Final()
}

func (s *site) log() string { return programs.LogEnd(s.path("daemon.log")) }

func (s *site) client() *client.Client {
	return &client.Client{Socket: filepath.Join(s.state(), "jjm.sock"), Timeout: patience}
}

// ask repeats a request until the daemon answers.
func ask[Req wire.Request, Ans wire.Answer](s *site, v wire.Verb[Req, Ans], req Req) Ans {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(pollEvery) {
		a, err := client.Call(context.Background(), s.client(), v, req)
		if err == nil {
			return a
		}
		if !client.IsUnreachable(err) || time.Now().After(deadline) {
			s.t.Fatalf("%s %+v: %v", v.Name, req, err)
		}
	}
}

// list returns every grid job of the site.
func (s *site) list() []wire.Status {
	return ask(s, wire.VerbList(), wire.ListRequest{List: &wire.List{All: true, Limit: 1000}}).Status
}

// byKey returns the grid jobs with a request key.
func (s *site) byKey(key string) []wire.Status {
	var found []wire.Status
	for _, g := range s.list() {
		if g.Key == key {
			found = append(found, g)
		}
	}
	return found
}

// byName returns the grid jobs with a name.
func (s *site) byName(name string) []wire.Status {
	var found []wire.Status
	for _, g := range s.list() {
		if g.Name == name {
			found = append(found, g)
		}
	}
	return found
}

// running waits until all local jobs of the grid job with a name run.
func (s *site) running(t testing.TB, name string) wire.Status {
	t.Helper()
	var found wire.Status
	await(t, "a grid job "+name+" runs", func() bool {
		for _, g := range s.byName(name) {
			found = g
			switch {
			case g.Lookup.Status == "running" && g.Lookup.Counts.Running == g.Lookup.Counts.Total:
				return true
			case final(g.Lookup.Status):
				t.Fatalf("grid job %s is %s: %s", name, g.Lookup.Status, g.Lookup.Message)
			}
		}
		return false
	})
	return found
}

// speaks waits until all n local jobs of the grid job with a name have written to their standard output. A job that the
// batch system reports as running may not have started its command yet.
func (s *site) speaks(t testing.TB, name string, n int) {
	t.Helper()
	await(t, "all local jobs of "+name+" have written something", func() bool {
		written := 0
		for _, g := range s.byName(name) {
			files, err := filepath.Glob(filepath.Join(s.state(), "work", "*", "jobs", g.Lookup.ID.String(), "*", "*",
				"attempt.*", "stdout"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if info, err := os.Stat(f); err == nil && info.Size() > 0 {
					written++
				}
			}
		}
		return written >= n
	})
}

// runsAs returns the account as which a person's jobs run.
func (s *site) runsAs(p *person) string {
	if s.owner.UID == 0 {
		return p.owner.User
	}
	return s.owner.User
}

func credential(o jjm.Owner) *syscall.Credential {
	return &syscall.Credential{Uid: uint32(o.UID), Gid: uint32(o.GID)}
}

// account returns an account of the machine.
func account(t testing.TB, name string) jjm.Owner {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if err1 != nil || err2 != nil {
		t.Fatalf("account %s: uid %s, gid %s", name, u.Uid, u.Gid)
	}
	return jjm.Owner{UID: uid, GID: gid, User: name}
}
