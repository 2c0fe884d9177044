package engine_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// numbers are two output templates, whose file names contain the serial number of the local job: one for the output of
// the simulated application, one for a log.
const numbers = `
[[output_templates]]
name = "EVNT.${SN}.dat"
stream = "EVNT"
source = "out.dat"
[[output_templates]]
name = "log.${SN:3}.tgz"
log = true
`

// atOnce sets the back-off to 0, so that attempts follow one another without a pause.
func atOnce(c *engineConfig) { c.Backoff = 0 }

// filesIn returns the names of the files of alice's dataset.
func (w *world) filesIn(name string) (lfns []string) {
	w.t.Helper()
	d, err := w.store.DatasetNamed(context.Background(), alice.UID, name)
	w.must(err)
	w.must(w.store.Files(context.Background(), d.ID, 0, 0, func(_ int64, f jjm.File) error {
		lfns = append(lfns, f.LFN)
		return nil
	}))
	slices.Sort(lfns)
	return lfns
}

// inTar returns the names in the tar of a grid job that contain a text, without their folder.
func (w *world) inTar(id jjm.GridID, text string) (names []string) {
	w.t.Helper()
	files, err := tarFiles(w.tarBytes(id))
	w.must(err)
	for name := range files {
		if _, name, _ = strings.Cut(name, "/"); strings.Contains(name, text) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// verifyNumbers checks the serial numbers of a grid job with the output templates numbers: they are dense and
// ascending, each occurs once, and all file names that jjm passes on contain them.
func (w *world) verifyNumbers(id jjm.GridID) {
	w.t.Helper()
	want, logs := []string{}, []string{}
	for i, l := range w.locals(id) {
		if n := int64(i) + 1; !slices.Equal(l.Part.Serials, []int64{n, n}) {
			w.t.Errorf("local job %s has the numbers %v, want %d", l.ID, l.Part.Serials, n)
		}
		if l.State == jjm.Completed {
			want = append(want, fmt.Sprintf("EVNT.%06d.dat", i+1))
		}
		logs = append(logs, fmt.Sprintf("log.%03d.tgz", i+1))
	}
	if got := w.inTar(id, "EVNT."); !slices.Equal(got, want) {
		w.t.Errorf("the tar of grid job %s has %v, want %v", id, got, want)
	}
	if got := w.inTar(id, "log."); !slices.Equal(got, logs) {
		w.t.Errorf("the tar of grid job %s has %v, want %v", id, got, logs)
	}
	job, err := w.store.Grid(context.Background(), id)
	w.must(err)
	if name := job.Spec.OutputDataset; name != "" && !slices.Equal(w.filesIn(name), want) {
		w.t.Errorf("dataset %s has %v, want %v", name, w.filesIn(name), want)
	}
}

// scriptOf returns the script of a local job.
func (w *world) scriptOf(id jjm.GridID, n int32) string {
	w.t.Helper()
	f, _, err := w.engine.Cat(context.Background(), alice, jjm.Ref{Grid: id, Locals: true, First: n, Last: n},
		wire.CatFile{File: "script"})
	w.must(err)
	defer f.Close()
	text, err := io.ReadAll(f)
	w.must(err)
	return string(text)
}

// Outputs have the names of their templates in the tar and in the dataset. A successor of a local job has the next
// serial number; a retry has the same number.
func TestSerials_OutputsAreCollectedUnderTheirNames(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, job adaptertest.SimJob) adaptertest.Play {
		if id.N == 1 && id.Attempt == 0 {
			return adaptertest.Play{Keyword: "RETRY", Data: "again"}
		}
		return failsOnce(id, job)
	}
	inWorld(t, options{play: play, config: atOnce}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("output_dataset = \"reco\"\n", "name = \"raw\"\n"+inline(6)+numbers))
		w.until(time.Hour, "one is completed", func() bool { return w.lookup(id).Counts.Completed >= 1 })
		w.reopen()
		w.final(6*time.Hour, id)
		w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: 5})
		w.verifyNumbers(id)
		if got := w.filesIn("reco"); !slices.Equal(got, []string{"EVNT.000002.dat", "EVNT.000004.dat", "EVNT.000005.dat"}) {
			t.Errorf("reco has %v", got)
		}
	})
}

