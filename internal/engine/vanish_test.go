package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/testkit/await"
)

// fileStates returns the marks of the files of alice's dataset, by the last element of the file name.
func (w *world) fileStates(dataset string) map[string]string {
	w.t.Helper()
	set, err := w.store.DatasetNamed(w.t.Context(), alice.UID, dataset)
	w.must(err)
	marks, err := w.store.Marks(w.t.Context(), set.ID)
	w.must(err)
	out := map[string]string{}
	w.must(w.store.Files(w.t.Context(), set.ID, 0, 0, func(n int64, f jjm.File) error {
		if state, ok := marks[n]; ok {
			out[filepath.Base(f.LFN)] = state.String()
		}
		return nil
	}))
	return out
}

// oneEach is the section of a job file that makes one local job for each file.
const oneEach = "[split]\nby = \"FileBased\"\nparams = {files_per_job = 1}\n"

// Files of a watched folder that vanish or change are marked, and waiting local jobs give these files back. Files that
// come back unchanged are processed.
func TestSource_NoticesFilesThatVanishOrChange(t *testing.T) {
	t.Parallel()
	inTime(t, options{config: quick, sim: adaptertest.SimConfig{Life: 10 * time.Millisecond}}, func(w *world) {
		folder := filepath.Join(w.dir, "raw")
		w.must(os.Mkdir(folder, 0o755))
		put := func(name, text string) {
			path := filepath.Join(folder, name)
			w.must(os.WriteFile(path, []byte(text), 0o644))
			old := time.Now().Add(-time.Hour)
			w.must(os.Chtimes(path, old, old))
		}
		for _, name := range []string{"a", "b", "c", "d"} {
			put(name, "data")
		}
		w.sim.Down(1000 * time.Hour) // nothing is submitted
		id := w.submit(alice, fileJob("", "name = \"raw\"\nwatch = \"raw/*\"\n"+oneEach))
		await.True(t, "four wait", func() bool { return w.lookup(id).Counts.Total == 4 })
		w.closeDataset(alice, "raw")
		w.must(os.Remove(filepath.Join(folder, "a")))
		w.must(os.Remove(filepath.Join(folder, "b")))
		put("c", "other data")
		is := func(want map[string]string) func() bool {
			return func() bool { return fmt.Sprint(w.fileStates("raw")) == fmt.Sprint(want) }
		}
		await.True(t, "they are marked", is(map[string]string{"a": "lost", "b": "lost", "c": "broken"}))
		put("b", "data")
		await.True(t, "b is back", is(map[string]string{"a": "lost", "c": "broken"}))
		w.must(os.Rename(folder, folder+".away"))
		w.must(os.Mkdir(folder, 0o755))
		await.True(t, "an empty folder is not believed", func() bool {
			return strings.Contains(strings.Join(w.status(id).Trouble, "\n"), "nothing is there of its 2 files: is the file system")
		})
		if !is(map[string]string{"a": "lost", "c": "broken"})() {
			t.Errorf("marks: %v", w.fileStates("raw"))
		}
		w.must(os.Remove(folder))
		w.must(os.Rename(folder+".away", folder))
		w.sim.Down(0)
		await.True(t, "it ends", func() bool { return w.lookup(id).Status == "done" || w.lookup(id).Status == "finished" })
		if in := w.input(id); in.Finished < 1 {
			t.Errorf("%+v", in)
		}
	})
}

// A program lists the files of a dataset. A file that the program no longer lists is marked lost, and a file that it
// lists differently is marked broken. Files that people added are not affected.
func TestSource_AFileThatAProgramNoLongerListsIsLost(t *testing.T) {
	t.Parallel()
	for _, incremental := range []bool{false, true} {
		t.Run(fmt.Sprint("incremental=", incremental), func(t *testing.T) {
			t.Parallel()
			inTime(t, options{config: quick, sim: quickSim()}, func(w *world) {
				list := filepath.Join(w.dir, "list")
				write := func(lines ...string) {
					w.must(os.WriteFile(list+".new", []byte(strings.Join(lines, "\n")+"\n"), 0o644))
					w.must(os.Rename(list+".new", list))
				}
				client := filepath.Join(w.dir, "client")
				w.must(os.WriteFile(client, []byte("#!/bin/sh\necho >> "+list+".asked\ncat "+list+"\n"), 0o755))
				asked := func() int { b, _ := os.ReadFile(list + ".asked"); return len(b) }
				w.sim.Down(1000 * time.Hour)
				write(`{"lfn": "a", "checksum": "1"}`, `{"lfn": "b", "checksum": "1"}`, `{"lfn": "c"}`)
				id := w.submit(alice, fileJob("", fmt.Sprintf("name = \"raw\"\nopen = true\nincremental = %t\nprogram = [%q]\n"+oneEach,
					incremental, client)))
				await.True(t, "three wait", func() bool { return w.lookup(id).Counts.Total == 3 })
				_, err := w.engine.Dataset(w.t.Context(), alice, wire.Dataset{Do: wire.DatasetAdd, Name: "raw",
					Files: []jjm.File{{LFN: "hand"}}})
				w.must(err)
				await.True(t, "four wait", func() bool { return w.lookup(id).Counts.Total == 4 })
				write(`{"lfn": "a", "checksum": "2"}`, `{"lfn": "c"}`)
				before := asked()
				await.True(t, "it was asked again", func() bool { return asked() > before+4 })
				want := map[string]string{"a": "broken", "b": "lost"}
				if incremental {
					want = map[string]string{}
				}
				if got := w.fileStates("raw"); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("marks %v, want %v", got, want)
				}
			})
		})
	}
}
