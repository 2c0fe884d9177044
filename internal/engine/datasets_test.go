package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/handlers"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/work/split"
)

// fileType is a job type whose local jobs print the names of their files. A local job reads two files, unless the job
// file names a splitter.
type fileType struct{}

func (fileType) Type() string { return "filetest" }

func (fileType) Describe() handlers.Description {
	return handlers.Description{Result: jjm.ResultExit, Reads: true}
}

func (fileType) Check(*jjm.Spec, handlers.Site) jjm.Problems { return nil }

func (fileType) Split(spec *jjm.Spec, _ handlers.Site) (handlers.Cutting, error) {
	c := handlers.Cutting{Splitter: split.FileBased, Why: []string{"two files each"}}
	if spec.Split != nil {
		c.Splitter = spec.Split.By
	}
	p, err := split.Defaults(c.Splitter)
	if err != nil {
		return c, err
	}
	p.FilesPerJob = 2
	if spec.Split != nil {
		text, err := json.Marshal(spec.Split.Params)
		if err == nil {
			err = json.Unmarshal(text, &p)
		}
		if err != nil {
			return c, err
		}
	}
	c.Params = p
	return c, nil
}

func (fileType) Command(_ *jjm.Spec, l *jjm.LocalJob) (handlers.Command, error) {
	if l.Part.Input == nil {
		return handlers.Command{}, jjm.Errorf(jjm.Internal, "local job %s: its part says not what it reads", l.ID)
	}
	return handlers.Command{Argv: append([]string{"echo"}, l.Part.Input.Files...)}, nil
}

// inline returns the list of n files of 100 events each, for a dataset in a job file.
func inline(n int) string {
	var files []string
	for i := range n {
		files = append(files, fmt.Sprintf("{lfn = %q, events = 100, size = 1000, locations = [\"here\"]}", lfn(i)))
	}
	return "files = [" + strings.Join(files, ", ") + "]\n"
}

func lfn(i int) string { return fmt.Sprintf("f%04d", i) }

// fileJob returns a job file of type filetest that reads a dataset. more are further lines at the top of the job file.
func fileJob(more, dataset string) string {
	return "type = \"filetest\"\n" + more + "[[datasets]]\n" + dataset
}

// owners returns the local jobs that own a piece of each file of the master dataset now, by the LFN of the file.
func (w *world) owners(id jjm.GridID) map[string][]int32 {
	w.t.Helper()
	names := map[int64]string{}
	w.must(w.store.FileStatuses(context.Background(), id, 0, func(f store.FileStatus) error {
		names[f.File] = f.LFN
		return nil
	}))
	out := map[string][]int32{}
	w.must(w.store.Cover(context.Background(), id, 0, func(o store.Owned) error {
		if o.Released == 0 {
			out[names[o.File]] = append(out[names[o.File]], o.Local)
		}
		return nil
	}))
	return out
}

// input returns the counters of the master dataset, which is the dataset that the grid job splits into parts.
func (w *world) input(id jjm.GridID) jjm.InputCounts {
	w.t.Helper()
	all, err := w.store.Inputs(context.Background(), id)
	w.must(err)
	for _, in := range all {
		if in.Master {
			return in.Counts
		}
	}
	return jjm.InputCounts{}
}

func TestDatasets_InlineFilesAreProcessedOnceAndTheGridJobIsDone(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(7)))
		w.final(10*time.Minute, id)
		w.verify(id, done(4))
		owners := w.owners(id)
		for i := range 7 {
			if got, want := owners[lfn(i)], []int32{int32(i / 2)}; !slices.Equal(got, want) {
				t.Errorf("%s is owned by %v, want %v", lfn(i), got, want)
			}
		}
		if got, want := w.input(id), (jjm.InputCounts{Files: 7, ToBeUsed: 7, Used: 7, Finished: 7, Events: 700,
			EventsUsed: 700}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		w.verifyAfterReopening(id)
	})
}

