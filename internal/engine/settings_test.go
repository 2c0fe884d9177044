package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// with returns its argument unchanged. A call of with in the source of a test marks a function that changes one setting
// of the engine.
func with(set func(*engine.Config)) func(*engine.Config) { return set }

// The setting running_first chooses between two rules for the master status of Ganga.
func TestSetting_RunningFirst(t *testing.T) {
	t.Parallel()
	for first, want := range map[bool]string{false: "submitted", true: "running"} {
		o := options{sim: adaptertest.SimConfig{Slots: 1, Life: time.Hour},
			config: with(func(c *engine.Config) { c.RunningFirst = first })}
		inWorld(t, o, func(t *testing.T, w *world) {
			id := w.submit(alice, mc(3))
			w.running(id, 1)
			got, err := w.engine.Record(context.Background(), alice, id, "/gridjob/@master")
			if err != nil || len(got) != 1 || got[0] != want {
				t.Errorf("running_first = %t: master %v, want %s (%v)", first, got, want, err)
			}
		})
	}
}

// The setting max_tar_bytes limits the size of the tar: files that do not fit are left out, and the tar has the reason.
func TestSetting_MaxTarBytes(t *testing.T) {
	t.Parallel()
	sizes := map[int64]int64{}
	for _, most := range []int64{0, 4 << 10} {
		o := options{config: with(func(c *engine.Config) { c.MaxTarBytes = most })}
		inWorld(t, o, func(t *testing.T, w *world) {
			id := w.submit(alice, plain(40))
			w.final(time.Hour, id)
			sizes[most] = int64(len(w.tarBytes(id)))
			files, err := tarFiles(w.tarBytes(id))
			w.must(err)
			manifest := ""
			for name, text := range files {
				if strings.HasSuffix(name, "manifest.json") {
					manifest = string(text)
				}
			}
			if cut := strings.Contains(manifest, "\"absent\""); cut != (most > 0) {
				t.Errorf("max_tar_bytes = %d: cut %t: %.500s", most, cut, manifest)
			}
		})
	}
	if sizes[0] <= sizes[20<<10] {
		t.Errorf("the tars have %v bytes", sizes)
	}
}

// The setting max_input_files limits the number of files in a folder that is an input.
func TestSetting_MaxInputFiles(t *testing.T) {
	t.Parallel()
	for most, accepted := range map[int64]bool{2: false, 20: true} {
		o := options{config: with(func(c *engine.Config) { c.MaxInputFiles = most })}
		inWorld(t, o, func(t *testing.T, w *world) {
			folder := filepath.Join(w.dir, "data")
			w.must(os.Mkdir(folder, 0o755))
			for _, name := range []string{"a", "b", "c", "d"} {
				w.must(os.WriteFile(filepath.Join(folder, name), []byte("x"), 0o644))
			}
			id, err := w.trySubmit(alice, "", "inputs = [{path = \""+folder+"\"}]\n"+plain(1))
			if err == nil {
				w.final(time.Hour, id.ID)
			}
			done := err == nil && w.lookup(id.ID).Status == "done"
			if done != accepted {
				t.Errorf("max_input_files = %d: done %t, %v", most, done, err)
			}
		})
	}
}

// The setting unknown_warn is the time for which a cluster may not answer before jjm warns.
func TestSetting_UnknownWarn(t *testing.T) {
	t.Parallel()
	for limit, warned := range map[time.Duration]bool{time.Minute: true, time.Hour: false} {
		o := options{config: with(func(c *engine.Config) { c.UnknownWarn = jjm.Duration(limit) }),
			sim: adaptertest.SimConfig{Life: 3 * time.Hour}}
		inWorld(t, o, func(t *testing.T, w *world) {
			id := w.submit(alice, mc(2))
			w.running(id, 2)
			w.sim.Down(20 * time.Minute)
			w.pass(10 * time.Minute)
			if got := len(w.trouble(id)) > 0; got != warned {
				t.Errorf("unknown_warn = %v: told %t: %v", limit, got, w.trouble(id))
			}
		})
	}
}

// The setting poll_max is the longest time between two listings of a slow cluster.
func TestSetting_PollMax(t *testing.T) {
	t.Parallel()
	for most, want := range map[time.Duration]time.Duration{30 * time.Second: 30 * time.Second,
		time.Hour: 200 * time.Second} {
		var slow *polled
		o := options{config: with(func(c *engine.Config) { c.PollMax = jjm.Duration(most) }),
			clusters: func(w *world) []engine.Cluster {
				slow = w.add("slow")
				slow.slow.Store(int64(20 * time.Second))
				return []engine.Cluster{{Kind: "sim", Adapter: slow}}
			},
			play: func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play { return adaptertest.Play{Life: 2 * time.Hour} }}
		inWorld(t, o, func(t *testing.T, w *world) {
			w.running(w.submit(alice, mc(2)), 2)
			w.pass(20 * time.Minute)
			var c wire.Cluster = w.site("slow")
			if c.Interval.D() != want {
				t.Errorf("poll_max = %v: listed every %v, want %v", most, c.Interval.D(), want)
			}
		})
	}
}
