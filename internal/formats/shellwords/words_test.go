package shellwords

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSplit_SplitsLikeAShell(t *testing.T) {
	for text, want := range map[string][]string{
		"":                      nil,
		"  ":                    nil,
		`a  b	c`:                {"a", "b", "c"},
		`"A=b c" "D=e"`:         {"A=b c", "D=e"},
		`"a\"b" "c\\d" "e\f"`:   {`a"b`, `c\d`, `e\f`},
		`'$HOME "x"' a\ b ""`:   {`$HOME "x"`, "a b", ""},
		`x"y"'z'`:               {"xyz"},
		"$(rm -rf /) `id` $X":   {"$(rm", "-rf", "/)", "`id`", "$X"},
		"\"a\\$b\" \"c\\`d\" e": {"a$b", "c`d", "e"},
	} {
		got, err := Split(text)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%q: %v %s", text, err, d)
		}
	}
	for _, text := range []string{`"`, `'a`, `a "b\"`, "a\x00", "\"\x00\""} {
		if got, err := Split(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringMatching("[^\x00]*")).Draw(t, "words")
		var b strings.Builder
		for _, w := range words {
			b.WriteString(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(w) + `" `)
		}
		got, err := Split(b.String())
		if err != nil || !cmp.Equal(append([]string{}, words...), append([]string{}, got...)) {
			t.Fatalf("%q came back as %q, %v", words, got, err)
		}
	})
}

func TestJoin_ReadsBackInAShell(t *testing.T) {
	words := []string{"./run.sh", "a b", "", "it's", "$HOME", "--x=1", "größe", "a\nb", "~"}
	text := Join(words)
	if want := `./run.sh 'a b' '' 'it'\''s' '$HOME' --x=1`; !strings.HasPrefix(text, want) {
		t.Errorf("%s, want %s", text, want)
	}
	if got, err := Split(text); err != nil || !slices.Equal(got, words) {
		t.Errorf("%q, %v, want %q", got, err, words)
	}
}
