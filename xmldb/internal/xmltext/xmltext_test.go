package xmltext

import (
	"encoding/xml"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

func TestText_EscapesWhatXMLCannotCarry(t *testing.T) {
	for _, tc := range []struct{ name, in, text, attr string }{
		{"plain", "d0gstar", "d0gstar", "d0gstar"},
		{"markup", `a<b>&"c'`, `a&lt;b&gt;&amp;"c'`, `a&lt;b&gt;&amp;&#34;c'`},
		{"end of CDATA", "]]>", "]]&gt;", "]]&gt;"},
		{"blanks", "a\tb\nc\rd", "a\tb\nc&#13;d", "a&#9;b&#10;c&#13;d"},
		{"controls", "a\x00b\x1bc", "a\uFFFDb\uFFFDc", "a\uFFFDb\uFFFDc"},
		{"broken UTF-8", "a\xffb\xc3", "a\uFFFDb\uFFFD", "a\uFFFDb\uFFFD"},
		{"non-characters", "\uFFFE\uFFFF", "\uFFFD\uFFFD", "\uFFFD\uFFFD"},
		{"beyond the first plane", "é𝄞", "é𝄞", "é𝄞"},
		{"empty", "", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := string(Text(nil, tc.in)); got != tc.text {
				t.Errorf("Text = %q, want %q", got, tc.text)
			}
			if got, want := string(Attr(nil, "a", tc.in)), ` a="`+tc.attr+`"`; got != want {
				t.Errorf("Attr = %q, want %q", got, want)
			}
		})
	}
}

func TestEscape_ReadsBackAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string {
			return string(b)
		})).Draw(t, "s")
		want := strings.Map(func(r rune) rune {
			if r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
				return utf8.RuneError
			}
			return r
		}, s)
		b := Attr([]byte("<x"), "a", s)
		b = Text(append(b, '>'), s)
		b = append(b, "</x>"...)
		var got struct {
			A string `xml:"a,attr"`
			T string `xml:",chardata"`
		}
		if err := xml.Unmarshal(b, &got); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		if got.A != want || got.T != want {
			t.Fatalf("attribute %q, text %q, want %q", got.A, got.T, want)
		}
	})
}

func TestTime_IsLeftOutWhenItHasNoForm(t *testing.T) {
	day := jjm.At(time.Date(2026, 3, 1, 12, 0, 0, 5e6, time.UTC))
	for _, tc := range []struct {
		t    jjm.Time
		want string
	}{
		{0, ""},
		{day, ` t="2026-03-01T12:00:00.005Z"`},
		{lastTime, ` t="9999-12-31T23:59:59.999Z"`},
		{firstTime, ` t="0001-01-01T00:00:00.000Z"`},
		{lastTime + 1, ""},
		{firstTime - 1, ""},
		{math.MaxInt64, ""},
		{math.MinInt64, ""},
	} {
		if got := string(Time(nil, "t", tc.t)); got != tc.want {
			t.Errorf("Time(%d) = %q, want %q", tc.t, got, tc.want)
		}
	}
}

func TestOptional_AttributesAreLeftOutWhenEmpty(t *testing.T) {
	b := OptAttr(nil, "a", "")
	b = OptAttr(b, "b", "x")
	b = Flag(b, "c", false)
	b = Flag(b, "d", true)
	b = Int(b, "n", math.MinInt64)
	if want := ` b="x" d="true" n="-9223372036854775808"`; string(b) != want {
		t.Errorf("got %s, want %s", b, want)
	}
}

func TestCut_KeepsCharactersWhole(t *testing.T) {
	for _, tc := range []struct {
		in   string
		n    int
		want string
		cut  bool
	}{
		{"abc", 3, "abc", false},
		{"abc", 2, "ab", true},
		{"aé", 2, "a", true},
		{"𝄞", 3, "", true},
		{"\xff\xff", 1, "\xff", true},
		{"\x80\x80", 1, "", true},
	} {
		if got, cut := Cut(tc.in, tc.n); got != tc.want || cut != tc.cut {
			t.Errorf("Cut(%q, %d) = %q, %v", tc.in, tc.n, got, cut)
		}
	}
}
