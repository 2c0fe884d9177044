package split

import (
	"strings"
	"testing"

	"jjm/internal/jjm"
)

// along returns one secondary dataset. Its files are written as NAME or NAME=GROUP.
func along(attributes string, closed bool, files ...string) []Stream {
	s := Stream{Dataset: jjm.Dataset{Name: "mb", Attributes: attributes, Closed: closed}}
	for _, text := range files {
		name, group, _ := strings.Cut(text, "=")
		s.Files = append(s.Files, jjm.File{LFN: name, Size: 1, Events: 10, Group: group})
	}
	return []Stream{s}
}

// secondary formats the secondary files of parts, such as "x+y z".
func secondary(parts []jjm.Part) string {
	var out []string
	for i := range parts {
		text := "-"
		if more := parts[i].Input.More; more != nil && len(more.Secondary) > 0 {
			text = strings.Join(more.Secondary[0].Files, "+")
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// A secondary dataset that is repeated, or given as a whole to every job, must have at least one file. With boundary
// groups, there must be at least one file in the group of each job.
func TestJEDI_RefusesADatasetWithoutFilesForAJob(t *testing.T) {
	const nothing = "dataset mb has 0 of the"
	for name, c := range map[string]struct {
		attributes, rule string
		files            []string
		want, err        string
	}{
		"none to repeat":  {"repeat", "NF=1", nil, "", nothing},
		"none to reuse":   {"np=1,ru", "NF=1", nil, "", nothing},
		"all of nothing":  {"nosplit", "NF=1", nil, "", nothing},
		"all of two":      {"nosplit", "NF=1", []string{"x", "y"}, "x+y x+y", ""},
		"by group":        {"", "GB=4", []string{"x=g0", "y=g1", "z=g1"}, "x y+z", ""},
		"a group without": {"", "GB=4", []string{"x=g0"}, "", "dataset mb has 1 of the 2 files"},
	} {
		a, b := file("a", 10), file("b", 10)
		a.Group, b.Group = "g0", "g1"
		w := Work{Closed: true, Files: []jjm.File{a, b}, Secondary: along(c.attributes, true, c.files...)}
		p := params(t, JEDI, func(p *Params) { p.Task.Rule = c.rule })
		parts, _, _, err := mustGet(t, JEDI).Cut(w, Limits{}, p, Carry{})
		switch {
		case c.err == "" && (err != nil || secondary(parts) != c.want):
			t.Errorf("%s: %q, want %q: %v", name, secondary(parts), c.want, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %q, %v, want %q", name, secondary(parts), err, c.err)
		}
	}
}

// If every job gets all files of a secondary dataset, nothing is cut until the dataset is closed.
func TestJEDI_WaitsForAnOpenDatasetThatEveryJobGets(t *testing.T) {
	w := Work{Closed: true, Files: []jjm.File{file("a", 10), file("b", 10)}, Secondary: along("nosplit", false, "x")}
	oneFile := func(p *Params) { p.Task.Rule = "NF=1" }
	parts, left := cut(t, JEDI, w, oneFile)
	const says = "dataset mb is open, and each local job gets all of its files"
	if len(parts) != 0 || left.Waiting != 2 || left.Why != says {
		t.Errorf("%q, %+v", secondary(parts), left)
	}
	w.Secondary = along("nosplit", true, "x", "y")
	if parts, left = cut(t, JEDI, w, oneFile); secondary(parts) != "x+y x+y" || left.Waiting != 0 {
		t.Errorf("%q, %+v", secondary(parts), left)
	}
}
