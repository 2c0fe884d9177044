package engine_test

import (
	"testing"
	"time"

	"jjm/internal/testkit/adaptertest"
)

// A listing may show that a local job runs before jjm knows that the job was submitted, because the reply was lost or
// comes late. The grid job is then shown as running immediately, not only after its first local job has ended.
func TestStatus_IsRunningIfAListingIsTheFirstNews(t *testing.T) {
	t.Parallel()
	sim := adaptertest.SimConfig{Settle: time.Minute, Life: 10 * time.Hour}
	inWorld(t, options{sim: sim}, func(t *testing.T, w *world) {
		w.sim.OnSubmit(adaptertest.LoseReply)
		id := w.submit(alice, mc(2))
		w.running(id, 2)
		w.pass(time.Minute)
		if got := w.lookup(id).Status; got != "running" {
			t.Errorf("both local jobs run, and the grid job is %s", got)
		}
		w.final(24*time.Hour, id)
		w.verify(id, done(2))
	})
}
