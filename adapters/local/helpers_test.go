package local_test

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/adapters/local"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
)

func self() jjm.Owner {
	return jjm.Owner{UID: os.Getuid(), GID: os.Getgid(), User: "me"}
}

// grace is the time between the signals TERM and KILL of a cancel. On a slow machine config makes it longer, because
// a job must first set its trap.
const grace = 200 * time.Millisecond

func config(slots int) local.Config {
	return local.Config{Slots: slots, Keep: jjm.Duration(time.Hour), Grace: jjm.Duration(await.Provoked(grace))}
}

// warnings collects an adapter's warnings.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) add(msg string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := 1; i < len(args); i += 2 {
		switch v := args[i].(type) {
		case error:
			msg += " " + v.Error()
		case string:
			msg += " " + v
		}
	}
	w.texts = append(w.texts, msg)
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.texts, "\n")
}

// open opens the spool in a state folder; any warning fails the test.
func open(t testing.TB, state string, c local.Config) *local.Adapter {
	t.Helper()
	w := &warnings{}
	a := openWarned(t, state, c, w, time.Now)
	t.Cleanup(func() {
		if text := w.String(); text != "" {
			t.Errorf("it warned: %s", text)
		}
	})
	return a
}

func openWarned(t testing.TB, state string, c local.Config, w *warnings, now func() time.Time) *local.Adapter {
	t.Helper()
	a, err := local.New("local", adapters.Env{State: state, Now: now, Warn: w.add}, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// serve runs the adapter until the returned function is called or the test ends. Jobs that
// still run at the end of the test are killed.
func serve(t testing.TB, a *local.Adapter) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	t.Cleanup(func() { killAll(a) })
	return stop
}

// killAll cancels all living jobs.
func killAll(a *local.Adapter) {
	l, err := a.List(context.Background(), self(), time.Now())
	if err != nil {
		return
	}
	var alive []adapters.Ref
	for _, r := range l.Reports {
		if r.State.Alive() {
			alive = append(alive, adapters.Ref{Tag: r.Tag, ID: r.ID, Index: -1})
		}
	}
	if len(alive) == 0 {
		return
	}
	_, _ = a.Control(context.Background(), self(), adapters.Cancel, alive)
	for end := time.Now().Add(await.Guard(4 * time.Minute)); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if l, err := a.List(context.Background(), self(), time.Now()); err != nil || len(l.Reports) == 0 {
			return
		}
	}
}

func newTag(t testing.TB) jjm.Tag {
	t.Helper()
	tag, err := jjm.NewTag(strings.ToLower(rand.Text()[:4]))
	if err != nil {
		t.Fatal(err)
	}
	return tag
}

// bulk returns a bulk of n jobs with a command, in a new folder.
func bulk(t testing.TB, n int, argv ...string) adapters.Bulk {
	t.Helper()
	return adapters.Bulk{Tag: newTag(t), Owner: self(), N: n, Dir: t.TempDir(), Argv: argv}
}

// shell returns n jobs with a script.
func shell(t testing.TB, n int, script string) adapters.Bulk {
	t.Helper()
	return bulk(t, n, "/bin/sh", "-c", script)
}

func submit(t testing.TB, a *local.Adapter, b adapters.Bulk) adapters.Receipt {
	t.Helper()
	r, err := a.Submit(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// list returns the jobs of a bulk by index.
func list(t testing.TB, a *local.Adapter, b adapters.Bulk) []jjm.Report {
	t.Helper()
	l, err := a.List(t.Context(), b.Owner, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var found []jjm.Report
	for _, r := range l.Reports {
		if r.Tag == b.Tag {
			found = append(found, r)
		}
	}
	return found
}

// waitFor waits until ok returns true.
func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	await.True(t, what, ok)
}

// waitState waits for n jobs of a bulk in a state that ok accepts.
func waitState(t testing.TB, a *local.Adapter, b adapters.Bulk, n int, ok func(jjm.BatchState) bool) []jjm.Report {
	t.Helper()
	var found []jjm.Report
	for end := time.Now().Add(await.Guard(4 * time.Minute)); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		found = list(t, a, b)
		good := 0
		for _, r := range found {
			if ok(r.State) {
				good++
			}
		}
		if good == n {
			return found
		}
	}
	t.Fatalf("%d jobs did not reach the state, %s; jobs: %+v", n, await.Hung, found)
	return nil
}

func waitEnd(t testing.TB, a *local.Adapter, b adapters.Bulk) []jjm.Report {
	t.Helper()
	return waitState(t, a, b, b.N, jjm.BatchState.Ended)
}

func waitRunning(t testing.TB, a *local.Adapter, b adapters.Bulk, n int) []jjm.Report {
	t.Helper()
	return waitState(t, a, b, n, func(s jjm.BatchState) bool { return s == jjm.BatchRunning })
}

// lines counts the lines of a file in a bulk's folder; 0 if there is none.
func lines(t testing.TB, b adapters.Bulk, name string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.Dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

func control(t testing.TB, a *local.Adapter, op adapters.Op, jobs ...adapters.Ref) {
	t.Helper()
	answers, err := a.Control(t.Context(), self(), op, jobs)
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range answers {
		if err != nil {
			t.Errorf("%v %+v: %v", op, jobs[i], err)
		}
	}
}
