package plain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/handlers"
	"jjm/handlers/script"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
)

func TestFile_HasTheSameMeaningAsTheJob(t *testing.T) {
	text := rapid.StringMatching(`[^\x00]*`)
	rapid.Check(t, func(t *rapid.T) {
		j := Job{Name: rapid.String().Draw(t, "name"),
			Executable: rapid.StringMatching(`[^\x00/][^\x00]{0,20}`).Draw(t, "program"),
			Stage:      rapid.Bool().Draw(t, "stage"), Arguments: rapid.SliceOf(text).Draw(t, "arguments"), Folder: "/f",
			Merge: rapid.Bool().Draw(t, "merge"), Count: rapid.IntRange(0, 3).Draw(t, "count"),
			Request: jjm.Request{Cores: 2, Queue: "q"}}
		if rapid.Bool().Draw(t, "stdin") {
			j.Stdin = "in"
		}
		if j.Stage {
			j.Executable = "dir/run.sh"
		}
		name, file, err := j.File()
		if err != nil {
			t.Fatal(err)
		}
		doc, problems := jobfile.Parse(name, []byte(file))
		if len(problems) > 0 {
			t.Fatalf("%s: %v", file, problems)
		}
		h := script.Handler{}
		if problems := h.Check(&doc.Spec, handlers.Site{}); len(problems) > 0 {
			t.Fatalf("%s: %v", file, problems)
		}
		cut, err := h.Split(&doc.Spec, handlers.Site{})
		if err != nil || cut.Jobs != max(j.Count, 1) || doc.Spec.Result != jjm.ResultExit || doc.Spec.Request != j.Request {
			t.Fatalf("%d jobs, %+v, %v", cut.Jobs, doc.Spec, err)
		}
		cmd, err := h.Command(&doc.Spec, &jjm.LocalJob{Part: jjm.Part{Unit: jjm.UnitRow, Count: 1}})
		if err != nil {
			t.Fatal(err)
		}
		argv := cmd.Argv
		if j.Stdin != "" || j.Merge {
			argv = argv[4:]
		}
		want := append([]string{j.Executable}, j.Arguments...)
		if j.Stage {
			want[0] = "./run.sh"
		}
		if d := cmp.Diff(want, argv); d != "" {
			t.Fatal(d)
		}
	})
}

func TestSpec_NamesOfInputsDoNotCollide(t *testing.T) {
	j := Job{Executable: "/bin/jjm-stdin", Stage: true, Stdin: "a", Folder: "/",
		Inputs: []jjm.Input{{Path: "x/jjm-stdin"}}}
	spec, err := j.Spec()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, in := range spec.Inputs {
		names = append(names, inputName(in))
	}
	if d := cmp.Diff([]string{"jjm-stdin", "jjm-stdin.1", "jjm-stdin.2"}, names); d != "" {
		t.Error(d)
	}
}

func TestSpec_RefusesInvalidJobs(t *testing.T) {
	for _, j := range []Job{
		{Folder: "/"}, {Executable: "x"}, {Executable: "x", Folder: "/", Count: -1},
		{Executable: "x\x00", Folder: "/"}, {Executable: "x", Folder: "/", Arguments: []string{"a\x00"}},
	} {
		if _, err := j.Spec(); jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%+v: %v", j, err)
		}
	}
}
