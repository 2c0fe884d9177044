package handlers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

func TestFits(t *testing.T) {
	data := []jjm.DatasetInput{{Name: "raw"}}
	minbias := []jjm.DatasetInput{{Name: "minbias", Secondary: true, Attributes: "repeat,np=2"}}
	odd := []jjm.DatasetInput{{Name: "minbias", Secondary: true, Attributes: "repaet"}}
	for _, c := range []struct {
		name  string
		reads bool
		spec  jjm.Spec
		want  string
		along bool
	}{
		{"a maker without datasets", false, jjm.Spec{Only: []jjm.Span{{Count: 1}}}, "", false},
		{"a maker with datasets", false, jjm.Spec{Datasets: data}, "datasets: the type x reads no datasets", false},
		{"a maker with a splitter", false, jjm.Spec{Split: &jjm.Splitting{By: "FileBased"}},
			"split: the type x cuts its work itself", false},
		{"a reader with datasets", true, jjm.Spec{Datasets: data}, "", false},
		{"a reader without", true, jjm.Spec{}, "datasets: is missing", false},
		{"a reader of chosen numbers", true, jjm.Spec{Datasets: data, Only: []jjm.Span{{Count: 1}}},
			"only: chooses events and rows", false},
		{"a reader of secondary ones alone", true, jjm.Spec{Datasets: minbias}, "all datasets are secondary", false},
		{"a maker of events with files along", false, jjm.Spec{Datasets: minbias}, "", true},
		{"a maker of events with files to process", false, jjm.Spec{Datasets: data},
			"datasets[0]: the type x makes its events and processes no files", true},
		{"a maker of events with wrong attributes", false, jjm.Spec{Datasets: odd}, "datasets[0].attributes: ", true},
		{"a maker of others with files along", false, jjm.Spec{Datasets: minbias}, "datasets: the type x reads no datasets",
			false},
	} {
		got := handlers.Fits("x", handlers.Description{Reads: c.reads, Along: c.along}, &c.spec)
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
		{"one that reads no files", spec("GaussSplitter", nil, false), "", 0,
			"split.by: \"GaussSplitter\" makes its work itself"},
		{"a setting of another", spec("FileBased", map[string]any{"lumis_per_job": 2}, false), "", 0,
			"split.params.lumis_per_job: split by FileBased: it does not read"},
		{"a wrong value", spec("FileBased", map[string]any{"files_per_job": "two"}, false), "", 0,
			"split.params.files_per_job: want a whole number"},
		{"events by the queue's time", spec("JEDI", map[string]any{"task": map[string]any{"rule": "DY=1,MX=100"}}, false), "",
			0, "split.params.task.rule: DY"},
		{"secondary datasets", spec("", nil, true), "", 0,
			"datasets[1].secondary: split by FileBased reads no secondary datasets"},
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

// The splitter JEDI cuts jobs that fit into the wall time and the disk space that the job file requests.
func TestInline_JEDIJobsFitWhatIsAskedFor(t *testing.T) {
	count := func(r jjm.Request) int64 {
		d := jjm.DatasetInput{Name: "raw"}
		for i := range 20 {
			d.Files = append(d.Files, jjm.Listed{File: jjm.File{LFN: fmt.Sprint(i), Size: 100 << 20, Events: 100}})
		}
		s := &jjm.Spec{Request: r, Datasets: []jjm.DatasetInput{d},
			Split: &jjm.Splitting{By: "JEDI", Params: map[string]any{"task": map[string]any{"wall_time": 1.0}}}}
		_, p, problems := handlers.SplitOf(s, "", nil)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		work, _ := handlers.Inline(s)
		sp, err := split.Get(split.JEDI)
		if err != nil {
			t.Fatal(err)
		}
		parts, _, _, err := sp.Cut(work, split.Limits{}, p, split.Carry{})
		if err != nil {
			t.Fatal(err)
		}
		return int64(len(parts))
	}
	if n := count(jjm.Request{}); n != 1 {
		t.Errorf("nothing is asked for: %d parts, want 1", n)
	}
	// One second for each MB: 100 s for each file.
	if n := count(jjm.Request{Walltime: jjm.Duration(500 * time.Second)}); n != 4 {
		t.Errorf("500 s are asked for: %d parts, want 4 of 5 files", n)
	}
	if n := count(jjm.Request{ScratchMB: 3000}); n != 2 {
		t.Errorf("3000 MB are asked for, and 1500 of them are for output: %d parts, want 2, of 15 files and of 5", n)
	}
}
