// Package site provides tests with a real daemon and with accounts that submit grid jobs and query them. At the end of
// the test the daemon and the accounts are removed. Making accounts, and running a daemon as root, needs root.
package site

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/programs"
)

var patience = await.Guard(6 * time.Minute)

const (
	pollEvery = 200 * time.Millisecond
)

// Person is an account of the machine.
type Person struct {
	Name     string
	UID, GID int
}

var made atomic.Int32

// Account creates a temporary account with a user id that no account had before. Batch systems remember for hours which
// account has an id (HTCondor: PASSWD_CACHE_REFRESH), and would confuse a new account with an old account of the same
// id.
func Account(t *testing.T) Person {
	t.Helper()
	needs.Root(t, "to make accounts and become them")
	n := int(made.Add(1))
	name, uid := fmt.Sprintf("jjmt%d-%d", os.Getpid(), n), strconv.Itoa(200_000+os.Getpid()%1_000_000*1000+n)
	if out, err := exec.Command("useradd", "-u", uid, "-M", "-d", "/tmp", "-s", "/bin/sh", "-U",
		name).CombinedOutput(); err != nil {
		t.Fatalf("useradd %s: %v\n%s", name, err, out)
	}
	t.Cleanup(func() {
		Known(t, name).KillAll()
		if out, err := exec.Command("userdel", name).CombinedOutput(); err != nil {
			t.Errorf("userdel %s: %v\n%s", name, err, out)
		}
	})
	return Known(t, name)
}

// Known returns an existing account.
func Known(t *testing.T, name string) Person {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return Person{name, uid, gid}
}

// Root returns the account root.
func Root() Person { return Person{Name: "root"} }

// Site is a daemon, its folder, and its configuration in Dir + "/jjm.toml". State is Dir + "/s", and the log is Dir +
// "/log".
type Site struct {
	T      *testing.T
	Dir    string
	Daemon *exec.Cmd

	bin   *programs.Programs
	as    Person
	umask string
	open  []*os.File
	log   *os.File
	home  string // the daemon's home folder

	ended <-chan struct{}
}

// Settings are the settings of a new site. The zero value is a daemon that runs as root and runs jobs as its own
// account.
type Settings struct {
	// RunAs is run_as of the configuration, "" for its default.
	RunAs string
	// Top are lines for the beginning of the configuration, Engine lines for its part [engine], Gate lines for [gate], and
	// Clusters the parts of its clusters (see [Local]).
	Top, Engine, Gate, Clusters string
	Admins                      []Person
	// As is the account of the daemon; the zero value means root.
	As Person
	// Dir is the folder in which the site's folder is made, "" for /var/tmp.
	Dir string
	// Umask is the umask with which the daemon is started, such as "077"; "" means the umask of the test.
	Umask string
	// Open are open files that the daemon inherits from its starter.
	Open []*os.File
}

// quick is a configuration whose settings keep all waits short.
const quick = `log = "debug"
%s
[gate]
%s
[engine]
poll = "2s"
harvest = "100ms"
result_settle = "2s"
batch_settle = "100ms"
cancel_again = "1s"
publish_every = "50ms"
grace = "1s"
backoff = "0s"
%s
%s`

// Local is the part of a configuration for a cluster with the embedded batch system.
const Local = "[[cluster]]\nname = \"local\"\nkind = \"local\"\nslots = 8\ngrace = \"3s\"\n"

// New starts a daemon with the given settings, and stops it at the end of the test. Every account can pass through the
// site's folder.
func New(t *testing.T, bin *programs.Programs, with Settings) *Site {
	t.Helper()
	needs.Root(t, "to make accounts and become them")
	if with.Dir == "" {
		with.Dir = "/var/tmp"
	}
	dir, err := os.MkdirTemp(with.Dir, "jjmi")
	if err != nil {
		t.Fatal(err)
	}
	s := &Site{T: t, Dir: dir, bin: bin, as: with.As, umask: with.Umask, open: with.Open, home: "/root"}
	t.Cleanup(s.close)
	if with.As.UID != 0 {
		s.home = s.Home(with.As)
		s.Must(os.Chown(dir, with.As.UID, with.As.GID))
	}
	s.Must(os.Chmod(dir, 0o755))
	s.Must(os.WriteFile(filepath.Join(dir, "jjm.toml"), []byte(with.text()), 0o644))
	if s.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	s.Start()
	return s
}

func (with Settings) text() string {
	top := with.Top
	if with.RunAs != "" {
		top += "\nrun_as = " + strconv.Quote(with.RunAs)
	}
	names := make([]string, len(with.Admins))
	for i, a := range with.Admins {
		names[i] = strconv.Quote(a.Name)
	}
	gate := "admins = [" + strings.Join(names, ", ") + "]\n" + with.Gate
	return fmt.Sprintf(quick, top, gate, with.Engine, with.Clusters)
}

// Must ends the test if err is not nil.
func (s *Site) Must(err error) {
	s.T.Helper()
	if err != nil {
		s.T.Fatal(err)
	}
}

// Start starts the daemon and waits until it answers. It ends the test if the daemon ends before it answers.
func (s *Site) Start() {
	s.T.Helper()
	s.Launch()
	s.Until("the daemon answers", func() bool {
		select {
		case <-s.ended:
			s.T.Fatalf("the daemon ended at its start: %v", s.Daemon.ProcessState)
		default:
		}
		_, err := s.JJM(Root(), "clusters")
		return err == nil
	})
}