// A file of a failed local job is processed by another local job, with new serial numbers, at most as often as the
// settings allow.
func TestDatasets_FailedLocalJobsGiveTheirFilesBack(t *testing.T) {
	t.Parallel()
	fails := func(most int32) func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
		return func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
			if id.N == 1 || id.N >= 4 && id.N < most {
				return adaptertest.Play{Keyword: "-", Exit: 3}
			}
			return adaptertest.Play{}
		}
	}
	t.Run("and it gets done", func(t *testing.T) {
		inWorld(t, options{play: fails(5)}, func(t *testing.T, w *world) {
			id := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(8)))
			w.final(20*time.Minute, id)
			w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: 6,
				states: map[int32]jjm.State{1: jjm.Failed, 4: jjm.Failed, 5: jjm.Completed}})
			if got := w.owners(id)["f0002"]; !slices.Equal(got, []int32{5}) {
				t.Errorf("f0002 is owned by %v, want its third local job", got)
			}
			locals := w.locals(id)
			if locals[1].Phase != jjm.GivenBack || locals[5].Part.Serial != 6 {
				t.Errorf("%+v %+v", locals[1], locals[5])
			}
		})
	})
	t.Run("and attempts run out", func(t *testing.T) {
		inWorld(t, options{play: fails(9)}, func(t *testing.T, w *world) {
			id := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(8)))
			w.final(20*time.Minute, id)
			w.verify(id, want{status: jjm.Finished, gram: jjm.GRAMDone, jobs: 6, states: map[int32]jjm.State{5: jjm.Failed}})
			const counts = "3 of 6 local jobs done, 1 failed (exit code 3), 2 given back"
			if got := w.lookup(id).Message; !strings.HasPrefix(got, counts) {
				t.Errorf("message %q, want %q", got, counts)
			}
			if got := w.input(id); got.Finished != 6 || got.Failed != 2 {
				t.Errorf("%+v", got)
			}
		})
	})
}

// FAILED in the log file of the application means no retry (R7).
func TestDatasets_AFailedLogEntryMeansNoRetry(t *testing.T) {
	t.Parallel()
	play := func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{Keyword: "FAILED", Data: "bad file"}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("result = \"glf\"\n", "name = \"raw\"\n"+inline(2)))
		w.final(20*time.Minute, id)
		w.verify(id, want{status: jjm.GridFailed, gram: jjm.GRAMFailed, jobs: 1})
	})
}

// A part that no job can process becomes a local job with the phase createfailed, which is never submitted. The local
// jobs of the other parts run.
func TestDatasets_PartsThatCannotRunAreCreateFailed(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		files := `files = [{lfn = "a", events = 90, lumis = [{run = 1, first = 1, last = 1}]}, {lfn = "b", events = 40, lumis = [{run = 1, first = 2, last = 5}]}]`
		how := "\n[split]\nby = \"EventAwareLumiBased\"\nparams = {events_per_job = 50, job_time_limit = 1000, performance = {timePerEvent = 12}}\n"
		id := w.submit(alice, fileJob("", "name = \"raw\"\n"+files+how))
		w.final(20*time.Minute, id)
		w.verify(id, want{status: jjm.Finished, gram: jjm.GRAMDone, jobs: 2,
			states: map[int32]jjm.State{0: jjm.Failed, 1: jjm.Completed}})
		l := w.locals(id)[0]
		if l.Phase != jjm.CreateFailed || !strings.Contains(l.Message, "99305") || l.Tag != "" {
			t.Errorf("%+v", l)
		}
	})
}

// An open dataset keeps its grid job alive until it is closed and completely processed (R12).
// Files that are added are processed.
func TestDatasets_AnOpenDatasetKeepsItsGridJobAlive(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("", "name = \"raw\"\nopen = true\n"+inline(4)))
		w.until(10*time.Minute, "two completed", func() bool { return w.lookup(id).Counts.Completed == 2 })
		w.pass(time.Hour)
		l := w.lookup(id)
		if l.Status != "running" || l.GRAM != jjm.GRAMActive || l.Master != "running" {
			t.Errorf("all that is there is done, and more may come: %+v", l)
		}
		w.reopen()
		w.pass(time.Minute)
		var files []jjm.File
		for i := range 6 { // two of these six files are already in the dataset
			files = append(files, jjm.File{LFN: lfn(i + 2), Events: 100})
		}
		got, err := w.engine.Dataset(context.Background(), alice,
			wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: files})
		w.must(err)
		if got.Added != 4 || len(got.Shown) != 1 || got.Shown[0].Files != 8 {
			t.Errorf("%+v", got)
		}
		w.until(10*time.Minute, "four completed", func() bool { return w.lookup(id).Counts.Completed == 4 })
		w.closeDataset(alice, "raw")
		w.final(10*time.Minute, id)
		w.verify(id, done(4))
	})
}

