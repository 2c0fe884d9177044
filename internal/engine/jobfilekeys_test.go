package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// keyTrial tests the effect of one key of a job file. It runs a job file without the key and one with the key, and
// compares what can be observed from outside.
type keyTrial struct {
	without, with string
	// before makes the files and datasets that both job files need.
	before func(w *world)
	// refuses is true if the effect of the key is only that wrong values are refused.
	refuses bool
	// credentials are sent with the submission.
	credentials []jjm.Credential
	// again, if set, changes something after the first submission; then the job file is submitted a second time.
	again func(w *world, first jjm.GridID)
	// proof is true if the verdict on grid job 1 is one of the observations.
	proof bool
}

// top returns a trial of a key at the top of a script job file.
func top(lines string) keyTrial { return keyTrial{without: plain(2), with: plain(2, lines)} }

// model returns the model "large", the empty default model, or a problem for any other name.
func model(name string) (jobfile.Model, jjm.Problems) {
	switch name {
	case "large":
		return jobfile.ParseModel(name, []byte("[request]\ncores = 2\n"))
	case jobfile.DefaultModel:
		return jobfile.Model{Name: name}, nil
	}
	return jobfile.Model{}, jjm.Problems{{Field: "model", Text: "there is none of this name"}}
}

// input returns a trial of a key of an input. without is the text of the input without the key, and with is its text
// with the key.
func input(without, with string) keyTrial {
	return keyTrial{without: plain(1, "inputs = [{"+without+"}]"), with: plain(1, "inputs = [{"+with+"}]"),
		before: func(w *world) {
			for _, name := range []string{"a.dat", "b.dat"} {
				w.must(os.WriteFile(filepath.Join(w.dir, name), []byte(name), 0o644))
			}
		}}
}

// events returns a Monte-Carlo job file of 40 events with seeds, with more lines at its top.
func events(more string) string {
	return more + "\ntype = \"montecarlo\"\n[params]\ncommand = [\"run\", \"{first_event}\", \"{events}\", \"{seed}\"]\n" +
		"events = 40\nevents_per_job = 10\n"
}

// pileupKey returns a trial of a key of a secondary dataset.
func pileupKey(without, with string) keyTrial {
	job := func(line string) string {
		return fileJob("", "name = \"raw\"\n"+inline(6)+"[[datasets]]\nname = \"pileup\"\n"+line+
			"[split]\nby = \"JEDI\"\nparams = {allow_incomplete = true, task = {rule = \"NF=2\"}}\n")
	}
	return keyTrial{without: job(without), with: job(with), before: func(w *world) { w.pileup(0, 12) }}
}

