package engine_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/engine"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/lineage"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/sandbox"
)

// opened returns the paths by which the local jobs of a grid job open their inputs. It checks that the files of local
// jobs are at these paths.
func (w *world) opened(id jjm.GridID) (files []string) {
	w.t.Helper()
	job, err := w.store.Grid(w.t.Context(), id)
	w.must(err)
	o, err := lineage.New(base.New(w.config, engine.Deps{Store: w.store})).Opening(w.t.Context(), &job)
	w.must(err)
	inputs := w.inputsOf(id)
	for _, n := range slices.Sorted(maps.Keys(inputs)) {
		in, given, err := o.Part(w.t.Context(), inputs[n], "/in")
		w.must(err)
		in.Renamed(func(of, name string) string {
			files = append(files, strings.TrimSpace(of+" "+name))
			return name
		})
		for _, g := range given {
			info, err := os.Stat(filepath.Join(w.dir, "work", "alice", g.Path))
			if err != nil || info.Size() != g.Size {
				w.t.Errorf("%s: it should have %d bytes in %s: %v", g.LFN, g.Size, g.Path, err)
			}
		}
	}
	return files
}

// A local job opens a file that another local job made by its path, whichever dataset or container contains the file.
// It opens a file that a person listed by the listed name.
func TestOpened_FilesOfLocalJobsHaveAPath(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		merged := w.submit(alice, fileJob("output_dataset = \"merged\"\n", "name = \"raw\"\n"+inline(4)+mergeTwo))
		w.final(time.Hour, merged)
		made := w.submit(alice, fileJob("output_dataset = \"made\"\n", "name = \"merged\"\n"))
		w.final(time.Hour, made)
		for name, c := range map[string]struct {
			job  string
			want []string
		}{
			"people's": {fileJob("", "name = \"raw\"\n"), []string{"f0000", "f0001", "f0002", "f0003"}},
			"outputs and ancestors": {fileJob("", "name = \"made\"\n"+withParents),
				[]string{"/in/" + output(made, 0), "(ancestors) /in/" + output(merged, 2)}},
			"secondary files": {fileJob("", "name = \"raw\"\n[[datasets]]\nname = \"made\"\nsecondary = true\n"+
				"attributes = \"repeat,nosplit\"\n[split]\nby = \"JEDI\"\nparams = {task = {rule = \"NF=4\"}}\n"),
				[]string{"f0000", "f0001", "f0002", "f0003", "made /in/" + output(made, 0)}},
		} {
			id := w.submit(alice, c.job)
			w.final(time.Hour, id)
			if diff := cmp.Diff(c.want, w.opened(id)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

// Outputs from several clusters are read through a container, with their paths in the datasets of the container.
func TestOpened_ThroughAContainer(t *testing.T) {
	t.Parallel()
	o := options{sim: adaptertest.SimConfig{Slots: 2}, more: []adaptertest.SimConfig{{Name: "second", Slots: 2}}}
	inWorld(t, o, func(t *testing.T, w *world) {
		maker := w.submit(alice, fileJob("output_dataset = \"reco\"\nclusters = [\"sim\", \"second\"]\n",
			"name = \"raw\"\n"+inline(16)))
		w.final(6*time.Hour, maker)
		id := w.submit(alice, fileJob("", "name = \"all\"\ncontainer = \"reco\"\n"))
		w.final(time.Hour, id)
		files := w.opened(id)
		slices.Sort(files)
		var want []string
		for n := range 8 {
			want = append(want, fmt.Sprintf("/in/filetest.%s.%d.out.dat", maker, n))
		}
		if diff := cmp.Diff(want, files); diff != "" {
			t.Error(diff)
		}
	})
}

// If workers do not see the work area, files that local jobs made are transferred to the local jobs that read them.
func TestOpened_IsTransferredToWorkersThatDoNotSeeTheArea(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{NoSharedFS: true}}, func(t *testing.T, w *world) {
		made := w.submit(alice, fileJob("output_dataset = \"made\"\n", "name = \"raw\"\n"+inline(8)))
		w.final(time.Hour, made)
		id := w.submit(alice, fileJob("", "name = \"made\"\n"+oneEach))
		w.final(time.Hour, id)
		w.verify(id, done(4)) // fails if a simulated wrapper does not find a file
		w.must(os.Remove(filepath.Join(w.dir, "work", "alice", sandbox.AttemptDir(jjm.AttemptID{
			LocalID: jjm.LocalID{Grid: made, N: 2}}), "work", "out.dat")))
		second := w.submit(alice, fileJob("", "name = \"made\"\n"+oneEach))
		w.final(time.Hour, second)
		if states := w.fileStates("made"); len(states) != 1 || states[output(made, 2)] != "lost" {
			t.Errorf("marks: %v", states)
		}
	})
}
