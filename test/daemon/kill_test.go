package daemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// flood submits a grid job of n local jobs that write a line when their application begins. It waits until all slots of
// the cluster are used and the cluster has also accepted all other local jobs.
func (d *daemon) flood(n, slots int) (id string) {
	d.t.Helper()
	d.floodFile(n)
	out, code := d.says("submit", "flood.toml")
	if id = strings.TrimSpace(out); code != 0 {
		d.t.Fatalf("submit: %q, exit %d", out, code)
	}
	id = strings.Fields(id)[len(strings.Fields(id))-1]
	d.eventually("all slots taken and the others queued", func() bool {
		_, c := d.statusOf(id)
		return d.begun() == slots && c.Submitted+c.Running == n
	})
	return id
}

// floodFile writes the job file of a grid job of n local jobs that write a line when their application begins.
func (d *daemon) floodFile(n int) {
	d.t.Helper()
	d.write("flood.toml", fmt.Sprintf("type = \"script\"\nresult = \"exit\"\n[params]\n"+
		"command = [\"sh\", \"-c\", 'echo $JJM_JOBID >>%s; exec sleep 1000']\ncount = %d\n", d.begunFile(), n))
}

// statusOf returns the status of a grid job and its counts.
func (d *daemon) statusOf(id string) (status string, c wire.Counts) {
	d.t.Helper()
	var st wire.Status
	out, _ := d.says("status", "--json", id)
	if err := json.Unmarshal([]byte(out), &st); err != nil {
		d.t.Fatalf("status: %v: %s", err, out)
	}
	return st.Lookup.Status, st.Lookup.Counts
}

// aborted waits until a grid job has the status aborted.
func (d *daemon) aborted(id string) {
	d.t.Helper()
	d.eventually("it is aborted", func() bool { status, _ := d.statusOf(id); return status == jjm.Aborted.String() })
}

func (d *daemon) begunFile() string { return filepath.Join(d.dir, "begun") }

// begun returns how many applications have begun.
func (d *daemon) begun() int {
	d.t.Helper()
	text, err := os.ReadFile(d.begunFile())
	if err != nil && !os.IsNotExist(err) {
		d.t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

const floodSlots = 4

var floodConfig = "[[cluster]]\nname = \"local\"\nkind = \"local\"\nslots = " + strconv.Itoa(floodSlots) + "\n"

// A kill of a grid job frees slots. Waiting local jobs of the same grid job do not start in these slots.
func TestKill_NothingBeginsAfterTheAnswer(t *testing.T) {
	t.Parallel()
	d := start(t, floodConfig)
	id := d.flood(400, floodSlots)
	if out, code := d.says("kill", id); code != 0 {
		t.Fatalf("kill: %s, exit %d", out, code)
	}
	before := d.begun()
	d.aborted(id)
	if after := d.begun(); after != before {
		t.Errorf("%d applications began after the kill was answered", after-before)
	}
	history, _ := d.says("history", id)
	if n := strings.Count(history, "\n"); n > 40 {
		t.Errorf("%d lines of history, want one for many local jobs that ended alike:\n%.2000s", n, history)
	}
}

// If the daemon dies after it stored a kill and before it forwarded the kill to the batch system, none of the killed
// jobs starts later.
func TestKill_NothingBeginsAfterACrash(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"kill.after-commit", "local.withdrawn"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			d := start(t, floodConfig, "JJM_FAILPOINT="+point)
			id := d.flood(100, floodSlots)
			if _, code := d.says("kill", id); code == 0 {
				t.Fatal("the daemon answered and was to die")
			}
			_ = d.cmd.Wait() // the error is that the daemon was killed
			before := d.begun()
			d.env = append(d.env, "JJM_FAILPOINT=")
			d.again()
			d.aborted(id)
			if after := d.begun(); after != before {
				t.Errorf("%d applications began after the crash", after-before)
			}
		})
	}
}

// started returns the times at which the embedded batch system started jobs of the daemon, in the order of the logs.
func (d *daemon) started() (at []time.Time) {
	d.t.Helper()
	logs, err := filepath.Glob(filepath.Join(d.dir, "state", "clusters", "local", "spool", "*", "log"))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, name := range logs {
		text, err := os.ReadFile(name)
		if err != nil {
			d.t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if words := strings.Fields(line); words[0] == "run" {
				ms, err := strconv.ParseInt(words[3], 10, 64)
				if err != nil {
					d.t.Fatal(err)
				}
				at = append(at, time.UnixMilli(ms))
			}
		}
	}
	return at
}

// nothingStarted checks that the batch system started some jobs, and started no job after the kill was answered. If
// none is set, it may have started no job at all.
func (d *daemon) nothingStarted(answered time.Time, none bool) {
	d.t.Helper()
	if !none && len(d.started()) == 0 {
		d.t.Error("no job was started at all")
	}
	for _, at := range d.started() {
		if at.After(answered) {
			d.t.Errorf("a job started at %v, after the answer at %v", at, answered)
		}
	}
}

