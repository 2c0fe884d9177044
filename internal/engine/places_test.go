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
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/work/cover"
)

// reads holds, by cluster, the storages that the cluster can read. The place of a local job is the set of clusters that
// can read its files.
var reads = map[string][]string{"sim": {"a"}, "bee": {"b"}, "both": {"a", "b"}}

// reading adds the clusters of reads to the options of a world.
func reading(o options) options {
	o.more = []adaptertest.SimConfig{{Name: "bee", Slots: o.sim.Slots, Life: o.sim.Life},
		{Name: "both", Slots: o.sim.Slots, Life: o.sim.Life}}
	o.configs = map[string]engine.ClusterConfig{}
	for name, storages := range reads {
		o.configs[name] = engine.ClusterConfig{Storages: storages}
	}
	return o
}

// at returns a list of n files at each of some sets of storages: "ab" means at a and at b, "-" means no location. The
// name of each file begins with "f" and its set.
func at(n int, sets ...string) string {
	var files []string
	for _, set := range sets {
		var where []string
		for _, c := range strings.Trim(set, "-") {
			where = append(where, fmt.Sprintf("%q", string(c)))
		}
		for i := range n {
			files = append(files, fmt.Sprintf(
				"{lfn = \"f%s%04d\", events = 100, size = 1000, locations = [%s], lumis = [{run = 1, first = %d, last = %d}]}",
				set, i, strings.Join(where, ", "), len(files)*10, len(files)*10+9))
		}
	}
	return "files = [" + strings.Join(files, ", ") + "]\n"
}

// readable reports whether a cluster can read a file by its name.
func readable(cluster, lfn string) bool {
	return slices.ContainsFunc(reads[cluster], func(s string) bool {
		return strings.Contains(strings.TrimRight(lfn[1:], "0123456789"), s)
	})
}

// inputsOf returns the inputs of the parts of a grid job's local jobs.
func (w *world) inputsOf(id jjm.GridID) map[int32]*jjm.PartInput {
	w.t.Helper()
	var numbers []int32
	for _, l := range w.locals(id) {
		numbers = append(numbers, l.ID.N)
	}
	inputs, err := w.store.PartInputs(context.Background(), id, numbers)
	w.must(err)
	out := map[int32]*jjm.PartInput{}
	for n, in := range inputs {
		out[n] = in.Input
	}
	return out
}

// verifyPlaces requires that every attempt ran on a cluster that can read its files.
func (w *world) verifyPlaces(ids ...jjm.GridID) {
	w.t.Helper()
	for _, id := range ids {
		inputs := w.inputsOf(id)
		for _, a := range w.adapters() {
			for attempt := range a.Runs() {
				if attempt.Grid != id {
					continue
				}
				for _, lfn := range inputs[attempt.N].Files {
					if !readable(a.Name(), lfn) {
						w.t.Errorf("attempt %s#%d ran on %s, which cannot read %s", attempt.LocalID, attempt.Attempt, a.Name(), lfn)
					}
				}
			}
		}
	}
}

