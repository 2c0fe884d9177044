package jobfile

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

// If a job type or a site finds a problem in a JIM file, the problem names JIM's attribute and the line of this
// attribute.
func TestJDF_ProblemsFoundByTypesNameTheAttribute(t *testing.T) {
	const text = "job_type = dzero_monte_carlo\nrunjob_requestid = 1\n\nrunjob_numevts = 5\nminbias_dataset = mb\n"
	doc, problems := Parse("mc.jdf", []byte(text))
	if problems != nil {
		t.Fatal(problems)
	}
	got := doc.Locate(jjm.Problems{{Field: "datasets[0].name", Text: "is not there"},
		{Field: "params.events", Text: "too many"}, {Field: "inputs[0].path", Text: "no such file"}})
	want := []string{"mc.jdf: inputs[0].path: no such file", "mc.jdf:4: runjob_numevts: too many",
		"mc.jdf:5: minbias_dataset: is not there"}
	var texts []string
	for _, p := range got {
		texts = append(texts, p.String())
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// docs/JOB-FILES.md must list every attribute of JIM with the key of the job file that the attribute sets.
func TestJDF_EveryAttributeIsListed(t *testing.T) {
	page, err := os.ReadFile("../../../docs/JOB-FILES.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(page), "## JIM's job description files\n")
	if !ok {
		t.Fatal("no section on JIM's job description files")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var listed, words [][]string
	row := regexp.MustCompile("(?m)^\\| `([^`]+)`(, required)? \\| `([^`]+)`")
	for _, m := range row.FindAllStringSubmatch(section, -1) {
		listed = append(listed, []string{m[1], m[2], m[3]})
	}
	for _, w := range jimWords() {
		required := ""
		if w.required {
			required = ", required"
		}
		words = append(words, []string{w.name, required, w.keys[0]})
	}
	if diff := cmp.Diff(words, listed); diff != "" {
		t.Errorf("words (-read +on the page):\n%s", diff)
	}
}

func FuzzParseJDF(f *testing.F) {
	for _, folder := range []string{"bad", "good"} {
		for _, file := range files(f, folder) {
			if strings.HasSuffix(file, ".jdf") {
				f.Add(read(f, file))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, problems := Parse("job.jdf", text)
		for _, p := range problems {
			if p.Text == "" || p.Where == "" || strings.ContainsRune(p.String(), '\n') {
				t.Errorf("problem %q", p)
			}
		}
		if len(problems) == 0 {
			readsBack(t, doc.Spec)
		}
	})
}
