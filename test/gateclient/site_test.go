// Package gateclient_test tests the promises to gatekeepers with real daemons: nothing is lost, doubled or failed while
// the daemons are restarted, killed, stopped or frozen; every request is answered while the disk is full or a batch
// system hangs; standard output contains the protocol and nothing else.
//
// No test measures time. Whether an answer waited can be seen from its source: after its deadline the client answers
// from another source, and says so.
package gateclient_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/gatekeeper"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/programs"
)

var bin programs.Programs

func TestMain(m *testing.M) { os.Exit(bin.Main(m)) }

var patience = await.Guard(6 * time.Minute)

const (
	pollEvery = 20 * time.Millisecond
)

// site is a daemon with a separate state folder. The test stops, kills and freezes it.
type site struct {
	t      *testing.T
	dir    string
	state  string
	config string
	owner  jjm.Owner // owner of the daemon and its state; the zero value is the test's account
	daemon *exec.Cmd
	gone   chan struct{} // closed when the daemon has ended
	log    *os.File
	// deadline is the deadline for the daemon that scripts use; 0 means the scripts' default.
	deadline time.Duration
}

// local is a configuration of the embedded batch system with short times.
const local = `log = "info"
reserve_bytes = 0 # a disk that is full is full
[engine]
poll = "1s"
harvest = "200ms"
result_settle = "2s"
batch_settle = "100ms"
cancel_again = "1s"
publish_every = "50ms"
[[cluster]]
name = "local"
kind = "local"
slots = 8
grace = "3s"
`

// newSite returns a site on which nothing runs yet. If state is "", the state folder is below the site's folder.
func newSite(t *testing.T, config, state string) *site {
	t.Helper()
	dir, err := os.MkdirTemp("", "jjmd")
	if err != nil {
		t.Fatal(err)
	}
	if state == "" {
		state = filepath.Join(dir, "s")
	}
	s := &site{t: t, dir: dir, state: state, config: filepath.Join(dir, "jjm.toml")}
	t.Cleanup(s.close)
	s.must(os.Chmod(dir, 0o755))
	s.must(os.WriteFile(s.config, []byte(config), 0o644))
	s.log, err = os.Create(filepath.Join(dir, "daemon.log"))
	s.must(err)
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) getenv(name string) string {
	if name == "JJM_STATE" {
		return s.state
	}
	return ""
}

// client returns a client of the daemon with a deadline. A test that waits until the deadline has passed uses a short
// one; with ample, the daemon itself must answer.
func (s *site) client(deadline time.Duration) *gatekeeper.Client {
	d := gatekeeper.Open(client.Place{Getenv: s.getenv})
	d.Deadline = deadline
	return d
}

// ample is a deadline for answers of the daemon itself, on any machine.
var ample = await.Guard(4 * time.Minute)

// begin starts a daemon and does not wait.
func (s *site) begin(env ...string) {
	s.t.Helper()
	s.daemon = exec.Command(bin.Path(s.t, "jjm-daemon"), "serve", "--config", s.config)
	s.daemon.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "JJM_STATE=" + s.state}, env...)
	s.daemon.Dir, s.daemon.Stdout, s.daemon.Stderr = "/", s.log, s.log
	s.daemon.SysProcAttr = s.as()
	s.must(s.daemon.Start())
	s.gone = make(chan struct{})
	go func(d *exec.Cmd, gone chan struct{}) { _ = d.Wait(); close(gone) }(s.daemon, s.gone)
}

// as returns the attributes of a process with a new session and the rights of the owner.
func (s *site) as() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if s.owner.UID != 0 && os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: uint32(s.owner.UID), Gid: uint32(s.owner.GID)}
	}
	return attr
}

// give makes another account the owner of the site.
func (s *site) give(o jjm.Owner) {
	s.t.Helper()
	s.owner = o
	s.must(os.MkdirAll(s.state, 0o755))
	for _, path := range []string{s.dir, s.state} {
		s.must(os.Chown(path, o.UID, o.GID))
	}
}

// start starts a daemon and waits until it answers.
func (s *site) start() {
	s.t.Helper()
	s.begin()
	s.await("the daemon answers", func() bool {
		_, err := ask(s, wire.VerbPing(), wire.PingRequest{})
		return err == nil
	})
}

// end sends the daemon a signal and waits for its end.
func (s *site) end(signal syscall.Signal) {
	s.t.Helper()
	s.must(s.daemon.Process.Signal(signal))
	select {
	case <-s.gone:
	case <-time.After(patience):
		s.t.Fatal("the daemon does not end, " + await.Hung)
	}
}

