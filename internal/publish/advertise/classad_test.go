package advertise

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestAd_IsFormattedAsOldClassAd(t *testing.T) {
	ad := Ad{
		{"S", `a "quoted" name`}, {"I", 3}, {"L", int64(1) << 40}, {"B", true}, {"K", Known(0)}, {"U", Count{}},
		{"E", List{}}, {"Names", List{"x", "ü"}}, {"N", Ad{{"Name", "n"}, {"Slots", Count{}}}},
	}
	want := `S = "a \"quoted\" name"
I = 3
L = 1099511627776
B = true
K = 0
U = undefined
E = { }
Names = { "x", "ü" }
N = [ Name = "n"; Slots = undefined ]
`
	if got := ad.Text(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestSafe_EscapesWhatEndsALineOrAString(t *testing.T) {
	for in, want := range map[string]string{
		"plain":           "plain",
		"two words":       "two words",
		"Köln €":          "Köln €",
		"a\nMyType=\"x\"": `a\x0aMyType="x"`,
		`c:\temp\`:        `c:\x5ctemp\x5c`,
		"\xff\x00":        `\xff\x00`,
		"\u202eabc":       `\xe2\x80\xaeabc`, // this character reverses the direction of the text
		"\ufffd":          "\ufffd",          // this character is valid
	} {
		if got := Safe(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestSafe_IsReversedByPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyText().Draw(t, "s")
		safe := Safe(s)
		if Plain(safe) != s {
			t.Fatalf("%q became %q, and that %q", s, safe, Plain(safe))
		}
		if !utf8.ValidString(safe) || strings.ContainsFunc(safe, func(r rune) bool { return r < ' ' }) {
			t.Fatalf("%q is not safe", safe)
		}
	})
}

func FuzzPlain(f *testing.F) {
	for _, s := range []string{"", `\x`, `\x5`, `\xzz`, `\x5c\x0a`, "\xff", `\\x41`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_ = Plain(s) // no text may cause a panic
		if got := Plain(Safe(s)); got != s {
			t.Errorf("%q became %q", s, got)
		}
	})
}

func FuzzParseHeld(f *testing.F) {
	for _, s := range []string{"", "[\n]", `[{"Name":"x","Slots":3,"L":[{"a":null}]}]`, `[{"Name"`, "CEDAR:6001", "{}"} {
		f.Add([]byte(s))
	}
	ad := exampleFacts().Ad()
	f.Fuzz(func(t *testing.T, text []byte) {
		ads, err := ParseHeld(text)
		for _, h := range ads {
			_ = h.Instance()
			if err == nil && len(ad.Differences(h)) == 0 {
				t.Errorf("%s passes as the ad", text)
			}
		}
	})
}

func TestDifferences_NamesTheAttributesThatDiffer(t *testing.T) {
	ad := Ad{{"Name", `a"b\`}, {"Slots", Known(4)}, {"Queued", Count{}}, {"Open", true}, {"Names", List{"x"}},
		{"C", List{Ad{{"N", 1}}}}}
	held := func(text string) Held {
		ads, err := ParseHeld([]byte("[" + text + "]"))
		if err != nil {
			t.Fatal(err)
		}
		return ads[0]
	}
	same := `{"MyAddress":"<127.0.0.1:0>","name":"a\"b\\x5c","Slots":4,"Queued":null,"Open":true,"Names":["x"],"C":[{"n":1,"more":2}]}`
	if got := ad.Differences(held(same)); len(got) > 0 {
		t.Errorf("what the collector adds, and its case of names, count: %q", got)
	}
	for change, want := range map[string]string{
		`"Slots":4|"Slots":0`:     "Slots is 0 instead of 4",
		`"Slots":4|"Slots":"4"`:   "Slots is 4 instead of 4",
		`null|0`:                  "Queued is 0 instead of undefined",
		`true|"true"`:             "Open is true instead of true",
		`["x"]|["x","y"]`:         "Names is",
		`"n":1|"n":2`:             "C is",
		`"Slots":4|"Other":4`:     "Slots is <nil>",
		`a\"b\\x5c|a\"b\\`:        "Name is",
		`"C":[{"n":1,|"C":["n",{`: "C is",
	} {
		from, to, _ := strings.Cut(change, "|")
		got := ad.Differences(held(strings.Replace(same, from, to, 1)))
		if len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%s: %q", change, got)
		}
	}
	if got := ad.Differences(Held{}); len(got) != 3 {
		t.Errorf("an empty ad: %q", got)
	}
}

func TestParseHeld_AcceptsNoOutputAndRefusesRubbish(t *testing.T) {
	for _, none := range []string{"", "\n", "[\n]\n"} {
		if ads, err := ParseHeld([]byte(none)); err != nil || len(ads) > 0 {
			t.Errorf("%q: %v, %v", none, ads, err)
		}
	}
	for _, bad := range []string{"Error: communication error", "[{", `{"a":1}`} {
		if _, err := ParseHeld([]byte(bad)); err == nil {
			t.Errorf("%q is taken for an answer", bad)
		}
	}
	ads, err := ParseHeld([]byte(`[{"instance":"abc","Big":9007199254740993}]`))
	if err != nil || ads[0].Instance() != "abc" || ads[0].Get("big") != json.Number("9007199254740993") {
		t.Errorf("%v, %v", ads, err)
	}
}

// anyText returns texts with characters that are special in ClassAds or in a configuration, and arbitrary bytes.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.StringMatching(`["\\nx\n\t\r '{};=,]{0,12}`),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
}
