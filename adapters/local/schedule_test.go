package local_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
)

func TestRun_StartsInTheOrderOfSubmission(t *testing.T) {
	a := open(t, t.TempDir(), config(1))
	dir := t.TempDir()
	var bulks []adapters.Bulk
	want := ""
	for i := range 3 {
		b := shell(t, 3, fmt.Sprintf("echo %d.$JJM_INDEX >> order", i))
		b.Dir = dir
		submit(t, a, b)
		bulks = append(bulks, b)
		want += fmt.Sprintf("%d.0\n%d.1\n%d.2\n", i, i, i)
	}
	serve(t, a)
	for _, b := range bulks {
		waitEnd(t, a, b)
	}
	text, err := os.ReadFile(filepath.Join(dir, "order"))
	if err != nil || string(text) != want {
		t.Errorf("order %q, error %v, want %q", text, err, want)
	}
}

func TestRun_AReleasedJobTakesItsOldPlace(t *testing.T) {
	a := open(t, t.TempDir(), config(1))
	b := shell(t, 4, "echo $JJM_INDEX >> order")
	r := submit(t, a, b)
	one := adapters.Ref{Tag: b.Tag, ID: r.ID, Index: 1}
	control(t, a, adapters.HoldJobs, one)
	control(t, a, adapters.Release, one)
	serve(t, a)
	waitEnd(t, a, b)
	text, err := os.ReadFile(filepath.Join(b.Dir, "order"))
	if err != nil || string(text) != "0\n1\n2\n3\n" {
		t.Errorf("order %q, error %v", text, err)
	}
}

func TestRun_NeverUsesMoreCoresThanThereAre(t *testing.T) {
	a := open(t, t.TempDir(), config(4))
	// Every job records the number of cores in use during its run.
	dir := t.TempDir()
	script := `mkdir use.$JJM_BATCH_ID.$0; ls -d use.* | awk -F. '{n+=$NF} END {print n}' >> used; sleep 0.02; rmdir use.$JJM_BATCH_ID.$0`
	var bulks []adapters.Bulk
	for _, cores := range []int{1, 3, 2, 4, 1} {
		b := bulk(t, 4, "/bin/sh", "-c", script, strconv.Itoa(cores))
		b.Dir, b.Request.Cores = dir, cores
		submit(t, a, b)
		bulks = append(bulks, b)
	}
	serve(t, a)
	for _, b := range bulks {
		waitEnd(t, a, b)
	}
	text, err := os.ReadFile(filepath.Join(dir, "used"))
	if err != nil {
		t.Fatal(err)
	}
	full := false
	for _, word := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > 4 {
			t.Errorf("%q cores in use", word)
		}
		full = full || n == 4
	}
	if !full {
		t.Error("all four cores were never in use")
	}
}

func TestRun_AJobThatNeedsMoreIsNotOvertaken(t *testing.T) {
	a := open(t, t.TempDir(), config(2))
	first, wide, last := shell(t, 1, "sleep 100"), shell(t, 1, "sleep 100"), shell(t, 1, "exit 0")
	wide.Request.Cores = 2
	for _, b := range []adapters.Bulk{first, wide, last} {
		submit(t, a, b)
	}
	serve(t, a)
	waitRunning(t, a, first, 1)
	if r := list(t, a, last)[0]; r.State != jjm.BatchQueued ||
		r.Reason != "free cores: 1 of 2 taken, 1 by this account" {
		t.Errorf("%+v", r)
	}
	control(t, a, adapters.Cancel, adapters.Ref{Tag: first.Tag, Index: 0})
	waitRunning(t, a, wide, 1)
	control(t, a, adapters.Cancel, adapters.Ref{Tag: wide.Tag, Index: 0})
	waitEnd(t, a, last)
}

func TestRun_TheEnvironmentIsCleanAndNothingIsInherited(t *testing.T) {
	t.Setenv("JJM_TEST_SECRET", "leaked")
	a := open(t, t.TempDir(), config(1))
	serve(t, a)
	b := shell(t, 1, "env | cut -d= -f1 | sort | tr '\\n' ' ' > env; ls /proc/$$/fd > fds; exit 0")
	submit(t, a, b)
	waitEnd(t, a, b)
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(b.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	// PWD, and in some shells OLDPWD, SHLVL and _, are set by the shell itself.
	var names []string
	for _, name := range strings.Fields(read("env")) {
		if name != "PWD" && name != "OLDPWD" && name != "SHLVL" && name != "_" {
			names = append(names, name)
		}
	}
	want := "HOME JJM_BATCH_ID JJM_INDEX JJM_RESTARTS JJM_SPOOL_END LANG PATH TMPDIR USER"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("environment %q, want %q", got, want)
	}
	// Descriptors from 10 on were opened by the shell, or were inherited by this test.
	for _, fd := range strings.Fields(read("fds")) {
		if n, err := strconv.Atoi(fd); err != nil || n > 3 && n < 10 {
			t.Errorf("descriptor %s is open", fd)
		}
	}
}

