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

// control is the control folder of an imagined A-REX. A-REX keeps a few files for each job in this folder, and calls
// jjm's scripts with their paths. In these tests no A-REX runs: the test writes the files and calls the scripts itself.
type control struct {
	*site
	dir string
}

// newControl creates a control folder without jobs.
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

// add writes the files of a job, in the form in which A-REX leaves them for the script submit-jjm-job. The job runs a
// program text with /bin/sh. add returns the path of the job's grami, the file that describes the job for the script.
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

// run calls one of jjm's scripts for A-REX, which is a verb of "jjm-gatekeeper arc", as an account; nil means root. It
// returns the output and the exit code.
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

// TestARCScript calls A-REX's scripts without A-REX. It submits 20 jobs (200 in the campaign of gatekeepers) while the
// daemon is killed, stays away and comes back, and then calls one scan for all of them.
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
	// A job's session folder has the files that A-REX returns to the user. The folder of job 7 is removed, so its scan
	// reports a failure. In the folder of job 8 the output is replaced by a link to a file of root, which the scan, as
	// root, must not change.
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

// submitAll calls the script that submits for jobs 0, 1, and so on, five calls at a time, as A-REX does. After a
// quarter of the jobs the daemon is killed, after half of them it is started, and after three quarters it is killed and
// started again.
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
