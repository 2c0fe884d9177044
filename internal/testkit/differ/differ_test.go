package differ

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFirst(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, c := range []struct{ now, was, want string }{
		{"a", "a", ""},
		{"a", "b", "is a, was b"},
		{long + "new" + long, long + "old" + long, "is ..." + long[:40] + "new" + long[:107] + "..., was ..." + long[:40] +
			"old" + long[:107] + "..."},
		{"a\nb\nc\n", "a\nB\nc\n", `differs from line 2 on: it is "b", was "B"`},
		{"a\nb\n", "a\n", `differs from line 2 on: it is "b", was ""`},
		{"a", "a\nb", `differs from line 2 on: it is absent, was "b"`},
	} {
		if got := First(c.now, c.was); got != c.want {
			t.Errorf("%q for %q and %q, want %q", got, c.now, c.was, c.want)
		}
	}
}

func FuzzFirst(f *testing.F) {
	f.Add("a\nb", "a\nc")
	f.Fuzz(func(t *testing.T, now, was string) {
		got := First(now, was)
		if (got == "") != (now == was) || len(got) > 2*most+100 {
			t.Errorf("%q", got)
		}
		if utf8.ValidString(now) && utf8.ValidString(was) && !utf8.ValidString(got) {
			t.Errorf("%q is cut within a letter", got)
		}
	})
}