// Launch starts the daemon without waiting for its answer.
func (s *Site) Launch() {
	s.T.Helper()
	daemon := exec.Command(s.bin.Path(s.T, "jjm-daemon"), "serve", "--config", s.Dir+"/jjm.toml")
	if s.umask != "" {
		daemon = exec.Command("/bin/sh", append([]string{"-c", "umask " + s.umask + `; exec "$0" "$@"`}, daemon.Args...)...)
	}
	daemon.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "JJM_STATE=" + s.Dir + "/s"}
	daemon.Dir, daemon.Stdout, daemon.Stderr, daemon.ExtraFiles = "/", s.log, s.log, s.open
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: s.as.credential()}
	s.Must(daemon.Start())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = daemon.Wait() }()
	s.Daemon, s.ended = daemon, ended
}

// Ended returns a channel that is closed when the daemon that was started last ends.
func (s *Site) Ended() <-chan struct{} { return s.ended }

// Stop sends SIGTERM to the daemon and waits for its end.
func (s *Site) Stop() {
	_ = s.Daemon.Process.Signal(syscall.SIGTERM)
	<-s.ended
}

// close stops the daemon if it was started, and removes the site's folder. If the test failed, close logs the end of
// the daemon's log.
func (s *Site) close() {
	if s.Daemon != nil {
		s.Stop()
	}
	if s.T.Failed() {
		s.T.Logf("the daemon's log ends:\n%s", programs.LogEnd(filepath.Join(s.Dir, "log")))
	}
	if s.log != nil {
		s.log.Close()
	}
	await.Nil(s.T, "the site's folder is gone, in which jobs of the test may still write", func() error {
		return os.RemoveAll(s.Dir)
	})
}

// Until waits until ok returns true.
func (s *Site) Until(what string, ok func() bool) {
	s.T.Helper()
	programs.Await(s.T, patience, pollEvery, what, ok)
}

// UntilNone waits until left returns 0. It ends the test if the number does not fall for a long time.
func (s *Site) UntilNone(what string, left func() int) {
	s.T.Helper()
	programs.AwaitNone(s.T, patience, pollEvery, what, left)
}

// As returns a command that runs as the account.
func (p Person) As(argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/tmp", "USER=" + p.Name}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.credential()}
	return cmd
}

func (p Person) credential() *syscall.Credential {
	if p.UID == 0 {
		return nil
	}
	return &syscall.Credential{Uid: uint32(p.UID), Gid: uint32(p.GID)}
}

// JJM runs a command of jjm as an account and returns its output. If the command fails, the error contains its standard
// error.
func (s *Site) JJM(p Person, args ...string) (string, error) {
	cmd := p.As(append([]string{s.bin.Path(s.T, "jjm")}, args...)...)
	cmd.Env = append(cmd.Env, "JJM_STATE="+s.Dir+"/s")
	var errText bytes.Buffer
	cmd.Stderr = &errText
	out, err := cmd.Output()
	programs.Heard(s.T, args[0], errText.Bytes())
	if args[0] != "cat" && args[0] != "output" {
		programs.Heard(s.T, args[0], out)
	}
	if err != nil {
		err = fmt.Errorf("jjm %v as %s: %w: %s", args, p.Name, err, errText.String())
	}
	return string(out), err
}

// Submit submits a job file as an account, from a folder of that account.
func (s *Site) Submit(p Person, job string) string {
	s.T.Helper()
	home := s.Home(p)
	file := filepath.Join(home, "job.toml")
	s.Must(os.WriteFile(file, []byte(job), 0o600))
	s.Must(os.Chown(file, p.UID, p.GID))
	out, err := s.JJM(p, "submit", file)
	s.Must(err)
	return strings.TrimSpace(out)
}

// Home returns a folder of the account that no other account can enter.
func (s *Site) Home(p Person) string {
	s.T.Helper()
	home := filepath.Join(s.Dir, "home-"+p.Name)
	if err := os.Mkdir(home, 0o700); err == nil {
		s.Must(os.Chown(home, p.UID, p.GID))
	}
	return home
}

// Script returns the job file of one local job that runs a shell script.
func Script(text string, more ...string) string {
	return fmt.Sprintf("type = \"script\"\nname = \"who\"\n%s\n[params]\ncommand = [\"/bin/sh\", \"-c\", %q]\n",
		strings.Join(more, "\n"), text)
}

// Status returns the status of a grid job as administrators see it.
func (s *Site) Status(id string) wire.Status {
	s.T.Helper()
	out, err := s.JJM(Root(), "status", "--json", id)
	s.Must(err)
	var st wire.Status
	s.Must(json.Unmarshal([]byte(out), &st))
	return st
}

// Final waits until a grid job has a final status, and returns the status. It ends the test if the status is not want.
func (s *Site) Final(id, want string) wire.Status {
	s.T.Helper()
	var st wire.Status
	s.Until("grid job "+id+" is "+want, func() bool {
		st = s.Status(id)
		switch st.Lookup.Status {
		case "done", "finished", "failed", "broken", "aborted":
			return true
		}
		return false
	})
	if st.Lookup.Status != want {
		s.T.Fatalf("grid job %s is %s: %s%s", id, st.Lookup.Status, st.Lookup.Message, s.first(id))
	}
	return st
}

// first returns exit code, attempt and message of the first local job of a grid job, or "" if there is none.
func (s *Site) first(id string) string {
	for _, l := range s.Status(id + ".0").Locals {
		return fmt.Sprintf("; local job %s: exit %d, attempt %d: %s", l.ID, l.Exit, l.Attempt, l.Message)
	}
	return ""
}

// Stdout returns the standard output of the first local job of a grid job.
func (s *Site) Stdout(p Person, id string) string {
	s.T.Helper()
	out, err := s.JJM(p, "cat", id+".0")
	s.Must(err)
	return out
}
