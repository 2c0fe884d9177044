package gram

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

func w(words ...string) []Value {
	out := make([]Value, len(words))
	for i, word := range words {
		out[i] = Value{Word: word}
	}
	return out
}

func TestParseRSL_ParsesTheSpecification(t *testing.T) {
	for text, want := range map[string]Description{
		"":                           {},
		"&":                          {},
		"&(executable=/bin/true)":    {"executable": w("/bin/true")},
		" & ( Max_Wall_Time = 5 ) ":  {"maxwalltime": w("5")},
		`(a="b c" 'd e' f)`:          {"a": w("b c", "d e", "f")},
		`(a="say ""hi""" 'it''s')`:   {"a": w(`say "hi"`, "it's")},
		"(a=\"two\nlines\")(b=)":     {"a": w("two\nlines"), "b": {}},
		"(* note *)&(a=1)(* more *)": {"a": w("1")},
		"(a=(b c)(d))":               {"a": {{List: w("b", "c")}, {List: w("d")}}},
		`(a=(x ("y" (z))) ())`: {"a": {{List: []Value{{Word: "x"}, {List: []Value{{Word: "y"}, {List: w("z")}}}}},
			{List: []Value{}}}},
		"(a=https://h:1/x-y_z.w,v;k)": {"a": w("https://h:1/x-y_z.w,v;k")},
	} {
		got, err := ParseRSL(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestParseRSL_ErrorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"executable=/bin/true":                "want (attribute=value...)",
		"+(&(a=1))(&(b=2))":                   "want (attribute=value...)",
		"&(a=1":                               "not closed",
		"&(a=\"b)":                            "a quote is not closed",
		"&(a)":                                "want = after a",
		"&(=1)":                               "want an attribute's name",
		"&(a<5)":                              "want = after a",
		"&(a=$(HOME))":                        "resolve it",
		"&(a=b#c)":                            "resolve it",
		"&(a=1)\n(b=2)\n(A_=3)":               "line 3: attribute a is given twice",
		"&(a=\"\x00\")":                       "zero byte",
		"&(a=" + strings.Repeat("(", 9) + ")": "deep",
		strings.Repeat(" ", maxRSL+1):         "longer than",
	} {
		_, err := ParseRSL(text)
		if err == nil || !strings.Contains(err.Error(), want) || jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

// genValues makes nested lists.
func genValues(t *rapid.T, depth int) []Value {
	out := make([]Value, rapid.IntRange(0, 3).Draw(t, "n"))
	for i := range out {
		if depth < 4 && rapid.IntRange(0, 3).Draw(t, "list") == 0 {
			out[i].List = genValues(t, depth+1)
			continue
		}
		out[i].Word = strings.ReplaceAll(rapid.String().Draw(t, "word"), "\x00", "")
	}
	return out
}

func TestParseRSL_ParsesWhatStringWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Description{}
		for _, name := range rapid.SliceOfN(rapid.StringMatching(`[a-z][a-z0-9]{0,8}`), 0, 4).Draw(t, "names") {
			d[name] = genValues(t, 1)
		}
		got, err := ParseRSL(d.String())
		if err != nil {
			t.Fatalf("%q: %v", d.String(), err)
		}
		if diff := cmp.Diff(d, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzParseRSL(f *testing.F) {
	files, err := filepath.Glob("testdata/*.rsl")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("&(a=(b 'c' \"d\"\"\"))(* x *)(jjm_params=(command a b)(n 5))")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseRSL(text)
		if err != nil {
			if jjm.KindOf(err) != jjm.Invalid {
				t.Fatalf("kind %v: %v", jjm.KindOf(err), err)
			}
			return
		}
		again, err := ParseRSL(d.String())
		if err != nil || !cmp.Equal(d, again) {
			t.Fatalf("%q was written as %q: %v", text, d.String(), err)
		}
		job, err := Read(d)
		if err != nil {
			if jjm.KindOf(err) != jjm.Invalid {
				t.Fatalf("kind %v: %v", jjm.KindOf(err), err)
			}
			return
		}
		if n := len(kinds(job)); n != 1 {
			t.Fatalf("%q is %d kinds of job", text, n)
		}
	})
}

func kinds(j Job) []string {
	var k []string
	if j.JobFile != "" {
		k = append(k, "job file")
	}
	if j.Spec != nil {
		k = append(k, "spec")
	}
	if j.Plain != nil {
		k = append(k, "plain")
	}
	return k
}
