package remote

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/sys/fetch"
)

// newInputs returns Inputs that call the function child instead of starting a child process, and that need no store.
func newInputs(t *testing.T, work string, child func(context.Context, fetch.Order) (fetch.Report, error)) *Inputs {
	wrapper := filepath.Join(t.TempDir(), "wrapper")
	if err := os.WriteFile(wrapper, []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	b := base.New(base.Defaults(), base.Deps{Now: time.Now, Fetch: child,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	s := state.New(b, nil)
	s.WakeGrid = func(jjm.GridID) {}
	as := areas.New(work, wrapper, nil)
	t.Cleanup(as.Close)
	return New(s, as, nil)
}

// While the disk is full, Inputs fetches nothing and stops a transfer in progress. A full disk, or another problem of
// this host, does not count as a failed try.
func TestInputs_WaitForThisHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, answer := 0, make(chan error, 1)
		work := t.TempDir()
		is := newInputs(t, work, func(ctx context.Context, o fetch.Order) (fetch.Report, error) {
			asked++
			select {
			case <-ctx.Done():
				return fetch.Report{}, jjm.Errorf(jjm.Busy, "stopped: %w", ctx.Err())
			case err := <-answer:
				if err != nil {
					return fetch.Report{}, err
				}
				return fetch.Report{Done: true}, os.WriteFile(filepath.Join(o.Root, o.File), nil, 0o600)
			}
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); is.Run(ctx) }()
		job := &jjm.GridJob{ID: 7, Owner: jjm.Owner{UID: os.Getuid(), User: "alice"},
			Spec: jjm.Spec{Inputs: []jjm.Input{{Path: "https://h/a?token", Name: "a"}}}}
		look := func(after time.Duration, times int, want string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if got := is.Waits(7); asked != times || !strings.Contains(got, want) || want == "" && got != "" {
				t.Errorf("asked %d times, waits %q; want %d, %q", asked, got, times, want)
			}
		}
		is.s.SetLow("in /w 1 byte is free")
		if there, err := is.Bring(job, job.Spec.Inputs); there || err != nil {
			t.Error(there, err)
		}
		look(time.Minute, 0, "inputs[0]: https://h/a?...: waits for room on the disk: in /w 1 byte is free")
		is.s.SetLow("")
		look(time.Minute, 1, underWay)
		is.s.SetLow("in /w 1 byte is free")
		look(time.Minute, 1, "waits for room")
		is.s.SetLow("")
		for n := range 2 * fetch.Defaults().Tries {
			answer <- jjm.Errorf(jjm.Busy, "run: not started: no helper")
			look(time.Minute, n+3, underWay)
		}
		answer <- nil
		look(time.Minute, asked, "")
		if there, err := is.Bring(job, job.Spec.Inputs); !there || err != nil {
			t.Error(there, err)
		}
		is.Forget(job)
		if left, _ := filepath.Glob(filepath.Join(work, "alice/jobs/7/*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		stop()
		<-ended
	})
}
