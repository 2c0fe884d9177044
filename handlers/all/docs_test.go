package all_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/handlers"
	"jjm/handlers/all"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
	"jjm/internal/work/split"

	// TestJobTypes_ExampleTypePassesTheSuite compiles a test that uses this package, in a separate go command. The import
	// tells go test to run the tests again if this package changes.
	_ "jjm/internal/testkit/handlertest"
)

const docs = "../../docs"

// block is one fenced block of a page: the words after the fence, and the text.
type block struct{ info, text string }

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docs, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func blocks(t *testing.T, name string) []block {
	t.Helper()
	var out []block
	fence := regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")
	for _, m := range fence.FindAllStringSubmatch(page(t, name), -1) {
		out = append(out, block{m[1], m[2]})
	}
	return out
}

// check parses and checks a job file in the same way as a submission, and makes no grid job.
func check(name, text string, site handlers.Site) (jobfile.Doc, handlers.Handler, jjm.Problems) {
	doc, problems := jobfile.Parse(name, []byte(text))
	h, err := all.Registry().Get(doc.Spec.Type)
	if err != nil {
		return doc, nil, problems
	}
	return doc, h, doc.Locate(append(problems, h.Check(&doc.Spec, site)...))
}

func siteOf(dir string) handlers.Site {
	return handlers.Site{Open: func(path string) (io.ReadCloser, error) { return os.Open(filepath.Join(dir, path)) }}
}

// run runs all local jobs of a job file one after another, each in a new folder with the inputs, and returns their
// output.
func run(t *testing.T, dir, text string) string {
	t.Helper()
	doc, h, problems := check("job.toml", text, siteOf(dir))
	if problems != nil {
		t.Fatalf("%v in\n%s", problems, text)
	}
	c, err := h.Split(&doc.Spec, siteOf(dir))
	if err != nil {
		t.Fatal(err)
	}
	s, err := split.Get(c.Splitter)
	if err != nil {
		t.Fatal(err)
	}
	parts, _, _, err := s.Cut(c.Work, split.Limits{}, c.Params, split.Carry{})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i, part := range parts {
		command, err := handlers.CommandForeseen(h, &doc.Spec, &part, i)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(execute(t, dir, &doc.Spec, command))
	}
	return out.String()
}

func execute(t *testing.T, dir string, spec *jjm.Spec, command handlers.Command) string {
	t.Helper()
	work := t.TempDir()
	for _, in := range spec.Inputs {
		text, err := os.ReadFile(filepath.Join(dir, in.Path))
		if err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o600)
		if in.Executable {
			mode = 0o700
		}
		if err := os.WriteFile(filepath.Join(work, in.Name), text, mode); err != nil {
			t.Fatal(err)
		}
	}
	program := command.Argv[0]
	if _, err := os.Stat(filepath.Join(work, program)); err == nil {
		program = filepath.Join(work, program)
	}
	cmd := exec.Command(program, command.Argv[1:]...)
	cmd.Dir = work
	cmd.Env = os.Environ()
	for name, value := range spec.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v", command.Argv, err)
	}
	for _, pattern := range spec.Outputs {
		if found, _ := filepath.Glob(filepath.Join(work, pattern)); len(found) == 0 {
			t.Errorf("%q left no %s", command.Argv, pattern)
		}
	}
	return string(text)
}