// Each local job goes to a cluster that can read its files. A local job whose files no cluster can read fails with an
// error code and a report, and the recovery includes its work.
func TestPlaces_LocalJobsGoWhereTheirFilesAre(t *testing.T) {
	t.Parallel()
	inWorld(t, reading(options{sim: slots(2)}), func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("clusters = \"any\"\n", "name = \"raw\"\n"+at(12, "a", "b", "ab")))
		other := w.submit(alice, fileJob("clusters = \"any\"\n", "name = \"tape\"\n"+at(2, "a", "x", "-")+
			"[split]\nby = \"LumiBased\"\nparams = {lumis_per_job = 5, performance = {timePerEvent = 2}}\n"))
		w.final(time.Hour, id, other)
		w.verify(id, done(18))
		w.verifyPlaces(id, other)
		if n := w.on(id); n["sim"] < 3 || n["bee"] < 3 || n["both"] < 2 {
			t.Errorf("spread over %v", n)
		}
		nowhere := map[int32]jjm.State{4: jjm.Failed, 5: jjm.Failed, 6: jjm.Failed, 7: jjm.Failed, 8: jjm.Failed,
			11: jjm.Failed, 0: jjm.Completed, 3: jjm.Completed}
		w.verify(other, want{status: jjm.Finished, gram: jjm.GRAMDone, jobs: 12, states: nowhere})
		l := w.locals(other)[4]
		if l.Phase != jjm.CreateFailed || l.Exit != 71101 || l.Tag != "" ||
			!strings.Contains(l.Message, "none that can read from x") || !strings.Contains(l.Message, "71101") {
			t.Errorf("%+v", l)
		}
		w.verifyReport(other, 4)
		v := w.proof(other, "r.json")
		if v.Verdict != cover.Gap || v.Missing != 40 || len(v.Findings) == 0 || v.Findings[0].LFN != "fx0000" ||
			v.Findings[0].Run != 1 || v.Findings[0].First != 20 {
			t.Errorf("%+v", v)
		}
		for _, lfn := range []string{"fx0000", "fx0001", "f-0000", "f-0001"} {
			if !strings.Contains(v.Recovery, lfn) {
				t.Errorf("%s is not in the recovery:\n%s", lfn, v.Recovery)
			}
		}
		if strings.Contains(v.Recovery, "fa0000") {
			t.Errorf("what was processed is in the recovery:\n%s", v.Recovery)
		}
		w.verifyAfterReopening(id, other)
	})
}

// verifyReport requires that the tar contains the reason why a local job was never submitted, and the resources that it
// would have needed.
func (w *world) verifyReport(id jjm.GridID, n int32) {
	w.t.Helper()
	files, err := tarFiles(w.tarBytes(id))
	w.must(err)
	var report struct {
		Local, Reason string
		Code          int
		Estimate      jjm.Estimate
		Part          jjm.Part
	}
	name := fmt.Sprintf("filetest/filetest.%s.%d.createfailed.json", id, n)
	if err := json.Unmarshal([]byte(files[name]), &report); err != nil {
		w.t.Fatalf("%s: %v: %q", name, err, files[name])
	}
	if report.Code != 71101 || !strings.Contains(report.Reason, "no cluster may run this") ||
		report.Estimate.Seconds != 100 ||
		len(report.Part.Input.Lumis) != 1 || report.Local != fmt.Sprintf("%s.%d", id, n) {
		w.t.Errorf("%+v", report)
	}
}

// A cluster without configured storages reads all files, also those without a location.
func TestPlaces_AClusterWithoutStoragesReadsAll(t *testing.T) {
	t.Parallel()
	o := pair(slots(2), slots(2))
	o.configs = map[string]engine.ClusterConfig{"sim": {Storages: []string{"a"}}}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("clusters = \"any\"\n", "name = \"raw\"\n"+at(2, "a", "x", "-")))
		only := w.submit(alice, fileJob("cluster = \"big\"\n", "name = \"too\"\n"+at(2, "a", "x", "-")))
		w.final(time.Hour, id, only)
		w.verify(id, done(3))
		w.verify(only, done(3))
		if ls := w.locals(id); ls[1].Cluster != "big" || ls[2].Cluster != "big" || ls[1].Place == 0 || ls[0].Place != 0 {
			t.Errorf("%+v", ls)
		}
		for _, l := range w.locals(only) {
			if l.Place != 0 {
				t.Errorf("bound, though its one cluster reads all: %+v", l)
			}
		}
	})
}

// If no cluster has configured storages, the locations of files have no influence.
func TestPlaces_WithoutStoragesNothingChanges(t *testing.T) {
	t.Parallel()
	inWorld(t, pair(slots(2), slots(2)), func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("clusters = \"any\"\n", "name = \"raw\"\n"+at(4, "a", "x", "-")))
		w.final(time.Hour, id)
		w.verify(id, done(6))
		for n, in := range w.inputsOf(id) {
			if in.Place.Known || w.locals(id)[n].Place != 0 {
				t.Errorf("local job %d: %+v", n, in.Place)
			}
		}
	})
}

