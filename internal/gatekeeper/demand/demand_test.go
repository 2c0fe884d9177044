package demand

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/formats/jobfile"
	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/plain"
	"jjm/internal/jjm"
)

func noFiles(string) ([]byte, error) { return nil, errors.New("no such file") }

func TestJob_ReturnsEachKind(t *testing.T) {
	files := func(path string) ([]byte, error) {
		if path != "/home/u/job.toml" {
			return noFiles(path)
		}
		return []byte("type = 'x'\n"), nil
	}
	file := Demand{JobFile: "/home/u/job.toml"}
	got, err := file.Job(files)
	if diff := cmp.Diff(gatekeeper.Job{Name: "job.toml", Text: "type = 'x'\n", BaseDir: "/home/u"}, got); diff != "" ||
		err != nil {
		t.Errorf("job file: %v %s", err, diff)
	}
	spec := Demand{Spec: &jjm.Spec{Type: "script", Params: map[string]any{"count": json.Number("3")}}, Folder: "/f"}
	got, err = spec.Job(noFiles)
	doc, problems := jobfile.Parse(got.Name, []byte(got.Text))
	if err != nil || len(problems) > 0 || got.BaseDir != "/f" || doc.Spec.Params["count"] != int64(3) {
		t.Errorf("attributes: %+v %v %v", got, err, problems)
	}
	ordinary := Demand{Plain: &plain.Job{Executable: "/bin/true", Folder: "/p"}}
	got, err = ordinary.Job(noFiles)
	if doc, problems = jobfile.Parse(got.Name, []byte(got.Text)); err != nil || len(problems) > 0 ||
		doc.Spec.Type != "script" || got.BaseDir != "/p" {
		t.Errorf("plain: %+v %v %v", got, err, problems)
	}
}

func TestJob_RefusesInvalidDemands(t *testing.T) {
	for name, d := range map[string]Demand{
		"no file":    {JobFile: "/nowhere"},
		"no program": {Plain: &plain.Job{Folder: "/"}},
		"nothing":    {},
	} {
		if _, err := d.Job(noFiles); jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%s: %v, want Invalid", name, err)
		}
	}
}

func TestValue_ConvertsNumbersAndBooleans(t *testing.T) {
	for word, want := range map[string]any{
		"5": json.Number("5"), "-7": json.Number("-7"), "1.5e3": json.Number("1.5e3"), "true": true, "false": false,
		"": "", "x": "x", "5x": "5x", "007": "007", "-": "-", "null": "null", `"q"`: `"q"`, "[1]": "[1]", "1 2": "1 2",
		"NaN": "NaN",
	} {
		if got := Value(word); got != want {
			t.Errorf("%q: %#v, want %#v", word, got, want)
		}
	}
}