// Settings that the daemon does not support are refused, not ignored.
func TestDatasets_RefusesUnsupportedSettings(t *testing.T) {
	t.Parallel()
	raw := "name = \"raw\"\n"
	for text, field := range map[string]string{
		fileJob("", raw): "datasets[0].name",
		fileJob("", raw+inline(
			1)+"\n[split]\nby = \"WMBSMergeBySize\"\n"): "split.by",
		fileJob("", raw+"from = \"bad.jsonl\"\n"):  "datasets[0].from",
		fileJob("", raw+"from = \"none.jsonl\"\n"): "datasets[0].from",
		fileJob("", raw+inline(
			1)+"[[datasets]]\nname = \"b\"\n"): "datasets[1]",
		fileJob("", "secondary = true\n"+raw+
			inline(1)): "datasets",
		"type = \"script\"\n[[datasets]]\n" + raw + inline(1) +
			"[params]\ncommand = [\"true\"]\n": "datasets[0]",
		"type = \"script\"\n[split]\nby = \"FileBased\"\n[params]\ncommand = [\"true\"]\n": "split",
		fileJob("", raw+inline(
			5)+"\n[split]\nby = \"EventBased\"\nparams = {events_per_job = 1}\n"): "split",
		fileJob("", raw+inline(
			1)+"\n[split]\nby = \"FileBased\"\nparams = {files_per_job = 1, siteWhitelist = [\"here\"]}"): "split.params.siteWhitelist[0]",
		fileJob("", raw+inline(1)+"\n[split]\nby = \"NoSuch\"\n"):                                             "split",
		fileJob("", raw+"files = [{lfn = \"a\"}]\n[split]\nby = \"FileBased\"\nparams = {files_per_job = 0}"): "split",
	} {
		inWorld(t, options{config: func(c *engineConfig) { c.MaxLocalJobs = 100 }}, func(t *testing.T, w *world) {
			w.must(os.WriteFile(filepath.Join(w.dir, "bad.jsonl"), []byte("{\"lfm\": \"a\"}\n"), 0o644))
			_, err := w.engine.Submit(context.Background(), alice, wire.Submit{Name: "j.toml", Text: text, BaseDir: w.dir})
			var ps jjm.Problems
			if !errors.As(err, &ps) || len(ps) == 0 || ps[0].Field != field {
				t.Errorf("%s\n%v", text, err)
			}
		})
	}
}

// A job file that lists files closes their dataset. If the dataset was left open by others, the job file is refused.
func TestDatasets_AJobFileDoesNotCloseAnOpenDataset(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		closing := fileJob("", "name = \"raw\"\n"+inline(4))
		open := w.submit(alice, fileJob("", "name = \"raw\"\nopen = true\n"+inline(2)))
		w.until(time.Hour, "it is done", func() bool { return w.lookup(open).Counts.Completed == 1 })
		w.pass(time.Hour)
		if l := w.lookup(open); l.Status != "running" {
			t.Errorf("the dataset was closed: %+v", l)
		}
		var ps jjm.Problems
		if _, err := w.trySubmit(alice, "", closing); !errors.As(err, &ps) || ps[0].Field != "datasets[0].open" ||
			!strings.Contains(ps[0].Text, "grid job "+open.String()) {
			t.Errorf("%v", err)
		}
		if _, err := w.trySubmit(bob, "", closing); err != nil {
			t.Errorf("bob has datasets of his own: %v", err)
		}
		w.closeDataset(alice, "raw")
		w.final(time.Hour, open)
		w.final(time.Hour, w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(2)))) // the same files again
		_, err := w.engine.Dataset(context.Background(), alice,
			wire.Dataset{Do: wire.DatasetAdd, Name: "mine", Files: []jjm.File{{LFN: "a"}}})
		w.must(err)
		if _, err := w.trySubmit(alice, "", fileJob("", "name = \"mine\"\n"+inline(1))); err == nil ||
			!strings.Contains(err.Error(), "alice left dataset mine open") {
			t.Errorf("a dataset that a person opened: %v", err)
		}
		w.final(time.Hour, w.submit(alice, fileJob("", "name = \"twice\"\n"+inline(3))),
			w.submit(alice, fileJob("", "name = \"twice\"\n"+inline(3))))
	})
}

