package gatekeepers_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/user"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/testkit/testbed"
)

// person is a user of a gatekeeper: an account with a proxy, whose commands run in the gatekeeper's network.
type person struct {
	owner     jjm.Owner
	proxyFile string
	home      string
	net       string
	env       []string
}

// personOf returns the person of an account of a bed.
func personOf(t testing.TB, b *testbed.Bed, name, proxy string) *person {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	p := &person{owner: account(t, name), proxyFile: proxy, home: u.HomeDir, net: b.Vars["NET"]}
	p.env = []string{"HOME=" + u.HomeDir, "USER=" + name, "LOGNAME=" + name, "PATH=/usr/bin:/bin:/usr/sbin:/sbin",
		"LANG=C.UTF-8",
		"X509_USER_PROXY=" + proxy}
	for key, value := range b.Env {
		p.env = append(p.env, key+"="+value)
	}
	return p
}

// command returns a command of a person in the gatekeeper's network.
func (p *person) command(ctx context.Context, argv ...string) *exec.Cmd {
	id := []string{"--net=" + p.net, "setpriv", "--reuid", p.owner.User, "--regid", p.owner.User, "--init-groups"}
	cmd := exec.CommandContext(ctx, "nsenter", append(id, argv...)...)
	cmd.Env, cmd.Dir = p.env, p.home
	// A client that hangs is killed with its children.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second // provoked: a surviving child keeps its output open
	return cmd
}

// said is the output of a command, and its exit code.
type said struct {
	out, err string
	exit     int
}

// run runs a command to its end.
func (p *person) run(t testing.TB, argv ...string) said {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := p.command(ctx, argv...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatalf("%s: %v", strings.Join(argv, " "), err)
	}
	if ctx.Err() != nil {
		t.Fatalf("%s did not end in %v\n%s%s", strings.Join(argv, " "), patience, out.String(), errs.String())
	}
	return said{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// folder creates a folder of the person.
func (p *person) folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "jjm-gk-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, p.owner.UID, p.owner.GID); err != nil {
		t.Fatal(err)
	}
	return dir
}

// folderFor creates a folder of the person in another folder.
func (p *person) folderFor(t testing.TB, dir string) string {
	t.Helper()
	for _, err := range []error{os.RemoveAll(dir), os.Mkdir(dir, 0o755), os.Chown(dir, p.owner.UID, p.owner.GID)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