// The place of a local job is stored. Its retries and its successor run in the same place, also if a cluster refuses a
// bulk.
func TestPlaces_SurviveFailuresAndRestarts(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		switch {
		case id.N%3 == 0 && id.Attempt == 0:
			return adaptertest.Play{Keyword: "RETRY", Data: "again"}
		case id.N < 18:
			return adaptertest.Play{Keyword: "-", Exit: 3} // the successor gets the work
		}
		return adaptertest.Play{Life: 5 * time.Minute}
	}
	o := reading(options{sim: slots(1), play: play, config: func(c *engineConfig) { c.Backoff = 0 }})
	inWorld(t, o, func(t *testing.T, w *world) {
		w.sim.OnSubmit(adaptertest.Accept, adaptertest.SayBusy, adaptertest.Accept, adaptertest.SayBusy)
		w.more[0].OnSubmit(adaptertest.LoseReply)
		w.more[1].OnSubmit(adaptertest.SayBusy)
		id := w.submit(alice, fileJob("clusters = \"any\"\nresult = \"glf\"\n", "name = \"raw\"\n"+at(12, "a", "b", "ab")))
		for range 4 {
			w.pass(7 * time.Minute)
			w.reopen()
		}
		w.final(6*time.Hour, id)
		w.verify(id, want{status: jjm.Done, gram: jjm.GRAMDone, jobs: -1})
		w.verifyPlaces(id)
		if n := len(w.locals(id)); n != 36 {
			t.Errorf("%d local jobs: not all of the first 18 were given back", n)
		}
	})
}

// One of two clusters refuses submissions permanently. Local jobs that the other cluster can read go there, the others
// fail, and no local job waits forever.
func TestPlaces_ARefusalConcernsThePlaceOnly(t *testing.T) {
	t.Parallel()
	inWorld(t, reading(options{sim: adaptertest.SimConfig{Slots: 20, MaxBulk: 1}}), func(t *testing.T, w *world) {
		w.sim.OnSubmit(slices.Repeat([]adaptertest.Fault{adaptertest.Refuse}, 20)...)
		id := w.submit(alice, fileJob("clusters = [\"sim\", \"bee\"]\n", "name = \"raw\"\n"+at(8, "a", "b", "ab")))
		w.final(2*time.Hour, id)
		w.verify(id, want{status: jjm.Finished, gram: jjm.GRAMDone, jobs: 12})
		w.verifyPlaces(id)
		for n, in := range w.inputsOf(id) {
			l := w.locals(id)[n]
			if want := map[bool]jjm.State{true: jjm.Failed,
				false: jjm.Completed}[!readable("bee", in.Files[0])]; l.State != want {
				t.Errorf("local job %d of %v: %s/%s %s", n, in.Files, l.State, l.Phase, l.Message)
			}
		}
	})
}

// If a busy cluster does not accept a bulk and no other cluster can read its files, the bulk stays with that cluster,
// even if another cluster is idle.
func TestPlaces_ABulkWithoutAnotherClusterStays(t *testing.T) {
	t.Parallel()
	inWorld(t, reading(options{sim: slots(8)}), func(t *testing.T, w *world) {
		w.sim.OnSubmit(slices.Repeat([]adaptertest.Fault{adaptertest.SayBusy}, 5)...)
		id := w.submit(alice, fileJob("clusters = [\"sim\", \"bee\"]\n", "name = \"raw\"\n"+at(4, "a")))
		w.final(2*time.Hour, id)
		w.verify(id, done(2))
		for _, l := range w.locals(id) {
			if l.Attempt != 0 || l.Cluster != "sim" {
				t.Errorf("%+v", l)
			}
		}
	})
}

