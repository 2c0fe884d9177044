package split

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// If the arguments of the application are a plain text, the text is one argument, whatever it contains.
func TestFieldsOf_TakesAPlainTextAsOneArgument(t *testing.T) {
	for _, c := range []struct {
		value any
		want  []string
	}{{"a b", []string{"a b"}}, {"", []string{""}}, {[]any{"a", 2.0, true}, []string{"a", "2", "true"}}} {
		f, err := FieldsOf(map[string]any{"application.args": c.value})
		if d := cmp.Diff(c.want, f.Args); err != nil || d != "" {
			t.Errorf("%v: %v\n%s", c.value, err, d)
		}
	}
	if _, err := FieldsOf(map[string]any{"application.args": 2.0}); err == nil {
		t.Error("a number is taken for arguments")
	}
}
