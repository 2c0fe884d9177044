package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/adapters/local"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/testkit/await"
)

// daemon holds the instructions for a second process of this test, which plays a daemon that is killed.
type daemon struct {
	State  string
	Slots  int
	Submit []adapters.Bulk
	Point  string        // point at which the process kills itself
	Nth    int           // number of the call of the point, from 1
	After  time.Duration // time after which the process kills itself instead
	Cancel string        // file; all jobs are cancelled when it has content
	// CancelAll is set if one call cancels all jobs.
	CancelAll bool
	Purge     bool // whether the process waits, at the end, until entries are older than Keep
}

const daemonEnv = "JJM_TEST_DAEMON"

func TestMain(m *testing.M) {
	if run.IsStarter(os.Args) {
		os.Exit(run.Start(os.Args))
	}
	if text := os.Getenv(daemonEnv); text != "" {
		if err := beDaemon(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// die ends this process immediately, in the same way as kill -9.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// beDaemon runs an adapter until every job has ended.
func beDaemon(text string) error {
	var d daemon
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return err
	}
	c := config(d.Slots)
	var later atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	a, err := local.New("local", adapters.Env{State: d.State, Now: now}, c)
	if err != nil {
		return err
	}
	passed := 0
	a.Crash = func(point string) {
		if point == d.Point {
			if passed++; passed == d.Nth {
				die()
			}
		}
	}
	if d.After > 0 {
		time.AfterFunc(d.After, die)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	err = d.act(ctx, a)
	if err == nil && d.Purge {
		later.Store(int64(2 * c.Keep))
		_, err = a.Control(ctx, self(), adapters.Cancel, nil) // makes the adapter read the clock
		time.Sleep(await.Guard(4 * time.Minute))              // the process dies meanwhile
	}
	cancel()
	if err != nil {
		return err
	}
	return <-done
}

func (d daemon) act(ctx context.Context, a *local.Adapter) error {
	for _, b := range d.Submit {
		if _, err := a.Submit(ctx, b); err != nil {
			return err
		}
	}
	for end := time.Now().Add(await.Guard(4 * time.Minute)); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		l, err := a.List(ctx, self(), time.Time{})
		if err != nil {
			return err
		}
		if d.CancelAll && isWritten(d.Cancel) {
			if err := cancelAll(ctx, a, l.Reports); err != nil {
				return err
			}
		}
		alive := 0
		for _, r := range l.Reports {
			if r.State.Alive() {
				alive++
			}
			if d.Cancel != "" && !d.CancelAll && isWritten(d.Cancel) {
				ref := adapters.Ref{Tag: r.Tag, ID: r.ID, Index: -1}
				if _, err := a.Control(ctx, self(), adapters.Cancel, []adapters.Ref{ref}); err != nil {
					return err
				}
			}
		}
		if alive == 0 {
			return nil
		}
	}
	return fmt.Errorf("jobs have not ended")
}

// cancelAll cancels jobs in one call.
func cancelAll(ctx context.Context, a *local.Adapter, jobs []jjm.Report) error {
	var refs []adapters.Ref
	for _, r := range jobs {
		refs = append(refs, adapters.Ref{Tag: r.Tag, ID: r.ID, Index: -1})
	}
	_, err := a.Control(ctx, self(), adapters.Cancel, refs)
	return err
}

func isWritten(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Size() > 0
}

// killed runs a daemon that must be killed.
func killed(t *testing.T, d daemon) {
	t.Helper()
	if !start(t, d) {
		t.Fatalf("the daemon came to its end without passing %q %d times", d.Point, d.Nth)
	}
}

// start runs a daemon to its end, and reports whether it was killed.
func start(t *testing.T, d daemon) (dead bool) {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := run.Run(t.Context(), run.Cmd{
		Argv: []string{exe}, Env: []string{daemonEnv + "=" + string(text)}, Deadline: await.Guard(5 * time.Minute),
	})
	if err != nil {
		t.Fatal(err)
	}
	if out.Signal != 9 && out.Exit != 0 {
		t.Fatalf("the daemon: exit %d: %s", out.Exit, out.Stderr)
	}
	return out.Signal == 9
}

// The jobs of the crash tests record each run with its process id, and how they end. The
// second script leaves an end record, as jjm's wrapper does.
const (
	plainJob    = `echo $$ >> ran.$JJM_INDEX; sleep $0; exit 3`
	recordedJob = `echo $$ >> ran.$JJM_INDEX; sleep $0
		echo "exit=3 user_ms=10 sys_ms=5 rss_kb=77" > $JJM_SPOOL_END.new; mv $JJM_SPOOL_END.new $JJM_SPOOL_END; exit 3`
)

// isGone reports whether the process whose id a job wrote has ended.
func isGone(t *testing.T, b adapters.Bulk, name string) bool {
	t.Helper()
	pid, err := os.ReadFile(filepath.Join(b.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "stat"))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestCrash_NoJobIsLostAndNoEndIsWrong(t *testing.T) {
	const (
		short = "0"   // the job ends before the next daemon starts
		long  = "1.5" // the job still runs when the next daemon starts
	)
	tests := []struct {
		name, point, job, sleep string
		state                   jjm.BatchState
		reason                  string
		restarts, runs          int
	}{
		{"spooled", "local.spooled", plainJob, short, jjm.BatchEndedFailed, "", 0, 1},
		{"marked, not started", "local.marked", plainJob, short, jjm.BatchEndedFailed, "", 1, 1},
		{"started, unknown, running", "local.started", recordedJob, long, jjm.BatchEndedFailed, "", 0, 1},
		{"started, unknown, running, no record", "local.started", plainJob, long, jjm.BatchAborted, "no exit record", 0, 1},
		{"started, unknown, over", "local.started", recordedJob, short, jjm.BatchEndedFailed, "", 0, 1},
		// The only trace of this job is the "run" line of the log. This is the only case in which a job runs twice; the
		// wrapper's claim makes the second run harmless.
		{"started, unknown, over, no record", "local.started", plainJob, short, jjm.BatchEndedFailed, "", 1, 2},
		{"recorded, running", "local.recorded", recordedJob, long, jjm.BatchEndedFailed, "", 0, 1},
		{"recorded, running, no record", "local.recorded", plainJob, long, jjm.BatchAborted, "no exit record", 0, 1},
		{"recorded, over", "local.recorded", recordedJob, short, jjm.BatchEndedFailed, "", 0, 1},
		{"recorded, over, no record", "local.recorded", plainJob, short, jjm.BatchAborted, "no exit record", 0, 1},
		{"ended", "local.ended", recordedJob, short, jjm.BatchEndedFailed, "", 0, 1},
		{"ended, no record", "local.ended", plainJob, short, jjm.BatchAborted, "no exit record", 0, 1},
		{"end written", "local.closed", plainJob, short, jjm.BatchEndedFailed, "", 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			b := bulk(t, 1, "/bin/sh", "-c", tt.job, tt.sleep)
			killed(t, daemon{State: state, Slots: 2, Submit: []adapters.Bulk{b}, Point: tt.point, Nth: 1})
			if tt.sleep == short && tt.point != "local.spooled" && tt.point != "local.marked" {
				waitFor(t, "the job's run", func() bool { return lines(t, b, "ran.0") == 1 })
				waitFor(t, "its end", func() bool { return isGone(t, b, "ran.0") })
			}

			a := open(t, state, config(2))
			serve(t, a)
			found, err := a.Find(t.Context(), self(), []jjm.Tag{b.Tag})
			if err != nil || found[0].Presence != adapters.Present || found[0].IDs[0] != "1" {
				t.Fatalf("found %+v, error %v", found, err)
			}
			r := waitEnd(t, a, b)[0]
			if r.State != tt.state || !strings.Contains(r.Reason, tt.reason) || r.Restarts != tt.restarts {
				t.Errorf("%+v", r)
			}
			if want := 3; tt.state == jjm.BatchEndedFailed && r.Exit != want {
				t.Errorf("exit %d, want %d", r.Exit, want)
			}
			if n := lines(t, b, "ran.0"); n != tt.runs {
				t.Errorf("it ran %d times, want %d", n, tt.runs)
			}
			if r.Started < r.Submitted || r.Ended < r.Started {
				t.Errorf("submitted %v, started %v, ended %v", r.Submitted, r.Started, r.Ended)
			}
		})
	}
}

func TestCrash_ALoggedCancelIsCarriedOut(t *testing.T) {
	state := t.TempDir()
	b := shell(t, 1, "echo x >> ran; exec sleep 100")
	killed(t, daemon{State: state, Slots: 2, Submit: []adapters.Bulk{b}, Cancel: filepath.Join(b.Dir, "ran"),
		Point: "local.cancelling", Nth: 1})
	a := open(t, state, config(2))
	serve(t, a)
	if r := waitEnd(t, a, b)[0]; r.State != jjm.BatchCancelled {
		t.Errorf("%+v", r)
	}
	if n := lines(t, b, "ran"); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// The daemon dies after it has ended the waiting jobs and before it sends TERM to the running job. No waiting job
// starts, and a second cancel ends the running job.
func TestCrash_WaitingJobsStayCancelled(t *testing.T) {
	state := t.TempDir()
	b := shell(t, 40, "echo x >> ran; exec sleep 1000")
	killed(t, daemon{State: state, Slots: 1, Submit: []adapters.Bulk{b}, Cancel: filepath.Join(b.Dir, "ran"),
		CancelAll: true, Point: "local.withdrawn", Nth: 1})
	a := open(t, state, config(4))
	serve(t, a)
	got := waitState(t, a, b, b.N-1, jjm.BatchState.Ended)
	for _, r := range got[1:] {
		if r.State != jjm.BatchCancelled || r.Started != 0 || r.Restarts != 0 {
			t.Errorf("%+v", r)
		}
	}
	control(t, a, adapters.Cancel, adapters.Ref{Tag: b.Tag, Index: 0})
	waitEnd(t, a, b)
	if n := lines(t, b, "ran"); n != 1 {
		t.Errorf("%d jobs ran, want the one that ran before the cancel", n)
	}
}

// If the log has the request of a cancel but no end of the job, the job does not start. The daemon died during the
// write or while the job was being started.
func TestCrash_AJobWhoseCancelIsInTheLogDoesNotStart(t *testing.T) {
	state := t.TempDir()
	b := shell(t, 2, "echo x >> ran.$JJM_INDEX")
	a := open(t, state, config(1))
	submit(t, a, b)
	a.Close()
	log := filepath.Join(state, "spool", "1", "log")
	if err := os.WriteFile(log, []byte("cancel 1 ;\nend 1 cancelled 0 0"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second daemon reads the log of the first
		w := &warnings{}
		again := openWarned(t, state, config(1), w, time.Now)
		stop := serve(t, again)
		if r := waitEnd(t, again, b); r[0].State != jjm.BatchEndedOK || r[1].State != jjm.BatchCancelled ||
			r[1].Started != 0 {
			t.Errorf("%+v", r)
		}
		stop()
	}
	if lines(t, b, "ran.0") != 1 || lines(t, b, "ran.1") != 0 {
		t.Error("the cancelled job ran, or the other did not")
	}
}

func TestCrash_ARemovedEntryDoesNotComeBackAndItsIdIsNotUsedAnew(t *testing.T) {
	state := t.TempDir()
	b := shell(t, 1, "echo x >> ran")
	killed(t, daemon{State: state, Slots: 2, Submit: []adapters.Bulk{b}, Purge: true, Point: "local.purging", Nth: 1})
	a := open(t, state, config(2))
	serve(t, a)
	found, err := a.Find(t.Context(), self(), []jjm.Tag{b.Tag})
	if err != nil || found[0].Presence != adapters.Absent {
		t.Errorf("found %+v, error %v", found, err)
	}
	next := shell(t, 1, "exit 0")
	if r := submit(t, a, next); r.ID != "2" {
		t.Errorf("the next id is %q, want 2", r.ID)
	}
	waitEnd(t, a, next)
	if n := lines(t, b, "ran"); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// The test kills one daemon after another while jobs run, and then lets a daemon finish the jobs.
func TestCrash_AtRandomMoments(t *testing.T) {
	state := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	b := shell(t, 150, `echo x >> ran.$JJM_INDEX; sleep 0.0$((JJM_INDEX % 5))
		echo "exit=$((JJM_INDEX % 7)) user_ms=1 sys_ms=1 rss_kb=1" > $JJM_SPOOL_END.new
		mv $JJM_SPOOL_END.new $JJM_SPOOL_END; exit $((JJM_INDEX % 7))`)
	d := daemon{State: state, Slots: 8, Submit: []adapters.Bulk{b}}
	kills := 0
	for dead := true; dead; kills++ {
		d.After = time.Duration(10+random.IntN(60)) * time.Millisecond
		if kills > 40 {
			d.After = 0
		}
		dead = start(t, d)
	}
	t.Logf("%d daemons were killed", kills-1)
	a := open(t, state, config(8))
	for _, r := range list(t, a, b) {
		n := lines(t, b, fmt.Sprintf("ran.%d", r.Index))
		want := jjm.BatchEndedOK
		if r.Index%7 != 0 {
			want = jjm.BatchEndedFailed
		}
		if r.State != want || r.Exit != int(r.Index%7) {
			t.Errorf("%+v", r)
		}
		if n < 1 || n > 1+r.Restarts {
			t.Errorf("job %d ran %d times with %d restarts", r.Index, n, r.Restarts)
		}
	}
}
