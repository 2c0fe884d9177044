package arc

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

func TestParseGrami_ParsesWordsLikeAShell(t *testing.T) {
	for text, want := range map[string]Grami{
		"":                                {},
		"\n \n":                           {},
		"joboption_a=x\n":                 {"a": "x"},
		"joboption_a='x y'":               {"a": "x y"},
		"joboption_a='it'\\''s'\n":        {"a": "it's"},
		"joboption_a=\"x \\\"y\\\"\"":     {"a": `x "y"`},
		"joboption_a=X='y z'\n":           {"a": "X=y z"},
		"joboption_a=\njoboption_b=2":     {"a": "", "b": "2"},
		"joboption_a=1\njoboption_a=2\n":  {"a": "2"},
		"joboption_a='l1\nl2'\nother=5\n": {"a": "l1\nl2"},
		"joboption_a='$HOME `id`'\n":      {"a": "$HOME `id`"},
		"joboption_a=x\\ y\n":             {"a": "x y"},
	} {
		got, err := ParseGrami(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// ParseGrami returns an error for all texts that a shell would run or expand.
func TestParseGrami_RunsNothing(t *testing.T) {
	for text, want := range map[string]string{
		"joboption_a=$HOME\n":               "line 1",
		"joboption_a=1\njoboption_b=`id`\n": "line 2",
		"joboption_a=\"$(id)\"\n":           "double quotes",
		"joboption_a=x; rm -rf /\n":         "a shell would",
		"joboption_a=x y\n":                 "a shell would",
		"joboption_a=>x\n":                  "a shell would",
		"joboption_a='x\n":                  "not closed",
		"joboption_a=\"x\n":                 "not closed",
		"rm -rf /\n":                        "want NAME=VALUE",
		"rm -rf /; a=1\n":                   "not a name",
		"joboption_a=x\\":                   "backslash",
		strings.Repeat("a", maxGrami+1):     "longer",
	} {
		_, err := ParseGrami(text)
		if err == nil || !strings.Contains(err.Error(), want) || jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseGrami(f *testing.F) {
	text, err := os.ReadFile("testdata/arcsub.grami")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("joboption_arg_0='./x'\\''y'\njoboption_env_0=\"A=\\\"b\\\"\"\njoboption_directory='/s'\njoboption_gridid=g\n")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ParseGrami(text)
		if err != nil {
			if jjm.KindOf(err) != jjm.Invalid {
				t.Fatalf("kind %v: %v", jjm.KindOf(err), err)
			}
			return
		}
		// If a parsed value is quoted in the same way as by A-REX, parsing it again must return the same value.
		var b strings.Builder
		for name, value := range g {
			b.WriteString("joboption_" + name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'\n")
		}
		again, err := ParseGrami(b.String())
		if err != nil || !cmp.Equal(g, again) {
			t.Fatalf("%q was written as %q: %v", text, b.String(), err)
		}
		if _, err := Read(g); err != nil && jjm.KindOf(err) != jjm.Invalid {
			t.Fatalf("kind %v: %v", jjm.KindOf(err), err)
		}
	})
}
