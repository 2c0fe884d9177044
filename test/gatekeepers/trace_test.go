package gatekeepers_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/testkit/needs"
)

// traces runs "jjm trace" on a site. The command submits a small grid job in the same way as one gatekeeper, and checks
// each step.
type traces struct {
	*site
	temp string // the folder for the jobs' folders
	args []string
	env  []string
}

// newTraces creates the folder for the jobs' folders, which belongs to the site's account.
func newTraces(t *testing.T, s *site, env []string, args ...string) *traces {
	t.Helper()
	c := &traces{site: s, temp: s.path("tmp"), args: append([]string{"trace"}, args...)}
	c.env = append([]string{"PATH=/usr/bin:/bin", "HOME=/", "LOGNAME=" + s.owner.User, "TMPDIR=" + c.temp,
		"JJM_STATE=" + s.state()}, env...)
	for _, err := range []error{os.Mkdir(c.temp, 0o755), os.Chown(c.temp, s.owner.UID, s.owner.GID)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// run runs jjm as an account; as root if as is nil.
func (c *traces) run(t *testing.T, as *syscall.Credential, args ...string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin.Path(t, "jjm"), args...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = c.env, "/", &syscall.SysProcAttr{Credential: as}
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// want runs a trace and compares its exit code and parts of its output.
func (c *traces) want(t *testing.T, what string, code int, as *syscall.Credential, parts ...string) {
	t.Helper()
	out, got := c.run(t, as, c.args...)
	for _, part := range parts {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), part) {
			t.Errorf("%s: no %q in\n%s", what, part, out)
		}
	}
	if got != code {
		t.Errorf("%s: exit %d, want %d\n%s", what, got, code, out)
	}
}

// wantBreaks traces a working path, then the path without a daemon, then the path with a paused cluster. Each trace
// removes its folder and its grid job.
func (c *traces) wantBreaks(t *testing.T, poll string) {
	t.Helper()
	as := credential(c.owner)
	c.start()
	c.want(t, "all is well", 0, as, "end ok", "poll ok "+poll, "tar ok", "clean ok grid job 1 was removed")
	c.stop(syscall.SIGKILL)
	c.want(t, "no daemon", 1, as, "submit ok", "daemon FAILED no daemon answers", "waits in spool",
		"clean ok the submission was taken out of the spool")
	c.start()
	c.jjm(t, "pause", "cluster", "local", "--reason", "lunch")
	c.want(t, "a paused cluster", 1, as, "cut ok", "cluster FAILED paused: cluster local is paused", "lunch",
		"do jjm resume cluster local", "clean ok grid job 2 was removed")
	c.jjm(t, "resume", "cluster", "local")
}

// jjm runs a command of root that must succeed.
func (c *traces) jjm(t *testing.T, args ...string) {
	t.Helper()
	if out, code := c.run(t, nil, args...); code != 0 {
		t.Fatalf("jjm %s: exit %d: %s", strings.Join(args, " "), code, out)
	}
}

// wantNothingLeft checks that the traces removed their folders and grid jobs.
func (c *traces) wantNothingLeft(t *testing.T) {
	t.Helper()
	if left, err := os.ReadDir(c.temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if jobs := c.list(); len(jobs) > 0 {
		t.Errorf("grid jobs are left behind: %v", jobs)
	}
}

// TestARCTrace sends the job of jjm trace through A-REX's scripts, as the account of a job. The copies of the scripts
// differ from the installed scripts in the path of their configuration, because /etc/arc-jjm.conf is the configuration
// of the test bed.
func TestARCTrace(t *testing.T) {
	t.Parallel()
	needs.Root(t, "to act for others, as A-REX does")
	dir, err := os.MkdirTemp("", "jjm-gk-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := openSite(t, dir, account(t, "nobody"), localCluster)
	scripts, conf := s.path("arc"), s.path("arc-jjm.conf")
	write(t, conf, "programs="+bin.Dir(t)+"\n", 0o644)
	if err := os.Mkdir(scripts, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"submit-jjm-job", "scan-jjm-job", "cancel-jjm-job"} {
		text, err := os.ReadFile(filepath.Join("../../scripts/arc", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(scripts, name), strings.ReplaceAll(string(text), "/etc/arc-jjm.conf", conf), 0o755)
	}
	c := newTraces(t, s, nil, "--via", "arc", "--scripts", scripts, "--state", s.state())
	c.wantBreaks(t, "scan-jjm-job reports the end: 0")
	c.want(t, "root", 1, nil, "folder FAILED A-REX has no jobs of root", "runuser -u USER")
	write(t, filepath.Join(scripts, "scan-jjm-job"), "#!/bin/sh\necho the disk is full >&2\nexit 3\n", 0o755)
	c.want(t, "a scan that fails", 1, credential(s.owner), "end ok", "poll FAILED exit code 3: the disk is full",
		"was removed")
	c.wantNothingLeft(t)
}

// scriptTrace sends the job of jjm trace through GRAM's program and jjm's module, as the account of a job.
func scriptTrace(t *testing.T, s *site, g *scripts) {
	c := newTraces(t, s, []string{"JJM_GRAM_CONF=" + g.conf}, "--via", "gram")
	c.wantBreaks(t, "poll reports JOB_STATE 8")
	c.args = append(c.args, "--cluster", "nowhere")
	c.want(t, "an unknown cluster", 1, credential(s.owner), "submit FAILED error ", "nowhere",
		"clean ok there is no grid job")
	c.args = c.args[:len(c.args)-2]
	newScripts(t, g.owner, g.dir, s.path("no-programs"), s.state())
	c.want(t, "no program", 1, credential(s.owner), "scripts ok", "submit FAILED error 126: ", "cannot run "+
		s.path("no-programs/jjm-gatekeeper"), "clean ok there is no grid job")
	c.wantNothingLeft(t)
}
