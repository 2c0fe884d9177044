package testbed_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

const scripts = "../../../scripts/testbed/"

// broken is a test bed, the verbs that bring it into a state that a killed run may leave, and the command that submits
// a script to it.
type broken struct {
	name   string
	mess   [][]string // the verbs for the script of the test bed
	submit func(job string) []string
}

func beds() []broken {
	return []broken{
		{"slurm", [][]string{{"kill", "slurmdbd"}, {"freeze", "slurmctld"}, {"kill", "n2"}},
			func(job string) []string { return []string{"sbatch", "--output=/dev/null", job} }},
		{"condor2", [][]string{{"freeze", "schedd"}, {"kill", "negotiator"}},
			func(job string) []string { return []string{"condor_submit", job + ".sub"} }},
		{"sge", [][]string{{"kill", "execd"}, {"freeze", "qmaster"}},
			func(job string) []string { return []string{"qsub", "-o", "/dev/null", "-j", "y", job} }},
	}
}

// The test leaves test beds in the state that a killed run may leave, with jobs. After with.sh, new jobs must run and
// the old jobs must be gone.
func TestWith_RepairsBeds(t *testing.T) {
	for _, bad := range beds() {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			b := testbed.StartAlone(t, bad.name)
			t.Cleanup(func() { with(t, bad.name) })
			for _, mess := range [][][]string{nil, bad.mess} {
				pid := stray(t, b, bad)
				for _, args := range mess {
					b.Do(t, args...)
				}
				if out, err := exec.Command(scripts+bad.name+".sh", "status").Output(); (err != nil) != (mess != nil) {
					t.Errorf("after %v the status is %v:\n%s", mess, err, out)
				}
				with(t, bad.name)
				if !over(pid) {
					t.Errorf("process %d of an earlier run's job is there after with.sh, mess %v", pid, mess)
				}
			}
			submit(t, b, bad, "echo $$ >$0.ran")
		})
	}
}

// stray starts a job that does not end, and returns the id of its process. It finds the process by its command line,
// because HTCondor's daemons run in their own PID namespace, with other process ids.
func stray(t *testing.T, b *testbed.Bed, bad broken) (pid int) {
	t.Helper()
	mark := fmt.Sprintf("600.%d%d", os.Getpid(), time.Now().UnixNano())
	submit(t, b, bad, "echo up >$0.new; mv $0.new $0.ran; exec sleep "+mark)
	eventually(t, "the job sleeps", func() error {
		all, err := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range all {
			if line, err := os.ReadFile(path); err == nil && string(line) == "sleep\x00"+mark+"\x00" {
				pid, err = strconv.Atoi(filepath.Base(filepath.Dir(path)))
				return err
			}
		}
		return fmt.Errorf("none of %d processes is sleep %s, %w", len(all), mark, err)
	})
	return pid
}

// submit runs a script as a job and returns the text that the script wrote to $0.ran.
func submit(t *testing.T, b *testbed.Bed, bad broken, script string) string {
	t.Helper()
	job := filepath.Join(b.Dir(t), "job")
	ran := job + ".ran"
	// Slurm and Grid Engine run a copy of the script, so $0 is replaced by the path of the original.
	script = "#!/bin/sh\n" + strings.ReplaceAll(script, "$0", job) + "\n"
	for name, text := range map[string]string{job: script, job + ".sub": "executable = " + job + "\nqueue\n"} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	argv := bad.submit(job)
	cmd := exec.Command(filepath.Join(b.Bin, argv[0]), argv[1:]...)
	cmd.Dir = filepath.Dir(job)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	var text []byte
	eventually(t, "the job runs", func() (err error) {
		text, err = os.ReadFile(ran)
		return err
	})
	return string(text)
}

// with runs with.sh with one test bed, of which it is the only user.
func with(t *testing.T, bed string) {
	t.Helper()
	cmd := exec.Command(scripts+"with.sh", "true")
	cmd.Env = append(os.Environ(), "JJM_BEDS="+bed, "JJM_KEEP_BEDS=1", "JJM_BED_ALONE=1")
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "did not come up") {
		t.Fatalf("with.sh true: %v\n%s", err, out)
	}
}

