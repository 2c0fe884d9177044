package strict

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

// sample has a field of every kind that the configuration and job files use.
type sample struct {
	Base
	Text     string            `json:"text"`
	Count    int               `json:"count"`
	Small    int8              `toml:"small" json:"ignored"`
	Positive uint16            `json:"positive"`
	Share    float64           `json:"share,omitempty"`
	On       bool              `json:"on"`
	Wait     jjm.Duration      `json:"wait"`
	Maybe    *int              `json:"maybe"`
	Words    []string          `json:"words"`
	Rows     [][]string        `json:"rows"`
	Env      map[string]string `json:"env"`
	Named    map[string]point  `json:"named"`
	Points   []point           `json:"points"`
	Free     map[string]any    `json:"free"`
	Kind     jjm.Kind          `json:"kind"`
	Untagged string
	Hidden   string `json:"-"`
	Odd      chan int
}

// Base is embedded, so its keys are keys of the struct around it.
type Base struct {
	Inner string `json:"inner"`
}

type point struct {
	X int `json:"x"`
	Y int `json:"y"`
}

const everything = `inner = "i"
text = "t"
count = -3
small = 4
positive = 5
share = 1
on = true
wait = "1m30s"
maybe = 0
words = ["a", "b"]
rows = [["a"], []]
kind = "busy"
untagged = "u"
[env]
A = "1"
[named.one]
x = 1
[named."two words"]
y = 2
[[points]]
x = 3
[[points]]
y = 4
[free]
list = [1, 2.5, "x", [true], {k = "v"}]
`

