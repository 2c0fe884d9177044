package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/testkit/await"
	"jjm/internal/work/catalogue"
)

// Tests that run real programs use inTime (below) and run in real time, because a real child process stops the fake
// time of a bubble. The jobs of their simulated cluster take milliseconds.

func TestSource_AListIsAnInputOfTheJob(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		var list bytes.Buffer
		for i := range 6000 { // more than is added in one transaction
			list.Write(catalogue.Line(jjm.File{LFN: lfn(i), Events: 100}))
		}
		w.must(os.WriteFile(filepath.Join(w.dir, "raw.jsonl"), list.Bytes(), 0o644))
		text := fileJob(
			"", "name = \"raw\"\nfrom = \"raw.jsonl\"\n\n[split]\nby = \"FileBased\"\nparams = {files_per_job = 3000}\n")
		id := w.submit(alice, "inputs = [{path = \"raw.jsonl\"}]\n"+text)
		w.final(10*time.Minute, id)
		w.verify(id, done(2))
		if got := w.input(id); got.Finished != 6000 {
			t.Errorf("%+v", got)
		}
	})
}

func TestSource_AnUnreadableListEndsTheGridJobAndAddsNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		var list bytes.Buffer
		for i := range 11_000 { // the mistake comes after the part of the list that is checked before acceptance
			list.Write(catalogue.Line(jjm.File{LFN: lfn(i), Events: 100}))
		}
		list.WriteString("{\"lfn\": \"x\", \"evnets\": 3}\n")
		w.must(os.WriteFile(filepath.Join(w.dir, "raw.jsonl"), list.Bytes(), 0o644))
		id := w.submit(alice, "inputs = [{path = \"raw.jsonl\"}]\n"+fileJob("", "name = \"raw\"\nfrom = \"raw.jsonl\"\n"))
		w.final(10*time.Minute, id)
		if l := w.lookup(id); l.Status != "broken" || !strings.Contains(l.Message, "raw.jsonl:11001") {
			t.Errorf("%+v", l)
		}
		if _, err := w.store.DatasetNamed(context.Background(), alice.UID, "raw"); jjm.KindOf(err) != jjm.Gone {
			t.Errorf("a dataset was made: %v", err)
		}
	})
}

func TestSource_OfAnotherAccountNeedsADaemonThatCanActAsIt(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		for _, source := range []string{"watch = \"/data/*\"\n", "program = [\"ls\"]\n"} {
			_, err := w.engine.Submit(context.Background(), bob,
				wire.Submit{Name: "j.toml", Text: fileJob("", "name = \"raw\"\n"+source), BaseDir: w.dir})
			if err == nil || !strings.Contains(err.Error(), "run_as") {
				t.Errorf("%s: %v", source, err)
			}
		}
	})
}

// inTime runs a test in a world like inWorld, but in real time.
func inTime(t *testing.T, o options, test func(*world)) {
	t.Helper()
	dir := tempDir(t)
	putFreshStore(t, dir)
	w := newWorld(t, dir, o)
	defer w.close()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	defer func() { stop(); <-ended }()
	go func() {
		defer close(ended)
		w.keepTime(ctx)
	}()
	w.open()
	test(w)
}

// quick sets short times, for tests in real time.
func quick(c *engineConfig) {
	c.DatasetPoll, c.Harvest, c.Poll = jjm.Duration(200*time.Millisecond), jjm.Duration(100*time.Millisecond),
		jjm.Duration(200*time.Millisecond)
	c.BatchSettle = jjm.Duration(10 * time.Millisecond)
}

func TestSource_AWatchedFolderIsProcessedAsItGrows(t *testing.T) {
	t.Parallel()
	inTime(t, options{config: quick, sim: quickSim()}, func(w *world) {
		folder := filepath.Join(w.dir, "raw")
		w.must(os.Mkdir(folder, 0o755))
		old := time.Now().Add(-time.Hour)
		put := func(name string, changed time.Time) {
			path := filepath.Join(folder, name)
			w.must(os.WriteFile(path, []byte("data"), 0o644))
			w.must(os.Chtimes(path, changed, changed))
		}
		put("a.root", old)
		put("b.root", old)
		put("b.txt", old)
		put("being-written.root", time.Now().Add(time.Hour))
		id := w.submit(alice, fileJob("", "name = \"raw\"\nwatch = \"raw/*.root\"\n"))
		await.True(t, "one completed", func() bool { return w.lookup(id).Counts.Completed == 1 })
		put("line\nbreak.root", old)
		put("c.root", old)
		await.True(t, "two completed", func() bool { return w.lookup(id).Counts.Completed == 2 })
		w.must(os.RemoveAll(folder))
		await.True(t, "the trouble is shown", func() bool {
			return strings.Contains(strings.Join(w.status(id).Trouble, "\n"), "find: exit 1")
		})
		w.closeDataset(alice, "raw")
		await.True(t, "final", func() bool { return w.lookup(id).Status == "done" })
		if got := w.input(id); got.Finished != 3 {
			t.Errorf("%+v", got)
		}
	})
}

