package sge

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// patience is the longest time that a test waits for a change in the test bed; it is enough for a busy machine.
var patience = await.Guard(6 * time.Minute)

// patient polls until ok returns true, and fails the test after the patience.
func patient(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(300 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not %s after %v, %s", what, patience, await.Hung)
		}
	}
}

func bulkOf(t *testing.T, bed *testbed.Bed, dir string, n int, script string) adapters.Bulk {
	t.Helper()
	tag, err := jjm.NewTag("sgex")
	if err != nil {
		t.Fatal(err)
	}
	return adapters.Bulk{Tag: tag, Owner: bed.Owner, N: n, Dir: dir, Argv: []string{"/bin/sh", "-c", script}}
}

func wantKind(t *testing.T, what string, err error, kinds ...jjm.Kind) {
	t.Helper()
	for _, k := range kinds {
		if err != nil && jjm.KindOf(err) == k {
			return
		}
	}
	t.Errorf("%s: error %v of kind %q, want %v", what, err, jjm.KindOf(err), kinds)
}

// The test stops and kills the qmaster at three moments: while a job runs, while a bulk is held, and while a bulk is
// being submitted.
func TestFaults(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	bed := testbed.StartAlone(t, "sge")
	a, dir := onBed(t, bed, bed.Bin), bed.Dir(t)
	ctx := t.Context()
	t.Cleanup(func() { bed.Do(t, "up") })

	runs := bulkOf(t, bed, dir, 1, "echo x >>ran; while [ ! -e go ]; do sleep 0.1; done")
	receipt, err := a.Submit(ctx, runs)
	if err != nil {
		t.Fatal(err)
	}
	release(t, a, runs, receipt)
	patient(t, "running", func() bool { return one(t, a, runs).State == jjm.BatchRunning })
	held := bulkOf(t, bed, dir, 2, "echo x >>held")
	heldReceipt, err := a.Submit(ctx, held)
	if err != nil {
		t.Fatal(err)
	}

	bed.Do(t, "freeze", "qmaster")
	doubtful := bulkOf(t, bed, dir, 1, "echo x >>doubtful")
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(ctx, await.Provoked(2*time.Second))
		t.Cleanup(cancel)
		return ctx
	}
	_, err = a.Submit(short(), doubtful)
	wantKind(t, "submit to a frozen qmaster", err, jjm.Ambiguous)
	_, err = a.List(short(), bed.Owner, now)
	wantKind(t, "list of a frozen qmaster", err, jjm.Busy)
	bed.Do(t, "thaw", "qmaster")
	// If the qmaster answers the next request, it has also handled the request that was sent while it was frozen.
	after := bulkOf(t, bed, dir, 1, "exit 0")
	patient(t, "thawed", func() bool { _, err := a.Submit(ctx, after); return err == nil })
	first := find(t, a, bed, doubtful.Tag, after.Tag)
	if first[1].Presence != adapters.Present || len(first[1].IDs) != 1 {
		t.Errorf("found %+v", first[1])
	}
	t.Logf("the bulk that was submitted to the frozen qmaster: %+v", first[0])

	bed.Do(t, "freeze", "execd") // without its qmaster, execd would try to reach it again only after 30 s
	bed.Do(t, "kill", "qmaster")
	_, err = a.Submit(ctx, bulkOf(t, bed, dir, 1, "exit 0"))
	wantKind(t, "submit without a qmaster", err, jjm.Busy, jjm.Ambiguous) // the connection may break later
	_, err = a.List(ctx, bed.Owner, now)
	wantKind(t, "list without a qmaster", err, jjm.Busy)
	_, err = a.Find(ctx, bed.Owner, []jjm.Tag{held.Tag})
	wantKind(t, "find without a qmaster", err, jjm.Busy)
	_, err = a.Control(ctx, bed.Owner, adapters.Cancel, refsOf(held, heldReceipt))
	wantKind(t, "cancel without a qmaster", err, jjm.Busy)
	wantKind(t, "probe without a qmaster", a.Probe(ctx), jjm.Busy)
	bed.Do(t, "start", "qmaster")
	bed.Do(t, "thaw", "execd")

	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	patient(t, "over", func() bool { return one(t, a, runs).State.Ended() })
	if r := one(t, a, runs); r.State != jjm.BatchEndedOK || r.Restarts != 0 {
		t.Errorf("the job that ran: %+v", r)
	}
	second := find(t, a, bed, doubtful.Tag, held.Tag)
	if second[0].Presence != first[0].Presence || second[1].Presence != adapters.Present {
		t.Errorf("found %+v, and after the restart %+v", first[0], second)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "ran")); string(text) != "x\n" {
		t.Errorf("it ran %q, error %v", text, err)
	}
	release(t, a, held, heldReceipt)
	patient(t, "over", func() bool { return one(t, a, held).State == jjm.BatchEndedOK })
	if _, err := os.Stat(filepath.Join(dir, "doubtful")); err == nil {
		t.Error("a bulk that was never acknowledged ran")
	}
	sweep(t, a, bed, doubtful.Tag, after.Tag)
}

