package jobfile_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
)

// modelsOf returns a function that parses the model with a given name. texts are the texts of the models, by name.
func modelsOf(texts map[string]string) func(string) (jobfile.Model, jjm.Problems) {
	return func(name string) (jobfile.Model, jjm.Problems) {
		text, there := texts[name]
		if !there && name != jobfile.DefaultModel {
			return jobfile.Model{}, jjm.Problems{{Field: "model", Text: "unknown model " + name}}
		}
		return jobfile.ParseModel(name, []byte(text))
	}
}

func TestModel_TheJobFilesOwnWordsWin(t *testing.T) {
	const model = `type = "script"
mode = "Test"
cluster = "big"
outputs = ["*.root", "*.log"]
[env]
A = "1"
B = "2"
[request]
cores = 2
walltime = "8h"
[retry]
max_retry_early = 1
on_exit = [75]
[merge]
concat = true
files = 10
[params]
command = ["a", "b"]
count = 5
deep = { x = 1, y = 2 }
`
	const job = `model = "m"
clusters = ["x", "y"]
outputs = ["*.dat"]
[env]
B = "3"
C = "4"
[request]
cores = 4
[retry]
max_retry_early = 7
[merge]
command = ["hadd", "{output}", "{files}"]
[params]
count = 6
deep = { x = 3 }
`
	const same = `model = "m"
type = "script"
mode = "Test"
clusters = ["x", "y"]
outputs = ["*.dat"]
[env]
A = "1"
B = "3"
C = "4"
[request]
cores = 4
walltime = "8h"
[retry]
max_retry_early = 7
on_exit = [75]
[merge]
command = ["hadd", "{output}", "{files}"]
[params]
command = ["a", "b"]
count = 6
deep = { x = 3 }
`
	find := modelsOf(map[string]string{"m": model})
	got, problems := jobfile.ParseGiven("job.toml", []byte(job), jobfile.Given{Model: find})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	empty := modelsOf(map[string]string{"m": "# nothing\n"})
	want, problems := jobfile.ParseGiven("job.toml", []byte(same), jobfile.Given{Model: empty})
	if d := cmp.Diff(want.Spec, got.Spec); d != "" || len(problems) > 0 {
		t.Errorf("%v (-want +got):\n%s", problems, d)
	}
	if at := got.Places.Of("request.walltime"); at != "m.toml:10" {
		t.Errorf("a word of the model is at %s", at)
	}
	if at := got.Places.Of("request.cores"); at != "job.toml:8" {
		t.Errorf("a word of the job file is at %s", at)
	}
}

