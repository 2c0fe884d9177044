package survival_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/programs"
)

// The deadlines are generous: a passing test never waits for a deadline.
var (
	aliveWithin = await.Guard(4 * time.Minute)
	deadWithin  = await.Guard(4 * time.Minute)
	finalWithin = await.Guard(6 * time.Minute)
)

const pollEvery = 100 * time.Millisecond // pause: between two looks

// nobody is the account of daemons that must not be root; by convention 65534.
const nobody = 65534

// site is one installation of jjm in a separate folder.
type site struct {
	t      *testing.T
	dir    string // the folder of all files of the site
	state  string
	config string
	env    []string // variables added to the daemon's environment
	// uid is the account of the daemon; 0 means the account of the test.
	uid int
	d   *daemon
	log string // log of all daemons, one after another
	// patience is how long a grid job may take.
	patience time.Duration
}

// settings are the settings of a site that tests choose.
type settings struct {
	slots int
	keep  string
	uid   int
	state string // "" means below the site's folder
	retry int    // max_retry_early; 0 means 1
	// cluster is the configuration's section of clusters; "" means the embedded cluster.
	cluster string
	// engine has further lines of the section engine.
	engine string
}

// newSite returns a site. It does not start the daemon.
func newSite(t *testing.T, set settings) *site {
	t.Helper()
	places := ownSites
	if set.cluster != "" {
		places = bedSites
	}
	places <- struct{}{}
	t.Cleanup(func() { <-places })
	dir, err := os.MkdirTemp(shortTemp(), "jjms")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dir: dir, state: set.state, uid: set.uid, patience: finalWithin,
		config: filepath.Join(dir, "jjm.toml"), log: filepath.Join(dir, "daemon.log")}
	if s.state == "" {
		s.state = filepath.Join(dir, "s")
	}
	t.Cleanup(s.close)
	for _, err := range []error{
		os.Chmod(dir, 0o755), mkdir(s.state),
		mkdir(filepath.Join(dir, "ledgers")), os.Chmod(filepath.Join(dir, "ledgers"), 0o777),
		os.WriteFile(filepath.Join(dir, "app.sh"), []byte(application), 0o755),
		s.configure(set),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if s.uid != 0 {
		if err := os.Chown(s.state, s.uid, int(s.credential().Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// credential returns the credential of the daemon's account. An account that the machine does not know gets the group
// of the same number.
func (s *site) credential() *syscall.Credential {
	gid := s.uid
	if u, err := user.LookupId(strconv.Itoa(s.uid)); err == nil {
		if n, err := strconv.Atoi(u.Gid); err == nil {
			gid = n
		}
	}
	return &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(gid)}
}

// ledgerOf returns the path of the ledger of a grid job's applications.
func (s *site) ledgerOf(d design) string { return filepath.Join(s.dir, "ledgers", "of-"+d.key) }

func mkdir(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

// shortTemp returns a temporary folder with a path short enough for a socket.
func shortTemp() string {
	if dir := os.TempDir(); len(dir) < 40 {
		return dir
	}
	return "/tmp"
}

// commandTime is the deadline of a batch system's command. staleTime is how long a running wrapper may show no sign of
// life.
var commandTime, staleTime = await.Provoked(5 * time.Second).String(), await.Provoked(5 * time.Second).String()

// configure writes the configuration, with short times everywhere.
func (s *site) configure(set settings) error {
	keep := set.keep
	if keep == "" {
		keep = "1h"
	}
	clusters, poll := set.cluster, "2s"
	if clusters == "" {
		poll = "1s"
		clusters = section("local", fmt.Sprintf("slots = %d\ngrace = \"3s\"\nkeep = %q\n", max(set.slots, 1), keep))
	}
	text := fmt.Sprintf(`log = "debug"
reserve_bytes = 0 # a disk that is full is full
[engine]
poll = %q
harvest = "200ms"
result_settle = "2s"
command = %q
cancel_again = "1s"
absent_listings = 3
absent_for = "3s"
heartbeat = "500ms"
heartbeat_stale = %q
grace = "1s"
backoff = "0s"
publish_every = "100ms"
%s[engine.retry]
max_retry_early = %d
%s`, poll, commandTime, staleTime, set.engine, max(set.retry, 1), clusters)
	return os.WriteFile(s.config, []byte(text), 0o644)
}

// daemon is one process of the daemon.
type daemon struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // valid after done is closed
}

// start starts a daemon that dies at a failpoint; "" means none. It does not wait.
func (s *site) start(failpoint string) *daemon {
	s.t.Helper()
	log, err := os.OpenFile(s.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(bin.Path(s.t, "jjm-daemon"), "serve", "--config", s.config)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "JJM_STATE=" + s.state}, s.env...)
	if failpoint != "" {
		cmd.Env = append(cmd.Env, "JJM_FAILPOINT="+failpoint)
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	// The daemon has a separate session, so that no signal for the test reaches it. It dies with the test, because
	// otherwise it would use the batch systems of the next test.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if s.uid != 0 && os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = s.credential()
	}
	fmt.Fprintf(log, "== daemon, failpoint %q\n", failpoint)
	if err := cmd.Start(); err != nil {
		s.t.Fatalf("start the daemon: %v", err)
	}
	d := &daemon{cmd: cmd, done: make(chan struct{})}
	go func() {
		d.err = cmd.Wait()
		close(d.done)
	}()
	s.d = d
	return d
}

// startReady starts a daemon and waits until it answers.
func (s *site) startReady() *daemon {
	s.t.Helper()
	d := s.start("")
	s.ready()
	return d
}

// ready waits until the daemon answers.
func (s *site) ready() {
	s.t.Helper()
	s.await("the daemon answers", aliveWithin, func() bool {
		select {
		case <-s.d.done:
			s.t.Fatalf("the daemon ended instead of serving: %v", s.d.err)
		default:
		}
		_, err := client.Call(context.Background(), s.client(), wire.VerbPing(), wire.PingRequest{})
		return err == nil
	})
}

// await waits until ok returns true.
func (s *site) await(what string, within time.Duration, ok func() bool) {
	s.t.Helper()
	programs.Await(s.t, within, pollEvery, what, ok)
}

// kill kills the daemon by KILL and waits for its end.
func (s *site) kill() {
	s.t.Helper()
	_ = s.d.cmd.Process.Kill()
	s.died(deadWithin)
}

// died waits for the end of a daemon that kills itself, and checks that it was killed.
func (s *site) died(within time.Duration) {
	s.t.Helper()
	select {
	case <-s.d.done:
	case <-time.After(within):
		s.t.Fatalf("waited %v, %s: the daemon lives, it never came to its failpoint", within, await.Hung)
	}
	status, ok := s.d.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		s.t.Fatalf("the daemon ended with %v, want killed by SIGKILL", s.d.cmd.ProcessState)
	}
}

// stop stops the daemon by SIGTERM, as a service manager does.
func (s *site) stop() {
	s.t.Helper()
	if err := s.d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatalf("SIGTERM: %v", err)
	}
	began := time.Now()
	select {
	case <-s.d.done:
	case <-time.After(deadWithin):
		s.t.Fatal("the daemon does not stop after SIGTERM, " + await.Hung)
	}
	if s.d.err != nil {
		s.t.Errorf("the daemon ended after SIGTERM with %v, want exit 0", s.d.err)
	}
	s.t.Logf("stopped by SIGTERM within %v", time.Since(began).Round(time.Millisecond))
}

