package split

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/SPLITTERS.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tables returns, for each splitter, the settings and defaults in its table in the manual page.
func tables(t *testing.T) map[string]map[string]string {
	t.Helper()
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| [^|]* \\| [^|]* \\| ([^|]*) \\|")
	out := map[string]map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)<!-- params (\w+) -->\n(.*?)<!-- end -->`).FindAllStringSubmatch(page(t),
		-1) {
		keys := map[string]string{}
		for _, row := range rows.FindAllStringSubmatch(m[2], -1) {
			keys[row[1]] = row[2]
		}
		if _, also, ok := strings.Cut(m[2], "Also: "); ok {
			for _, key := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(also, -1) {
				keys[key[1]] = "?"
			}
		}
		out[m[1]] = keys
	}
	return out
}

func TestDocs_ListTheSettingsThatEachSplitterReads(t *testing.T) {
	listed := tables(t)
	used := map[string]bool{}
	for _, name := range Names() {
		want, err := Settings(name)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Sorted(maps.Keys(listed[name]))
		if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
			t.Errorf("%s (-read +on the page):\n%s", name, diff)
		}
		p := params(t, name, func(*Params) {})
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]json.RawMessage{}
		if err := json.Unmarshal(text, &values); err != nil {
			t.Fatal(err)
		}
		for key, shown := range listed[name] {
			used[key] = true
			value := string(values[key])
			zero := value == "" && slices.Contains([]string{"", "0", "false", "required"}, shown)
			if shown != "?" && shown != value && !zero {
				t.Errorf("%s: the page says that the default of %s is %q; it is %q", name, key, shown, value)
			}
		}
		for key := range values {
			if _, ok := listed[name][key]; !ok {
				t.Errorf("%s has a default for %s, which it does not read", name, key)
			}
		}
	}
	for field := range reflect.TypeFor[Params]().Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !used[key] {
			t.Errorf("no splitter reads %s", key)
		}
	}
}

func TestSettings_RefusesUnreadSettings(t *testing.T) {
	if err := CheckSettings(LumiBased, []string{"lumis_per_job", "runs"}); err != nil {
		t.Error(err)
	}
	err := CheckSettings(FileBased, []string{"file_per_job"})
	if want := `split by FileBased: it does not read "file_per_job": did you mean files_per_job?`; err == nil ||
		err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	if err := CheckSettings("x", nil); err == nil {
		t.Error("an unknown splitter has settings")
	}
}

// example is the input of an example in the page.
type example struct {
	Params   json.RawMessage
	First    int64
	Events   int64
	Rows     [][]string
	Files    []jjm.File
	Closed   bool
	Siblings []SiblingState
	Parents  map[string]Parent
}

func TestDocs_ExamplesMakeTheirParts(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile("(?s)```json (\\w+)\n(.*?)```\n```parts\n(.*?)```").FindAllStringSubmatch(page(t),
		-1) {
		name := m[1]
		seen[name] = true
		var e example
		d := json.NewDecoder(strings.NewReader(m[2]))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p := params(t, name, func(p *Params) {
			if e.Params == nil {
				return
			}
			d := json.NewDecoder(bytes.NewReader(e.Params))
			d.DisallowUnknownFields()
			if err := d.Decode(p); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		})
		w := Work{First: e.First, Events: e.Events, Rows: e.Rows, Files: e.Files, Closed: e.Closed,
			Siblings: e.Siblings, Parents: e.Parents}
		parts, left, _, err := mustGet(t, name).Cut(w, Limits{}, p, Carry{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(m[3], shown(&w, parts, left)); diff != "" {
			t.Errorf("%s (-shown +made):\n%s", name, diff)
		}
	}
	for _, name := range Names() {
		if !seen[name] {
			t.Errorf("%s has no example", name)
		}
	}
}

// shown formats parts in the same way as the page.
func shown(w *Work, parts []jjm.Part, left Left) string {
	var out strings.Builder
	for i := range parts {
		p := &parts[i]
		fmt.Fprintf(&out, "%d %s %d-%d", p.Serial, p.Unit, p.First, p.Last())
		if len(p.Args) > 0 {
			fmt.Fprintf(&out, " args %s", strings.Join(p.Args, " "))
		}
		if p.Input != nil {
			showInput(&out, p)
		}
		fmt.Fprintln(&out)
	}
	if left.Waiting > 0 {
		fmt.Fprintf(&out, "%d waits: %s\n", left.Waiting, left.Why)
	}
	for _, d := range left.Dropped {
		fmt.Fprintf(&out, "%s is completed: %s\n", w.Files[d.File].LFN, d.Why)
	}
	return out.String()
}

func showInput(out *strings.Builder, p *jjm.Part) {
	in := p.Input
	if len(in.Files) > 0 {
		fmt.Fprintf(out, " reads %s", strings.Join(in.Files, " "))
	}
	if len(in.Lumis)+len(in.Events) > 0 {
		out.WriteString(" owns")
	}
	for _, l := range in.Lumis {
		fmt.Fprintf(out, " %s %d:%d-%d", in.Files[l.File], l.Run, l.First, l.Last)
	}
	for _, r := range in.Events {
		fmt.Fprintf(out, " %s %d-%d", in.Files[r.File], r.First, r.First+r.Count-1)
	}
	if s := in.Mask.Events; s.Count > 0 {
		fmt.Fprintf(out, " mask events %d-%d", s.First, s.Last())
	}
	if in.Estimate.Seconds > 0 {
		fmt.Fprintf(out, " needs %v s", in.Estimate.Seconds)
	}
	if in.More != nil {
		for n, key := range slices.Sorted(maps.Keys(in.More.Settings)) {
			if n == 0 {
				out.WriteString(" sets")
			}
			fmt.Fprintf(out, " %s=%v", key, in.More.Settings[key])
		}
	}
	if f := p.Failure(); f != nil {
		fmt.Fprintf(out, " failed %d", f.Code)
	}
}