func TestJobFiles_ExamplesRunAsShown(t *testing.T) {
	ran := 0
	all := append(blocks(t, "JOB-FILES.md"), blocks(t, "JOB-TYPES.md")...)
	for i, b := range all {
		if b.info != "toml run" {
			continue
		}
		dir := t.TempDir()
		for i++; all[i].info != "text output"; i++ {
			name, ok := strings.CutPrefix(all[i].info, "sh ")
			if !ok {
				t.Fatalf("block %q stands between an example and its output", all[i].info)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(all[i].text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(all[i].text, run(t, dir, b.text)); diff != "" {
			t.Errorf("output (-shown +got):\n%s", diff)
		}
		ran++
	}
	if ran < 2 {
		t.Errorf("only %d examples ran", ran)
	}
}

// The command lines of local jobs must equal the command lines in the page's section about streams.
func TestJobFiles_StreamsBecomeTheCommandsShown(t *testing.T) {
	shown := blocks(t, "JOB-FILES.md")
	at := slices.IndexFunc(shown, func(b block) bool { return b.info == "text commands" })
	if at < 1 {
		t.Fatal("no commands are shown")
	}
	var got strings.Builder
	for _, a := range streamsOf(t, shown[at-1].text).Assignments {
		fmt.Fprintln(&got, strings.Join(a.Argv, " "))
	}
	if diff := cmp.Diff(shown[at].text, got.String()); diff != "" {
		t.Errorf("commands (-shown +got):\n%s", diff)
	}
}

func TestJobFiles_MistakesAreReportedAsShown(t *testing.T) {
	shown := 0
	all := blocks(t, "JOB-FILES.md")
	for i, b := range all {
		if b.info != "toml wrong" {
			continue
		}
		if all[i+1].info != "text problems" {
			t.Fatalf("block %q follows a wrong job file", all[i+1].info)
		}
		_, _, problems := check("job.toml", b.text, handlers.Site{})
		var got strings.Builder
		for _, p := range problems {
			fmt.Fprintln(&got, p)
		}
		if diff := cmp.Diff(all[i+1].text, got.String()); diff != "" {
			t.Errorf("problems (-shown +got):\n%s", diff)
		}
		shown++
	}
	if shown < 5 {
		t.Errorf("only %d mistakes are shown", shown)
	}
}

// The table of keys in docs/JOB-FILES.md must equal the keys of the Go types.
func TestJobFiles_EveryKeyIsListed(t *testing.T) {
	want := map[string]bool{"cluster": true}
	keys := func(prefix string, v any) {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous {
				want[prefix+key] = true
			}
		}
	}
	keys("", jjm.Spec{})
	keys("request.", jjm.Request{})
	keys("retry.", jjm.Retries{})
	keys("inputs[].", jjm.Input{})
	keys("datasets[].", jjm.DatasetInput{})
	keys("output_templates[].", jjm.OutputTemplate{})
	keys("split.", jjm.Splitting{})
	keys("merge.", jjm.Merge{})
	keys("callback.", jjm.Callback{})
	for _, table := range []string{"request", "retry", "inputs", "datasets", "output_templates", "split",
		"merge", "callback"} {
		delete(want, table)
	}
	_, section, _ := strings.Cut(page(t, "JOB-FILES.md"), "\n## The keys\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z][^`{]*)` \\|").FindAllStringSubmatch(section, -1) {
		if !want[m[1]] {
			t.Errorf("%s is listed but not known, or listed twice", m[1])
		}
		delete(want, m[1])
	}
	for key := range want {
		t.Errorf("%s is not listed", key)
	}
}

// The table of placeholders in the page must equal the placeholders that parts have.
func TestJobFiles_EveryPlaceholderIsListed(t *testing.T) {
	want := map[string]bool{}
	for _, unit := range []string{jjm.UnitEvent, jjm.UnitRow, jjm.UnitFile} {
		for name := range handlers.PartValues(&jjm.LocalJob{Part: jjm.Part{Unit: unit, Input: new(jjm.PartInput)}}, 0) {
			want["{"+name+"}"] = true
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `({[a-z_]+})` \\|").FindAllStringSubmatch(page(t, "JOB-FILES.md"), -1) {
		if !want[m[1]] {
			t.Errorf("%s is listed but not known, or listed twice", m[1])
		}
		delete(want, m[1])
	}
	for name := range want {
		t.Errorf("%s is not listed", name)
	}
}

func TestJobTypes_SettingsAreThoseOfTheTypes(t *testing.T) {
	text := page(t, "JOB-TYPES.md")
	for name, h := range all.Registry() {
		_, after, found := strings.Cut(text, "<!-- params "+name+" -->\n")
		shown, _, ended := strings.Cut(after, "<!-- end -->")
		if !found || !ended {
			t.Errorf("JOB-TYPES.md has no settings of %s", name)
			continue
		}
		if want := table(h.Describe().Params); shown != want {
			t.Errorf("the settings of %s should read:\n%s", name, want)
		}
		if result := fmt.Sprintf("(`result = %q`)", h.Describe().Result); !strings.Contains(text, result) {
			t.Errorf("JOB-TYPES.md does not say %s of %s", result, name)
		}
	}
}

// table formats settings as the table in the page shows them.
func table(params []handlers.Param) string {
	var b strings.Builder
	b.WriteString("| setting | type | unit | default | meaning |\n|---|---|---|---|---|\n")
	for _, p := range params {
		value := p.Default
		if p.Required {
			value = "required"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", p.Name, p.Type, p.Unit, value, p.Help)
	}
	return b.String()
}

// The test compiles the example job type of docs/JOB-TYPES.md as if the type were a package of the project, and runs
// the test of the example.
func TestJobTypes_ExampleTypePassesTheSuite(t *testing.T) {
	needs.Program(t, "go", "golang-go")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := map[string]map[string]string{"Replace": {}}
	for _, b := range blocks(t, "JOB-TYPES.md") {
		name := map[string]string{"go": "sweep.go", "go test": "sweep_test.go"}[b.info]
		if name == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(b.text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay["Replace"][filepath.Join(root, "handlers", "sweep", name)] = filepath.Join(dir, name)
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "sweep.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-o", program, "-overlay", file, "./handlers/sweep")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the example of JOB-TYPES.md does not compile: %v\n%s", err, out)
	}
	out, err := exec.Command(program, "-test.v").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestConformance") {
		t.Errorf("the example of JOB-TYPES.md fails: %v\n%s", err, out)
	}
}
