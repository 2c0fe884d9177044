package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/testkit/needs"
)

// The engine writes the settings for wrappers into a file of each grid job. The test reads this file.
func TestSetting_WhatWrappersAreHanded(t *testing.T) {
	t.Parallel()
	o := options{config: with(func(c *engine.Config) {
		c.Heartbeat, c.Grace, c.MaxOutputBytes = jjm.Duration(7*time.Second), jjm.Duration(5*time.Second), 12345
	})}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(1))
		w.running(id, 1)
		job, err := w.area(owner(alice)).ReadJob(id)
		w.must(err)
		if job.Heartbeat.D() != 7*time.Second || job.Grace.D() != 5*time.Second || job.MaxOutputBytes != 12345 {
			t.Errorf("heartbeat, grace and max_output_bytes: %+v", job)
		}
		w.final(time.Hour, id)
	})
}

// The settings recommended_cpu and max_cpu determine how many events a local job gets.
func TestSetting_CPUSecondsSizeLocalJobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		recommended, most float64
		jobs              int
	}{{0, 0, 1}, {100, 1000, 10}, {100, 50, 20}} {
		o := options{config: with(func(config *engine.Config) {
			config.RecommendedCPU, config.MaxCPU = c.recommended, c.most
		})}
		inWorld(t, o, func(t *testing.T, w *world) {
			id := w.submit(alice,
				"type = \"montecarlo\"\n[params]\ncommand = [\"run\"]\nevents = 100\ncpu_per_event = 10.0\n")
			w.final(time.Hour, id)
			if got := w.lookup(id).Counts.Total; got != c.jobs {
				t.Errorf("recommended_cpu = %v, max_cpu = %v: %d local jobs, want %d", c.recommended, c.most, got, c.jobs)
			}
		})
	}
}

// If a job file has no limits of retries, the limits of the site apply.
func TestSetting_RetryLimits(t *testing.T) {
	t.Parallel()
	n := func(i int) *int { return &i }
	early := adaptertest.Play{Keyword: "-", Exit: 1, Life: 3 * time.Minute}
	late := adaptertest.Play{Keyword: "-", Exit: 1, Life: time.Hour}
	asked := adaptertest.Play{Keyword: "RETRY", Data: "x", Life: time.Hour}
	for name, c := range map[string]struct {
		limits   jjm.Limits
		play     adaptertest.Play
		attempts int
	}{
		"max_time_early_fails":     {jjm.Limits{EarlyMinutes: n(2)}, early, 2}, // so a failure after 3 minutes counts as late
		"max_retry_early":          {jjm.Limits{Early: n(3)}, early, 4},
		"max_retry_late_handled":   {jjm.Limits{LateHandled: n(3)}, asked, 4},
		"max_retry_late_unhandled": {jjm.Limits{LateUnhandled: n(3)}, late, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options{play: always(c.play), config: with(func(config *engine.Config) {
				config.Backoff, config.Retry = 0, c.limits.Or(config.Retry)
			})}
			inWorld(t, o, func(t *testing.T, w *world) {
				id := w.submit(alice, mc(1))
				w.final(100*time.Hour, id)
				if got := len(w.runs()); got != c.attempts {
					t.Errorf("%d attempts, want %d", got, c.attempts)
				}
			})
		})
	}
}

// The setting workers limits how many grid jobs are prepared at the same time.
func TestSetting_Workers(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 3} {
		var now, most atomic.Int32
		crash := &crasher{on: func(point string) {
			if point != "prepare.packed" {
				return
			}
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Second)
			now.Add(-1)
		}}
		o := options{crash: crash, config: with(func(c *engine.Config) { c.Workers = workers })}
		inWorld(t, o, func(t *testing.T, w *world) {
			var ids []jjm.GridID
			for range 6 {
				ids = append(ids, w.submit(alice, plain(1)))
			}
			w.final(time.Hour, ids...)
			if got := int(most.Load()); got != workers {
				t.Errorf("workers = %d: %d at once", workers, got)
			}
		})
	}
}