// A job file that names no model gets the default model. A recovery does not, because it already has all settings.
func TestModel_TheDefault(t *testing.T) {
	find := modelsOf(map[string]string{"default": "[request]\ncores = 2\n", "other": "[request]\ncores = 3\n"})
	for text, want := range map[string]string{
		"":                             "default 2",
		"model = \"default\"":          "default 2",
		"model = \"other\"":            "other 3",
		"recovers = 3":                 " 0",
		"[request]\ncores = 9":         "default 9",
		"model = \"gone\"\nrecovers=1": "job.toml:2: model: unknown model gone",
	} {
		doc, problems := jobfile.ParseGiven("job.toml", []byte("type = \"script\"\n"+text), jobfile.Given{Model: find})
		got := fmt.Sprintf("%s %d", doc.Spec.Model, doc.Spec.Request.Cores)
		if len(problems) > 0 {
			got = problems.Error()
		}
		if got != want || doc.Incomplete != strings.Contains(want, "unknown") {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	doc, problems := jobfile.ParseGiven("job.toml", []byte("type = \"script\""), jobfile.Given{Model: modelsOf(nil)})
	if doc.Spec.Model != "" || len(problems) > 0 {
		t.Errorf("without a file the default says nothing, not even its name: %+v %v", doc.Spec, problems)
	}
	if _, problems := jobfile.Parse("job.toml", []byte("type = \"script\"\nmodel = \"m\"")); len(problems) != 1 {
		t.Errorf("where there are no models: %v", problems)
	}
}

func TestModel_MistakesHaveTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"reqest = 1":                             `m.toml:1: reqest: unknown key "reqest": did you mean "request"?`,
		"[request]\ncores = 0":                   "m.toml:2: request.cores: 0 is out of range: want 1 to 4096",
		"[request]\ncorse = 1":                   `m.toml:2: request.corse: unknown key "corse": did you mean "cores"?`,
		"\nkey = \"k\"":                          "m.toml:2: key: is about one grid job: leave it to job files",
		"after = [3]":                            "m.toml:1: after: is about one grid job: leave it to job files",
		"datasets = [{name = \"a\"}]":            "m.toml:1: datasets: is about one grid job: leave it to job files",
		"[[datasets]]\nname = \"a\"":             "m.toml:1: datasets: is about one grid job: leave it to job files",
		"model = \"n\"":                          "m.toml:1: model: is about one grid job: leave it to job files",
		"inputs = [{path = \"a\"}]":              `m.toml:1: inputs[0].path: "a" is relative, and each job file is in a folder`,
		"type = script":                          "m.toml:1: not TOML",
		"cluster = \"a\"\nclusters = [\"b\"]":    "cluster: give either cluster or clusters, not both",
		"[retry]\nmax_retry_early = -1":          "m.toml:2: retry.max_retry_early: -1 is out of range: want 0 to 1000",
		"[merge]\nconcat = true\nfiles = -1":     "m.toml:3: merge.files",
		"inputs = [{path = \"/a\", sha256=\"\"}": "not TOML",
	} {
		_, problems := jobfile.ParseModel("m", []byte(text))
		if len(problems) == 0 || !strings.Contains(problems.Error(), want) {
			t.Errorf("%q: %v, want %s", text, problems, want)
		}
		find := modelsOf(map[string]string{"m": text})
		job := []byte("type = \"script\"\nmodel = \"m\"")
		doc, problems := jobfile.ParseGiven("job.toml", job, jobfile.Given{Model: find})
		if !doc.Incomplete || !strings.Contains(problems.Error(),
			"job.toml:2: model: the model m cannot be used before its administrator has mended it") {
			t.Errorf("%q: who names it is told %v", text, problems)
		}
	}
}

// A job file that sets every key of its model takes nothing from the model; a job file that sets none of these keys
// takes all keys from the model.
func TestModel_IsOverlaidKeyByKey(t *testing.T) {
	lines := map[string][]string{"mode": {`"Test"`, `"Production"`}, "result": {`"glf"`, `"exit"`},
		"outputs": {`["a"]`, `["b", "c"]`}, "outputs_required": {`["d"]`, `["e"]`},
		"outputs_optional": {`["d"]`, `["e"]`}, "clusters": {`["x"]`, `"any"`},
		"env.A": {`"1"`, `"2"`}, "env.B": {`"3"`, `"4"`}, "request.cores": {"1", "2"}, "request.queue": {`"p"`, `"q"`},
		"params.count": {"1", "2"}, "params.command": {`["f"]`, `["g", "h"]`}, "retry.max_retry_early": {"1", "2"},
		"inputs": {`[{path = "/a"}]`, `[{path = "/b", name = "c"}]`}}
	keys := slices.Sorted(maps.Keys(lines))
	rapid.Check(t, func(t *rapid.T) {
		model, job, both := "", "type = \"script\"\n", "type = \"script\"\n"
		for _, key := range keys {
			m := rapid.SampledFrom(append(lines[key], "")).Draw(t, "model's "+key)
			j := rapid.SampledFrom(append(lines[key], "")).Draw(t, "job's "+key)
			line := func(value string) string {
				if value == "" {
					return ""
				}
				return key + " = " + value + "\n"
			}
			model, job = model+line(m), job+line(j)
			if j == "" {
				j = m
			}
			both += line(j)
		}
		find := modelsOf(map[string]string{"default": model})
		got, problems := jobfile.ParseGiven("job.toml", []byte(job), jobfile.Given{Model: find})
		want, more := jobfile.Parse("job.toml", []byte(both))
		want.Spec.Model = got.Spec.Model
		if d := cmp.Diff(want.Spec, got.Spec); d != "" || len(problems)+len(more) > 0 {
			t.Fatalf("model\n%s\njob file\n%s\n%v %v\n%s", model, job, problems, more, d)
		}
	})
}