func TestRun_AccountsWhatAJobUsed(t *testing.T) {
	a := open(t, t.TempDir(), config(1))
	serve(t, a)
	b := shell(t, 1, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
	submit(t, a, b)
	r := waitEnd(t, a, b)[0]
	host, _ := os.Hostname()
	if r.CPUms < 20 || r.CPUms > 60_000 || r.RSSKB < 100 || r.RSSKB > 1<<20 || r.Host != host {
		t.Errorf("%+v", r)
	}
}

func TestRun_AJobThatCannotStartEndsAsInAShell(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	a := open(t, t.TempDir(), config(1))
	serve(t, a)
	for name, tt := range map[string]struct {
		change func(b *adapters.Bulk)
		exit   int
	}{
		"no such command": {func(b *adapters.Bulk) { b.Argv = []string{"/no/such/command"} }, 127},
		"not executable":  {func(b *adapters.Bulk) { b.Argv = []string{plain} }, 126},
		"no such folder":  {func(b *adapters.Bulk) { b.Dir = "/no/such/folder" }, 127},
	} {
		b := shell(t, 2, "exit 0")
		tt.change(&b)
		submit(t, a, b)
		for _, r := range waitEnd(t, a, b) {
			if r.State != jjm.BatchEndedFailed || r.Exit != tt.exit || !strings.Contains(r.Reason, "could not be started") {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
	next := shell(t, 1, "exit 0")
	submit(t, a, next)
	waitEnd(t, a, next)
}

func TestRun_ProcessesThatAJobLeavesBehindAreKilled(t *testing.T) {
	a := open(t, t.TempDir(), config(1))
	serve(t, a)
	// One child stays in the session; the other leaves the session but keeps the lock.
	b := shell(t, 1, `sleep 1000 & echo $! > left; setsid sleep 1000 & echo $! >> left; sleep 0.1; exit 0`)
	submit(t, a, b)
	if r := waitEnd(t, a, b)[0]; r.State != jjm.BatchEndedOK {
		t.Errorf("%+v", r)
	}
	text, err := os.ReadFile(filepath.Join(b.Dir, "left"))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the end of "+word, func() bool { return !lives(pid) })
	}
}

// lives reports whether a process exists and is not a zombie.
func lives(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(text), ") Z ")
}

func TestRun_ManyJobsCostNoThreads(t *testing.T) {
	a := open(t, t.TempDir(), config(300))
	serve(t, a)
	b := bulk(t, 300, "/bin/sleep", "1000")
	submit(t, a, b)
	waitRunning(t, a, b, 300)
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "Threads:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil || n > 60 {
		t.Errorf("%d threads for 300 jobs, error %v", n, err)
	}
}

func TestRun_JobsOutliveTheAdapterAndAreRecovered(t *testing.T) {
	before := goleak.IgnoreCurrent()
	state := t.TempDir()
	a := open(t, state, config(2))
	stop := serve(t, a)
	b := shell(t, 1, "while [ ! -e go ]; do sleep 0.01; done; exit 5")
	submit(t, a, b)
	waitRunning(t, a, b, 1)
	stop()
	goleak.VerifyNone(t, before)
	if _, err := a.List(t.Context(), self(), time.Time{}); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("a closed adapter lists: %v", err)
	}
	if _, err := a.Submit(t.Context(), shell(t, 1, "exit 0")); !adapters.IsNotStarted(err) {
		t.Errorf("a closed adapter takes a bulk: %v", err)
	}

	again := open(t, state, config(2))
	serve(t, again)
	if r := list(t, again, b)[0]; r.State != jjm.BatchRunning {
		t.Errorf("%+v", r)
	}
	if err := os.WriteFile(filepath.Join(b.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// The job is still a child of this process, so its exit code is known.
	if r := waitEnd(t, again, b)[0]; r.State != jjm.BatchEndedFailed || r.Exit != 5 || r.Restarts != 0 {
		t.Errorf("%+v", r)
	}
}

func TestRun_AJobOverItsWalltimeGetsTermThenKill(t *testing.T) {
	a := open(t, t.TempDir(), config(2))
	serve(t, a)
	polite := shell(t, 1, "trap 'echo term > got; exit 0' TERM; sleep 1000 & wait")
	deaf := shell(t, 1, "trap '' TERM; sleep 1000; sleep 1000")
	limit := await.Provoked(time.Second) // enough to set the traps
	for _, b := range []adapters.Bulk{polite, deaf} {
		b.Request.Walltime = jjm.Duration(limit)
		submit(t, a, b)
	}
	if r := waitEnd(t, a, polite)[0]; r.State != jjm.BatchTimeout || r.Signal != 0 ||
		!strings.Contains(r.Reason, "of "+limit.String()) {
		t.Errorf("polite: %+v", r)
	}
	if lines(t, polite, "got") != 1 {
		t.Error("it got no TERM")
	}
	r := waitEnd(t, a, deaf)[0]
	if r.State != jjm.BatchTimeout || r.Signal != int(syscall.SIGKILL) {
		t.Errorf("deaf: %+v", r)
	}
	if took := r.Ended.Sub(r.Started); took < limit+grace {
		t.Errorf("killed after %v, before the grace was over", took)
	}
}

func TestRun_TheWalltimeHoldsAcrossARestart(t *testing.T) {
	// On a busy machine the job can reach its walltime before the restart. Then the next job gets twice as much.
	for limit := 400 * time.Millisecond; ; limit *= 2 {
		state := t.TempDir()
		a := open(t, state, config(1))
		stop := serve(t, a)
		b := shell(t, 1, "sleep 1000")
		b.Request.Walltime = jjm.Duration(limit)
		submit(t, a, b)
		waitState(t, a, b, 1, func(s jjm.BatchState) bool { return s == jjm.BatchRunning || s.Ended() })
		stop()
		stopped := jjm.At(time.Now())
		again := open(t, state, config(1))
		serve(t, again)
		r := waitEnd(t, again, b)[0]
		if r.State != jjm.BatchTimeout || r.Ended.Sub(r.Started) < limit {
			t.Errorf("over its walltime of %v: %+v", limit, r)
		}
		if r.Ended >= stopped {
			return
		}
	}
}

func TestControl_HoldOfARunningJobIsAConflict(t *testing.T) {
	a := open(t, t.TempDir(), config(1))
	serve(t, a)
	b := shell(t, 1, "sleep 1000")
	r := submit(t, a, b)
	waitRunning(t, a, b, 1)
	answers, err := a.Control(t.Context(), self(), adapters.HoldJobs, []adapters.Ref{
		{Tag: b.Tag, ID: r.ID, Index: 0}, {Tag: b.Tag, ID: r.ID, Index: 7}, {ID: "x_y", Index: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []jjm.Kind{jjm.Conflict, jjm.Invalid, jjm.Invalid} {
		if jjm.KindOf(answers[i]) != want {
			t.Errorf("answer %d: %v", i, answers[i])
		}
	}
}

func TestControl_RequestsOutliveTheDaemon(t *testing.T) {
	state := t.TempDir()
	a := open(t, state, config(1))
	b := shell(t, 4, "echo x >> ran.$JJM_INDEX")
	r := submit(t, a, b)
	ref := func(i int32) adapters.Ref { return adapters.Ref{Tag: b.Tag, ID: r.ID, Index: i} }
	control(t, a, adapters.HoldJobs, ref(0), ref(1), ref(2))
	control(t, a, adapters.Release, ref(1))
	control(t, a, adapters.Cancel, ref(2))
	a.Close()

	again := open(t, state, config(1))
	serve(t, again)
	got := waitState(t, again, b, 3, jjm.BatchState.Ended)
	for i, want := range []jjm.BatchState{jjm.BatchHold, jjm.BatchEndedOK, jjm.BatchCancelled, jjm.BatchEndedOK} {
		if got[i].State != want {
			t.Errorf("job %d: %+v", i, got[i])
		}
	}
	if lines(t, b, "ran.0")+lines(t, b, "ran.2") != 0 {
		t.Error("a held or cancelled job ran")
	}
}