// If max_serial allows fewer serial numbers than there are local jobs, the submission is refused, provided that the
// number of local jobs is known.
func TestSerials_TooFewNumbersAreRefused(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		text := plain(4) + strings.Replace(numbers, "source", "max_serial = 3\nsource", 1)
		_, err := w.trySubmit(alice, "", text)
		if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "output_templates[0].max_serial: 3 is less than the "+
			"4 that the last of 4 local jobs would get: set it higher") {
			t.Error(err)
		}
		id := w.submit(alice, strings.Replace(text, "max_serial = 3", "max_serial = 4", 1))
		w.final(time.Hour, id)
		w.verify(id, done(4))
		w.verifyNumbers(id)
	})
}

// More files arrive than there are serial numbers. Local jobs are made while numbers are left; then the grid job ends,
// and its message has the reason.
func TestSerials_AfterTheLargestIsAnError(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		text := fileJob("", "name = \"raw\"\nopen = true\n"+inline(4)+numbers)
		id := w.submit(alice, strings.Replace(text, "source", "max_serial = 3\nsource", 1))
		w.until(time.Hour, "two are completed", func() bool { return w.lookup(id).Counts.Completed == 2 })
		w.must(addFiles("raw", 4, 8)(&stage{world: w}))
		w.final(time.Hour, id)
		const says = "output_templates[0].max_serial: the numbers of EVNT.${SN}.dat end with 3, and a local job is left over"
		if l := w.lookup(id); l.Status != "finished" || l.Counts.Completed != 3 || !strings.Contains(l.Message, says) {
			t.Errorf("%+v", l)
		}
		w.verifyNumbers(id)
	})
}

// A failed local job gets no successor if no serial number is left, and its message has the reason.
func TestSerials_NoSuccessorWithoutANumber(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: failsOnce, config: atOnce}, func(t *testing.T, w *world) {
		text := fileJob("", "name = \"raw\"\n"+inline(6)+numbers)
		id := w.submit(alice, strings.Replace(text, "source", "max_serial = 4\nsource", 1))
		w.final(6*time.Hour, id)
		locals := w.locals(id)
		const says = "its work is not done again: output_templates[0].max_serial: the numbers of EVNT.${SN}.dat end with 4"
		failed := slices.DeleteFunc(slices.Clone(locals), func(l jjm.LocalJob) bool {
			return !strings.Contains(l.Message, says)
		})
		if len(locals) != 4 || len(failed) != 1 || failed[0].State != jjm.Failed || w.lookup(id).Status != "finished" {
			t.Errorf("%+v", locals)
		}
		w.verifyNumbers(id)
	})
}

