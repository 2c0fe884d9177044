package gatekeepers_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"jjm/internal/testkit/needs"
)

// control is A-REX's control folder with its jobs, without A-REX.
type control struct {
	*site
	dir string
}

// newControl creates an empty control folder.
func newControl(t testing.TB, s *site) *control {
	t.Helper()
	c := &control{site: s, dir: s.path("control")}
	for _, sub := range []string{"processing", "session"} {
		if err := os.MkdirAll(filepath.Join(c.dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// add creates a job as A-REX leaves it for submit-jjm-job, and returns its grami.
func (c *control) add(t testing.TB, id, program string) string {
	t.Helper()
	session := filepath.Join(c.dir, "session", id)
	grami := filepath.Join(c.dir, "job."+id+".grami")
	write(t, grami, fmt.Sprintf(
		"joboption_directory='%s'\njoboption_controldir='%s'\njoboption_gridid='%s'\njoboption_jobname='%[3]s'\njoboption_arg_0='/bin/sh'\n"+
			"joboption_arg_1='-c'\njoboption_arg_2='%[4]s'\njoboption_stdout='%[1]s/out.txt'\n", session, c.dir, id, program),
		0o600)
	write(t, filepath.Join(c.dir, "job."+id+".local"), "subject=/CN=somebody\n", 0o600)
	write(t, filepath.Join(c.dir, "processing", "job."+id+".status"), "INLRMS\n", 0o644)
	write(t, session+".diag", "", 0o600)
	if err := os.MkdirAll(session, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{grami, filepath.Join(c.dir, "job."+id+".local"), session, session + ".diag"} {
		if err := os.Chown(name, c.owner.UID, c.owner.GID); err != nil {
			t.Fatal(err)
		}
	}
	return grami
}

// run runs a verb of A-REX's language as an account or as root.
func (c *control) run(t testing.TB, as *syscall.Credential, verb string, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin.Path(t, "jjm-gatekeeper"),
		append([]string{"arc", verb, "--config", "/etc/arc.conf"}, args...)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/root", "JJM_STATE=" + c.state()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	cmd.WaitDelay = 5 * time.Second // provoked: a surviving child keeps its output open
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", verb, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestARCScript calls A-REX's scripts without A-REX: two hundred submissions while the daemon is killed, stays away and
// comes back, and one scan for all of them.
func TestARCScript(t *testing.T) {
	t.Parallel()
	needs.Root(t, "to act for others, as A-REX does")
	dir, err := os.MkdirTemp("", "jjm-gk-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c := newControl(t, openSite(t, dir, account(t, "nobody"), localCluster))
	c.start()
	all := 20
	if needs.InCampaign(needs.Gatekeepers) {
		all = 200
	}
	c.submitAll(t, all)
	await(t, "all jobs are done", func() bool { return !c.alive() && len(c.list()) >= all })
	if n := len(c.list()); n != all {
		t.Errorf("%d grid jobs for %d submissions", n, all)
	}
	// One session folder is gone, and another contains a trap: a file that the user could not write stays as it is.
	gone, trap := filepath.Join(c.dir, "session", "7"), filepath.Join(c.dir, "session", "8", "out.txt")
	secret := filepath.Join(dir, "secret")
	write(t, secret, "root's own", 0o600)
	for _, err := range []error{os.RemoveAll(gone), os.Symlink(secret, trap)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if out, code := c.run(t, nil, "scan", c.dir); code != 0 && !strings.Contains(out, "gm-kick") {
		t.Errorf("scan: exit %d\n%s", code, out)
	}
	wantFile(t, secret, "root's own")
	for i := range all {
		done, err := os.ReadFile(filepath.Join(c.dir, fmt.Sprintf("job.%d.lrms_done", i)))
		if ok := strings.HasPrefix(string(done), "0"); err != nil || ok != (i != 7) {
			t.Errorf("job %d: A-REX is told %q, %v", i, done, err)
		}
		if i != 7 {
			wantFile(t, filepath.Join(c.dir, "session", fmt.Sprint(i), "out.txt"), fmt.Sprintf("job %d\n", i))
		}
	}
}

// submitAll submits jobs 0, 1, and so on, some of them in parallel, in the same way as A-REX.
func (c *control) submitAll(t *testing.T, all int) {
	t.Helper()
	jobs := make(chan int)
	var wg sync.WaitGroup
	for range 5 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range jobs {
				grami := c.add(t, fmt.Sprint(i), fmt.Sprintf("echo job %d", i))
				for range 1 + i%2 { // every second job twice, as after a crash of A-REX
					if out, code := c.run(t, credential(c.owner), "submit", grami); code != 0 {
						t.Errorf("submit %d: exit %d\n%s", i, code, out)
					}
				}
				if text, _ := os.ReadFile(grami); strings.Count(string(text), "joboption_jobid=g") != 1 {
					t.Errorf("the grami of %d:\n%s", i, text)
				}
			}
		}()
	}
	for i := range all {
		switch i {
		case all / 4:
			c.stop(syscall.SIGKILL)
		case all / 2:
			c.start()
		case 3 * all / 4:
			c.restart()
		}
		jobs <- i
	}
	close(jobs)
	wg.Wait()
}