func TestDecode_FillsEveryKindOfField(t *testing.T) {
	got := sample{Text: "default", Hidden: "kept", Base: Base{Inner: "default"}}
	places, problems := Decode("dir/x.toml", []byte(everything), &got)
	if problems != nil {
		t.Fatal(problems)
	}
	zero := 0
	want := sample{Base: Base{"i"}, Text: "t", Count: -3, Small: 4, Positive: 5, Share: 1, On: true,
		Wait: jjm.Duration(90 * time.Second), Maybe: &zero, Words: []string{"a", "b"}, Rows: [][]string{{"a"}, {}},
		Env: map[string]string{"A": "1"}, Named: map[string]point{"one": {X: 1}, "two words": {Y: 2}},
		Points: []point{{X: 3}, {Y: 4}}, Kind: jjm.Busy, Untagged: "u", Hidden: "kept",
		Free: map[string]any{"list": []any{int64(1), 2.5, "x", []any{true}, map[string]any{"k": "v"}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
	for field, place := range map[string]string{
		"text": "x.toml:2", "named.one.x": "x.toml:17", `named."two words"`: "x.toml:18",
		"points[1].y": "x.toml:23", "free.list[3][0]": "x.toml:25", "nothing": "x.toml", "": "x.toml",
	} {
		if got := places.Of(field); got != place {
			t.Errorf("place of %q is %q, want %q", field, got, place)
		}
	}
}

func TestDecode_MissingKeysKeepTheirDefaults(t *testing.T) {
	got := sample{Text: "default", Words: []string{"w"}}
	if _, problems := Decode("x.toml", []byte("count = 1"), &got); problems != nil {
		t.Fatal(problems)
	}
	if got.Text != "default" || len(got.Words) != 1 || got.Count != 1 {
		t.Errorf("decoded %+v", got)
	}
}

func TestDecode_ReportsEveryMistakeWithItsPlace(t *testing.T) {
	text := `txt = "t"
count = "three"
small = 300
positive = -1
share = "half"
on = 1
wait = 30
maybe = 1.5
words = "a"
rows = [["a", 1], "b"]
kind = "sorry"
odd = 1
ignored = 3
[env]
A = 1
[named]
one = 3
[[points]]
z = 1
[free]
day = 2026-01-01
`
	_, problems := Decode("x.toml", []byte(text), &sample{})
	want := []string{
		`x.toml:1: txt: unknown key "txt": did you mean "text"?`,
		`x.toml:2: count: want a whole number, got the text "three"`,
		`x.toml:3: small: 300 is out of range`,
		`x.toml:4: positive: -1 is out of range`,
		`x.toml:5: share: want a number, got the text "half"`,
		`x.toml:6: on: want true or false, got the number 1`,
		`x.toml:7: wait: want a duration in quotes, such as "30s", "5m" or "2h", got the number 30`,
		`x.toml:8: maybe: want a whole number, got the number 1.5`,
		`x.toml:9: words: want a list such as ["a"], got the text "a"`,
		`x.toml:10: rows[0][1]: want text in quotes, got the number 1`,
		`x.toml:10: rows[1]: want a list such as ["b"], got the text "b"`,
	}
	got := strings.Split(problems.Error(), "\n  ")[1:]
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	rest := strings.Join(got[len(want):], "\n")
	for _, part := range []string{"x.toml:11: kind: ", "x.toml:12: odd: cannot be set", "x.toml:13: ignored: unknown key",
		"x.toml:15: env.A: want text",
		"x.toml:17: named.one: want a table, got the number 3", `x.toml:19: points[0].z: unknown key "z"`,
		"x.toml:21: free.day: a date"} {
		if !strings.Contains(rest, part) {
			t.Errorf("problems lack %q:\n%s", part, rest)
		}
	}
}

func TestDecode_JSONAndTOMLAgree(t *testing.T) {
	var fromTOML, fromJSON sample
	if _, problems := Decode("x.toml", []byte(everything), &fromTOML); problems != nil {
		t.Fatal(problems)
	}
	text := `{"inner":"i","text":"t","count":-3,"small":4,"positive":5,"share":1,"on":true,"wait":"1m30s","maybe":0,
"words":["a","b"],"rows":[["a"],[]],"kind":"busy","untagged":"u","env":{"A":"1"},"named":{"one":{"x":1},"two words":{"y":2}},
"points":[{"x":3},{"y":4}],"free":{"list":[1,2.5,"x",[true],{"k":"v"}]}}`
	places, problems := Decode("x.json", []byte(text), &fromJSON)
	if problems != nil {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(fromTOML, fromJSON); diff != "" {
		t.Errorf("decoded (-toml +json):\n%s", diff)
	}
	if got := places.Of("points[1].y"); got != "x.json:3" {
		t.Errorf("place is %q", got)
	}
}

func TestDecodeMap_SeveralStructsShareATable(t *testing.T) {
	var common struct {
		Poll  string `toml:"poll"`
		Grace int    `toml:"grace"`
	}
	var own struct {
		Grace int `toml:"grace"`
		Slots int `toml:"slots"`
	}
	problems := DecodeMap(map[string]any{"poll": "1s", "slots": 4, "grace": 3, "pol": 1, "slot": 2}, "c", &common, &own)
	if common.Poll != "1s" || common.Grace != 3 || own.Slots != 4 || own.Grace != 0 {
		t.Errorf("%+v, %+v", common, own)
	}
	if len(problems) != 2 || !strings.Contains(problems[0].Text, `"poll"`) ||
		!strings.Contains(problems[1].Text, `"slots"`) {
		t.Errorf("unknown keys do not name the nearest of all: %v", problems)
	}
}

func TestDecodeMap_AcceptsParametersThatPassedThroughJSON(t *testing.T) {
	var got sample
	problems := DecodeMap(map[string]any{"count": 2000.0, "share": 3, "words": []string{"a"}, "rows": []any{[]any{"a"}},
		"env": map[string]string{"A": "b"}, "points": []map[string]any{{"x": 1}}}, "params", &got)
	if problems != nil {
		t.Fatal(problems)
	}
	want := sample{Count: 2000, Share: 3, Words: []string{"a"}, Rows: [][]string{{"a"}}, Env: map[string]string{"A": "b"},
		Points: []point{{X: 1}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
	problems = DecodeMap(map[string]any{"count": 1e17, "share": math.Inf(1), "txet": 1, "text": nil}, "params", &got)
	wantProblems := jjm.Problems{
		{Field: "params.count", Text: "want a whole number, got the number 1e+17"},
		{Field: "params.share", Text: "want a number, got the number +Inf"},
		{Field: "params.text", Text: "null is no value: leave the key out"},
		{Field: "params.txet", Text: `unknown key "txet": did you mean "text"?`},
	}
	if diff := cmp.Diff(wantProblems, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestDecode_ProblemsAreCountedBeyondTheFirstHundred(t *testing.T) {
	var b strings.Builder
	for i := range 250 {
		fmt.Fprintf(&b, "unknown%d = 1\n", i)
	}
	_, problems := Decode("x.toml", []byte(b.String()), &point{})
	if len(problems) != MaxProblems+1 || problems[MaxProblems].Text != "and 150 more problems" {
		t.Errorf("%d problems, the last %v", len(problems), problems[len(problems)-1])
	}
}

func TestUnknown_WithoutKnownKeys(t *testing.T) {
	if got := Unknown("x", nil); got != `unknown key "x": nothing can be set here` {
		t.Errorf("without known keys: %s", got)
	}
}

// The scanner only finds the places of keys, and the parser only finds their values. Every key that the parser finds
// must have a place from the scanner.
func TestScanner_FindsTheKeysThatTheParserFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{
			"k%d = 1", "k%d.sub = 'a#b'", "k%d = \"\"\"\nx = \\\"1\\\"\n\"\"\"", "'k %d' = [1, # one\n 2]", "[t%d]",
			"[[l]] # %d",
			"[t%d.'a.b'.c]", "k%d = {a = [\"]\"], 'b c' = \"}\"}", "# [c%d]", "k%d = '''\n[x]\n''''",
			"k%d = 2026-01-01 10:00:00", "\t\"q\\\"%d\" = inf",
		}), 1, 30).Draw(t, "lines")
		var b strings.Builder
		for i, l := range lines {
			fmt.Fprintf(&b, l+"\n", i)
		}
		places := Places{"": "x"}
		tree, problems := parseTOML([]byte(b.String()), places)
		if problems != nil {
			t.Fatalf("problems %v in\n%s", problems, b.String())
		}
		missing := map[string]bool{}
		keysOf("", tree, missing)
		for field := range places {
			delete(missing, field)
		}
		for field := range missing {
			if line(places.Of(field)) == 0 {
				t.Errorf("%s has no place in\n%s", field, b.String())
			}
		}
	})
}

func keysOf(field string, v any, into map[string]bool) {
	switch v := plain(v).(type) {
	case map[string]any:
		for k, e := range v {
			into[join(field, k)] = true
			keysOf(join(field, k), e, into)
		}
	case []any:
		for i, e := range v {
			keysOf(element(field, i), e, into)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("x.toml", []byte(everything))
	f.Add("x.json", []byte(`{"text": "t", "free": {"a": [1, {"b": null}]}, "rows": [["\u0000"]]}`))
	f.Add("x.toml", []byte("a.b.c = 1\na.b.c = 2\n[a]\n[a]\n[[a]]"))
	f.Add("x.toml", []byte(`x = """a""""`+"\ny = ''''''\n\"\\u0041\" = {b = 1, \n c.d = [ {}, ] }"))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		var s sample
		_, problems := Decode(name, text, &s)
		for _, p := range problems {
			if p.Text == "" || strings.Contains(p.Text, "\n") {
				t.Errorf("problem %q", p)
			}
		}
	})
}