// A sequence dataset contains numbers instead of files: each local job takes the next number, and its successor takes
// the same number.
func TestSerials_ASequenceNeedsNoFiles(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: failsOnce, config: atOnce}, func(t *testing.T, w *world) {
		text := "type = \"reprocess\"\n[[datasets]]\nname = \"raw\"\nstream = \"IN\"\n" + inline(6) +
			"[[datasets]]\nname = \"pileup\"\nsecondary = true\nstream = \"MB\"\nattributes = \"np=2\"\nfiles = [{lfn = \"p0\"}, " +
			"{lfn = \"p1\"}, {lfn = \"p2\"}, {lfn = \"p3\"}, {lfn = \"p4\"}, {lfn = \"p5\"}]\n" +
			"[[datasets]]\nname = \"seq_number\"\nsecondary = true\nstream = \"SEQ\"\n" + numbers +
			"[split]\nby = \"JEDI\"\nparams = {task = {rule = \"NF=2\"}}\n" +
			"[params]\ncommand = [\"reco\", \"${IN}\", \"--mb=${MB}\", \"{MB}\", \"--seq=${SEQNUMBER},{SEQ}\", \"${EVNT}\"]\n"
		dry, err := w.engine.Submit(context.Background(), alice, wire.Submit{Name: "j.toml", Text: text, BaseDir: w.dir,
			DryRun: true})
		w.must(err)
		want := [][]string{{"reco", "f0000", "f0001", "--mb=p0,p1", "p0", "p1", "--seq=1,1", "EVNT.000001.dat"},
			{"reco", "f0002", "f0003", "--mb=p2,p3", "p2", "p3", "--seq=2,2", "EVNT.000002.dat"},
			{"reco", "f0004", "f0005", "--mb=p4,p5", "p4", "p5", "--seq=3,3", "EVNT.000003.dat"}}
		if !slices.EqualFunc(dry.Plan.Commands, want, slices.Equal) {
			t.Errorf("a dry run: %q", dry.Plan.Commands)
		}
		id := w.submit(alice, text)
		w.final(6*time.Hour, id)
		w.verifyNumbers(id)
		for n, words := range want {
			if got := w.scriptOf(id, int32(n)); !strings.Contains(got, strings.Join(words, " ")) {
				t.Errorf("local job %d is given %q, want %q", n, got, words)
			}
		}
		locals := w.locals(id)
		if len(locals) != 5 || w.lookup(id).Status != "done" {
			t.Fatalf("%+v", locals)
		}
		for n := int32(3); n < 5; n++ { // local jobs 3 and 4 do the work of local jobs 0 and 2
			inputs, err := w.store.PartInputs(context.Background(), id, []int32{n})
			w.must(err)
			before := want[inputs[n].Origin.Local]
			got := w.scriptOf(id, n)
			if !strings.Contains(got, strings.Join(before[:len(before)-1], " ")) ||
				!strings.Contains(got, fmt.Sprintf("EVNT.%06d.dat", n+1)) {
				t.Errorf("local job %d does the work of %v: %q", n, before, got)
			}
		}
	})
}

// A local job failed permanently. The next local job takes its random seed.
func TestSerials_TheSeedOfAFailedLocalJobIsFree(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.N == 0 {
			return adaptertest.Play{Keyword: "FAILED", Data: "no such event"}
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{play: play, config: atOnce}, func(t *testing.T, w *world) {
		id := w.submit(alice, "type = \"reprocess\"\n[[datasets]]\nname = \"raw\"\nopen = true\n"+inline(4)+
			"[split]\nby = \"JEDI\"\nparams = {chunks_to_wait = 1, random_seed = true, random_seed_offset = 100, task = {rule = \"NF=2\"}}\n"+
			"[params]\ncommand = [\"reco\", \"${RNDMSEED}\", \"{files}\"]\n")
		w.until(time.Hour, "both are over", func() bool {
			c := w.lookup(id).Counts
			return c.Completed == 1 && c.Failed == 1
		})
		w.must(addFiles("raw", 4, 8)(&stage{world: w}))
		w.closeDataset(alice, "raw")
		w.final(time.Hour, id)
		var seeds []string
		for n := range int32(4) {
			_, words, _ := strings.Cut(w.scriptOf(id, n), "reco ")
			seed, _, _ := strings.Cut(words, " ")
			seeds = append(seeds, seed)
		}
		if !slices.Equal(seeds, []string{"101", "102", "101", "103"}) {
			t.Errorf("the seeds are %v", seeds)
		}
	})
}

