package concat

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/testkit/handlertest"
	"jjm/internal/work/split"
)

func spec(n int, by string, settings map[string]any) *jjm.Spec {
	d := jjm.DatasetInput{Name: "small"}
	for i := range n {
		d.Files = append(d.Files, jjm.Listed{File: jjm.File{LFN: fmt.Sprintf("/data/%d", i), Size: 1000, Events: 10,
			Locations: []string{"here"},
			Lumis:     []jjm.LumiRange{{Run: 1, First: uint32(i + 1), Last: uint32(i + 1)}}}})
	}
	s := &jjm.Spec{Type: "concat", Datasets: []jjm.DatasetInput{d}, Params: map[string]any{"output": "concat.dat"}}
	if by != "" {
		s.Split = &jjm.Splitting{By: by, Params: settings}
	}
	return s
}

func TestConformance(t *testing.T) {
	handlertest.Run(t, New(), handlers.Site{}, handlertest.Good{Spec: spec(120, "", nil), Parts: 3},
		handlertest.Good{Spec: spec(7, split.FileBased, map[string]any{"files_per_job": 3}), Parts: 3},
		handlertest.Good{
			Spec:  spec(9, split.ParentlessMergeBySize, map[string]any{"max_merge_size": 4000, "max_merge_files": 3}),
			Parts: 3})
}

func TestSplit_FiftyFilesALocalJobUnlessTold(t *testing.T) {
	c, err := New().Split(spec(120, "", nil), handlers.Site{})
	if err != nil || c.Jobs != 3 {
		t.Errorf("%d local jobs; %v", c.Jobs, err)
	}
}

// If files have neither sections nor locations, as most files to be concatenated, they are grouped by size.
func TestSplit_BySizeAlone(t *testing.T) {
	s := spec(9, split.ParentlessMergeBySize, map[string]any{"max_merge_size": 4000, "min_merge_size": 3000})
	for i := range s.Datasets[0].Files {
		s.Datasets[0].Files[i].Locations, s.Datasets[0].Files[i].Lumis = nil, nil
	}
	handlertest.Run(t, New(), handlers.Site{}, handlertest.Good{Spec: s, Parts: 3})
	if c, err := New().Split(s, handlers.Site{}); err != nil || c.Jobs != 3 {
		t.Errorf("%d local jobs; %v", c.Jobs, err)
	}
}

func TestCheck_RefusesWhatItCannotDo(t *testing.T) {
	for field, s := range map[string]*jjm.Spec{
		"split.by":      spec(3, "EventBased", map[string]any{"events_per_job": 3}),
		"params.output": spec(3, "", nil),
	} {
		s.Params = map[string]any{"output": "a"}
		for _, name := range []string{"../a", "-n", "a/b", "*", ".x", "a b"} {
			if field == "params.output" {
				s.Params["output"] = name
			}
			if ps := New().Check(s, handlers.Site{}); len(ps) != 1 || ps[0].Field != field {
				t.Errorf("%s %q: %v", field, name, ps)
			}
		}
	}
}

// run runs the command of a part in a folder, in the same way as the wrapper. It returns the log, and the error of the
// command.
func run(t *testing.T, dir string, files []string) (logged string, err error) {
	t.Helper()
	c, err := New().Command(spec(1, "", nil), &jjm.LocalJob{})
	if err != nil {
		t.Fatal(err)
	}
	list, log := filepath.Join(dir, "list"), filepath.Join(dir, "log")
	put(t, list, strings.Join(append(files, ""), "\n"))
	put(t, log, "#!/bin/sh\necho \"$@\" >> "+filepath.Join(dir, "logged")+"\n")
	if err := os.Chmod(log, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "JJM_INPUT_FILES="+list, "GBS_LOG="+log)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "logged"))
	return string(text), err
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The test concatenates real files with a real shell: files with unusual names and bytes, and more names than fit on a
// command line.
func TestCommand_PutsEveryByteInOrder(t *testing.T) {
	dir := t.TempDir()
	var files []string
	var want strings.Builder
	names := []string{"plain", "with blank", "-n", "$(touch hacked)", "back\\slash", "'\"`", "ü"}
	for i := range 600 {
		name := names[i%len(names)] + fmt.Sprint(i) + strings.Repeat("x", 100)
		text := strings.Repeat(fmt.Sprint(i)+"\x00\xff", i%5) // some are empty, none ends with a newline
		put(t, filepath.Join(dir, name), text)
		files = append(files, filepath.Join(dir, name))
		want.WriteString(text)
	}
	logged, err := run(t, dir, files)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "concat.dat"))
	if err != nil || string(got) != want.String() {
		t.Errorf("%d bytes, want %d; %v", len(got), want.Len(), err)
	}
	if logged != "INFO processed=600 files\n" {
		t.Errorf("logged %q", logged)
	}
	if _, err := os.Stat(filepath.Join(dir, "hacked")); err == nil {
		t.Error("a name was run as a command")
	}
}

func TestCommand_FailsIfAFileIsNotThere(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a"), "aaa")
	for _, bad := range []string{filepath.Join(dir, "none"), dir} {
		logged, err := run(t, dir, []string{filepath.Join(dir, "a"), bad})
		if err == nil || !strings.Contains(err.Error(), bad) || logged != "" {
			t.Errorf("%s: %v, logged %q", bad, err, logged)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "concat.dat")); err == nil {
		t.Error("something was written")
	}
}

// If the disk is full, the output is incomplete, and the command fails.
func TestCommand_FailsIfItCannotWrite(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a"), "aaa")
	if err := os.Symlink("/dev/full", filepath.Join(dir, "concat.dat")); err != nil {
		t.Fatal(err)
	}
	if logged, err := run(t, dir, []string{filepath.Join(dir, "a")}); err == nil || logged != "" {
		t.Errorf("%v, logged %q", err, logged)
	}
}
