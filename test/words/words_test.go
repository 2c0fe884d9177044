// Package words_test tests all words of the gatekeepers' languages. A word is an attribute, option or variable by which
// a job for a gatekeeper describes a request. Each word changes the job file or the call as its list says, or is
// rejected, or is handled by the gatekeeper. TestJobFile_EveryKeyIsObserved of package engine shows that every key of a
// job file has an effect.
package words_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/handlers"
	"jjm/handlers/all"
	"jjm/internal/formats/jobfile"
	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/demand"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// call is a parsed job in a gatekeeper's language: the grid job, and the gatekeeper's other requests.
type call struct {
	file                     string // the path of the job file, if the job names one
	spec                     jjm.Spec
	brought                  []gatekeeper.Delivery
	key, credential, subject string
}

// trial is a test of one word: two jobs in the form of the language, without the word and with it.
type trial struct{ without, with string }

// language is the language of a gatekeeper.
type language struct {
	words  []demand.Word
	read   func(t *testing.T, text string) (call, error)
	trials map[string][]trial
	// heading is the heading of the language's section in docs/GATEKEEPERS.md, whose list of words the method documented
	// checks.
	heading string
}

// walk tests every word. All trials of a word together must change exactly the settings that the list names for the
// word.
func (l language) walk(t *testing.T) {
	tried := maps.Clone(l.trials)
	for _, w := range l.words {
		trials := tried[w.Name]
		delete(tried, w.Name)
		switch {
		case w.Sets == demand.Own:
			if trials != nil {
				t.Errorf("%s is tried, and is the gatekeeper's own", w.Name)
			}
		case trials == nil:
			t.Errorf("nothing shows what %s changes", w.Name)
		case w.Sets == demand.Refused:
			l.refuses(t, w.Name, trials)
		default:
			want := slices.Sorted(slices.Values(strings.Split(w.Sets, ", ")))
			got := l.changes(t, w.Name, trials)
			for i, key := range got {
				if slices.Contains(want, "params") { // the list does not name the single settings
					got[i], _, _ = strings.Cut(key, ".")
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: what its list says and what changes differ (-list +changes):\n%s", w.Name, diff)
			}
		}
	}
	for name := range tried {
		t.Errorf("%s is no word", name)
	}
}

// refuses checks that jobs with a word are refused, and that the same jobs without the word are accepted.
func (l language) refuses(t *testing.T, name string, trials []trial) {
	for _, c := range trials {
		if _, err := l.read(t, c.without); err != nil {
			t.Errorf("%s: without it: %v", name, err)
		}
		if _, err := l.read(t, c.with); jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%s: %s is not refused: %v", name, c.with, err)
		}
	}
}