// A bulk is dissolved because one of its local jobs was killed. The remaining local jobs form a new bulk for the same
// place.
func TestPlaces_ABulkIsFormedAgainInItsPlace(t *testing.T) {
	t.Parallel()
	c := &crasher{}
	o := reading(options{sim: slots(16)})
	o.crash = c
	inWorld(t, o, func(t *testing.T, w *world) {
		var once sync.Once
		c.on = func(point string) {
			if point == "submit.assigned" {
				once.Do(func() { w.kill("1.3") })
			}
		}
		id := w.submit(alice, fileJob("clusters = [\"sim\", \"bee\"]\n", "name = \"raw\"\n"+at(24, "a")))
		w.final(2*time.Hour, id)
		w.verify(id, want{status: jjm.Finished, gram: jjm.GRAMDone, jobs: 12,
			states: map[int32]jjm.State{2: jjm.Completed, 3: jjm.Killed}})
		w.verifyPlaces(id)
	})
}

// If no cluster that can read the files accepts local jobs, users see for which storages and clusters the local jobs
// wait.
func TestPlaces_UsersSeeWhatLocalJobsWaitFor(t *testing.T) {
	t.Parallel()
	inWorld(t, reading(options{sim: slots(8)}), func(t *testing.T, w *world) {
		w.give(wire.Order{Verb: "pause", Kind: "cluster", Name: "sim", Reason: "a test"})
		id := w.submit(alice, fileJob("clusters = [\"sim\", \"bee\"]\n", "name = \"raw\"\n"+at(4, "a", "b", "ab")))
		w.until(time.Hour, "what can run has", func() bool { return w.lookup(id).Counts.Completed == 4 })
		w.pass(time.Minute)
		want := "waiting for a cluster that can read from a: sim: 2 local jobs: cluster sim is paused"
		if l := w.lookup(id); l.Status != "running" || !strings.Contains(l.Message, want) {
			t.Errorf("%+v\nwant %s", l, want)
		}
		waits := 0
		for _, l := range w.locals(id) {
			if l.State == jjm.New && l.Waits != nil &&
				strings.HasPrefix(l.Waits.Reason, "a cluster that can read from a: sim: cluster sim is paused") {
				waits++
			}
		}
		if waits != 2 {
			t.Errorf("%d local jobs say what they wait for", waits)
		}
		if got, err := w.engine.Record(context.Background(), alice, id, "//localjob/@waits"); err != nil || len(got) != 2 ||
			got[0] != "a cluster that can read from a: sim" {
			t.Errorf("the record: %v %v", got, err)
		}
		alone := w.submit(alice, fileJob("clusters = [\"sim\", \"bee\"]\n", "name = \"more\"\n"+at(2, "a")))
		w.pass(time.Minute)
		if l := w.lookup(alone); l.Status != "pending" ||
			!strings.Contains(l.Message, "waiting for a cluster that can read from a: sim: 1 local job: ") {
			t.Errorf("%+v", l)
		}
		for _, c := range w.engine.Clusters(context.Background(), admin) {
			if n := map[string]int{"sim": 3}[c.Name]; c.Waiting != n || !slices.Equal(c.Storages, reads[c.Name]) {
				t.Errorf("%s: %d wait, reads %v", c.Name, c.Waiting, c.Storages)
			}
		}
		w.reopen()
		w.pass(time.Hour)
		if l := w.lookup(id); l.Counts.Completed != 4 || !strings.Contains(l.Message, want) {
			t.Errorf("after a restart: %+v", l)
		}
		w.give(wire.Order{Verb: "resume", Kind: "cluster", Name: "sim"})
		w.final(time.Hour, id, alone)
		w.verify(id, done(6))
		w.verifyPlaces(id, alone)
	})
}