// A grid job with the splitter SiblingProcessingBased processes a file only after the other grid jobs that read the
// file have processed it. It leaves out files whose processing failed in another grid job.
func TestDatasets_ASiblingFollowsTheOthers(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Grid == 1 && id.N == 1 {
			return adaptertest.Play{Keyword: "-", Exit: 3, Life: 2 * time.Hour}
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{play: play, config: func(c *engineConfig) { c.MaxAttempts = 1 }}, func(t *testing.T, w *world) {
		first := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(6)))
		w.until(time.Hour, "cut", func() bool { return w.lookup(first).Counts.Total == 3 })
		second := w.submit(alice, fileJob("",
			"name = \"raw\"\n\n[split]\nby = \"SiblingProcessingBased\"\nparams = {files_per_job = 2}\n"))
		w.until(time.Hour, "the first two parts are followed", func() bool { return w.lookup(second).Counts.Completed == 2 })
		w.pass(10 * time.Minute)
		if l := w.lookup(second); l.Status != "running" || l.Counts.Total != 2 {
			t.Errorf("one part of the first still runs: %+v", l)
		}
		w.final(12*time.Hour, first, second)
		in := w.input(second)
		if l := w.lookup(second); l.Status != "finished" || !strings.Contains(l.Message, "left out: 2 files (sibling)") ||
			in.Files != 6 || in.ToBeUsed != 4 || in.Finished != 4 {
			t.Errorf("%+v %+v", l, in)
		}
	})
}

func (w *world) closeDataset(c wire.Caller, name string) {
	w.t.Helper()
	_, err := w.engine.Dataset(context.Background(), c, wire.Dataset{Do: wire.DatasetClose, Name: name})
	w.must(err)
}

func TestDatasets_BelongToTheirOwnerAndAdministrators(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		do := func(c wire.Caller, d wire.Dataset) (wire.Datasets, error) {
			return w.engine.Dataset(context.Background(), c, d)
		}
		add := wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: []jjm.File{{LFN: "a", Events: 3}}}
		_, err := do(alice, add)
		w.must(err)
		_, err = do(bob, add) // this is bob's own dataset with the same name
		w.must(err)
		others := add
		others.UID = &alice.UID
		if _, err := do(bob, others); jjm.KindOf(err) != jjm.Denied {
			t.Errorf("bob adds to alice's: %v", err)
		}
		if _, err := do(bob, wire.Dataset{Do: wire.DatasetClose, Name: "none"}); jjm.KindOf(err) != jjm.Gone {
			t.Errorf("an unknown one is closed: %v", err)
		}
		w.closeDataset(alice, "raw")
		if _, err := do(alice, wire.Dataset{Do: wire.DatasetAdd, Name: "raw",
			Files: []jjm.File{{LFN: "b"}}}); jjm.KindOf(err) != jjm.Conflict {
			t.Errorf("added to a closed one: %v", err)
		}
		for who, want := range map[string]int{"bob": 1, "admin": 2} {
			c := map[string]wire.Caller{"bob": bob, "admin": admin}[who]
			got, err := do(c, wire.Dataset{Do: wire.DatasetShow})
			if err != nil || len(got.Shown) != want {
				t.Errorf("%s sees %+v, want %d; %v", who, got.Shown, want, err)
			}
		}
		id := w.submit(alice, fileJob("", "name = \"raw\"\n"))
		w.until(time.Hour, "done", func() bool { return w.lookup(id).Status == "done" })
		got, err := do(alice, wire.Dataset{Do: wire.DatasetShow, Name: "raw"})
		if err != nil || len(got.Shown) != 1 || got.Shown[0].Closed == 0 || got.Shown[0].Events != 3 {
			t.Errorf("%+v %v", got, err)
		}
		if got, err := w.engine.Record(context.Background(), alice, id, "/gridjob/inputs/dataset/@finished"); err != nil ||
			!slices.Equal(got, []string{"1"}) {
			t.Errorf("the record says %q; %v", got, err)
		}
		if in := w.status(id).Inputs; len(in) != 1 || in[0].Dataset != "raw" || in[0].Counts.Finished != 1 || in[0].Open {
			t.Errorf("status shows %+v", in)
		}
	})
}

