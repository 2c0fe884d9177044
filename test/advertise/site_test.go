// Package advertise_test publishes the ad of a real daemon at a real collector of HTCondor, and disturbs both.
package advertise_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/programs"
)

var bin programs.Programs

func TestMain(m *testing.M) { os.Exit(bin.Main(m)) }

// patience is the longest wait; a test that passes never waits so long.
var patience = await.Guard(4 * time.Minute)

// site is an installation of jjm that advertises itself at a collector.
type site struct {
	t    *testing.T
	pool *pool
	dir  string
	env  map[string]string // added to the environment of the commands
	// lifetime is the lifetime of the site's ad.
	lifetime string
	// timeout is the deadline of a command of the daemon.
	timeout time.Duration
	cmd     *exec.Cmd
	over    chan struct{}
}

func newSite(t *testing.T, p *pool) *site {
	t.Helper()
	dir, err := os.MkdirTemp("", "jjma") // the path must be short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, pool: p, dir: dir, lifetime: "10m", timeout: await.Guard(4 * time.Minute)}
	t.Cleanup(func() { s.stop(syscall.SIGTERM); _ = os.RemoveAll(dir) })
	return s
}

// configure writes the configuration: the embedded batch system, and an ad with the given name at the given collectors.
// more is TOML of the section [advertise].
func (s *site) configure(name string, collectors []string, more string) {
	s.t.Helper()
	var env []string
	for _, vars := range []map[string]string{s.pool.env, s.env} {
		for _, key := range slices.Sorted(maps.Keys(vars)) {
			env = append(env, fmt.Sprintf("%s = %q", key, vars[key]))
		}
	}
	list, err := json.Marshal(append([]string{}, collectors...)) // JSON must have [] for no collectors, not null
	if err != nil {
		s.t.Fatal(err)
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		s.t.Fatal(err)
	}
	text := fmt.Sprintf(
		"log = \"debug\"\nstate = %q\n[advertise]\nsite = %s\ncollectors = %s\nbin = %q\nenv = {%s}\ninterval = \"1s\"\nlifetime = %q\ntimeout = \"%s\"\nwithdraw_time = \"20s\"\n%s\n"+
			"[[cluster]]\nname = \"local\"\nkind = \"local\"\nslots = 3\n", s.dir+"/state", quoted, list, s.pool.bin,
		strings.Join(env, ", "), s.lifetime, min(s.timeout, 10*time.Minute), more)
	if err := os.WriteFile(s.path("jjm.toml"), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

// start starts the daemon and waits until it answers.
func (s *site) start() {
	s.t.Helper()
	log, err := os.OpenFile(s.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.cmd = exec.Command(bin.Path(s.t, "jjm-daemon"), "serve", "--config", s.path("jjm.toml"))
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir}
	s.cmd.Stderr = log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	over := make(chan struct{})
	s.over = over
	go func(cmd *exec.Cmd) { _ = cmd.Wait(); close(over) }(s.cmd)
	s.eventually("the daemon answers", func() error {
		_, err := client.Call(context.Background(), s.client(), wire.VerbPing(), wire.PingRequest{})
		return err
	})
}

// stop stops the daemon, and waits until it has ended.
func (s *site) stop(signal syscall.Signal) {
	s.t.Helper()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(signal)
	select {
	case <-s.over:
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-s.over
		s.t.Errorf("%s: the daemon does not end on %v", await.Hung, signal)
	}
	s.cmd = nil
}

func (s *site) client() *client.Client { return &client.Client{Socket: s.path("state/jjm.sock")} }

// eventually waits until ok returns nil. If this takes too long, the test ends with an error that contains the daemon's
// log.
func (s *site) eventually(what string, ok func() error) {
	s.t.Helper()
	log := func() []byte { text, _ := os.ReadFile(s.path("log")); return text }
	eventually(s.t, what, log, ok)
}

// told returns the daemon's answer about its advertising.
func (s *site) told() wire.Advertised {
	s.t.Helper()
	a, err := client.Call(context.Background(), s.client(), wire.VerbAdvertise(), wire.AdvertiseRequest{})
	if err != nil || a.Advertised == nil {
		s.t.Fatalf("advertise: %v, %+v", err, a)
	}
	return *a.Advertised
}

// published waits until the daemon reports that its first collector has the ad, and that it saw the ad there after a
// time.
func (s *site) published(after time.Time) wire.AdCollector {
	s.t.Helper()
	var k wire.AdCollector
	s.eventually("the ad is published", func() error {
		if k = s.told().Collectors[0]; k.State != wire.AdPublished || k.Seen.Time().Before(after) {
			return fmt.Errorf("%+v", k)
		}
		return nil
	})
	return k
}

// jjm runs the command and returns its output and exit code.
func (s *site) jjm(args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	cmd := bin.Command(s.t, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "JJM_STATE=" + s.path("state")}
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			s.t.Fatal(err)
		}
		code = exit.ExitCode()
	}
	return out.String(), errs.String(), code
}
