package advertise_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jjm/adapters"
	"jjm/internal/publish/advertise"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// pool is a separate collector for one test, with the programs of the test bed. The test may freeze, kill and start it
// while other tests use the test bed.
type pool struct {
	t       *testing.T
	bin     string            // the folder of HTCondor's commands
	env     map[string]string // the environment that the commands need
	address string
	cmd     *exec.Cmd // the collector; nil while it is down
}

// noPool returns a pool without commands and without a collector.
func noPool(t *testing.T) *pool { return &pool{t: t} }

// startPool starts a collector as the account of the bed's commands, and stops it after the test.
func startPool(t *testing.T) *pool {
	t.Helper()
	needs.Campaign(t, needs.Systems)
	bed := testbed.Start(t, "condor") // shared, so that no other test recreates the bed meanwhile
	dir := bed.Dir(t)
	config := filepath.Join(dir, "config")
	p := &pool{t: t, bin: bed.Bin, env: map[string]string{"CONDOR_CONFIG": config}, address: freeAddress(t)}
	if err := os.WriteFile(config, fmt.Appendf(nil, poolConfig, bed.Env["CONDOR_CONFIG"], dir, p.address),
		0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	p.start()
	return p
}

// poolConfig is the bed's configuration for a collector in a folder. It removes expired ads every second instead of
// every 15 minutes.
const poolConfig = `include : %[1]s
LOG = %[2]s
SPOOL = %[2]s
EXECUTE = %[2]s
LOCK = %[2]s
RUN = %[2]s
COLLECTOR_HOST = %[3]s
USE_SHARED_PORT = False
COLLECTOR_USES_SHARED_PORT = False
CLASSAD_LIFETIME = 1
`

// freeAddress returns an address at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start starts the collector and waits until it listens.
func (p *pool) start() {
	p.t.Helper()
	_, port, _ := strings.Cut(p.address, ":")
	p.cmd = exec.Command(filepath.Join(p.bin, "condor_collector"), "-f", "-p", port)
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "CONDOR_CONFIG=" + p.env["CONDOR_CONFIG"]}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	eventually(p.t, "the collector listens", p.log, func() error {
		c, err := net.Dial("tcp", p.address)
		if err == nil {
			err = c.Close()
		}
		return err
	})
}

// kill kills the collector, and all ads are lost.
func (p *pool) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

func (p *pool) freeze() { p.signal(unix.SIGSTOP) }
func (p *pool) thaw()   { p.signal(unix.SIGCONT) }

func (p *pool) signal(s unix.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pool) log() []byte {
	text, _ := os.ReadFile(filepath.Join(filepath.Dir(p.env["CONDOR_CONFIG"]), "CollectorLog"))
	return text
}

// run runs one of HTCondor's commands with an input.
func (p *pool) run(input string, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), await.Guard(4*time.Minute))
	defer cancel()
	out, err := adapters.CLI{Bin: p.bin, Env: p.env}.Run(ctx, []byte(input), argv...)
	if err != nil || out.Exit != 0 {
		return nil, fmt.Errorf("%v: exit %d, %w: %s", argv, out.Exit, err, out.Stderr)
	}
	return out.Stdout, nil
}

// held returns the ads with a name that the collector has.
func (p *pool) held(name string) ([]advertise.Held, error) {
	out, err := p.run("", "condor_status", "-any", "-constraint", advertise.Constraint(name), "-json")
	if err != nil {
		return nil, err
	}
	return advertise.ParseHeld(out)
}

// wants waits until the collector has n ads with a name.
func (p *pool) wants(name string, n int) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("%d ads of %q", n, name), p.log, func() error {
		held, err := p.held(name)
		if err == nil && len(held) != n {
			err = fmt.Errorf("there are %d", len(held))
		}
		return err
	})
}

// eventually waits until ok returns nil. If this takes too long, the test ends with an error that contains a log.
func eventually(t *testing.T, what string, log func() []byte, ok func() error) {
	t.Helper()
	await.Nil(t, what, func() error {
		if err := ok(); err != nil {
			return fmt.Errorf("%w; the log:\n%s", err, log())
		}
		return nil
	})
}
