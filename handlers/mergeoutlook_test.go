package handlers_test

import (
	"strings"
	"testing"

	"jjm/handlers"
	"jjm/internal/jjm"
)

// merging returns a job file with merges of at most 4 files and 1000 bytes.
func merging(outputs ...string) *jjm.Spec {
	return &jjm.Spec{Result: jjm.ResultExit, Outputs: outputs,
		Merge: &jjm.Merge{Concat: true, Output: "m", Files: 4, Bytes: 1000, Events: jjm.MergeEvents, MaxWait: jjm.MergeWait,
			Attempts: 3}}
}

// sized returns a part whose output has the given size in bytes, according to its estimate.
func sized(bytes float64) *jjm.Part {
	return &jjm.Part{Unit: jjm.UnitFile, Count: 1,
		Input: &jjm.PartInput{Files: []string{"a"}, Estimate: jjm.Estimate{DiskKB: bytes / 1024}}}
}

func TestOutlook_EstimatesOnlyWhatIsKnown(t *testing.T) {
	glf := merging("out")
	glf.Result = jjm.ResultGLF
	fails := sized(100)
	fails.Input.More = &jjm.PartMore{Failure: &jjm.CreateFailure{Code: 71101}}
	byJEDI := func(params map[string]any) *jjm.Spec {
		spec := merging("out")
		spec.Merge.Split = &jjm.Splitting{By: "JEDIMerge", Params: params}
		return spec
	}
	exactly := byJEDI(map[string]any{"files_per_job": 2})
	exactly.Merge.Files = jjm.MergeFiles
	apart, exactlyApart := byJEDI(nil), byJEDI(map[string]any{"files_per_job": 2})
	apart.Merge.Apart = []string{jjm.ApartCluster}
	exactlyApart.Merge.Files, exactlyApart.Merge.Apart = jjm.MergeFiles, []string{jjm.ApartCluster, jjm.ApartPriority}
	for _, c := range []struct {
		name  string
		spec  *jjm.Spec
		parts []*jjm.Part
		more  bool
		want  jjm.MergeOutlook
		text  string
	}{
		{"no sizes", merging("out"), []*jjm.Part{sized(0), sized(0), sized(0), sized(0), sized(0)}, false,
			jjm.MergeOutlook{Outputs: 5, Least: 2, Most: 5},
			"their 5 outputs make up to 5 merges, and at least 2: at most 4 files and 1000 bytes go into one"},
		{"estimated", merging("out"), []*jjm.Part{sized(600), sized(600), sized(100), sized(100), sized(2000)}, false,
			jjm.MergeOutlook{Outputs: 5, Least: 2, Most: 5, Estimated: 3}, "; about 3 if they are as large as estimated"},
		{"by JEDI", byJEDI(nil), []*jjm.Part{sized(400), sized(400), sized(100)}, false,
			jjm.MergeOutlook{Outputs: 3, Least: 1, Most: 3, Estimated: 2},
			"at most 4 files go into one, which are expected to make at most 1000 bytes; about 2 if"},
		{"by JEDI, so many files", exactly, []*jjm.Part{sized(600), sized(600), sized(600)}, false,
			jjm.MergeOutlook{Outputs: 3, Least: 2, Most: 2, Estimated: 2}, "2 files go into each but the last"},
		{"by JEDI, kept apart", apart, []*jjm.Part{sized(400), sized(400), sized(100)}, false,
			jjm.MergeOutlook{Outputs: 3, Least: 1, Most: 3, Estimated: 2},
			"at most 1000 bytes, separately for each cluster (merge.apart), whose number is not known yet; about 2 if they " +
				"are as large as estimated and none is kept apart"},
		{"by JEDI, so many files, kept apart", exactlyApart, []*jjm.Part{sized(0), sized(0), sized(0)}, false,
			jjm.MergeOutlook{Outputs: 3, Least: 2, Most: 3}, "make up to 3 merges, and at least 2: 2 files go into each but " +
				"the last, separately for each cluster and priority (merge.apart), whose number is not known yet"},
		{"one without an estimate", merging("out"), []*jjm.Part{sized(600), sized(0)}, false,
			jjm.MergeOutlook{Outputs: 2, Least: 1, Most: 2}, "up to 2 merges, and at least 1"},
		{"two outputs each", merging("out", "log"), []*jjm.Part{sized(600), sized(600)}, false,
			jjm.MergeOutlook{Outputs: 4, Least: 1, Most: 4}, "their 4 outputs"},
		{"one that cannot run", merging("out"), []*jjm.Part{sized(600), fails}, false,
			jjm.MergeOutlook{Outputs: 1, Least: 1, Most: 1, Estimated: 1}, "their 1 outputs"},
		{"more come", merging("out"), []*jjm.Part{sized(600)}, true,
			jjm.MergeOutlook{Outputs: 1, Least: 1, Most: 1}, "outputs so far make up to 1 merges, and more come"},
		{"a pattern", merging("*.out"), []*jjm.Part{sized(600)}, false, jjm.MergeOutlook{}, "known once the outputs are"},
		{"what the application says", glf, []*jjm.Part{sized(600)}, false, jjm.MergeOutlook{}, "known once the outputs are"},
		{"nothing declared", merging(), []*jjm.Part{sized(600)}, false, jjm.MergeOutlook{}, "known once the outputs are"},
	} {
		o := handlers.NewOutlook(c.spec, handlers.Command{Outputs: c.spec.Outputs}) // an output named twice counts once
		for _, p := range c.parts {
			o.Add(p)
		}
		got, err := o.Merges(c.more)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		text := got.Text
		got.Text, got.Splitter = "", ""
		if *got != c.want || !strings.Contains(text, c.text) {
			t.Errorf("%s: %+v %q\nwant %+v %q", c.name, *got, text, c.want, c.text)
		}
	}
}

func TestOutlook_NothingIsMergedUnlessAskedFor(t *testing.T) {
	if got, err := handlers.NewOutlook(&jjm.Spec{}, handlers.Command{}).Merges(false); got != nil || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}