func TestSource_AProgramListsFiles(t *testing.T) {
	t.Parallel()
	inTime(t, options{config: quick, sim: quickSim()}, func(w *world) {
		list := filepath.Join(w.dir, "list")
		program := "#!/bin/sh\ncat " + list + "\n"
		w.must(os.WriteFile(filepath.Join(w.dir, "client"), []byte(program), 0o755))
		job := func(name, more string) jjm.GridID {
			return w.submit(alice, fileJob("",
				fmt.Sprintf("name = %q\nprogram = [%q]\n%s", name, filepath.Join(w.dir, "client"), more)))
		}
		open := job("open", "open = true\n")
		await.True(t, "its failure is told", func() bool {
			return strings.Contains(strings.Join(w.status(open).Trouble, "\n"), "No such file")
		})
		w.must(os.WriteFile(list, []byte("{\"lfn\": \"a\"}\n{\"lfn\": \"b\"}\n"), 0o644))
		whole := job("whole", "")
		await.True(t, "the closed one is done", func() bool { return w.lookup(whole).Status == "done" })
		await.True(t, "the open one has two", func() bool {
			return w.lookup(open).Counts.Completed == 1 && len(w.status(open).Trouble) == 0
		})
		w.must(os.WriteFile(list, []byte("{\"lfn\": \"a\"}\n{\"lfn\": \"b\"}\n{\"lfn\": \"c\"}\n"), 0o644))
		await.True(t, "the open one has three", func() bool { return w.lookup(open).Counts.Completed == 2 })
		w.closeDataset(alice, "open")
		await.True(t, "final", func() bool { return w.lookup(open).Status == "done" })
	})
}

// quickSim makes each job run for 10 ms.
func quickSim() adaptertest.SimConfig { return adaptertest.SimConfig{Life: 10 * time.Millisecond} }

// writeList writes a list of n files.
func (w *world) writeList(name string, n int) {
	w.t.Helper()
	f, err := os.Create(filepath.Join(w.dir, name))
	w.must(err)
	out := bufio.NewWriter(f)
	for i := range n {
		fmt.Fprintf(out, "{\"lfn\": \"/data/with/a/name/that/is/not/so/short/%07d.root\", \"size\": 1000, \"events\": 10}\n",
			i)
	}
	w.must(errors.Join(out.Flush(), f.Close()))
}

// A list has more files than a dataset may have. No file is added, and the error says so. The list is never completely
// in memory.
func TestSource_AListWithTooManyFilesAddsNone(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // the daemon uses this value
	const most, lines = 100_000, 400_000
	inWorld(t, options{config: func(c *engineConfig) { c.MaxFiles = most }}, func(t *testing.T, w *world) {
		w.writeList("list.jsonl", lines)
		var before, peak runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		id := w.submit(alice, fileJob("", "name = \"raw\"\nfrom = \"list.jsonl\"\n"))
		w.final(time.Hour, id)
		runtime.GC()
		runtime.ReadMemStats(&peak)
		if l := w.lookup(id); l.Status != "broken" ||
			!strings.Contains(
				l.Message, "list.jsonl has more than the 100000 files that this site allows in a dataset (engine.max_files)") {
			t.Errorf("%+v", l)
		}
		if _, err := w.store.DatasetNamed(context.Background(), alice.UID, "raw"); jjm.KindOf(err) != jjm.Gone {
			t.Errorf("something of it was added: %v", err)
		}
		if grew := int64(peak.Sys) - int64(before.Sys); grew > 64<<20 {
			t.Errorf("it took %d MB of memory", grew>>20)
		}
	})
}

// The daemon stops or dies while it reads a long list. The next daemon continues with the list. Each file is added and
// processed once.
func TestSource_ALongListSurvivesStopAndDeath(t *testing.T) {
	t.Parallel()
	const lines, chunk = 2300, 500 // five transactions
	crash := &crasher{}
	inWorld(t, options{crash: crash, chunk: chunk}, func(t *testing.T, w *world) {
		w.writeList("list.jsonl", lines)
		crash.mu.Lock()
		crash.point, crash.nth = "dataset-add.after-commit", 2
		crash.mu.Unlock()
		id := w.submit(alice, fileJob("",
			"name = \"raw\"\nfrom = \"list.jsonl\"\n\n[split]\nby = \"FileBased\"\nparams = {files_per_job = 500}\n"))
		w.until(time.Hour, "it died", crash.isDead)
		adds := 0
		stopped := make(chan struct{})
		crash.mu.Lock()
		crash.on = func(point string) {
			if point == "dataset-add.after-commit" {
				if adds++; adds == 3 {
					w.stop() // the daemon stops while it prepares the grid job
					close(stopped)
				}
			}
		}
		crash.mu.Unlock()
		w.reopen()
		<-stopped
		w.reopen()
		w.final(2*time.Hour, id)
		w.verify(id, done(5))
		if d := w.dataset("raw"); d.Files != lines || d.Closed == 0 {
			t.Errorf("%+v", d)
		}
		if in := w.input(id); in.Finished != lines || in.EventsUsed != 10*lines {
			t.Errorf("%+v", in)
		}
	})
}