// The settings siteWhitelist and siteBlacklist choose among the clusters, whatever the clusters can read.
func TestPlaces_SiteListsApply(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settings string
		files    string
		on       map[string]int
		failed   int
	}{
		"white": {`siteWhitelist = ["sim", "both"]`, at(2, "a", "b"), map[string]int{"": 0}, 0},
		"black": {`siteBlacklist = ["sim", "both"]`, at(2, "a", "b"), map[string]int{"bee": 1, "": 1}, 1},
		"trusted": {`trustSitelists = true, siteWhitelist = ["bee", "sim"], siteBlacklist = ["sim"]`, at(2, "a", "x", "-"),
			map[string]int{"bee": 3}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, reading(options{sim: slots(8)}), func(t *testing.T, w *world) {
				id := w.submit(alice, fileJob("clusters = \"any\"\n",
					"name = \"raw\"\n"+test.files+"[split]\nby = \"FileBased\"\nparams = {files_per_job = 2, "+test.settings+"}\n"))
				w.final(time.Hour, id)
				n := w.on(id)
				for cluster, want := range test.on {
					if n[cluster] != want {
						t.Errorf("on %v, want %v", n, test.on)
					}
				}
				if name == "white" && n["bee"] != 0 {
					t.Errorf("on %v", n)
				}
				if got := w.lookup(id).Counts.Failed; got != test.failed {
					t.Errorf("%d failed\n%s", got, w.describe(id))
				}
			})
		})
	}
}

// Invalid settings are refused with their field and a remedy.
func TestPlaces_RefusesInvalidSettings(t *testing.T) {
	t.Parallel()
	inWorld(t, reading(options{}), func(t *testing.T, w *world) {
		for settings, want := range map[string]string{
			`siteWhitelist = ["here"]`:                    `j.toml:7: split.params.siteWhitelist[0]: unknown cluster "here": this site has sim, bee, both`,
			`siteBlacklist = ["sim", "bee", "both", "x"]`: `split.params.siteBlacklist[3]: unknown cluster "x"`,
			`siteBlacklist = ["sim", "bee"]`:              `split.params.siteBlacklist: leaves none of the clusters that the grid job may use, sim, bee: name fewer`,
			`siteWhitelist = ["both"]`:                    `split.params.siteWhitelist: leaves none of the clusters that the grid job may use, sim, bee: name one of them`,
			`trustSitelists = true`:                       `split.params.trustSitelists: lets siteWhitelist alone say`,
		} {
			text := fileJob("clusters = [\"sim\", \"bee\"]\n",
				"name = \"raw\"\n"+at(1, "a")+"[split]\nby = \"FileBased\"\nparams = {files_per_job = 1, "+settings+"}\n")
			for _, dry := range []bool{false, true} {
				_, err := w.engine.Submit(context.Background(), alice,
					wire.Submit{Name: "j.toml", Text: text, BaseDir: w.dir, DryRun: dry})
				var ps jjm.Problems
				if !errors.As(err, &ps) || !strings.Contains(err.Error(), strings.TrimPrefix(want, "j.toml:7: ")) {
					t.Errorf("%s, dry %v: %v\nwant %s", settings, dry, err, want)
				}
			}
		}
		text := fileJob("", "name = \"raw\"\n"+at(1, "a")+mergeTwo+"[merge.split]\nparams = {siteBlacklist = [\"sim\"]}\n")
		if _, err := w.trySubmit(alice, "", text); err == nil ||
			!strings.Contains(err.Error(), "merge.split.params.siteBlacklist: leaves none") {
			t.Errorf("of merges: %v", err)
		}
	})
}

