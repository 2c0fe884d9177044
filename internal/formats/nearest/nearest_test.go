package nearest

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOf_ReturnsTheNearestWordOrNone(t *testing.T) {
	known := []string{"submit", "lookup", "kill", "status", "list"}
	for _, c := range []struct{ word, want string }{
		{"submti", "submit"}, {"SUBMIT", "submit"}, {"lokup", "lookup"}, {"kil", "kill"},
		{"stat", "status"}, {"st", ""}, {"statu", "status"}, {"", ""}, {"frobnicate", ""}, {"x", ""},
		{strings.Repeat("a", 1<<20), ""},
	} {
		if got := Of(c.word, known); got != c.want {
			t.Errorf("Of(%.20q) = %q, want %q", c.word, got, c.want)
		}
	}
	if got := Of("c", []string{"a", "b"}); got != "" {
		t.Errorf("%q has nothing in common with c", got)
	}
	if got := Of("kill", []string{strings.Repeat("k", 1<<20)}); got != "" {
		t.Errorf("an absurd known word was named: %.20q", got)
	}
}

func TestOf_KeysOfFiles(t *testing.T) {
	known := []string{"events", "events_per_job", "command", "walltime", "memory_mb", "output_dataset", "output_templates",
		"outputs"}
	for word, want := range map[string]string{
		"evnts": "events", "Events": "events", "event": "events", "comand": "command", "commnad": "command",
		"output": "outputs", "output_": "outputs", "output_t": "output_templates",
		"wall-time": "walltime", "memory": "memory_mb", "events-per-job": "events_per_job", "x": "", "": "", "frobnicate": "",
		strings.Repeat("e", 200): "",
	} {
		if got := Of(word, known); got != want {
			t.Errorf("nearest to %.20q is %q, want %q", word, got, want)
		}
	}
}

func TestDistance_IsSymmetricAndZeroOnlyForEqualWords(t *testing.T) {
	word := rapid.StringMatching(`[a-d]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := distance(a, b)
		if d != distance(b, a) {
			t.Fatalf("distance(%q, %q) differs from the reverse", a, b)
		}
		if (d == 0) != (a == b) || d > max(len(a), len(b)) {
			t.Fatalf("distance(%q, %q) = %d", a, b, d)
		}
	})
}
