package engine_test

import (
	"strings"
	"testing"
	"time"

	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// A cluster that has jobs is removed from the configuration. jjm warns about this in the log at its start, and in the
// status of the jobs, also when the jobs are to be killed.
func TestRemoved_AClusterWithJobsIsTold(t *testing.T) {
	t.Parallel()
	o := options{sim: adaptertest.SimConfig{Slots: 4, Life: 3 * time.Hour},
		more: []adaptertest.SimConfig{{Name: "big", Slots: 4, Life: 3 * time.Hour}}}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2, `cluster = "big"`))
		w.running(id, 2)
		all := w.clusters
		w.clusters = func(w *world) []engine.Cluster { return []engine.Cluster{{Kind: "sim", Adapter: w.adapter}} }
		w.reopen()
		w.pass(time.Minute)
		if w.logged("a cluster that has jobs has left the configuration") != 1 {
			t.Error("the start does not warn")
		}
		told := func(when string) {
			t.Helper()
			const text = "cluster big has left the configuration"
			if s := w.status(id); !strings.Contains(strings.Join(s.Trouble, "\n"), "2 local jobs: "+text) {
				t.Errorf("%s: trouble %q", when, s.Trouble)
			}
			for _, l := range w.locals(id) {
				if l.State != jjm.Running || l.Waits == nil || !strings.Contains(l.Waits.Reason, text) {
					t.Errorf("%s: %s is %s and waits for %+v", when, l.ID, l.State, l.Waits)
				}
			}
		}
		told("while they run")
		w.kill(id.String())
		w.pass(time.Minute)
		told("once they are to be killed")
		w.clusters = all
		w.reopen()
		w.final(time.Hour, id)
	})
}