// The test kills a run with its processes, except for a daemon that left the session. The
// next run must end that daemon and remove the files and the mount. A run that is alive
// must keep everything.
func TestWith_RemovesWhatAKilledRunLeft(t *testing.T) {
	dir := t.TempDir()
	dead, lives := begin(t, filepath.Join(dir, "dead")), begin(t, filepath.Join(dir, "lives"))
	if err := syscall.Kill(-dead.group, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the killed run is gone", func() error {
		if over(dead.group) && !over(dead.daemon) {
			return nil
		}
		return fmt.Errorf("run over: %v, daemon over: %v", over(dead.group), over(dead.daemon))
	})
	cmd := exec.Command(scripts+"with.sh", "sh", "-c", "test -w $TMPDIR")
	cmd.Env = append(os.Environ(), "JJM_BEDS=")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), dead.temp) {
		t.Errorf("with.sh: %v, says\n%s", err, out)
	}
	if _, err := os.Lstat(dead.temp); err == nil || !over(dead.daemon) {
		t.Errorf("of the killed run are left: its daemon: %v, its files: %v", !over(dead.daemon), err == nil)
	}
	if _, err := os.Lstat(lives.temp); err != nil || over(lives.daemon) {
		t.Errorf("of the run that lives are left: its daemon: %v, its files: %v", !over(lives.daemon), err)
	}
}

// The jjm daemon in a gatekeeper's test bed is outside the test bed's network namespace, and survives a killed run. The
// next run must end that daemon, because otherwise a new daemon cannot lock the state folder.
func TestWith_EndsTheDaemonOfAGatekeeperThatAKilledRunLeft(t *testing.T) {
	for bed, known := range map[string]string{"gram": "JOBS", "arc": "CONTROL"} {
		t.Run(bed, func(t *testing.T) {
			t.Parallel()
			b := testbed.StartAlone(t, bed)
			state := filepath.Join(filepath.Dir(b.Vars[known]), "jjm", "state")
			left := exec.Command("sleep", "600")
			left.Env = []string{"STATE=" + state}
			left.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := left.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = left.Process.Kill()
				_ = left.Wait()
			})
			with(t, bed)
			if !over(left.Process.Pid) {
				t.Errorf("process %d, which has to do with %s, is there after with.sh", left.Process.Pid, state)
			}
		})
	}
}

// aRun is a run of with.sh: its process group, its temporary files, and a daemon
// that it has started.
type aRun struct {
	group, daemon int
	temp          string
}

func begin(t *testing.T, mark string) aRun {
	t.Helper()
	const command = `[ $(id -u) != 0 ] || { mkdir $TMPDIR/mnt && mount -t tmpfs none $TMPDIR/mnt && touch $TMPDIR/mnt/file; }
		setsid sleep 600 & echo $! $TMPDIR >$MARK.new && mv $MARK.new $MARK; wait`
	cmd := exec.Command(scripts+"with.sh", "sh", "-c", command)
	cmd.Env = append(os.Environ(), "JJM_BEDS=", "MARK="+mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := aRun{group: cmd.Process.Pid}
	t.Cleanup(func() {
		_ = syscall.Kill(-r.group, syscall.SIGTERM)
		_ = cmd.Wait()
	})
	go func() { _, _ = cmd.Process.Wait() }() // a process without Wait is a zombie and seems to live
	eventually(t, "the run begins", func() error {
		text, err := os.ReadFile(mark)
		if err != nil {
			return err
		}
		_, err = fmt.Sscan(string(text), &r.daemon, &r.temp)
		return err
	})
	return r
}

// over reports whether a process is gone, or a zombie.
func over(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err != nil || strings.Contains(string(status), "\nState:\tZ")
}

func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	await.Nil(t, what, try)
}

func TestScripts_PassShellcheck(t *testing.T) {
	needs.Program(t, "shellcheck", "shellcheck")
	files, err := filepath.Glob(scripts + "*.sh")
	more, err2 := filepath.Glob("../../../scripts/*.sh")
	if err != nil || err2 != nil || len(files)+len(more) < 8 {
		t.Fatalf("%v, %v: %v %v", files, more, err, err2)
	}
	for _, f := range append(files, more...) {
		cmd := exec.Command("shellcheck", "-x", "-P", "../../..", f)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