// The answer to an action about one dataset shows this dataset only, even if a container has the same name. Only "show"
// shows the datasets in the container too.
func TestDatasets_AnActionShowsOnlyItsDataset(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		files := []jjm.File{{LFN: "a"}}
		for _, d := range []struct {
			wire.Dataset
			want []string
		}{
			{wire.Dataset{Do: wire.DatasetAdd, Name: "x", Container: "raw", Files: files}, []string{"x"}},
			{wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: files}, []string{"raw"}},
			{wire.Dataset{Do: wire.DatasetFiles, Name: "raw"}, []string{"raw"}},
			{wire.Dataset{Do: wire.DatasetMark, Name: "raw", LFNs: []string{"a"}, State: "lost", Reason: "gone"},
				[]string{"raw"}},
			{wire.Dataset{Do: wire.DatasetClose, Name: "raw"}, []string{"raw"}},
			{wire.Dataset{Do: wire.DatasetShow, Name: "raw"}, []string{"raw", "x"}},
		} {
			got, err := w.engine.Dataset(t.Context(), alice, d.Dataset)
			w.must(err)
			var names []string
			for _, one := range got.Shown {
				names = append(names, one.Name)
			}
			if !slices.Equal(names, d.want) {
				t.Errorf("%s shows %q, want %q", d.Do, names, d.want)
			}
			if closed := got.Shown[0].Closed != 0; d.Do == wire.DatasetClose && !closed {
				t.Error("the answer to close shows an open dataset")
			}
		}
	})
}

// The outputs of completed local jobs enter the output dataset, together with the names of the files from which they
// were made. The outputs of failed local jobs do not. The dataset is closed when the grid job ends.
func TestDatasets_OutputsEnterADataset(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.N == 1 {
			return adaptertest.Play{Keyword: "-", Exit: 1}
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		text := fileJob("output_dataset = \"reco\"\n", "name = \"raw\"\n"+inline(4))
		id := w.submit(alice, text)
		second := w.submit(alice, fileJob("", "name = \"reco\"\n")) // this grid job begins while the first one runs
		_, err := w.engine.Dataset(t.Context(), alice,
			wire.Dataset{Do: wire.DatasetAdd, Name: "reco", Files: []jjm.File{{LFN: "a stray one"}}})
		if jjm.KindOf(err) != jjm.Conflict || !strings.Contains(err.Error(), "grid job "+id.String()+" fills it") {
			t.Errorf("a file that is no output: %v", err)
		}
		w.final(20*time.Minute, id, second)
		w.verify(id, done(3))
		var got []jjm.File
		d, err := w.store.DatasetNamed(context.Background(), alice.UID, "reco")
		w.must(err)
		w.must(w.store.Files(context.Background(), d.ID, 0, 0, func(_ int64, f jjm.File) error {
			got = append(got, f)
			return nil
		}))
		if len(got) != 2 || d.Closed == 0 {
			t.Fatalf("%+v %+v", d, got)
		}
		for i, f := range got {
			want := []string{lfn(2 * i), lfn(2*i + 1)}
			if !slices.Equal(f.Parents, want) || f.Size == 0 || !strings.HasPrefix(f.Checksum, "sha256:") {
				t.Errorf("%+v, want parents %v", f, want)
			}
		}
		if in := w.input(second); in.Finished != 2 || w.lookup(second).Status != "done" {
			t.Errorf("the second grid job: %+v %+v", in, w.lookup(second))
		}
		if _, err := w.trySubmit(alice, "", text); err == nil || !strings.Contains(err.Error(), "already") {
			t.Errorf("the same output dataset again: %v", err)
		}
	})
}