// Merged files are named by their template, and the local jobs of the merge keep their logs.
func TestSerials_MergedFilesHaveNamesToo(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		merge := strings.Replace(mergeTwo, "out.dat", "AOD.${SN}.root", 1)
		play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
			if id.N >= 4 {
				return adaptertest.Play{Data: fmt.Sprintf("AOD.%06d.root", id.N-3), Keyword: "SUCCEEDED"}
			}
			return adaptertest.Play{}
		}
		w.play = play
		id := w.submit(alice, fileJob("output_dataset = \"reco\"\n", "name = \"raw\"\n"+inline(8)+merge+numbers))
		w.final(time.Hour, id)
		want := []string{"AOD.000001.root", "AOD.000002.root"}
		if got := w.inTar(id, "AOD"); !slices.Equal(got, want) {
			t.Errorf("the tar has %v", got)
		}
		if got := w.filesIn("reco"); !slices.Equal(got, want) {
			t.Errorf("reco has %v", got)
		}
		if got := w.inTar(id, "EVNT"); got != nil {
			t.Errorf("%v are in the tar, and merged too", got)
		}
		if got := w.inTar(id, "log."); len(got) != 4 {
			t.Errorf("the logs in the tar are %v", got)
		}
		if l := w.locals(id); w.lookup(id).Status != "done" || !slices.Equal(l[5].Part.Serials, []int64{2}) {
			t.Errorf("%+v", l)
		}
	})
}

// Outputs are retracted by the names of their templates. The datasets that contain these outputs show them as lost.
func TestSerials_ALostOutputIsNamed(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{Life: time.Duration(1+10*(id.N%2)) * time.Minute}
	}
	inWorld(t, options{play: play, config: atOnce}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("output_dataset = \"reco\"\n", "name = \"raw\"\n"+inline(4)+numbers))
		w.until(time.Hour, "one is completed", func() bool { return w.lookup(id).Counts.Completed == 1 })
		if _, err := w.retract(alice, id, false, "", "EVNT.000009.dat"); jjm.KindOf(err) != jjm.Gone {
			t.Errorf("a number that nobody has: %v", err)
		}
		got, err := w.retract(alice, id, false, "", "EVNT.000001.dat")
		w.must(err)
		if len(got.Locals) != 1 || got.Locals[0].Local != "1.0" || got.Locals[0].Next != "1.2" ||
			!slices.Equal(got.Lost, []string{"EVNT.000001.dat"}) {
			t.Errorf("%+v", got)
		}
		w.final(4*time.Hour, id)
		if got := w.filesIn("reco"); !slices.Equal(got, []string{"EVNT.000001.dat", "EVNT.000002.dat", "EVNT.000003.dat"}) {
			t.Errorf("reco has %v", got)
		}
		d, err := w.store.DatasetNamed(context.Background(), alice.UID, "reco")
		w.must(err)
		marks, err := w.store.Marks(context.Background(), d.ID)
		w.must(err)
		if len(marks) != 1 || marks[0] != jjm.FileLost {
			t.Errorf("marks %v", marks)
		}
	})
}

// Seeds and sequence numbers of a recovery continue after those of its grid job, even if they are drawn from a pool.
func TestSerials_ARecoveryDrawsOtherNumbers(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, "type = \"reprocess\"\nfirst_serial = 51\n[[datasets]]\nname = \"raw\"\n"+inline(4)+
			"[[datasets]]\nname = \"seq_number\"\nsecondary = true\n"+numbers+
			"[split]\nby = \"JEDI\"\nparams = {random_seed = true, task = {rule = \"NF=2\"}}\n"+
			"[params]\ncommand = [\"reco\", \"{serial}\", \"${RNDMSEED}\", \"${SEQNUMBER}\", \"${EVNT}\"]\n")
		w.final(time.Hour, id)
		for n := range int32(2) {
			want := fmt.Sprintf("reco %d %[1]d %[1]d EVNT.%06[1]d.dat\n", 51+n)
			if got := w.scriptOf(id, n); !strings.HasSuffix(got, want) {
				t.Errorf("local job %d is given %q, want %q", n, got, want)
			}
		}
	})
}
