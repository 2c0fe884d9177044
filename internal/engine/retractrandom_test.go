package engine_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// loss is an output that is declared lost at a time. If reopen is set, the daemon is restarted afterwards.
type loss struct {
	at     time.Duration
	n      int
	reopen bool
}

// Outputs are retracted at any time while a grid job processes and merges files. At the end each file counts as
// processed and merged exactly once.
func TestProperty_RetractedAtAnyMomentNothingIsLostOrDoubled(t *testing.T) {
	drawLives(t)
	rapid.Check(t, func(rt *rapid.T) {
		losses := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) loss {
			return loss{time.Duration(rapid.IntRange(0, 600).Draw(t, "after")) * time.Second,
				rapid.IntRange(0, 12).Draw(t, "local"), rapid.Bool().Draw(t, "reopen")}
		}), 1, 6).Draw(rt, "losses")
		sim := adaptertest.SimConfig{Slots: rapid.IntRange(1, 4).Draw(rt, "slots"), Jitter: 3 * time.Minute,
			Life: time.Minute, Seed: rapid.Uint64().Draw(rt, "seed")}
		merge := rapid.SampledFrom([]string{"", mergeTwo}).Draw(rt, "merge")
		files, outputs := inline(12), int64(6)
		if rapid.Bool().Draw(rt, "by events") { // the number of events is unknown for every second file
			files, outputs = mixed(8)+byEvents, 12
		}
		ok := t.Run("", func(t *testing.T) {
			inWorld(t, options{sim: sim}, func(t *testing.T, w *world) {
				id := w.submit(alice, fileJob("", "name = \"raw\"\n"+files+merge))
				for _, l := range losses {
					w.loseLater(id, l)
				}
				w.final(24*time.Hour, id)
				w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: -1})
				if v := w.proof(id, ""); !v.Whole() || v.Merge != nil && (!v.Merge.Whole() || v.Merge.Files != outputs) {
					t.Errorf("%+v; merging %+v", v.Report, v.Merge)
				}
				w.verifyQuiet()
			})
		})
		if !ok {
			rt.Fatalf("see above")
		}
	})
}

// loseLater declares an output lost after some time. The output may not exist, a merge may read
// it, or the grid job may have ended.
func (w *world) loseLater(id jjm.GridID, l loss) {
	end := w.now().Add(l.at)
	w.until(time.Hour, "its time comes", func() bool { return !w.now().Before(end) })
	if w.lookup(id).GRAM == jjm.GRAMDone {
		return
	}
	_, err := w.retract(alice, id, false, "", fmt.Sprintf("filetest.%d.%d.out.dat", id, l.n))
	if k := jjm.KindOf(err); err != nil && k != jjm.Gone && k != jjm.Conflict && k != jjm.Busy {
		w.t.Fatal(err)
	}
	if l.reopen {
		w.reopen()
	}
}