func ask[Req wire.Request, Ans wire.Answer](s *site, v wire.Verb[Req, Ans], req Req) (Ans, error) {
	c := client.Client{Socket: filepath.Join(s.state, "jjm.sock"), Timeout: ample}
	return client.Call(context.Background(), &c, v, req)
}

// await waits until ok returns true.
func (s *site) await(what string, ok func() bool) {
	s.t.Helper()
	programs.Await(s.t, patience, pollEvery, what, ok)
}

// close ends the site's processes, and prints the log if the test failed.
func (s *site) close() {
	if s.daemon != nil {
		_ = s.daemon.Process.Signal(syscall.SIGCONT)
		_ = s.daemon.Process.Kill()
		<-s.gone
	}
	if s.t.Failed() {
		s.t.Logf("the daemon's log ends:\n%s", programs.LogEnd(s.log.Name()))
	}
	_ = s.log.Close()
	_ = os.RemoveAll(s.dir)
}

// script runs one of jjm's scripts and returns its output and exit code.
func (s *site) script(name string, args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	cmd := exec.Command(filepath.Join(s.scripts(), name), args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "JJM_STATE=" + s.state}
	if s.deadline > 0 {
		cmd.Env = append(cmd.Env, "JJM_DEADLINE="+s.deadline.String())
	}
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	if strings.HasPrefix(name, "jjm-") { // the other scripts have the options of a gatekeeper
		programs.Heard(s.t, name, out.Bytes())
		programs.Heard(s.t, name, errs.Bytes())
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// scripts returns a folder with the scripts and the programs, as in an installation.
func (s *site) scripts() string {
	s.t.Helper()
	dir := filepath.Join(s.dir, "libexec")
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	s.must(os.Mkdir(dir, 0o755))
	s.must(os.Symlink(bin.Path(s.t, "jjm-gatekeeper"), filepath.Join(dir, "jjm-gatekeeper")))
	from, err := filepath.Abs("../../scripts")
	s.must(err)
	for _, pattern := range []string{"jjm-*", "blahp/jjm_*.sh", "globus2/globus-script-jjm-*"} {
		found, err := filepath.Glob(filepath.Join(from, pattern))
		s.must(err)
		for _, file := range found {
			s.must(os.Symlink(file, filepath.Join(dir, filepath.Base(file))))
		}
	}
	return dir
}

// job returns a plain grid job that writes a line to a ledger each time it runs.
func (s *site) job(key, shell string) gatekeeper.Job {
	text := fmt.Sprintf(
		"type = \"script\"\nname = \"plain\"\nresult = \"exit\"\n[params]\ncommand = [\"/bin/sh\", \"-c\", %q]\n",
		strings.ReplaceAll("echo "+key+" >> "+s.dir+"/ledger; "+shell, "{", "{{"))
	return gatekeeper.Job{Name: "j.toml", Text: text, BaseDir: s.dir, Key: key, Anew: true}
}

// ran returns, by key, how often the grid job with this key ran.
func (s *site) ran() map[string]int {
	n := map[string]int{}
	text, _ := os.ReadFile(s.dir + "/ledger")
	for _, key := range strings.Fields(string(text)) {
		n[key]++
	}
	return n
}

// final waits until the daemon reports the end of a grid job.
func (s *site) final(h jjm.Handle) wire.Lookup {
	s.t.Helper()
	var l wire.Lookup
	s.await(string(h)+" is over", func() bool {
		l = s.client(ample).Lookup(context.Background(), string(h))[0]
		return gatekeeper.Final(l) && !l.Stale
	})
	return l
}

// allDone waits until n grid jobs are done. A grid job with another end fails the test.
func (s *site) allDone(n int) {
	s.t.Helper()
	var words map[string]int
	defer func() {
		if s.t.Failed() {
			s.t.Logf("grid jobs: %v", words)
		}
	}()
	s.await(fmt.Sprintf("%d grid jobs are done", n), func() bool {
		a, err := ask(s, wire.VerbList(), wire.ListRequest{List: &wire.List{All: true, Limit: 10 * n}})
		words = map[string]int{}
		for _, st := range a.Status {
			words[st.Lookup.Status]++
			if l := st.Lookup; gatekeeper.Final(l) && l.Status != "done" {
				s.t.Fatalf("grid job %v: %+v", l.ID, l)
			}
		}
		return err == nil && words["done"] == n
	})
}
