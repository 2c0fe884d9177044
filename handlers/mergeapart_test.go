package handlers_test

import (
	"strings"
	"testing"

	"jjm/handlers"
	"jjm/internal/formats/jobfile"
)

// merge.apart is refused if it could have no effect.
func TestMergeApart_IsRefusedWithoutAnEffect(t *testing.T) {
	for text, want := range map[string]string{
		"apart = [\"cluster\"]\n":                                             "only JEDIMerge keeps outputs apart",
		"apart = [\"cluster\"]\nsplit = {by = \"WMBSMergeBySize\"}\n":         "only JEDIMerge keeps outputs apart",
		"apart = [\"group\"]\nsplit = {by = \"JEDIMerge\"}\n":                 "this job reads none",
		"apart = [\"cluster\", \"priority\"]\nsplit = {by = \"JEDIMerge\"}\n": "",
	} {
		doc, problems := jobfile.Parse("job.toml", []byte("type = \"script\"\n[merge]\nconcat = true\n"+text))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		_, problems = handlers.MergeCutting(&doc.Spec)
		switch err := problems.Err(); {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || problems[0].Field != "merge.apart"):
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
