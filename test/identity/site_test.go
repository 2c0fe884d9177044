// Package identity_test holds the promises about identity against a real daemon
// that runs as root, with accounts that it makes and removes: who may see and
// end what, as whom jobs run, and that nobody reaches what is another's.
package identity_test

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

	"jjm/internal/needs"
	"jjm/test/programs"
	"jjm/wire"
)

var bin programs.Programs

func TestMain(m *testing.M) { os.Exit(bin.Main(m)) }

const (
	patience  = 6 * time.Minute
	pollEvery = 200 * time.Millisecond
)

// person is an account.
type person struct {
	name     string
	uid, gid int
}

var made atomic.Int32

// account makes a throwaway account.
func account(t *testing.T) person {
	t.Helper()
	needs.Root(t, "to make accounts and become them")
	name := fmt.Sprintf("jjmt%d-%d", os.Getpid(), made.Add(1))
	if out, err := exec.Command("useradd", "-M", "-d", "/tmp", "-s", "/bin/sh", "-U", name).CombinedOutput(); err != nil {
		t.Fatalf("useradd %s: %v\n%s", name, err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("userdel", name).CombinedOutput(); err != nil {
			t.Errorf("userdel %s: %v\n%s", name, err, out)
		}
	})
	return known(t, name)
}

// known is an account that is there.
func known(t *testing.T, name string) person {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return person{name, uid, gid}
}

var root = person{name: "root"}

// site is a daemon that runs as root.
type site struct {
	t      *testing.T
	dir    string
	daemon *exec.Cmd
	log    *os.File
}

// quick is the part of the configuration by which nothing waits long.
const quick = `log = "debug"
%s
[gate]
admins = [%s]
[engine]
poll = "2s"
harvest = "100ms"
result_settle = "2s"
batch_settle = "100ms"
cancel_again = "1s"
publish_every = "50ms"
grace = "1s"
backoff = "0s"
%s`

const local = "[[cluster]]\nname = \"local\"\nkind = \"local\"\nslots = 8\ngrace = \"3s\"\n"

// newSite starts a daemon. Its folder can be passed through by everybody.
func newSite(t *testing.T, runAs, cluster string, admins ...person) *site {
	t.Helper()
	needs.Root(t, "to make accounts and become them")
	dir, err := os.MkdirTemp("/var/tmp", "jjmi")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dir: dir}
	t.Cleanup(s.close)
	names := make([]string, len(admins))
	for i, a := range admins {
		names[i] = strconv.Quote(a.name)
	}
	text := fmt.Sprintf(quick, runAs, strings.Join(names, ", "), cluster)
	s.must(os.Chmod(dir, 0o755))
	s.must(os.WriteFile(filepath.Join(dir, "jjm.toml"), []byte(text), 0o644))
	if s.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	s.start()
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) start() {
	s.t.Helper()
	s.daemon = exec.Command(bin.Path(s.t, "jjm-daemon"), "serve", "--config", s.dir+"/jjm.toml")
	s.daemon.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/root", "JJM_STATE=" + s.dir + "/s"}
	s.daemon.Dir, s.daemon.Stdout, s.daemon.Stderr = "/", s.log, s.log
	s.daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	s.must(s.daemon.Start())
	s.until("the daemon answers", func() bool { _, err := s.jjm(root, "clusters"); return err == nil })
}

func (s *site) stop() {
	_ = s.daemon.Process.Signal(syscall.SIGTERM)
	_ = s.daemon.Wait()
}

// close ends what is left of the site.
func (s *site) close() {
	if s.daemon != nil {
		s.stop()
	}
	if s.t.Failed() {
		s.t.Logf("the daemon's log ends:\n%s", programs.LogEnd(filepath.Join(s.dir, "log")))
	}
	if s.log != nil {
		s.log.Close()
	}
	if err := os.RemoveAll(s.dir); err != nil {
		s.t.Error(err)
	}
}

func (s *site) until(what string, ok func() bool) {
	s.t.Helper()
	programs.Await(s.t, patience, pollEvery, what, ok)
}

// as makes a command of somebody's.
func (p person) as(argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/tmp", "USER=" + p.name}
	if p.uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(p.uid), Gid: uint32(p.gid)}}
	}
	return cmd
}

// jjm runs a command of somebody's and gives what it printed; with an error also
// what it complained of.
func (s *site) jjm(p person, args ...string) (string, error) {
	cmd := p.as(append([]string{bin.Path(s.t, "jjm")}, args...)...)
	cmd.Env = append(cmd.Env, "JJM_STATE="+s.dir+"/s")
	var errText bytes.Buffer
	cmd.Stderr = &errText
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("jjm %v as %s: %w: %s", args, p.name, err, errText.String())
	}
	return string(out), err
}

// submit has somebody submit a job file that lies in a folder of theirs.
func (s *site) submit(p person, job string) string {
	s.t.Helper()
	home := s.home(p)
	file := filepath.Join(home, "job.toml")
	s.must(os.WriteFile(file, []byte(job), 0o600))
	s.must(os.Chown(file, p.uid, p.gid))
	out, err := s.jjm(p, "submit", file)
	s.must(err)
	return strings.TrimSpace(out)
}

// home is a folder of somebody's that nobody else can enter.
func (s *site) home(p person) string {
	s.t.Helper()
	home := filepath.Join(s.dir, "home-"+p.name)
	if err := os.Mkdir(home, 0o700); err == nil {
		s.must(os.Chown(home, p.uid, p.gid))
	}
	return home
}

// script is the job file of one local job that runs a shell's script.
func script(text string, more ...string) string {
	return fmt.Sprintf("type = \"script\"\nname = \"who\"\n%s\n[params]\ncommand = [\"/bin/sh\", \"-c\", %q]\n", strings.Join(more, "\n"), text)
}

func (s *site) status(id string) wire.Status {
	s.t.Helper()
	out, err := s.jjm(root, "status", "--json", id)
	s.must(err)
	var st wire.Status
	s.must(json.Unmarshal([]byte(out), &st))
	return st
}

// final waits for the end of a grid job.
func (s *site) final(id, want string) wire.Status {
	s.t.Helper()
	var st wire.Status
	s.until("grid job "+id+" is "+want, func() bool {
		st = s.status(id)
		switch st.Lookup.Status {
		case "done", "finished", "failed", "broken", "aborted":
			return true
		}
		return false
	})
	if st.Lookup.Status != want {
		s.t.Fatalf("grid job %s is %s: %s", id, st.Lookup.Status, st.Lookup.Message)
	}
	return st
}

// stdout is what the first local job of a grid job printed.
func (s *site) stdout(p person, id string) string {
	s.t.Helper()
	out, err := s.jjm(p, "cat", id+".0")
	s.must(err)
	return out
}