// keyTrials returns the trials of all keys of a job file whose effect a run shows.
func keyTrials(t *testing.T) map[string]keyTrial {
	raw := func(lines string) string { return fileJob("", "name = \"raw\"\n"+lines) }
	both := func(first, second string) string {
		return fileJob("", "name = \"raw\"\n"+first+inline(2)+"[[datasets]]\nname = \"other\"\n"+second+
			"files = [{lfn = \"o\", events = 10}]\n[split]\nby = \"JEDI\"\nparams = {allow_incomplete = true}\n")
	}
	ranges := func(w *world) { w.must(os.WriteFile(filepath.Join(w.dir, "list"), []byte("1 10\n"), 0o644)) }
	trials := map[string]keyTrial{
		"type": {without: strings.Replace(events(""), "montecarlo", "script", 1), with: events("")},
		"name": {without: plain(1), with: strings.Replace(plain(1), `"plain"`, `"other"`, 1)},
		"key":  {without: plain(1), with: plain(1, `key = "k"`), again: func(*world, jjm.GridID) {}},
		"key_reuse": {without: plain(1, `key = "k"`), with: plain(1, `key = "k"`, "key_reuse = true"),
			again: func(w *world, first jjm.GridID) { w.kill(first.String()); w.pass(time.Minute) }},
		"model": top(`model = "large"`),
		"mode":  top(`mode = "Test"`), "cluster": top(`cluster = "big"`), "clusters": top(`clusters = ["big"]`),
		"result": top(`result = "glf"`), "outputs": top(`outputs = ["*.root"]`),
		"outputs_required": top(`outputs_required = ["*.root"]`),
		"outputs_optional": top(`outputs_optional = ["*.root"]`),
		"credentials": {without: plain(1, `key = "k"`), with: plain(1, `key = "k"`, `credentials = ["token"]`),
			credentials: bearer(`{"sub":"ann","jti":"1"}`)},
		"env": top("env = {LABEL = \"x\"}"), "params": {without: plain(1), with: plain(2)},

		"notify": {without: plain(1), with: plain(1, `notify = ["alice@example.org"]`), refuses: true},

		"inputs[].path":       input(`path = "a.dat", name = "in"`, `path = "b.dat", name = "in"`),
		"inputs[].name":       input(`path = "a.dat"`, `path = "a.dat", name = "in"`),
		"inputs[].executable": input(`path = "a.dat"`, `path = "a.dat", executable = true`),
		"inputs[].sha256": {without: input(`path = "a.dat"`, "").without, before: input("", "").before, refuses: true,
			with: input("", `path = "a.dat", sha256 = "`+strings.Repeat("0", 64)+`"`).with},

		"datasets[].name": {without: fileJob("", "name = \"raw\"\n"), with: fileJob("", "name = \"cooked\"\n"),
			before: func(w *world) { w.must(w.put("raw", "", 0, 2)); w.must(w.put("cooked", "", 2, 4)) }},
		"datasets[].container": {without: fileJob("", "name = \"raw\"\n"),
			with:   fileJob("", "name = \"all\"\ncontainer = \"run\"\n"),
			before: func(w *world) { w.must(w.put("raw", "", 0, 2)); w.must(w.put("in", "run", 2, 4)) }},
		"datasets[].secondary":  {without: both("", "secondary = true\n"), with: both("secondary = true\n", "")},
		"datasets[].attributes": pileupKey("secondary = true\n", "secondary = true\nattributes = \"np=3\"\n"),
		"datasets[].open":       {without: raw(inline(3)), with: raw("open = true\n" + inline(3))},
		"datasets[].files":      {without: raw(inline(3)), with: raw(inline(4))},
		"datasets[].from": {without: raw("from = \"one.jsonl\"\n"), with: raw("from = \"two.jsonl\"\n"),
			before: func(w *world) { w.writeList("one.jsonl", 1); w.writeList("two.jsonl", 2) }},

		"split.by": {without: raw(inline(4) + "[split]\nby = \"FileBased\"\n"),
			with: raw(inline(4) + "[split]\nby = \"EventBased\"\n")},
		"split.params": {without: raw(inline(4) + "[split]\nby = \"FileBased\"\n"),
			with: raw(inline(4) + "[split]\nby = \"FileBased\"\nparams = {files_per_job = 3}\n")},
		"output_dataset": top(`output_dataset = "made"`),
		"only":           {without: events(""), with: events("only = [{first = 1, count = 10}]")},
		"only_from":      {without: events(""), with: events("only_from = \"list\""), before: ranges},
		"first_serial":   {without: events(""), with: events("first_serial = 101")},
		"recovers": {without: events("only = [{first = 1, count = 10}]"), proof: true,
			with: events("recovers = 1\nonly = [{first = 1, count = 10}]"), before: func(w *world) {
				w.play = func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
					return adaptertest.Play{Keyword: "FAILED", Data: "it"}
				}
				w.settle(w.submit(alice, events("")))
			}},
	}
	for key, value := range map[string]string{"cores": "2", "memory_mb": "500", "walltime": `"1h"`, "cpu_time": `"1h"`,
		"queue": `"long"`, "gpus": "1", "scratch_mb": "500", "account": `"atlas"`, "project": `"mc"`, "qos": `"high"`,
		"directives": `"--x"`} {
		trials["request."+key] = top("request = {" + key + " = " + value + "}")
	}
	return trials
}

// elsewhere returns the keys that other tests cover, by the beginning of the key, with these tests.
func elsewhere() map[string]any {
	return map[string]any{
		"recovers_generation":      TestResubmit_AFileOfARecoveryIsOfOneEnd,
		"recovers_number":          TestRecovery_TheSameWorkIsNotRecoveredTwice,
		"datasets[].watch":         TestSource_AWatchedFolderIsProcessedAsItGrows,
		"datasets[].program":       TestSource_AProgramListsFiles,
		"datasets[].incremental":   TestSource_AFileThatAProgramNoLongerListsIsLost,
		"after":                    TestAfter_BeginsOnceTheOthersAreDone,
		"auto_resubmit":            TestAutoResubmit_WithinBothBrakes,
		"keep_going":               TestKeepGoing_OneByOne,
		"auto_kill":                TestAutoKill_WhenManyFailedAndNoneCompleted,
		"after_end":                TestAfter_OneThatEndedOtherwiseBreaksIt,
		"retry.":                   "TestEffect_EveryKeyOfRetryChangesAttempts",
		"merge.":                   "TestEffect_EveryKeyOfMergeChangesMerges",
		"callback.":                "TestCallback_EveryKeyReachesTheServer",
		"inputs[].credential_file": "TestRemote_TheCredentialFileIsReadAsTheOwner",
		"output_templates[].":      "TestStreams_EveryKeyHasAnEffect",
		"datasets[].stream":        "TestStreams_EveryKeyHasAnEffect",
	}
}