func refsOf(b adapters.Bulk, r adapters.Receipt) []adapters.Ref {
	var refs []adapters.Ref
	for i := range int32(b.N) {
		refs = append(refs, adapters.Ref{Tag: b.Tag, ID: r.ID, Index: i})
	}
	return refs
}

func release(t *testing.T, a *Adapter, b adapters.Bulk, r adapters.Receipt) {
	t.Helper()
	answers, err := a.Control(t.Context(), b.Owner, adapters.Release, refsOf(b, r))
	for _, one := range answers {
		if one != nil {
			err = one
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// one returns the report of a bulk's first job.
func one(t *testing.T, a *Adapter, b adapters.Bulk) jjm.Report {
	t.Helper()
	l, err := a.List(t.Context(), b.Owner, time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range l.Reports {
		if r.Tag == b.Tag && r.Index == 0 {
			return r
		}
	}
	return jjm.Report{}
}

func find(t *testing.T, a *Adapter, bed *testbed.Bed, tags ...jjm.Tag) []adapters.Found {
	t.Helper()
	found, err := a.Find(t.Context(), bed.Owner, tags)
	if err != nil || len(found) != len(tags) {
		t.Fatalf("%+v, error %v", found, err)
	}
	return found
}

// sweep cancels the living jobs of bulks.
func sweep(t *testing.T, a *Adapter, bed *testbed.Bed, tags ...jjm.Tag) {
	t.Helper()
	for _, f := range find(t, a, bed, tags...) {
		for _, id := range f.IDs {
			_, _ = a.Control(t.Context(), bed.Owner, adapters.Cancel, []adapters.Ref{{Tag: f.Tag, ID: id, Index: 0}})
		}
	}
}

// A job in state Eqw (error) is reported as held, with the reason, and a release lets it run again. Jobs of jjm
// enter this state if the worker lacks the account or the folder. The test submits a job without the shield instead,
// which enters the state by its exit code 100.
func TestBed_AJobInErrorIsHeldWithItsReasonAndReleased(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	bed := testbed.Start(t, "sge")
	a, dir := onBed(t, bed, bed.Bin), bed.Dir(t)
	a.site = site{noRerun: true, noAppError: true}
	b := bulkOf(t, bed, dir, 1, "echo x >>runs; [ $(wc -l <runs) = 1 ] && exit 100; exit 3")
	receipt, err := a.Submit(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	release(t, a, b, receipt)
	patient(t, "in error", func() bool { return one(t, a, b).State == jjm.BatchHold })
	if r := one(t, a, b); r.Hold != "Eqw" || !strings.Contains(r.Reason, "100") {
		t.Errorf("%+v", r)
	}
	if got, err := a.Account(t.Context(), bed.Owner, refsOf(b, receipt)); err != nil || len(got) != 0 {
		t.Errorf("it is not over, and its accounting says %+v, error %v", got, err)
	}
	release(t, a, b, receipt)
	patient(t, "over", func() bool { return one(t, a, b).State.Ended() })
	if r := one(t, a, b); r.State != jjm.BatchEndedFailed || r.Exit != 3 || r.Restarts != 1 {
		t.Errorf("%+v", r)
	}
}

// A new adapter reads the listing of a task that Grid Engine runs again. Until Grid Engine has cleaned up after the
// first run, it prints invalid XML. On a busy machine that clean-up may also end the second run ("failed 21: in
// recognizing job"); the test then tries another task.
func TestBed_ARescheduledTaskIsListedByAnAdapterThatNeverSawIt(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	bed := testbed.Start(t, "sge")
	for range 4 {
		r := rescheduled(t, bed)
		if r.State == jjm.BatchAborted && strings.HasPrefix(r.Reason, "failed 21") {
			continue
		}
		if r.State != jjm.BatchEndedFailed || r.Exit != 3 || r.Restarts != 1 {
			t.Errorf("%+v", r)
		}
		return
	}
	t.Error("no task was run a second time")
}

// rescheduled returns the report of the first of two tasks, which is run again. The second task runs all the time,
// because the adapter calls qstat -j only for running tasks.
func rescheduled(t *testing.T, bed *testbed.Bed) jjm.Report {
	t.Helper()
	a, dir := onBed(t, bed, bed.Bin), bed.Dir(t)
	b := bulkOf(t, bed, dir, 2, `echo x >>runs.$JJM_INDEX; [ -e again ] && exit 3
		sleep 600`)
	receipt, err := a.Submit(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	release(t, a, b, receipt)
	patient(t, "running", func() bool {
		_, err0 := os.Stat(filepath.Join(dir, "runs.0"))
		_, err1 := os.Stat(filepath.Join(dir, "runs.1"))
		return err0 == nil && err1 == nil && one(t, a, b).State == jjm.BatchRunning
	})
	if err := os.WriteFile(filepath.Join(dir, "again"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	bed.Do(t, "reschedule", receipt.ID+".1")
	patient(t, "over", func() bool { return one(t, onBed(t, bed, bed.Bin), b).State.Ended() })
	if _, err := a.Control(t.Context(), b.Owner, adapters.Cancel, refsOf(b, receipt)); err != nil {
		t.Error(err)
	}
	return one(t, a, b)
}