// logText returns the log of the daemons.
func (s *site) logText() string {
	text, err := os.ReadFile(s.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	return string(text)
}

// close ends all processes of the site, and removes its files unless the test failed.
func (s *site) close() {
	log := tail(s.logText(), 40)
	if s.d != nil {
		if s.t.Failed() { // the stacks of its goroutines show where it hangs
			_ = s.d.cmd.Process.Signal(syscall.SIGQUIT)
			select {
			case <-s.d.done:
			case <-time.After(time.Second): // pause: the daemon may hang
			}
		}
		_ = s.d.cmd.Process.Kill()
		<-s.d.done
	}
	await.True(s.t, "the processes of the site end", func() bool {
		left := s.processes()
		for _, p := range left {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		return len(left) == 0
	})
	if s.t.Failed() {
		s.t.Logf("the site is kept: %s; the end of its daemon's log:\n%s", s.dir, log)
		return
	}
	if err := os.RemoveAll(s.dir); err != nil {
		s.t.Log(err)
	}
}

// tail returns the last lines of a text, without requests that succeeded.
func tail(text string, lines int) string {
	var all []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, `"request answered"`) {
			all = append(all, line)
		}
	}
	return strings.Join(all[max(0, len(all)-lines):], "")
}

// process is a process of a local job.
type process struct {
	pid     int
	command string
}

// processes returns the processes of the site's local jobs: wrappers and their children, all of which inherit
// JJM_BATCH_ID and a path below the state folder.
func (s *site) processes() []process {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		s.t.Fatal(err)
	}
	var found []process
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", d.Name(), "environ"))
		if err != nil || !strings.Contains(string(env), "JJM_BATCH_ID=") || !strings.Contains(string(env), "="+s.state+"/") {
			continue
		}
		command, _ := os.ReadFile(filepath.Join("/proc", d.Name(), "cmdline"))
		found = append(found, process{pid, strings.ReplaceAll(string(command), "\x00", " ")})
	}
	return found
}

func (s *site) client() *client.Client {
	return &client.Client{Socket: filepath.Join(s.state, "jjm.sock"), Timeout: aliveWithin}
}

// ask repeats a request until a daemon answers, as gatekeepers do, because daemons die and start.
func ask[Req wire.Request, Ans wire.Answer](s *site, v wire.Verb[Req, Ans], req Req) (Ans, error) {
	s.t.Helper()
	for deadline := time.Now().Add(finalWithin); ; time.Sleep(pollEvery) {
		a, err := client.Call(context.Background(), s.client(), v, req)
		again := client.IsUnreachable(err) || jjm.KindOf(err) == jjm.Ambiguous
		if !again {
			return a, err
		}
		if time.Now().After(deadline) {
			return a, fmt.Errorf("%s: %w", await.Hung, err)
		}
	}
}

// must is ask for requests that cannot be refused.
func must[Req wire.Request, Ans wire.Answer](s *site, v wire.Verb[Req, Ans], req Req) Ans {
	s.t.Helper()
	a, err := ask(s, v, req)
	if err != nil {
		s.t.Fatalf("%s %+v: %v", v.Name, req, err)
	}
	return a
}

// status returns a grid job and all its local jobs.
func (s *site) status(id jjm.GridID) wire.Status {
	s.t.Helper()
	return must(s, wire.VerbStatus(), wire.StatusRequest{Many: wire.Refs(id.String() + ".*")}).Status[0]
}

// final waits until the grid job is over and returns its lookup.
func (s *site) final(id jjm.GridID) wire.Lookup {
	s.t.Helper()
	var l wire.Lookup
	s.await("grid job "+id.String()+" is over", s.patience, func() bool {
		l = must(s, wire.VerbLookup(), wire.LookupRequest{Many: wire.Refs(id.String())}).Lookup[0]
		return isFinal(l.Status)
	})
	return l
}

func isFinal(word string) bool {
	var st jjm.GridStatus
	return st.UnmarshalText([]byte(word)) == nil && st.Final()
}
