package glf_test

import (
	"slices"
	"strings"
	"testing"

	"jjm/internal/formats/glf"
)

// Words explains every keyword once. The texts contain no bars and no line breaks, so that they fit into a table and
// into a line of help.
func TestWords_ExplainEveryKeyword(t *testing.T) {
	want := []string{glf.Succeeded, glf.Failed, glf.Retry, glf.Hold, glf.Info, glf.ReturnFile}
	var got []string
	for _, w := range glf.Words() {
		got = append(got, w.Keyword)
		if !glf.Known(w.Keyword) || w.Data == "" || w.Effect == "" || w.Example == "" ||
			strings.ContainsAny(w.Data+w.Effect+w.Example, "|\n") {
			t.Errorf("%+v", w)
		}
	}
	if !slices.Equal(got, want) || glf.Names() != strings.Join(want, " ") {
		t.Errorf("words %q, names %q, want %q", got, glf.Names(), want)
	}
}