// takesAll is a cluster that accepts every resource in a request.
type takesAll struct{ *faulty }

func (takesAll) Check(jjm.Request) error { return nil }

// takingAll returns options with two clusters that are takesAll.
func takingAll() options {
	o := pair(adaptertest.SimConfig{}, adaptertest.SimConfig{})
	o.clusters = func(w *world) (all []engine.Cluster) {
		for _, a := range w.adapters() {
			all = append(all, engine.Cluster{Kind: "sim", Adapter: takesAll{a}})
		}
		return all
	}
	return o
}

// comesOf runs the grid job of a job file to its end, or for an hour, and returns its observable effects.
func (k *keyTrial) comesOf(t *testing.T, text string) (o observed) {
	t.Helper()
	inWorld(t, takingAll(), func(t *testing.T, w *world) {
		if k.before != nil {
			k.before(w)
		}
		seen := w.watch()
		submit := func() (wire.Submitted, error) {
			return w.engine.Submit(context.Background(), alice, wire.Submit{Name: "job.toml", Text: text, BaseDir: w.dir,
				Credentials: k.credentials})
		}
		s, err := submit()
		if err != nil {
			o.Refused = err.Error()
			return
		}
		if k.again != nil {
			k.again(w, s.ID)
			second, err := submit()
			w.must(err)
			o.Further = fmt.Sprint("the second is the first: ", second.ID == s.ID)
			return
		}
		w.settle(s.ID)
		o = w.observe(seen, s.ID)
		if k.proof {
			o.Further = fmt.Sprint("grid job 1 lacks ", w.proof(1, "").Missing)
		}
	})
	return o
}

// Every key that docs/JOB-FILES.md lists has an effect: it changes the requests to the batch system, the inputs of
// local jobs, or their outputs.
func TestJobFile_EveryKeyIsObserved(t *testing.T) {
	trials := keyTrials(t)
	tests := sourceOf(t, "../../handlers/all") + sourceOf(t, ".")
	for _, key := range listedKeys(t) {
		if proof := proofElsewhere(key); proof != nil {
			if name, ok := proof.(string); ok && !strings.Contains(tests, "\nfunc "+name+"(") {
				t.Errorf("%s: there is no test %s", key, name)
			}
			continue
		}
		k, tried := trials[key]
		if !tried {
			t.Errorf("nothing shows what %s changes", key)
			continue
		}
		delete(trials, key)
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			without, with := k.comesOf(t, k.without), k.comesOf(t, k.with)
			if refused := without.Refused + with.Refused; refused != "" && !k.refuses {
				t.Errorf("refused: %s", refused)
			}
			if len(without.Attempts) == 0 && !k.refuses && k.again == nil {
				t.Errorf("without it nothing was run: %s", without.text(t))
			}
			if without.text(t) == with.text(t) {
				t.Errorf("it changes nothing: %s", with.text(t))
			}
		})
	}
	for key := range trials {
		t.Errorf("%s is no key", key)
	}
}

func proofElsewhere(key string) any {
	for prefix, proof := range elsewhere() {
		if strings.HasPrefix(key, prefix) {
			return proof
		}
	}
	return nil
}

// listedKeys returns the keys in docs/JOB-FILES.md. TestJobFiles_EveryKeyIsListed of package handlers/all shows that
// the list is complete.
func listedKeys(t *testing.T) (keys []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/JOB-FILES.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## The keys\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z][^`{]*)` \\|").FindAllStringSubmatch(section, -1) {
		keys = append(keys, m[1])
	}
	if len(keys) < 60 {
		t.Fatalf("only %d keys found", len(keys))
	}
	return keys
}

// sourceOf returns the source text of the tests of a package.
func sourceOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(dir, err)
	}
	var b strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}

// Two runs of the same job file produce the same observations. Differences between a run without a key and a run with
// it therefore come from the key.
func TestJobFile_WhatIsObservedIsTheSameTwice(t *testing.T) {
	tried := map[string]bool{}
	for key, k := range keyTrials(t) {
		if tried[k.with] || k.refuses || strings.HasPrefix(key, "request.") {
			continue
		}
		tried[k.with] = true
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			if one, two := k.comesOf(t, k.with).text(t), k.comesOf(t, k.with).text(t); one != two {
				t.Errorf("(-once +again):\n%s", cmp.Diff(one, two))
			}
		})
	}
}
