package words_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
)

// jdfWords returns JIM's attributes and the keys that they set, as the page lists them. TestJDF_EveryWordIsListed of
// package jobfile shows that the page lists all attributes.
func jdfWords(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/JOB-FILES.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "## JIM's job description files\n")
	part, _, _ = strings.Cut(part, "\n## ")
	words := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`[^|]* \\| `([^`]+)`").FindAllStringSubmatch(part, -1) {
		words[m[1]] = m[2]
	}
	if len(words) < 10 {
		t.Fatalf("the page lists %v", words)
	}
	return words
}

func jdfSpec(t *testing.T, text string) jjm.Spec {
	t.Helper()
	doc, problems := jobfile.Parse("mc.jdf", []byte(text))
	if len(problems) > 0 {
		t.Fatalf("%s: %v", text, problems)
	}
	return doc.Spec
}

// Every attribute of JIM's job description files changes the key of a job file that the page names. jjm knows only one
// type of such files.
func TestJDF_EachWordChangesItsKey(t *testing.T) {
	const base = "job_type = dzero_monte_carlo\nrunjob_requestid = 1\nrunjob_numevts = 100\n"
	with := func(line string) [2]string { return [2]string{base, base + line + "\n"} }
	trials := map[string][2]string{
		"runjob_requestid": {base, strings.Replace(base, "id = 1", "id = 2", 1)},
		"runjob_numevts":   {base, strings.Replace(base, "100", "200", 1)},
		"instances":        with("instances = 4"), "jobfiles_dataset": with("jobfiles_dataset = cards"),
		"minbias_dataset": with("minbias_dataset = mb"), "station_name": with("station_name = s"),
		"d0_release_version": with("d0_release_version = p17"), "check_consistency": with("check_consistency = true"),
		"+notify_user": with("+notify_user = a@example.org"),
	}
	for word, key := range jdfWords(t) {
		if word == "job_type" {
			if _, problems := jobfile.Parse("mc.jdf", []byte(strings.Replace(base, "dzero_monte_carlo", "x", 1))); len(
				problems) == 0 {
				t.Error("another job_type is accepted")
			}
			continue
		}
		texts, tried := trials[word]
		if !tried {
			t.Errorf("nothing shows what %s changes", word)
			continue
		}
		a, b := call{spec: jdfSpec(t, texts[0])}, call{spec: jdfSpec(t, texts[1])}
		got := differences(&a, &b)
		slices.Sort(got)
		want := key
		if table, name, _ := strings.Cut(key, "."); table == "env" {
			if want = table; b.spec.Env[name] == a.spec.Env[name] {
				t.Errorf("%s does not set %s", word, key)
			}
		}
		wants := []string{want}
		if word == "+notify_user" {
			wants = append(wants, "notify")
		}
		if diff := cmp.Diff(wants, got); diff != "" {
			t.Errorf("%s (-page +changes):\n%s", word, diff)
		}
	}
}