// Some splitters put files of several places into one part. Such a part goes to a cluster that can read all of its
// files.
func TestPlaces_AllFilesOfAPartAreReadable(t *testing.T) {
	t.Parallel()
	inWorld(t, reading(options{sim: slots(8)}), func(t *testing.T, w *world) {
		files := strings.NewReplacer("fa0001", "fb9001", `locations = ["a"], lumis = [{run = 1, first = 10`,
			`locations = ["b"], lumis = [{run = 1, first = 10`).Replace(at(2, "a", "ab", "b", "x"))
		id := w.submit(alice, fileJob("clusters = \"any\"\n",
			"name = \"raw\"\n"+files+"[split]\nby = \"SplitByFiles\"\nparams = {filesPerJob = 2}\n"))
		w.final(time.Hour, id)
		w.verify(id, want{status: jjm.Finished, gram: jjm.GRAMDone, jobs: 4,
			states: map[int32]jjm.State{0: jjm.Completed, 3: jjm.Failed}})
		w.verifyPlaces(id)
		ls := w.locals(id)
		if ls[0].Cluster != "both" || ls[3].Exit != 71101 ||
			!strings.Contains(ls[3].Message, "none can read all of its files, which are at x") {
			t.Errorf("%+v\n%+v", ls[0], ls[3])
		}
	})
}

// Merges run only on the clusters that the site lists of the merge step allow.
func TestPlaces_SiteListsApplyToMerges(t *testing.T) {
	t.Parallel()
	inWorld(t, reading(options{sim: slots(8)}), func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("clusters = \"any\"\n",
			"name = \"raw\"\n"+at(24, "b")+mergeTwo+"[merge.split]\nparams = {siteWhitelist = [\"bee\"]}\n"))
		w.final(time.Hour, id)
		w.verify(id, done(18))
		for _, l := range w.locals(id) { // sim is idle all the time
			if merge := l.Step == jjm.StepMerge; l.Cluster == "sim" || merge && l.Cluster != "bee" {
				t.Errorf("local job %s of step %d ran on %s", l.ID, l.Step, l.Cluster)
			}
		}
	})
}

// A dry run shows the same local jobs that the submission makes.
func TestPlaces_ADryRunIsTheRealRun(t *testing.T) {
	t.Parallel()
	inWorld(t, reading(options{}), func(t *testing.T, w *world) {
		list := "{\"lfn\": \"fa0000\", \"locations\": [\"a\"]}\n{\"lfn\": \"fb0000\", \"locations\": [\"b\"]}\n{\"lfn\": \"fx0000\", \"locations\": [\"x\"]}\n"
		w.must(os.WriteFile(filepath.Join(w.dir, "raw.jsonl"), []byte(list), 0o644))
		_, err := w.engine.Dataset(context.Background(), alice,
			wire.Dataset{Do: wire.DatasetAdd, Name: "there",
				Files: []jjm.File{{LFN: "fa1", Locations: []string{"a"}}, {LFN: "fab1", Locations: []string{"a", "b"}}}})
		w.must(err)
		w.closeDataset(alice, "there")
		for name, dataset := range map[string]string{"inline": "name = \"i\"\n" + at(3, "a", "ab", "x"),
			"a list": "name = \"l\"\nfrom = \"raw.jsonl\"\n", "one that is there": "name = \"there\"\n"} {
			text := fileJob("clusters = \"any\"\n", dataset)
			dry, err := w.engine.Submit(context.Background(), alice,
				wire.Submit{Name: "j.toml", Text: text, BaseDir: w.dir, DryRun: true})
			w.must(err)
			id := w.submit(alice, text)
			w.final(time.Hour, id)
			inputs := w.inputsOf(id)
			if dry.Plan.Jobs != len(inputs) || len(dry.Plan.Parts) != len(inputs) {
				t.Errorf("%s: %d local jobs, %d in the dry run, which shows %d", name, len(inputs), dry.Plan.Jobs,
					len(dry.Plan.Parts))
			}
			for n, in := range inputs {
				if diff := cmp.Diff(in, dry.Plan.Parts[n].Input); diff != "" ||
					dry.Plan.Parts[n].Count != w.locals(id)[n].Part.Count {
					t.Errorf("%s: local job %d: %s", name, n, diff)
				}
			}
		}
	})
}
