package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

const mergeTwo = "[merge]\nconcat = true\noutput = \"out.dat\"\nfiles = 2\n"

// Outputs are merged while other local jobs still run, and each output is merged once. A local job completes when its
// output is merged.
func TestMerge_LocalJobsCompleteWhenTheirOutputsAreMerged(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(8)+mergeTwo))
		w.final(time.Hour, id)
		w.verify(id, done(6))
		locals := w.locals(id)
		if locals[4].Step != jjm.StepMerge || locals[5].Step != jjm.StepMerge || locals[0].State != jjm.Completed {
			t.Errorf("%+v", locals)
		}
	})
}

// A failed merge is tried again. If it fails permanently, its inputs are processed again.
func TestMerge_AFailedMergeIsRetriedThenGivenBack(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.N >= 4 && id.N <= 6 {
			return adaptertest.Play{Keyword: "-", Exit: 3}
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(8)+mergeTwo))
		w.final(6*time.Hour, id)
		w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: -1})
		if v := w.proof(id, ""); v.Merge == nil || !v.Merge.Whole() || v.Merge.Files != 4 {
			t.Errorf("%+v", v.Merge)
		}
	})
}

// Outputs of a job type that generates events are merged like outputs made from files. A restart loses none of them.
func TestMerge_EventsThroughARestart(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(7)+mergeTwo)
		w.until(time.Hour, "one waits for merging", func() bool { return w.lookup(id).Counts.Completing > 0 })
		w.reopen()
		w.final(time.Hour, id)
		w.verify(id, done(11))
		if v := w.proof(id, ""); v.Merge == nil || v.Merge.Files != 7 || !v.Merge.Whole() {
			t.Errorf("%+v", v.Merge)
		}
	})
}

// The limits of the splitter JEDIMerge also hold after a restart and after a merge that fails permanently. A merge with
// too few outputs waits for the outputs that are made again.
func TestMerge_ByJEDIsLimits(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.N == 7 {
			return adaptertest.Play{Keyword: "-", Exit: 3}
		}
		return adaptertest.Play{}
	}
	const three = "[merge]\nconcat = true\noutput = \"out.dat\"\nattempts = 1\n" +
		"split = {by = \"JEDIMerge\", params = {files_per_job = 3}}\n"
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(14)+three))
		w.until(time.Hour, "one waits for merging", func() bool { return w.lookup(id).Counts.Completing > 0 })
		w.reopen()
		w.final(6*time.Hour, id)
		w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: -1})
		merges := 0
		for _, l := range w.locals(id) {
			if l.Step == jjm.StepMerge && l.State == jjm.Completed {
				merges++
			}
		}
		if v := w.proof(id, ""); merges != 3 || v.Merge == nil || !v.Merge.Whole() || v.Merge.Files != 7 ||
			v.Merge.Dropped != 3 || !v.Whole() {
			t.Errorf("%d merges; %+v %+v", merges, v.Report, v.Merge)
		}
	})
}

func TestMerge_KillEndsBothSteps(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("", "name = \"raw\"\nopen = true\n"+inline(6)+mergeTwo))
		w.until(time.Hour, "one waits for merging", func() bool {
			for _, l := range w.locals(id) {
				if l.IsMerging() {
					return true
				}
			}
			return false
		})
		w.kill(id.String())
		w.final(time.Hour, id)
		if l := w.lookup(id); l.Status != "aborted" {
			t.Errorf("%+v", l)
		}
	})
}

// A merge fails in its last attempt. New local jobs process the files of the merge's inputs again, and the new outputs
// are merged.
func TestMerge_InputsOfAFailedMergeAreMadeAgain(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.N == 4 {
			return adaptertest.Play{Keyword: "-", Exit: 3}
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(8)+mergeTwo+"attempts = 1\n"))
		w.final(6*time.Hour, id)
		w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: -1})
		again := 0
		for _, l := range w.locals(id) {
			if l.Step == jjm.StepWork && l.Phase == jjm.GivenBack {
				again++
			}
		}
		if v := w.proof(id, ""); again != 2 || v.Merge == nil || !v.Merge.Whole() || v.Merge.Files != 4 ||
			v.Merge.Dropped != 2 || !v.Whole() {
			t.Errorf("%d were made again; %+v %+v", again, v.Report, v.Merge)
		}
	})
}

// A merge reads its inputs from the work area. It is refused on clusters whose workers do not see the work area.
func TestMerge_IsRefusedWhereWorkersDoNotSeeTheWorkArea(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{NoSharedFS: true, TwoPhase: true}}, func(t *testing.T, w *world) {
		_, err := w.trySubmit(alice, "", fileJob("", "name = \"raw\"\n"+inline(8)+mergeTwo))
		if err == nil || !strings.Contains(err.Error(), "merge: workers of cluster") {
			t.Errorf("error %v, want a problem of merge", err)
		}
	})
}

// A dry run reports what is known about the merges.
func TestMerge_ADryRunShowsIt(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		for _, c := range []struct{ text, want string }{
			{mc(7, "result = \"exit\"", "outputs = [\"out.dat\"]"), "their 7 outputs make up to 7 merges, and at least 4"},
			{fileJob("outputs = [\"out.dat\"]\n", "name = \"raw\"\nopen = true\n"+inline(8)),
				"their 4 outputs so far make up to 4 merges, and more come"},
			{fileJob("outputs = [\"out.*\"]\n", "name = \"raw\"\n"+inline(8)), "known once the outputs are"},
			{fileJob("outputs = [\"out.dat\"]\n", "name = \"raw\"\n"+inline(8)),
				"their 4 outputs make up to 4 merges, and at least 2"},
			{fileJob("outputs = [\"out.dat\"]\n",
				"name = \"raw\"\n"+inline(8)+"[split]\nby = \"FileBased\"\nparams = {performance = {sizePerEvent = 5}}\n"),
				"their 4 outputs make up to 4 merges, and at least 2: at most 2 files and 5000000000 bytes go into one; about 2 if"},
		} {
			got, err := w.engine.Submit(context.Background(), alice,
				wire.Submit{Name: "j.toml", Text: c.text + mergeTwo, BaseDir: w.dir, DryRun: true})
			if err != nil || got.Plan.Merge == nil || !strings.Contains(got.Plan.Merge.Text, c.want) {
				t.Errorf("%v %+v\nwant %q of\n%s", err, got.Plan, c.want, c.text)
			}
		}
	})
}