// The setting publish_every is the shortest time between two writes of a record.
func TestSetting_PublishEvery(t *testing.T) {
	t.Parallel()
	for every, published := range map[time.Duration]bool{time.Second: true, time.Hour: false} {
		o := options{sim: adaptertest.SimConfig{Life: 10 * time.Hour},
			config: with(func(c *engine.Config) { c.PublishEvery = jjm.Duration(every) })}
		inWorld(t, o, func(t *testing.T, w *world) {
			id := w.submit(alice, plain(1))
			w.running(id, 1)
			w.pass(20 * time.Minute)
			found := false
			w.must(filepath.WalkDir(filepath.Join(w.dir, "records"), func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				found = found || strings.Contains(string(text), `state="running"`)
				return err
			}))
			if found != published {
				t.Errorf("publish_every = %v: %t that the record says it runs", every, found)
			}
		})
	}
}

// If an account's work area is above the limit, its next grid job is refused.
func TestSetting_WorkPerUser(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*engine.Config){
		"none":                    func(*engine.Config) {},
		"max_work_bytes_per_user": func(c *engine.Config) { c.MaxWorkBytesPerUser = 4096 },
		"max_work_files_per_user": func(c *engine.Config) { c.MaxWorkFilesPerUser = 3 },
	} {
		inWorld(t, options{config: with(set), sim: adaptertest.SimConfig{Life: 10 * time.Hour}},
			func(t *testing.T, w *world) {
				w.submit(alice, plain(2))
				w.pass(5 * time.Minute)
				_, err := w.trySubmit(alice, "", plain(1))
				if refused := err != nil; refused != (name != "none") {
					t.Errorf("%s: %v", name, err)
				}
			})
	}
}

// On a small file system with little free space no new work is accepted, unless the setting is 0.
func TestSetting_MinFree(t *testing.T) {
	needs.Root(t, "to mount a small file system")
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*engine.Config)
		fill func(dir string) error
		busy bool
	}{
		"min_free_bytes":     {func(*engine.Config) {}, fillBytes, true},
		"min_free_bytes = 0": {func(c *engine.Config) { c.MinFreeBytes = 0 }, fillBytes, false},
		"min_free_files":     {func(*engine.Config) {}, fillFiles, true},
		"min_free_files = 0": {func(c *engine.Config) { c.MinFreeFiles = 0 }, fillFiles, false},
	} {
		t.Run(name, func(t *testing.T) {
			small := needs.PublicDir(t)
			if err := unix.Mount("small", small, "tmpfs", 0, "size=16m,nr_inodes=2000"); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := unix.Unmount(small, unix.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
			if err := c.fill(small); err != nil {
				t.Fatal(err)
			}
			inWorld(t, options{config: with(c.set), clusters: func(w *world) []engine.Cluster {
				w.must(os.RemoveAll(filepath.Join(w.dir, "records")))
				w.must(os.Mkdir(filepath.Join(small, "records"), 0o755))
				w.must(os.Symlink(filepath.Join(small, "records"), filepath.Join(w.dir, "records")))
				return []engine.Cluster{{Kind: "sim", Adapter: w.adapter}}
			}}, func(t *testing.T, w *world) {
				w.pass(10 * time.Second)
				_, err := w.engine.Submit(context.Background(), alice,
					wire.Submit{Name: "j.toml", Text: plain(1), BaseDir: w.dir})
				if busy := jjm.KindOf(err) == jjm.Busy && err != nil; busy != c.busy {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// fillBytes leaves 100 kB of 16 MB free. fillFiles leaves 10 of 2000 file names free.
func fillBytes(dir string) error {
	return os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 16<<20-100<<10), 0o600)
}

func fillFiles(dir string) error {
	for i := range 1990 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("filler", i)), nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}
