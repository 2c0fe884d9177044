package handlers_test

import (
	"strings"
	"testing"

	"jjm"
	"jjm/handlers"
	"jjm/split"
)

func TestFits(t *testing.T) {
	data := []jjm.DatasetInput{{Name: "raw"}}
	for _, c := range []struct {
		name  string
		reads bool
		spec  jjm.Spec
		want  string
	}{
		{"a maker without datasets", false, jjm.Spec{Only: []jjm.Span{{Count: 1}}}, ""},
		{"a maker with datasets", false, jjm.Spec{Datasets: data}, "datasets: the type x reads no datasets"},
		{"a maker with a splitter", false, jjm.Spec{Split: &jjm.Splitting{By: "FileBased"}}, "split: the type x cuts its work itself"},
		{"a reader with datasets", true, jjm.Spec{Datasets: data}, ""},
		{"a reader without", true, jjm.Spec{}, "datasets: is missing"},
		{"a reader of chosen numbers", true, jjm.Spec{Datasets: data, Only: []jjm.Span{{Count: 1}}}, "only: chooses events and rows"},
	} {
		got := handlers.Fits("x", handlers.Description{Reads: c.reads}, &c.spec)
		if (c.want == "") != (len(got) == 0) || c.want != "" && !strings.Contains(got.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, got, c.want)
		}
	}
}

func TestSplitOf(t *testing.T) {
	spec := func(by string, params map[string]any, secondary bool) *jjm.Spec {
		s := &jjm.Spec{Datasets: []jjm.DatasetInput{{Name: "raw"}, {Name: "pileup", Secondary: secondary}}}
		if by != "" {
			s.Split = &jjm.Splitting{By: by, Params: params}
		}
		return s
	}
	own := func(p *split.Params) { p.FilesPerJob = 7 }
	for _, c := range []struct {
		name  string
		spec  *jjm.Spec
		by    string
		files int64
		want  string
	}{
		{"the type's own", spec("", nil, false), split.FileBased, 7, ""},
		{"its own by name", spec("FileBased", map[string]any{"total_files": 3}, false), split.FileBased, 7, ""},
		{"its own, otherwise", spec("FileBased", map[string]any{"files_per_job": 2}, false), split.FileBased, 2, ""},
		{"another", spec("MinFileBased", nil, false), split.MinFileBased, 10, ""},
		{"an unknown one", spec("FileBase", nil, false), "", 0, "split.by: splitter: unknown splitter"},
		{"one that reads no files", spec("GaussSplitter", nil, false), "", 0, "split.by: \"GaussSplitter\" makes its work itself"},
		{"a setting of another", spec("FileBased", map[string]any{"lumis_per_job": 2}, false), "", 0, "split.params.lumis_per_job: split by FileBased: it does not read"},
		{"a wrong value", spec("FileBased", map[string]any{"files_per_job": "two"}, false), "", 0, "split.params.files_per_job: want a whole number"},
		{"secondary datasets", spec("", nil, true), "", 0, "datasets[1].secondary: split by FileBased reads no secondary datasets"},
		{"secondary datasets of JEDI", spec("JEDI", nil, true), split.JEDI, 0, ""},
	} {
		by, p, problems := handlers.SplitOf(c.spec, split.FileBased, own)
		switch {
		case c.want != "":
			if len(problems) == 0 || !strings.Contains(problems.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.name, problems, c.want)
			}
		case len(problems) > 0 || by != c.by || p.FilesPerJob != c.files:
			t.Errorf("%s: %s with %d files, %v", c.name, by, p.FilesPerJob, problems)
		}
	}
}