// changes returns the differences between jobs with and without a word.
func (l language) changes(t *testing.T, name string, trials []trial) []string {
	var all []string
	for _, c := range trials {
		without, err := l.read(t, c.without)
		with, also := l.read(t, c.with)
		if err != nil || also != nil {
			t.Errorf("%s: without it: %v; with it: %v", name, err, also)
			continue
		}
		some := differences(&without, &with)
		if len(some) == 0 {
			t.Errorf("%s changes nothing: %s", name, c.with)
		}
		all = append(all, some...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// differences returns the names of the settings in which two calls differ, in the words of the lists.
func differences(a, b *call) (all []string) {
	for name, differs := range map[string]bool{demand.File: a.file != b.file, demand.Key: a.key != b.key,
		demand.Credential: a.credential != b.credential, demand.Subject: a.subject != b.subject,
		demand.Brought: !reflect.DeepEqual(a.brought, b.brought)} {
		if differs {
			all = append(all, name)
		}
	}
	if a.file != "" && b.file != "" {
		return all // the content of a job file does not depend on the words of the language
	}
	one, other := keysOf(a.spec), keysOf(b.spec)
	for key := range merged(one, other) {
		if one[key] != other[key] {
			all = append(all, key)
		}
	}
	return all
}

func merged(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// keysOf returns the keys of a job file with their values.
func keysOf(spec jjm.Spec) map[string]string {
	text, err := json.Marshal(spec)
	var tree map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if err != nil {
		panic(err)
	}
	out := map[string]string{}
	for key, value := range tree {
		var inner map[string]json.RawMessage
		if key == "request" || key == "params" {
			if json.Unmarshal(value, &inner) != nil {
				panic(string(value))
			}
			for name, v := range inner {
				out[key+"."+name] = string(v)
			}
			continue
		}
		out[key] = string(value)
	}
	return out
}

// taken parses the job file of a gatekeeper in the same way as the daemon, up to the commands of the local jobs. The
// job file must be accepted.
func taken(t *testing.T, job gatekeeper.Job) jjm.Spec {
	t.Helper()
	doc, problems := jobfile.Parse(job.Name, []byte(job.Text))
	spec := &doc.Spec
	h, err := all.Registry().Get(spec.Type)
	if err != nil {
		t.Fatalf("%s: %v", job.Text, err)
	}
	if problems = append(problems, problems.Unsaid(handlers.Examine(h, spec, handlers.Site{}))...); len(problems) > 0 {
		t.Fatalf("%s: %v", job.Text, problems)
	}
	cut, err := handlers.SplitBy(h, spec, handlers.Site{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := split.Get(cut.Splitter)
	if err != nil {
		t.Fatal(err)
	}
	parts, _, _, err := s.Cut(cut.Work, split.Limits{}, cut.Params, split.Carry{})
	if err != nil || len(parts) == 0 {
		t.Fatalf("%s: %d parts: %v", job.Text, len(parts), err)
	}
	for i := range parts {
		c, err := handlers.CommandForeseen(h, spec, &parts[i], i)
		if err != nil || len(c.Argv) == 0 {
			t.Fatalf("%s: %q, %v", job.Text, c.Argv, err)
		}
	}
	return *spec
}

// section returns the section of docs/GATEKEEPERS.md with a heading.
func section(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/GATEKEEPERS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(text), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("docs/GATEKEEPERS.md has no heading %q", heading)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	return part
}

// documented compares the tables of words in a section with the list. Each row has words and the settings that the
// words set.
func (l language) documented(t *testing.T) {
	_, table, _ := strings.Cut(section(t, l.heading), "<!-- words -->\n")
	table, _, ended := strings.Cut(table, "<!-- end -->")
	if !ended {
		t.Fatalf("%s: the page has no table of words", l.heading)
	}
	shown := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\| ([^|]*) \\|").FindAllStringSubmatch(table, -1) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			if shown[m[1]] != "" {
				t.Errorf("%s is shown twice", m[1])
			}
			shown[m[1]] = strings.ReplaceAll(row[2], "`", "")
		}
	}
	want := map[string]string{}
	for _, w := range l.words {
		if want[w.Name] = w.Sets; w.Sets == demand.Own {
			want[w.Name] = "the gatekeeper's own"
		}
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("%s: words (-list +page):\n%s", l.heading, diff)
	}
}

func languages() map[string]language {
	return map[string]language{"gram": gramLanguage(), "globus2": globus2Language(), "arc": arcLanguage(),
		"blahp": blahpLanguage()}
}

func TestWords_EachChangesWhatItsListSays(t *testing.T) {
	for name, l := range languages() {
		t.Run(name, l.walk)
	}
}

func TestWords_ThePageShowsTheList(t *testing.T) {
	for name, l := range languages() {
		t.Run(name, l.documented)
	}
}

// Each word sets keys that docs/JOB-FILES.md lists, or parts of the call.
func TestWords_SetKeysOfJobFiles(t *testing.T) {
	text, err := os.ReadFile("../../docs/JOB-FILES.md")
	if err != nil {
		t.Fatal(err)
	}
	calls := []string{demand.File, demand.Brought, demand.Key, demand.Credential, demand.Subject}
	for name, l := range languages() {
		for _, w := range l.words {
			if w.Sets == demand.Own || w.Sets == demand.Refused {
				continue
			}
			for _, key := range strings.Split(w.Sets, ", ") {
				if key, _, _ = strings.Cut(key, "params."); key == "" {
					key = "params"
				}
				row := fmt.Sprintf("\n| `%s` |", key)
				if !strings.Contains(string(text), row) && !strings.Contains(string(text), "\n| `"+key+"[].") &&
					!slices.Contains(calls, key) {
					t.Errorf("%s: %s sets %s, which is no key of a job file", name, w.Name, key)
				}
			}
		}
	}
}

// A project and a limit of CPU time mean the same in every language that has words for them.
func TestWords_ProjectAndCPUTimeMeanTheSame(t *testing.T) {
	hour := jjm.Duration(time.Hour)
	project, cpu := jjm.Request{Account: "atlas"}, jjm.Request{CPUTime: hour, Walltime: hour}
	for text, c := range map[string]struct {
		read func(*testing.T, string) (call, error)
		want jjm.Request
	}{
		"(executable=/bin/x)(project=atlas)":                {readGram, project},
		"(executable=/bin/x)(max_cpu_time=60)":              {readGram, cpu},
		"grami_program='/bin/x'\ngrami_project='atlas'\n":   {readGlobus2, project},
		"grami_program='/bin/x'\ngrami_max_cpu_time='60'\n": {readGlobus2, cpu},
		options("cputime=3600"):                             {readARC, cpu},
		"-c\n/bin/x\n-A\natlas\n":                           {readBlahp, project},
		"(jjm_type=script)(jjm_params=(command x))(project=atlas)(max_cpu_time=60)": {readGram,
			jjm.Request{Account: "atlas", CPUTime: hour, Walltime: hour}},
		"(executable=/bin/x)(max_cpu_time=60)(max_wall_time=120)": {readGram, jjm.Request{CPUTime: hour, Walltime: 2 * hour}},
	} {
		got, err := c.read(t, text)
		if diff := cmp.Diff(c.want, got.spec.Request); diff != "" || err != nil {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
}