// A kill arrives while bulks of its grid job are made and submitted. No job of these bulks starts after the answer to
// the kill.
func TestKill_NothingStartsOfABulkThatIsBeingSubmitted(t *testing.T) {
	t.Parallel()
	d := start(t, floodConfig)
	const jobs = 1500
	for _, submitted := range []int{0, 1, 1001} {
		d.floodFile(jobs)
		out, code := d.says("submit", "flood.toml")
		if code != 0 {
			t.Fatalf("submit: %q, exit %d", out, code)
		}
		id := strings.TrimSpace(out)
		d.eventually("some are submitted", func() bool {
			_, c := d.statusOf(id)
			return c.Submitted+c.Running >= submitted
		})
		if out, code := d.says("kill", id); code != 0 {
			t.Fatalf("kill: %s, exit %d", out, code)
		}
		answered := time.Now()
		d.aborted(id)
		d.nothingStarted(answered, submitted == 0)
	}
}

// If some local jobs of a grid job are killed, the other local jobs take the freed slots, and no killed local job
// starts.
func TestKill_OfARangeStartsNothingOfIt(t *testing.T) {
	t.Parallel()
	d := start(t, floodConfig)
	id := d.flood(60, floodSlots)
	if out, code := d.says("kill", id+".0-39"); code != 0 {
		t.Fatalf("kill: %s, exit %d", out, code)
	}
	d.eventually("others run", func() bool { return d.begun() == 2*floodSlots })
	began, err := os.ReadFile(d.begunFile())
	if err != nil {
		t.Fatal(err)
	}
	for i, local := range strings.Fields(string(began)) {
		_, n, _ := strings.Cut(local, ".")
		if n, err := strconv.Atoi(n); err != nil || i >= floodSlots && n < 40 {
			t.Errorf("local job %s began, and was killed", local)
		}
	}
	d.eventually("the killed are over", func() bool { _, c := d.statusOf(id); return c.Killed == 40 })
	if _, code := d.says("kill", id); code != 0 {
		t.Errorf("kill of the rest: exit %d", code)
	}
	d.aborted(id)
}

// A ban of a DN kills the grid jobs of that DN and no other grid jobs.
func TestBan_OfADNStartsNothingOfIt(t *testing.T) {
	t.Parallel()
	d := start(t, floodConfig)
	const dn = "/DC=org/DC=site/CN=Mallory"
	d.floodFile(100)
	cmd := exec.Command(bin.Path(t, "jjm-gatekeeper"), "core", "submit", "--key", "k", "--subject", dn,
		filepath.Join(d.dir, "flood.toml"))
	cmd.Env = d.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("submit: %v: %s", err, out)
	}
	d.eventually("all slots taken", func() bool { return d.begun() == floodSlots })
	d.write("other.toml", "type = \"script\"\nresult = \"exit\"\n[params]\ncommand = [\"true\"]\n")
	other, _ := d.says("submit", "other.toml")
	if out, code := d.says("ban", dn, "--reason", "mines coins"); code != 0 {
		t.Fatalf("ban: %s, exit %d", out, code)
	}
	answered := d.begun()
	d.aborted("1")
	d.eventually("the other's is done", func() bool {
		status, _ := d.statusOf(strings.TrimSpace(other))
		return status == jjm.Done.String()
	})
	if now := d.begun(); now != answered {
		t.Errorf("%d applications began after the ban was answered", now-answered)
	}
}

// A kill ends a grid job whose local jobs replaced their claims by pipes, and the log does not repeat a message.
func TestKill_EndsAJobThatReplacedItsClaimsByPipes(t *testing.T) {
	t.Parallel()
	d := start(t, floodConfig)
	d.write("pipes.toml", fmt.Sprintf("type = \"script\"\nresult = \"exit\"\n[params]\ncommand = [\"sh\", \"-c\", '''"+
		`cd "${{PWD%%%%/jobs/*}/bulks" && for claim in */claims/*; do rm -f "$claim"; mkfifo "$claim"; done
		echo $JJM_JOBID >>%s; exec sleep 1000`+"''']\ncount = 3\n", d.begunFile()))
	out, _ := d.says("submit", "pipes.toml")
	id := strings.TrimSpace(out)
	d.eventually("they run", func() bool { _, c := d.statusOf(id); return d.begun() == 3 && c.Running == 3 })
	pipes, err := filepath.Glob(filepath.Join(d.dir, "state", "work", "*", "bulks", "*", "claims", "*"))
	if err != nil || len(pipes) == 0 {
		t.Fatalf("no claims: %v", err)
	}
	for _, name := range pipes {
		if info, err := os.Lstat(name); err != nil || info.Mode().Type() != os.ModeNamedPipe {
			t.Fatalf("%s is no pipe: %v", name, err)
		}
	}
	if out, code := d.says("kill", id); code != 0 {
		t.Fatalf("kill: %s, exit %d", out, code)
	}
	d.aborted(id)
	if n := strings.Count(d.log.String(), "claim"); n > 3 {
		t.Errorf("%d log lines about claims:\n%s", n, d.log)
	}
}
