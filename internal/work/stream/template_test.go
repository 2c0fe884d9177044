package stream

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTemplate_FillsInTheNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"out.${SN}.root": "out.000042.root", "${SN/P}": "000042", "${SN:03}-${SN:9}": "042-000000042", "none": "none",
		"${SN:1}": "42", "EVNT.01206750._${SN}.pool.root": "EVNT.01206750._000042.pool.root",
		"${SN:18}": "000000000000000042", "a${SN:01}b": "a42b",
	} {
		name, err := Parse(text)
		if err != nil || name.Name(42) != want {
			t.Errorf("%s: %q, %v, want %q", text, name.Name(42), err, want)
		}
	}
}

func TestParse_RefusesWithARemedy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "is missing: want the name of the file",
		"a/${SN}":                "a path separator: want the name of a file, without folders",
		"${SN}/../b":             "a path separator",
		"${TASKID}":              `unknown "${TASKID}": known are ${SN} with six digits`,
		"${sn}":                  `unknown "${sn}"`,
		"${SN:19}":               `"${SN:19}": want a number of 1 to 18 digits`,
		"${SN:0}":                "want a number of 1 to 18 digits",
		"${SN:}":                 "want a number of 1 to 18 digits",
		"${SN:006}":              "want a number of 1 to 18 digits",
		"${SN:-3}":               "want a number of 1 to 18 digits",
		"${SN":                   "a brace is never closed",
		"$SN":                    `'$': want letters, digits`,
		"a b${SN}":               `' ': want letters`,
		"*${SN}":                 `'*': want letters`,
		"a{SN}":                  `'{': want letters`,
		".a${SN}":                `'.' in front`,
		"-a${SN}":                `'-' in front`,
		strings.Repeat("a", 201): "201 bytes are too long: at most 200",
		"a\n${SN}":               `'\n': want letters`,
		"\xff${SN}":              "want letters",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// templates draws valid output templates.
func templates() *rapid.Generator[string] {
	piece := rapid.OneOf(rapid.SampledFrom([]string{"${SN}", "${SN/P}", "${SN:1}", "${SN:03}", "${SN:12}"}),
		rapid.StringMatching(`[A-Za-z0-9._-]{1,4}`), rapid.SampledFrom([]string{"0", "00", "1", ".", "10"}))
	return rapid.Map(rapid.SliceOfN(piece, 1, 5), func(all []string) string { return "x" + strings.Join(all, "") })
}

// Different numbers have different names, Serial returns the number of a name, and each name is a valid file name.
func TestTemplate_NamesAndNumbersAreOneToOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := templates().Draw(t, "template")
		name, err := Parse(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		numbers := rapid.OneOf(rapid.Int64Range(1, 20), rapid.Int64Range(1, 1<<50))
		a, b := numbers.Draw(t, "a"), numbers.Draw(t, "b")
		if got := name.Name(a); path.Base(got) != got || len(got) > 255 {
			t.Fatalf("%q makes %q of %d", text, got, a)
		}
		if !name.Numbered() {
			return
		}
		if (name.Name(a) == name.Name(b)) != (a == b) {
			t.Fatalf("%q makes %q of %d and %d", text, name.Name(a), a, b)
		}
		if n, ok := name.Serial(name.Name(a)); !ok || n != a {
			t.Fatalf("%q: %q leads back to %d, %v, and is of %d", text, name.Name(a), n, ok, a)
		}
	})
}

// If Meet returns false for two templates, the templates never produce the same name.
func TestMeet_FindsEveryCollision(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one, other := templates().Draw(t, "one"), templates().Draw(t, "other")
		a, err := Parse(one)
		b, wrong := Parse(other)
		if err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		numbers := rapid.OneOf(rapid.Int64Range(1, 120), rapid.Int64Range(999_990, 1_000_010))
		n := numbers.Draw(t, "number")
		name := a.Name(n)
		m, ok := b.Serial(name)
		if other == name || ok && b.Name(m) == name {
			if !Meet(a, b) {
				t.Fatalf("%q with %d and %q with %d are both %q", one, n, other, m, name)
			}
		}
		if !Meet(a, a) || Meet(a, b) != Meet(b, a) {
			t.Fatalf("%q and %q: not the same both ways", one, other)
		}
	})
}

func TestMeet_TellsUsualNamesApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"EVNT.${SN}", "EVNT.${SN}", true}, {"EVNT.${SN}", "EVNT.${SN:4}", true}, {"EVNT.${SN}", "HITS.${SN}", false},
		{"a.1.${SN}", "a.2.${SN}", false}, {"a.1.${SN}", "a.1.${SN}.root", false}, {"a${SN}", "a1${SN:3}", true},
		{"a${SN:2}", "a1", false}, {"a${SN:2}", "a12", true}, {"a${SN:2}", "a123", true},
	} {
		a, err := Parse(c.a)
		b, wrong := Parse(c.b)
		if err != nil || wrong != nil || Meet(a, b) != c.want {
			t.Errorf("%s and %s: %v, want %v; %v %v", c.a, c.b, Meet(a, b), c.want, err, wrong)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"EVNT.01206750._${SN}.pool.root",
		"${SN/P}", "${SN:06}", "${SN:", "a/b", "${", "}", "$${SN}",
		"x${SN:99}", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, err := Parse(text)
		if err != nil {
			return
		}
		for _, n := range []int64{1, 7, 999_999, 1_000_000, 1 << 50} {
			got := name.Name(n)
			if strings.ContainsAny(got, "/\x00\n${}") || got == "." || got == ".." || got == "" || got[0] == '-' {
				t.Fatalf("%q with %d is %q", text, n, got)
			}
			if back, ok := name.Serial(got); name.Numbered() && (!ok || back != n) {
				t.Fatalf("%q: %q leads back to %d, %v, and is of %d", text, got, back, ok, n)
			}
		}
		if !Meet(name, name) {
			t.Fatalf("%q does not meet itself", text)
		}
	})
}
