package jobfile

import (
	"strings"
	"testing"

	"jjm/internal/jjm"
)

func TestMerge_DefaultsAndMistakes(t *testing.T) {
	doc, ps := Parse("job.toml", []byte("type = \"script\"\n[merge]\nconcat = true\n"))
	if m := doc.Spec.Merge; len(ps) > 0 || m == nil || m.Files != 50 || m.Bytes != 5e9 || m.Attempts != 3 ||
		m.Output != "merged" || m.MaxWait != jjm.MergeWait {
		t.Fatalf("%+v %v", m, ps)
	}
	for text, field := range map[string]string{
		"":                                     "merge",
		"concat = true\ncommand = [\"a\"]":     "merge.concat",
		"command = []":                         "merge.command",
		"concat = true\noutput = \"../x\"":     "merge.output",
		"concat = true\noutput = \"-n\"":       "merge.output",
		"concat = true\nfiles = -1":            "merge.files",
		"concat = true\nfiles = 10001":         "merge.files",
		"concat = true\nbytes = -5":            "merge.bytes",
		"concat = true\nattempts = 1000":       "merge.attempts",
		"concat = true\nmax_wait = \"1ms\"":    "merge.max_wait",
		"concat = true\nmax_wait = \"99999h\"": "merge.max_wait",
		"concat = true\nfile = 3":              "merge.file",
		"concat = true\napart = [\"site\"]":    "merge.apart[0]",
		"concat = true\napart = \"group\"":     "merge.apart",
	} {
		_, ps := Parse("job.toml", []byte("type = \"script\"\n[merge]\n"+text+"\n"))
		if len(ps) != 1 || !strings.HasPrefix(ps[0].Field, field) {
			t.Errorf("%q: %v, want one about %s", text, ps, field)
		}
	}
}
