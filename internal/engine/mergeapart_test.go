package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// grouped returns a list of n files, the first half in group x and the others in group y.
func grouped(n int) string {
	var files []string
	for i := range n {
		files = append(files, fmt.Sprintf("{lfn = \"f%04d\", events = 100, size = 1000, group = %q}", i, "xy"[i*2/n:i*2/n+1]))
	}
	return "files = [" + strings.Join(files, ", ") + "]\n"
}

// keptApart returns a table [merge] with merge.apart.
func keptApart(words string) string {
	return "[merge]\nconcat = true\noutput = \"out.dat\"\napart = [" + words + "]\nsplit = {by = \"JEDIMerge\"}\n"
}

// makersOf returns, for each merge of a grid job, the local jobs whose outputs it merges.
func (w *world) makersOf(id jjm.GridID) map[int32][]jjm.LocalJob {
	makers, locals := map[int32][]jjm.LocalJob{}, w.locals(id)
	for n, in := range w.inputsOf(id) {
		if locals[n].Step != jjm.StepMerge {
			continue
		}
		for _, lfn := range in.Files {
			var maker int
			if _, err := fmt.Sscan(strings.Split(lfn, "/")[3], &maker); err != nil {
				w.t.Fatal(err)
			}
			makers[n] = append(makers[n], locals[maker])
		}
	}
	return makers
}

// Outputs made on different clusters, or of files in different groups, are merged apart, also after a restart. A merge
// runs where its outputs were made.
func TestMerge_KeepsClustersAndGroupsApart(t *testing.T) {
	t.Parallel()
	inWorld(t, pair(slots(3), slots(3)), func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("clusters = \"any\"\n", "name = \"raw\"\n"+grouped(24)+
			keptApart(`"cluster", "group"`)))
		w.until(time.Hour, "one waits for merging", func() bool { return w.lookup(id).Counts.Completing > 0 })
		w.reopen()
		w.final(3*time.Hour, id)
		w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: -1})
		locals, inputs, clusters := w.locals(id), w.inputsOf(id), map[string]bool{}
		group := func(l jjm.LocalJob) bool { return inputs[l.ID.N].Files[0] < "f0012" }
		for n, makers := range w.makersOf(id) {
			clusters[makers[0].Cluster] = true
			for _, m := range makers {
				if m.Cluster != locals[n].Cluster || group(m) != group(makers[0]) {
					t.Errorf("merge %d on %s mixes %s of %s with %s", n, locals[n].Cluster, m.ID, m.Cluster, makers[0].ID)
				}
			}
		}
		if v := w.proof(id, ""); len(clusters) != 2 || v.Merge == nil || !v.Merge.Whole() {
			t.Errorf("merges of %v; %+v", clusters, v.Merge)
		}
	})
}

// Outputs of local jobs with different priorities are merged apart, and the merges have these priorities.
func TestMerge_KeepsPrioritiesApart(t *testing.T) {
	t.Parallel()
	o := options{sim: adaptertest.SimConfig{Slots: 1, MaxBulk: 1}, play: living(10 * time.Minute),
		config: func(c *engineConfig) { c.MaxPending = 1 }}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(6)+keptApart(`"priority"`))
		w.until(time.Hour, "one runs", func() bool { return w.lookup(id).Counts.Running == 1 })
		five := 5
		if r := w.set(wire.SetHow{Priority: &five}, "1.4-5"); r.Error != nil || r.Jobs != 2 {
			t.Fatalf("%+v", r)
		}
		w.final(20*time.Hour, id)
		w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: -1})
		locals := w.locals(id)
		if len(locals) != 8 {
			t.Errorf("%d local jobs: want 6 and 2 merges", len(locals))
		}
		for n, makers := range w.makersOf(id) {
			for _, m := range makers {
				if m.ID.N >= 4 != (makers[0].ID.N >= 4) || (m.Place == 0) != (locals[n].Place == 0) {
					t.Errorf("merge %d with place %d: %s with place %d", n, locals[n].Place, m.ID, m.Place)
				}
			}
		}
	})
}
